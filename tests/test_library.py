"""The library as its users call it: text in, report out."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loop_close
from loop_close import (
    DEFAULT_DETECTORS,
    Detector,
    Evidence,
    close_loop,
    emit_no_stall_report,
    emit_report,
    list_detector_ids,
    observe,
    run_detectors,
)

MYPY = """\
src/shop/cart.py:12: error: "Cart" has no attribute "totl"  [attr-defined]
src/shop/tax.py:3: error: Incompatible return value type (got "int", expected "str")  [return-value]
Found 2 errors in 2 files (checked 5 source files)
"""
PYTEST = """\
============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0
rootdir: /srv/shop
collected 2 items

tests/test_cart.py F.                                                    [100%]

=================================== FAILURES ===================================
__________________________________ test_total __________________________________

    def test_total():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_cart.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 3 == 4
========================= 1 failed, 1 passed in 0.02s ==========================
"""
SCRIPT = """\
Traceback (most recent call last):
  File "/srv/shop/run.py", line 7, in <module>
    main()
  File "/srv/shop/run.py", line 4, in main
    return 1 / 0
ZeroDivisionError: division by zero
"""


def evidence(number, kind="test-failure"):
    return [Evidence(kind=kind, snippet=f"case {n}", file=f"t{n:02}.py", line=n + 1) for n in range(number)]


# What is wrong is seen whatever the exit code says, and nothing is told as good that is not


@pytest.mark.parametrize("code", [1, 2, None, 0, math.nan, "1", -1])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (MYPY, "2 type errors detected"),
        (PYTEST, "1 test failure detected"),
        (SCRIPT, "1 process failure detected"),
    ],
)
def test_whole_output_of_a_tool_counts_whatever_the_exit_code(text, reason, code):
    assert close_loop(text, exit_code=code).stall_reason == reason
    assert close_loop("", text, code).stall_reason == reason


@pytest.mark.parametrize(
    ("text", "code", "reason", "said"),
    [
        ("", None, "unknown", "not known whether it succeeded"),
        ("", 0, "unknown", "no output"),
        ("all is done\n", 0, "no-stall-detected", "proceed"),
        ("all is done\n", None, "no-patterns-matched", "Read the log"),
        ("something broke\n", 7, "no-patterns-matched", "Read the log"),
        ("", 1, "no-patterns-matched", "Read the log"),
        ("Success: no issues found in 3 source files\n", None, "no-stall-detected", "proceed"),
    ],
)
def test_nothing_found(text, code, reason, said):
    report = close_loop(text, exit_code=code)
    assert report.stall_reason == reason
    assert said in report.next_prompt
    assert report.evidence == ()


@pytest.mark.parametrize("stream", [None, 5, ["x"], object(), math.inf])
def test_what_is_no_text_counts_as_empty(stream):
    assert close_loop(stream, stream, 0).stall_reason == "unknown"


@pytest.mark.parametrize("code", [1.5, 1e275, 10**20, "x", math.inf, -math.inf, [], object()])
def test_what_is_no_exit_code_is_not_known(code):
    assert close_loop("odd", exit_code=code).exit_code is None
    assert "(exit code unknown)" in close_loop("odd", exit_code=code).next_prompt


@pytest.mark.parametrize("size", [10_000, 1_000_000])
def test_prompt_and_labels_are_bounded_however_large_one_line_is(size):
    said = f'a.py:1: error: "{"x" * size}" is not defined  [name-defined]'
    report = close_loop(f"{said}\nFound 1 error in 1 file (checked 1 source file)\n", exit_code=1)
    assert len(report.next_prompt.encode()) <= 8_000
    assert all(len(e.label) <= 350 and len(e.snippet) <= 2_100 for e in report.evidence)


def test_evidence_holds_no_credentials():
    token = "ghp_" + "a1B2" * 9
    text = PYTEST.replace("assert 3 == 4\n", f"ValueError: bad token {token}\n")
    for report in (close_loop(text, exit_code=1), close_loop(MYPY.replace("totl", token), exit_code=1)):
        assert report.evidence
        assert token not in report.next_prompt
        assert not any(token in e.snippet + e.label for e in report.evidence)
    assert not any(token in e.snippet for e in run_detectors(observe(text, exit_code=1)))


# The parts by themselves


def test_list_of_detectors():
    assert list_detector_ids() == tuple(d.id for d in DEFAULT_DETECTORS)
    assert list_detector_ids()[0] == "internal-error"


def test_single_detectors_are_functions_of_an_observation():
    names = [name for name in loop_close.__all__ if name.startswith("detect_")]
    assert len(names) == 10
    seen = observe(f"{MYPY}\n{PYTEST}", exit_code=1)
    found = {name: getattr(loop_close, name)(seen) for name in names}
    assert found["detect_typecheck_errors"]
    assert found["detect_syntax_errors"] == ()
    assert found["detect_test_failures"] == run_detectors(seen, only=["test-failure"])


@pytest.mark.parametrize(
    "call",
    [
        lambda: run_detectors(observe(MYPY), only=["typecheck-eror"]),
        lambda: close_loop(MYPY, detectors=["typecheck-eror", "crash"]),
    ],
)
def test_unknown_detector_is_an_error_that_names_those_there_are(call):
    with pytest.raises(
        ValueError, match=r"unknown detector 'typecheck-eror'; known detectors: internal-error, .*stack-trace"
    ):
        call()


def test_detector_of_ones_own():
    mine = Detector(
        id="mine",
        label="odd thing",
        priority=5,
        description="odd",
        hint="Look.",
        detect=lambda o: [Evidence(kind="mine", snippet="odd", file="a.py", line=3)],
    )
    report = close_loop("x", exit_code=1, detectors=[mine, "test-failure"])
    assert report.stall_reason == "1 odd thing detected"
    assert "a.py:3" in report.next_prompt


@pytest.mark.parametrize(
    ("number", "reason"), [(1, "1 test failure detected"), (3, "3 test failures detected")]
)
def test_report_of_evidence(number, reason):
    report = emit_report(evidence(number), 1)
    assert report.stall_reason == reason
    assert report.next_prompt.startswith(f"# {reason.removesuffix(' detected')}: ")
    assert report.evidence == tuple(evidence(number))


def test_ten_are_shown_and_the_rest_counted():
    text = emit_report(evidence(15), 1).next_prompt
    assert text.count("\n## ") == 10 + len(["Fix by", "Files touched"])
    assert "and 5 more" in text


def test_files_are_sorted_and_at_most_twenty_five():
    text = emit_report(evidence(30)[::-1], 1).next_prompt.partition("## Files touched\n")[2]
    files = [line for line in text.splitlines() if line.startswith("- ")]
    assert files == [*(f"- `t{n:02}.py`" for n in range(25)), "- and 5 more"]


@pytest.mark.parametrize(
    ("text", "advice"),
    [("ModuleNotFoundError: No module named 'requests'\n", "install"), (MYPY, "signature or annotation")],
)
def test_advice_of_the_first_kind(text, advice):
    said = close_loop(text, exit_code=1).next_prompt
    assert advice in said.partition("## Fix by\n")[2].split("\n## ")[0]
    assert said.count("## Fix by") == 1


def test_no_evidence():
    assert emit_report([], 0) == emit_no_stall_report(0) == emit_no_stall_report()
    assert emit_no_stall_report(0).stall_reason == "no-stall-detected"
    assert emit_no_stall_report(0).verdict == "green"
    assert emit_no_stall_report(5).stall_reason == "no-patterns-matched"
    assert emit_no_stall_report(None).verdict == "error"


@settings(max_examples=60)
@given(st.text() | st.binary(), st.text(), st.none() | st.integers(-300, 300) | st.floats())
def test_total_and_deterministic(stdout, stderr, code):
    first = close_loop(stdout, stderr, code)
    assert first == close_loop(stdout, stderr, code)
    assert "\x1b" not in first.next_prompt
    assert first.next_prompt.startswith("# ")
    assert "\n# " not in first.next_prompt.partition("```")[0]


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (0, "budget must be a whole number of tokens, at least 400, not 0"),
        ("x", "budget must be a whole number"),
    ],
)
def test_wrong_budget_is_named(budget, words):
    with pytest.raises(ValueError, match=words):
        close_loop(MYPY, budget=budget)


@pytest.mark.parametrize("code", [0, None])
def test_fewer_detectors_do_not_make_it_green(code):
    assert close_loop(MYPY, exit_code=code, detectors=[]).verdict == "error"
    assert close_loop(MYPY, exit_code=code, detectors=["timeout"]).stall_reason != "no-stall-detected"
