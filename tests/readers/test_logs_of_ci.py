"""Whole logs as CI services, supervisors and tools of agents pass them on, by kind: what is red stays red."""

import json

import pytest
from test_prefixes import LOG

from loop_close.library import close_loop

GREEN = (
    "============================= test session starts ==============================\ncollected 1 item\n\n"
)
GREEN += "tests/test_a.py .                                       [100%]\n\n"
GREEN += "============================== 1 passed in 0.02s ===============================\n"


def prefixed(prefix, text=LOG):
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def numbered(text):
    return "".join(f"{number:6}\t{line}\n" for number, line in enumerate(text.splitlines(), 1))


BLOCKS = [
    f"#1 DONE 0.0s\n#5 [web 3/4] RUN pip install\n#5 1.104 Collecting pytest\n Container web-1  Created\n"
    f"Attaching to db-1, web-1\ndb-1   | ready\n{prefixed('web-1  | ')}"
    "web-1 exited with code 1\n Container db-1  Stopped\n",
    prefixed("2026-03-04T10:11:12.0000000Z stdout F "),
    f"$ cat -n out.log\n{numbered(LOG)}",
    json.dumps({"stdout": LOG, "stderr": ""}),
    json.dumps({"content": [{"type": "text", "text": f"Ran the tests.\n{LOG}"}]}),
    "".join(json.dumps({"log": f"{line}\n", "stream": "stdout"}) + "\n" for line in LOG.splitlines()),
    "deploying\n" * 30 + prefixed("12:00:01 ") + "deployed\n" * 30,
]


@pytest.mark.parametrize("code", [0, None, 1])
@pytest.mark.parametrize("text", BLOCKS)
def test_a_block_of_lines_with_a_prefix_is_read(text, code):
    report = close_loop(text, exit_code=code)
    assert report.stall_reason == "1 test failure detected"
    assert (report.evidence[0].file, report.evidence[0].line) == ("tests/test_cart.py", 5)


@pytest.mark.parametrize(
    "text",
    [
        f"{GREEN}Post job cleanup.\nCleaning up orphan processes\n",
        f"{GREEN}Uploading artifacts...\nJob succeeded\n",
        f"{GREEN}Finished: SUCCESS\n",
        f"___ setup ___\ndone\n―― build ――\ndone\n!!! deploying !!!\n{GREEN}",
        f"ok 1 - adds\nnot ok 2 - later # TODO\n{GREEN}",
        prefixed("web-1  | ", GREEN) + "web-1 exited with code 0\n",
        "Found 2 test(s).\nSystem check identified no issues (0 silenced).\n..\n"
        + "-" * 70
        + "\nRan 2 tests in 0.012s\n\nOK\nDestroying test database for alias 'default'...\n",
        GREEN.replace("0.02s", "0.02 seconds"),
        GREEN.rpartition("====\n")[0].rpartition("\n")[0] + "\nResults (0.04s):\n         1 passed\n",
        json.dumps({"output": GREEN, "exit_code": 0}),
    ],
)
def test_a_passing_summary_with_nothing_red_below_is_green(text):
    assert close_loop(text).verdict == "green"
    assert close_loop(text, exit_code=0).verdict == "green"


RED = {
    "pytest a; pytest b": LOG,
    "Maven": "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n",
    "Gradle": "BUILD FAILED in 3s\n",
    "TAP": "ok 1 - adds\nnot ok 2 - subtracts\n",
    "Mocha": "  3 passing (5ms)\n  1 failing\n",
    "Jest": "Tests:       1 failed, 3 passed, 4 total\n",
    "ESLint": "✖ 3 problems (2 errors, 1 warning)\n",
    "tsc": "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n",
    "gcc": "main.c:3:5: error: expected ';' before 'return'\n",
    "Go": "--- FAIL: TestAdd (0.00s)\nFAIL\n",
    "Rust": "test result: FAILED. 1 passed; 1 failed; 0 ignored\n",
    "make": "make: *** [Makefile:3: docs] Error 2\n",
    "compose": "web-1 exited with code 137\n",
    "GitHub": "##[error]Process completed with exit code 1.\n",
    "npm": 'npm error Missing script: "nope"\n',
    "doctest": "***Test Failed*** 1 failures.\n",
    "nox": "nox > * release: aborted\n",
    "CTest": "The following tests FAILED:\n\t  1 - adds (Failed)\n",
    "behave": "0 features passed, 1 failed, 0 skipped\n",
    "heading": '--- Lint ---\na.py:1: error: Name "x" is not defined  [name-defined]\n--- Tests ---\n',
    "pytest below a heading": f"--- unit ---\n{LOG}--- integration ---\n",
    "traceback": 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: bad\n',
}


@pytest.mark.parametrize("code", [0, None])
@pytest.mark.parametrize("tool", RED)
def test_nothing_that_passes_makes_up_for_a_line_that_is_red(tool, code):
    for text in (
        RED[tool] + GREEN,
        GREEN + RED[tool],
        prefixed("2026-03-04T10:11:12.0Z ", RED[tool] + GREEN),
    ):
        report = close_loop(text, exit_code=code)
        assert report.verdict != "green"
        assert "proceed" not in report.next_prompt


def test_what_is_said_below_a_passing_summary_may_be_of_a_tool_that_failed():
    text = f"{GREEN}a.py:1:0: C0114: Missing module docstring (missing-module-docstring)\n"
    assert close_loop(text).verdict == "error"
    assert close_loop(text, exit_code=0).verdict == "green"


def test_exit_code_that_the_log_names_is_read():
    assert close_loop("all is done\nweb-1 exited with code 3\n").verdict == "red"
    assert close_loop('{"output": "all is done", "exit_code": 3}\n').verdict == "red"
    assert close_loop("all is done\nJob succeeded\n").verdict == "green"
    assert close_loop("all is done\nJob succeeded\n", exit_code=2).exit_code == 2


def test_letters_of_a_run_that_was_cut_are_shown():
    text = f"{GREEN.partition('tests/')[0]}tests/test_a_first.py .F.."
    for code in (0, None):
        report = close_loop(text, exit_code=code)
        assert (report.verdict, report.evidence[0].snippet) == ("red", "tests/test_a_first.py .F..")


def test_no_test_ran_is_said_without_an_exit_code_too():
    text = GREEN.replace("1 item", "0 items").replace("1 passed", "no tests ran")
    assert close_loop(text).stall_reason == "no test ran"


JUNIT = '<testsuites><testsuite name="pytest" tests="1" failures="{}">{}</testsuite></testsuites>'
FAILING = '<testcase classname="tests.test_a" name="test_b"><failure message="bad">E bad</failure></testcase>'


@pytest.mark.parametrize("start", ["", '<?xml version="1.0" encoding="utf-8"?>', "\ufeff\n"])
def test_xml_is_recognized_by_its_first_tag(start):
    red = close_loop(start + JUNIT.format(1, FAILING))
    assert (red.verdict, red.evidence[0].failure.nodeid) == ("red", "tests/test_a.py::test_b")
    passing = '<testcase classname="tests.test_a" name="test_b" time="0.1"/>'
    assert close_loop(start + JUNIT.format(0, passing)).verdict == "green"
