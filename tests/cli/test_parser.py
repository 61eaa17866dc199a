"""Words to options; what is wrong is named together with what would be right."""

import pytest
from cli_harness import loop_close

from loop_close import __version__
from loop_close.cli.parser import UsageError, parse


@pytest.mark.parametrize(
    ("words", "theirs"),
    [
        (["--", "pytest", "-q"], ["pytest", "-q"]),
        (["--", "a", "--", "b"], ["a", "--", "b"]),
        (["--", "b", "--budget", "1", "-h"], ["b", "--budget", "1", "-h"]),
        ([], []),
    ],
)
def test_words_of_the_command_are_its_own(words, theirs):
    assert parse(["run", *words]).words == theirs


@pytest.mark.parametrize(
    ("words", "wrong", "right"),
    [
        ([], "required: COMMAND", "usage: loop-close "),
        (["foo"], "invalid choice: 'foo'", "'check', 'status', 'accept', 'prompt', 'run', 'analyze'"),
        (["--foo"], "required: COMMAND", "try: loop-close --help"),
        (["analyze", "--foo"], "unknown option or argument: --foo", "try: loop-close analyze --help"),
        (["analyze", "--exit-code", "x"], "invalid int value: 'x'", "[--exit-code N]"),
        (["analyze", "--exit-code"], "--exit-code: expected one argument", "[--exit-code N]"),
        (["analyze", "--budget", "x"], "invalid number value: 'x'", "[--budget TOKENS]"),
        (["history", "--limit", "0"], "must be at least 1, not '0'", "[--limit N]"),
        (["report"], "required: --html", "--html PATH"),
        (["hook"], "required: --host", "--host NAME"),
        (["drive", "--max-cost", "-1"], "must be above 0, not '-1'", "[--max-cost N]"),
        (["run", "-q", "pytest"], "unknown option or argument: -q pytest", "-- CMD [ARG ...]"),
    ],
)
def test_wrong_words_are_named(words, wrong, right):
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert wrong in str(caught.value)
    assert right in str(caught.value)


@pytest.mark.parametrize("words", [["run"], ["run", "--"]])
def test_run_without_a_command(tmp_path, words):
    done = loop_close(*words, cwd=tmp_path)
    assert done.returncode == 64
    assert done.stderr == b"loop-close: run needs a command, for example: loop-close run -- pytest -q\n"
    assert list(tmp_path.iterdir()) == []


def test_version(tmp_path):
    done = loop_close("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"loop-close {__version__}\n".encode(), b"")


@pytest.mark.parametrize("command", [[], ["check"], ["analyze"], ["run"]])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(tmp_path, command, option):
    done = loop_close(*command, option, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: {' '.join(['loop-close', *command])} ".encode())
    assert done.stderr == b""
