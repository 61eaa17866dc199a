"""The command that was run, and the words of it that a re-run needs."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile

import pytest

#: Options that choose tests, or change only what is shown: a re-run selects by itself. How many values each takes is
#: pytest's parser to say.
_DROPPED = {
    "-k", "-m", "--deselect", "--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw",
    "--stepwise", "--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset", "--lfnf",
    "--last-failed-no-failures", "-x", "--exitfirst", "--maxfail", "-v", "--verbose", "-q", "--quiet",
    "--verbosity", "-l", "--showlocals", "--no-showlocals", "--tb", "-r", "--color", "--code-highlight", "-s",
    "--capture", "--show-capture", "--full-trace", "--no-header", "--no-summary", "--no-fold-skipped",
    "--force-short-summary", "--xfail-tb", "--durations", "--durations-min", "--junitxml", "--junit-xml",
    "--junit-prefix", "--junitprefix", "--report-log", "--pdb", "--pdbcls", "--trace", "--basetemp",
    "--cache-clear", "--debug", "--setup-show", "--reruns", "--reruns-delay", "--only-rerun", "--rerun-except",
    "--html", "--css", "--self-contained-html", "--cov", "--cov-report", "--cov-config", "--cov-fail-under",
    "--cov-append", "--cov-branch", "--cov-context", "--cov-reset", "--no-cov", "--no-cov-on-fail", "--rootdir",
    "--pastebin", "--show-progress", "--old-summary", "--force-sugar", "--loop-close", "--loop-close-failed",
    "--loop-close-json",
}  # fmt: skip
#: Options of pytest-xdist: they matter to a test that ended the process of its worker.
_WORKERS = frozenset(("-n", "--numprocesses", "--maxprocesses", "--dist", "--tx", "--px", "--maxschedchunk"))
#: Options of pytest that a re-run keeps. An option of a plugin may select tests: then node ids behind it mean less.
_PYTEST = {
    "-p", "-c", "--config-file", "-o", "--override-ini", "-W", "--pythonwarnings", "--import-mode", "--strict",
    "--strict-config", "--strict-markers", "--confcutdir", "--noconftest", "--keep-duplicates",
    "--collect-in-virtualenv", "--ignore", "--ignore-glob", "--pyargs", "--assert", "--runxfail",
    "--continue-on-collection-errors", "--doctest-modules", "--doctest-report", "--doctest-glob",
    "--doctest-ignore-import-errors", "--doctest-continue-on-failure", "--log-level", "--log-format",
    "--log-date-format", "--log-cli-level", "--log-cli-format", "--log-cli-date-format", "--log-file",
    "--log-file-mode", "--log-file-level", "--log-file-format", "--log-file-date-format", "--log-auto-indent",
    "--log-disable", "--disable-warnings", "--disable-pytest-warnings", "--disable-plugin-autoload",
    "--max-warnings", "--loop-close-file", "--loop-close-budget", "--loop-close-history",
    "--loop-close-suspects",
}  # fmt: skip
#: Options of pytest that leave tests out, beside those that have a word of their own in :func:`selection`.
_LIMITING = frozenset(
    ("--deselect", "--ignore", "--ignore-glob", "-o", "--override-ini", "-c", "--config-file", "--rootdir")
)
#: Options that take one part of all tests: of pytest-split, pytest-shard and pytest-test-groups.
_SHARDS = (("splits", "group"), ("num_shards", "shard_id"), ("test_group_count", "test_group"))
_SECRET = re.compile(r"^-.*(?:pass|secret|token|credential|api-?key)", re.IGNORECASE)
_MAX_LENGTH = 400


def rerun_words(config: pytest.Config, *, is_worker_dead: bool) -> tuple[tuple[str, ...], bool]:
    """The words before the selection: how pytest was started and the options that change what tests do.

    :param is_worker_dead: a test ended the process of its xdist worker: without workers it would end the re-run.
    :returns: the words, and whether node ids behind them run just these tests.
    """
    by_module = os.path.basename(sys.argv[0] if sys.argv else "") == "__main__.py"
    start = ("python", "-m", "pytest") if by_module else ("pytest",)
    kept, takes_ids = [], True
    for name, words in options_of(config, [str(word) for word in config.invocation_params.args]):
        if not name or name in _DROPPED or (name in _WORKERS and not is_worker_dead) or _SECRET.search(name):
            continue
        takes_ids = takes_ids and (name in _PYTEST or name in _WORKERS)
        kept += [_shown(_from_root(config, word)) for word in words]
    is_short = sum(map(len, kept)) <= _MAX_LENGTH
    return (*start, "--loop-close", *(kept if is_short else ())), takes_ids or not is_short


def options_of(config: pytest.Config, words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """A command line, taken apart as pytest's parser does: each option by its name with the words that it takes.

    Flags that stand together (``-vx``) come one by one. Words that select tests come with an empty name.
    """
    parser = _parser_of(config)
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            yield from (("", [each]) for each in rest)
            return
        if not word.startswith("-") or word == "-":
            yield "", [word]
            continue
        first, after = (word, "") if word.startswith("--") else _first_flag(parser, word)
        if after:
            rest.insert(0, after)
        following = [] if after or "=" in word else [*takewhile(lambda each: not each.startswith("-"), rest)]
        taken = len(following) - _positional(parser, [first, *following])
        yield (first if first[:2] != "--" and len(first) == 2 else _name_of(first)), [first, *rest[:taken]]
        del rest[:taken]


def _name_of(word: str) -> str:
    return word.partition("=")[0] if word.startswith("--") else word[:2]


def _first_flag(parser: pytest.Parser, word: str) -> tuple[str, str]:
    """The first flag of a word as ``-vx`` with its value, if it takes one, and the word for the other flags."""
    if len(word) == 2 or not _is_flag(parser, word[:2]):
        return word, ""
    return word[:2], f"-{word[2:]}"


def _is_flag(parser: pytest.Parser, word: str) -> bool:
    """Whether the option can do without a value, and does not take one that stands behind it."""
    try:
        namespace, unknown = parser.parse_known_and_unknown_args([word, "value"])
    except (pytest.UsageError, SystemExit):
        return False
    return not unknown and "value" in (getattr(namespace, "file_or_dir", None) or ())


def _positional(parser: pytest.Parser, words: Sequence[str]) -> int:
    """How many words at the end are no values of the option at the beginning."""
    try:
        namespace, _ = parser.parse_known_and_unknown_args(list(words))
    except (pytest.UsageError, SystemExit):
        return 0
    return len(getattr(namespace, "file_or_dir", None) or ())


def _parser_of(config: pytest.Config) -> pytest.Parser:
    """Pytest's parser with the options of all plugins: it is handed to whoever adds options, however late."""
    found: list[pytest.Parser] = []

    class Asker:
        def pytest_addoption(self, parser: pytest.Parser) -> None:
            found.append(parser)

    asker = Asker()
    config.pluginmanager.register(asker)
    config.pluginmanager.unregister(asker)
    return found[0]


def _from_root(config: pytest.Config, word: str) -> str:
    """The word with paths as they are from the root, where the command is run again."""
    root, here = config.rootpath, config.invocation_params.dir
    name, joined, value = word.rpartition("=") if word.startswith("--") else ("", "", word)
    path = here / value
    if here != root and value and not os.path.isabs(value) and path.exists():
        value = os.path.relpath(path, root)
    return f"{name}{joined}{value}".replace(str(root) + os.sep, "")


def _shown(word: str) -> str:
    """The word without credentials and controls: it stands in the prompt outside of any quotation but the shell's."""
    from loop_close.text.clean import clean  # late: a plain green run has no such word

    return clean(word).replace("\n", " ")


def selection(config: pytest.Config) -> str:
    """How tests were chosen on the command line, empty when all were meant."""
    parts = []
    for option, flag in (("keyword", "-k"), ("markexpr", "-m")):
        if config.getoption(option, ""):
            parts.append(f"{flag} {config.getoption(option)!r}")
    chosen = (("lf", "--lf"), ("stepwise", "--sw"), ("loop_close_failed", "--loop-close-failed"))
    parts += [flag for option, flag in chosen if config.getoption(option, False)]
    for names in _SHARDS:
        values = [config.getoption(name, None) for name in names]
        if all(value is not None for value in values):
            parts += [f"--{n.replace('_', '-')} {value}" for n, value in zip(names, values, strict=True)]
    given = [str(a) for a in config.getoption("file_or_dir", None) or ()]
    return " ".join(
        [*parts, *_limits(config), *(a.replace(str(config.rootpath) + os.sep, "") for a in given)]
    )


def _limits(config: pytest.Config) -> Iterator[str]:
    """What else of the command line, of ``PYTEST_ADDOPTS`` or of the place leaves tests out."""
    try:
        more = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    except ValueError:  # pytest has refused it by now
        more = []
    words = [*more, *map(str, config.invocation_params.args)]
    if any(_name_of(word) in _LIMITING for word in words):  # a green run has no other use for the parser
        for name, taken in options_of(config, words):
            if name in _LIMITING:
                yield _shown(" ".join(taken))
    source = getattr(config, "args_source", None)
    here = config.invocation_params.dir
    if getattr(source, "name", "") == "INVOCATION_DIR" and here != config.rootpath:
        yield f"in {os.path.relpath(here, config.rootpath)}"
