"""From streams to one observation: what is cut, what counts once, what an exit code makes of it."""

import pytest
from records import failure, raised

from loop_close.model import Counts, Observation
from loop_close.readers.junit_xml import JunitReading
from loop_close.readers.streams import MAX_STREAM, observe, observe_texts, with_junit

MYPY = 'a.py:3: error: Name "x" is not defined  [name-defined]\n'
SUMMARY = "Found 1 error in 1 file (checked 1 source file)\n"
UNITTEST = (
    "\n----------------------------------------------------------------------\nRan 3 tests in 0.001s\n\nOK\n"
)


def places(seen):
    return [(f.file, f.line) for f in seen.failures]


@pytest.mark.parametrize(("code", "number"), [(1, 1), (None, 1), (0, 0)])
def test_line_without_a_summary_counts_unless_all_is_said_to_be_well(code, number):
    assert len(observe(MYPY, exit_code=code).failures) == number


@pytest.mark.parametrize("code", [1, None, 0])
def test_line_with_its_summary_counts_whatever_the_exit_code(code):
    seen = observe(MYPY + SUMMARY, exit_code=code)
    assert places(seen) == [("a.py", 3)]
    assert seen.exit_code == code


def test_first_line_of_what_is_left_of_a_cut_stream_is_no_line():
    text = MYPY.rjust(MAX_STREAM + 5, "x").replace("xa.py", "x a.py")
    assert observe(text, exit_code=1).failures == ()
    assert places(observe("x" * 10 + "\n" + MYPY, exit_code=1)) == [("a.py", 3)]


def test_bytes_are_read():
    assert places(observe(MYPY.encode(), exit_code=1)) == [("a.py", 3)]
    assert places(observe(b"\xff\xfe\n" + MYPY.encode(), exit_code=1)) == [("a.py", 3)]


def test_finding_that_both_streams_tell_is_one():
    assert places(observe(f"one\n{MYPY}", f"two\n{MYPY}", 1)) == [("a.py", 3)]


def test_root_is_taken_off():
    assert places(observe(f"/srv/shop/{MYPY}", exit_code=1, root="/srv/shop")) == [("a.py", 3)]


def test_tests_of_several_runs_add_up():
    seen = observe_texts([UNITTEST, UNITTEST.replace("3", "4")], 0)
    assert seen.counts == Counts(passed=7, collected=7)
    assert seen.expects_tests


def test_green_words_of_a_tool_are_good_news_without_an_exit_code():
    assert observe(UNITTEST).exit_code == 0
    assert observe(UNITTEST + MYPY).exit_code is None
    assert observe("all is well").exit_code is None


RED = JunitReading(failures=(failure(raised(), "t.py::a"),), counts=Counts(failed=1, passed=2))


def test_junit_alone():
    seen = with_junit(Observation(exit_code=None, failures=()), RED)
    assert [f.nodeid for f in seen.failures] == ["t.py::a"]
    assert seen.counts == RED.counts
    green = with_junit(Observation(exit_code=None), JunitReading(counts=Counts(passed=3)))
    assert (green.exit_code, green.expects_tests) == (0, True)


def test_green_file_does_not_make_up_for_a_red_exit_code():
    assert with_junit(Observation(exit_code=1), JunitReading(counts=Counts(passed=3))).exit_code == 1


def test_file_that_broke_off_is_no_good_news():
    broken = JunitReading(counts=Counts(passed=3), incomplete="a.xml:3:1: no element found")
    seen = with_junit(Observation(exit_code=None), broken)
    assert seen.exit_code is None
    assert seen.incomplete == "a.xml:3:1: no element found"


def test_empty_file_is_no_good_news():
    assert with_junit(Observation(exit_code=None), JunitReading()).exit_code is None


def test_failure_that_log_and_file_tell_is_one():
    full = failure(raised(message="as the log tells it"), "t.py::a")
    seen = with_junit(Observation(exit_code=1, failures=(full,), counts=Counts(failed=1)), RED)
    assert seen.failures == (full,)
    bare = failure(None, "t.py::a", message="E")
    assert with_junit(Observation(failures=(bare,)), RED).failures == RED.failures
