import pytest
from called import called, calls, nodeid
from records import failure, raised

from loop_close.causes.suspects.merge import merged
from loop_close.model import Evidence, RootCause

TOTAL = called("total", 10, passed=20, lines={1: 20, 2: 0, 3: 18})
TAX = called("tax", 30, passed=20, lines={1: 20, 2: 0})


def cause(*tests, kind="test-failure", id="00000000", exc=None, **fields):
    found = [failure(exc or raised(**fields), nodeid=nodeid(test)) for test in tests]
    evidence = tuple(Evidence(kind=kind, snippet="", failure=each) for each in found)
    return RootCause(id=id, kind=kind, evidence=evidence)


def test_nothing_is_known():
    assert merged([cause("test_a"), cause("test_b")], None) == [[0], [1]]
    assert merged([], calls(TOTAL)) == []


def test_a_line_that_all_passing_tests_run_tells_nothing():
    known = calls(TOTAL, passed=20, test_a=[(0, 1)], test_b=[(0, 1)])
    assert merged([cause("test_a"), cause("test_b")], known) == [[0], [1]]


def test_different_lines():
    known = calls(TOTAL, TAX, passed=20, test_a=[(0, 2)], test_b=[(1, 2)])
    assert merged([cause("test_a"), cause("test_b")], known) == [[0], [1]]


def test_one_line_that_no_passing_test_ran():
    known = calls(TOTAL, TAX, passed=20, test_a=[(0, 2)], test_b=[(0, 1), (0, 2)], test_c=[(1, 2)])
    assert merged([cause("test_a"), cause("test_c"), cause("test_b")], known) == [[0, 2], [1]]


def test_three_that_are_one():
    known = calls(TOTAL, passed=20, test_a=[(0, 2)], test_b=[(0, 2)], test_c=[(0, 2)])
    assert merged([cause("test_a"), cause("test_b"), cause("test_c")], known) == [[0, 1, 2]]


def test_a_line_of_a_few_of_many_failing_tests():
    many = {f"test_{n}": [(0, 1)] for n in range(9)} | {"test_9": [(0, 2)]}
    known = calls(TOTAL, passed=20, test_a=[(0, 2)], **many)
    assert merged([cause(*many), cause("test_a")], known) == [[0], [1]]


@pytest.mark.parametrize("type", ["NameError", "ImportError"])
def test_what_is_missing_is_told_apart(type):
    known = calls(TOTAL, passed=20, test_a=[(0, 2)], test_b=[(0, 2)])
    missing = {"type": type, "details": {"name": "x"}}
    assert merged([cause("test_a", **missing), cause("test_b", **missing)], known) == [[0], [1]]


@pytest.mark.parametrize(("passed", "expected"), [(4, [[0], [1]]), (5, [[0, 1]])])
def test_two_are_one_only_where_others_call_the_function(passed, expected):
    known = calls(called("total", 10, passed=passed), passed=20, test_a=[(0, 2)], test_b=[(0, 2)])
    assert merged([cause("test_a"), cause("test_b")], known) == expected


def test_kinds_are_told_apart():
    known = calls(TOTAL, passed=20, test_a=[(0, 2)], test_b=[(0, 2)])
    assert merged([cause("test_a"), cause("test_b", kind="timeout")], known) == [[0], [1]]


def test_reprs_are_run_to_tell_of_the_failure():
    shown = called("Cart.__repr__", 90)
    known = calls(shown, passed=20, test_a=[(0, 1)], test_b=[(0, 1)])
    assert merged([cause("test_a"), cause("test_b")], known) == [[0], [1]]


def test_a_line_that_many_passing_tests_run_is_not_odd_however_many_fail():
    setup = called("load", 10, passed=6, lines={1: 6})
    ran = {f"test_{n}": [(0, 1)] for n in range(16)}
    names = sorted(ran)
    assert merged([cause(*names[:8]), cause(*names[8:])], calls(setup, passed=6, **ran)) == [[0], [1]]
