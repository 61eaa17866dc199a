"""From streams to one observation: what is cut, what counts once, what an exit code makes of it."""

import pytest
from records import failure, raised

from loop_close.judge import report_of
from loop_close.model import Counts, Observation
from loop_close.readers.junit_xml import JunitReading
from loop_close.readers.logs import MAX_LOG
from loop_close.readers.streams import observe, observe_texts, with_junit

MYPY = 'a.py:3: error: Name "x" is not defined  [name-defined]\n'
SUMMARY = "Found 1 error in 1 file (checked 1 source file)\n"
UNITTEST = (
    "\n----------------------------------------------------------------------\nRan 3 tests in 0.001s\n\nOK\n"
)


def places(seen):
    return [(f.file, f.line) for f in seen.failures]


@pytest.mark.parametrize("code", [1, None, 0])
@pytest.mark.parametrize("around", ["{}", "The manual shows\nwhat mypy prints\nof it:\n{}", f"{{}}{SUMMARY}"])
def test_line_counts_whatever_the_exit_code(around, code):
    seen = observe(around.format(MYPY), exit_code=code)
    assert places(seen) == [("a.py", 3)]
    assert seen.exit_code == code


def test_partial_first_line_of_a_cut_stream_is_dropped():
    text = MYPY.rjust(MAX_LOG + 5, "x").replace("xa.py", "x a.py")
    assert observe(text, exit_code=1).failures == ()
    assert places(observe("x" * 10 + "\n" + MYPY, exit_code=1)) == [("a.py", 3)]


def test_bytes_are_read():
    assert places(observe(MYPY.encode(), exit_code=1)) == [("a.py", 3)]
    assert places(observe(b"\xff\xfe\n" + MYPY.encode(), exit_code=1)) == [("a.py", 3)]


def test_finding_that_both_streams_tell_is_one():
    assert places(observe(f"one\n/srv/shop/{MYPY}", f"two\n{MYPY}", 1, root="/srv/shop")) == [("a.py", 3)]


def test_tests_of_several_runs_add_up():
    seen = observe_texts([UNITTEST, UNITTEST.replace("3", "4")], 0)
    assert seen.counts == Counts(passed=7, collected=7)
    assert seen.expects_tests


NO_SUMMARY = f"""\
============================= test session starts ==============================
rootdir: /srv/shop
collected 4 items

test_mix.py FFE.                                                         [100%]

{" 2 failed, 1 passed, 1 error in 0.12s ":=^80}
"""
MYPY_GREEN = "Success: no issues found in 5 source files\n"


@pytest.mark.parametrize(
    "text",
    [
        UNITTEST,
        MYPY_GREEN,
        "All checks passed!\n",
        "  py311: OK (1.00 seconds)\n  congratulations :) (1.10 seconds)\n",
    ],
)
def test_tools_own_green_words_at_the_end_are_good_news(text):
    seen = observe(text)
    assert (seen.exit_code, seen.is_good_news) == (None, True)
    assert report_of(seen).verdict == "green"


@pytest.mark.parametrize(
    "text",
    [
        "all is well\n",
        UNITTEST + MYPY,
        f"{MYPY_GREEN}##[error]Process completed with exit code 1.\n",
        f"##[error]Process completed with exit code 1.\n{MYPY_GREEN}",
        f"npm ERR! Test failed\n{MYPY_GREEN}",
        f"black....................................Failed\n{MYPY_GREEN}",
        "noise\n" * 200_000 + MYPY_GREEN,
    ],
)
def test_other_output_is_not_green(text):
    assert report_of(observe(text)).verdict != "green"


@pytest.mark.parametrize("stream", [[], ["3 passed"], 5, object()])
def test_binary_data_is_not_green(stream):
    assert report_of(observe(stream)).verdict == "error"
    assert report_of(observe("", exit_code="x")).verdict == "error"


@pytest.mark.parametrize("code", [0, 1, None])
def test_failures_that_are_only_counted_are_failures(code):
    report = report_of(observe(NO_SUMMARY, exit_code=code))
    assert report.verdict == "red"
    assert report.stall_reason == "3 test failures detected"
    assert "3 failing tests counted in the output" in report.evidence[0].snippet


@pytest.mark.parametrize(("given", "code"), [("1", 1), (" -11 ", -11), (True, 1), ("x", None), (2**40, None)])
def test_exit_code_in_other_shapes(given, code):
    assert observe("x", exit_code=given).exit_code == code


NOTHING_ELSE = Observation(exit_code=None, is_good_news=True)


def outcomes(**numbers):
    return {f"{name} {n}": (name,) for name, number in numbers.items() for n in range(number)}


RED = JunitReading(failures=(failure(raised(), "t.py::a"),), cases=outcomes(failed=1, passed=2))


def test_junit_alone():
    seen = with_junit(Observation(exit_code=None, failures=()), RED)
    assert [f.nodeid for f in seen.failures] == ["t.py::a"]
    assert seen.counts == RED.counts
    counted = with_junit(NOTHING_ELSE, JunitReading(cases=outcomes(failed=2, passed=1)))
    assert report_of(counted).verdict == "red"
    green = with_junit(NOTHING_ELSE, JunitReading(cases=outcomes(passed=3)))
    assert (green.exit_code, report_of(green).verdict) == (None, "green")


@pytest.mark.parametrize("seen", [Observation(exit_code=1), observe("something else\n")])
def test_green_file_does_not_make_up_for_a_red_exit_code_or_an_unknown_log(seen):
    report = report_of(with_junit(seen, JunitReading(cases=outcomes(passed=3))))
    assert report.verdict == "error"


def test_truncated_or_empty_file_is_not_green():
    broken = JunitReading(cases=outcomes(passed=3), problems=("a.xml:3:1: no element found",))
    seen = with_junit(NOTHING_ELSE, broken)
    assert report_of(seen).verdict == "error"
    assert seen.incomplete == "a.xml:3:1: no element found"
    assert report_of(with_junit(NOTHING_ELSE, JunitReading())).verdict == "error"


def test_failure_that_log_and_file_tell_is_one():
    full = failure(raised(message="as the log tells it"), "t.py::a")
    seen = with_junit(Observation(exit_code=1, failures=(full,), counts=Counts(failed=1)), RED)
    assert seen.failures == (full,)
    bare = failure(None, "t.py::a", message="E")
    assert with_junit(Observation(failures=(bare,)), RED).failures == RED.failures
