"""``loop-close analyze``: from logs and JUnit XML to the prompt, with nothing written but what is asked for."""

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest
from cli_harness import loop_close, loop_close_here, put

import loop_close as package

GREEN = (
    "============================= test session starts ==============================\n"
    "platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0\n"
    "rootdir: /srv/shop\ncollected 3 items\n\ntest_a.py ...  [100%]\n\n"
    "============================== 3 passed in 0.18s ===============================\n"
)
CRASH = (
    "Traceback (most recent call last):\n"
    '  File "shop.py", line 3, in <module>\n'
    "    price()\n"
    "KeyError: 'tea'\n"
)
OTHER = CRASH.replace("KeyError: 'tea'", "ValueError: bad coupon").replace("shop.py", "coupon.py")
TYPES = 'shop.py:1: error: Name "x" is not defined  [name-defined]\nFound 1 error in 1 file (checked 1 source file)\n'
XML = (
    '<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="2" failures="1">'
    '<testcase classname="test_a" name="test_one"><failure message="assert 1 == 2">test_a.py:2: AssertionError'
    '</failure></testcase><testcase classname="test_a" name="test_two"/></testsuite></testsuites>'
)
GREEN_XML = (
    '<testsuites><testsuite name="pytest" tests="1"><testcase classname="test_b" name="test_b"/>'
    "</testsuite></testsuites>"
)


def analyze(tmp_path, *words, **options):
    start = loop_close if options.keys() - {"data"} else loop_close_here
    return start("analyze", *words, cwd=tmp_path, **options)


def test_green_log_is_0(tmp_path):
    put(tmp_path, "log", GREEN)
    done = loop_close("analyze", "log", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"# The tests pass: 3 passed\n"


def test_red_log_is_1_and_nothing_is_written(tmp_path):
    put(tmp_path, "log", CRASH)
    put(tmp_path, "nextprompt.md", "# Stall detected: old (exit 1)\n")
    done = loop_close("analyze", "log", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"# 1 process failure: shop.py:3 (")
    assert b"KeyError" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log", "nextprompt.md"]
    assert (tmp_path / "nextprompt.md").read_text() == "# Stall detected: old (exit 1)\n"


@pytest.mark.parametrize("words", [[], ["-"]])
def test_standard_input_is_a_log(tmp_path, words):
    done = loop_close("analyze", *words, cwd=tmp_path, data=CRASH.encode())
    assert done.returncode == 1
    assert b"KeyError" in done.stdout


def test_several_logs_are_of_one_run(tmp_path):
    put(tmp_path, "a", CRASH)
    put(tmp_path, "b", OTHER)
    done = analyze(tmp_path, "--budget", "900", "a", "-", "b", data=TYPES.encode())
    assert done.returncode == 1
    for said in (b"KeyError", b"bad coupon", b"name-defined"):
        assert said in done.stdout


@pytest.mark.parametrize(
    "data",
    [
        CRASH.encode("utf-16"),
        "\ufeff".encode("utf-16-be") + CRASH.encode("utf-16-be"),
        b"\xef\xbb\xbf" + CRASH.encode(),
        CRASH.replace("\n", "\r\n").encode(),
        b"\xff\x00\n" + CRASH.encode(),
    ],
    ids=["utf-16", "utf-16-be", "bom", "crlf", "binary"],
)
def test_any_encoding_is_read(tmp_path, data):
    put(tmp_path, "log", data)
    done = analyze(tmp_path, "log")
    plain = analyze(tmp_path, data=CRASH.encode())
    assert (done.returncode, done.stdout) == (1, plain.stdout)


@pytest.mark.parametrize(
    ("words", "code", "title"),
    [
        ([], 1, b"# Nothing is known: no output (exit code unknown)\n"),
        (["--exit-code", "0"], 1, b"# Nothing is known: no output (exit 0)\n"),
        (["--exit-code", "1"], 1, b"# No known failure in the output (exit 1)\n"),
        (["--exit-code", "-9"], 1, b"# 1 crash"),
    ],
)
def test_empty_log_is_what_its_exit_code_says(tmp_path, words, code, title):
    put(tmp_path, "log", "")
    done = analyze(tmp_path, "log", *words)
    assert done.returncode == code
    assert done.stdout.startswith(title)


@pytest.mark.parametrize("words", [["gone"], ["--junit", "gone"]])
def test_what_cannot_be_read_is_named(tmp_path, words):
    done = analyze(tmp_path, *words)
    said = b"loop-close: cannot read gone: No such file or directory\n"
    assert (done.returncode, done.stdout, done.stderr) == (64, b"", said)


def test_junit_alone(tmp_path):
    put(tmp_path, "a.xml", XML)
    done = analyze(tmp_path, "--junit", "a.xml")
    assert done.returncode == 1
    assert b"# 1 test fails, 1 passes: " in done.stdout
    assert b"test_a.py::test_one" in done.stdout


def test_green_junit_is_0_and_standard_input_is_left(tmp_path):
    put(tmp_path, "b.xml", GREEN_XML)
    done = analyze(tmp_path, "--junit", "b.xml", data=CRASH.encode())
    assert done.returncode == 0
    assert done.stdout == b"# The tests pass: 1 passed\n"


def validated(data):
    report = json.loads(data)
    schema = json.loads((Path(package.__file__).parent / "schema" / "report-1.json").read_text("utf-8"))
    jsonschema.validate(report, schema)
    return report


@pytest.mark.parametrize("log", [GREEN, CRASH, CRASH + TYPES, "hello\n", ""])
def test_json_is_of_the_schema_and_holds_the_prompt(tmp_path, log):
    put(tmp_path, "log", log)
    done = analyze(tmp_path, "--json", "log")
    report = validated(done.stdout)
    assert report["next_prompt"].encode() == analyze(tmp_path, "log").stdout
    assert (report["verdict"] == "green") == (done.returncode == 0)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are those of POSIX")
def test_reader_that_goes_away_changes_no_exit_code(tmp_path):
    put(tmp_path, "log", CRASH)
    ours, theirs = os.pipe()
    os.close(ours)
    done = analyze(tmp_path, "log", stdout=theirs)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_output_that_cannot_be_written_is_an_error(tmp_path):
    put(tmp_path, "log", CRASH)
    with open("/dev/full", "wb") as full:
        done = analyze(tmp_path, "log", stdout=full)
    assert done.returncode == 70
    assert done.stderr == b"loop-close: cannot write the output: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are those of POSIX")
def test_terminal_with_nothing_piped_in_is_a_usage_error(tmp_path):
    from cli_harness import Terminal

    with Terminal("analyze", cwd=tmp_path) as terminal:
        status, shown = terminal.ended()
    assert status == 64
    assert b"nothing to read: name a log file, pipe a log in, or use --junit XML" in shown
