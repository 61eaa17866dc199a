import pytest
from called import CART, called, calls, nodeid
from records import failure, frame, in_test, raised, verdict

from loop_close.causes.suspects import shared
from loop_close.causes.suspects.rank import found_for
from loop_close.model import Evidence, RootCause

TOTAL = called("total", 10, passed=5, lines={1: 5})
SETUP = called("setup", 50)
TAX = called("tax", 70)


def cause(*tests, exc=None, kind="test-failure"):
    found = [failure(exc or verdict(test=test), nodeid(test)) for test in tests]
    evidence = tuple(Evidence(kind=kind, snippet="", failure=each) for each in found)
    return RootCause(id=tests[0], kind=kind, evidence=evidence)


def by_likely_suspect(causes, known):
    return shared.by_likely_suspect(causes, [found_for(each, known) for each in causes])


def by_sure_suspect(causes, known):
    return shared.by_sure_suspect(causes, [found_for(each, known) for each in causes])


def ids(groups):
    return [[cause.id for cause in group] for group in groups]


def placed(message, function="total", **fields):
    return raised(message=message, frames=[in_test(), frame(CART, function)], **fields)


BOTH = calls(TOTAL, passed=40, a=[(0, 1)], b=[(0, 1)])


def test_nothing_is_known():
    causes = [cause("a"), cause("b")]
    assert ids(by_likely_suspect(causes, None)) == ids(by_sure_suspect(causes, None)) == [["a"], ["b"]]
    assert by_likely_suspect([], BOTH) == by_sure_suspect([], BOTH) == []


@pytest.mark.parametrize("join", [by_likely_suspect, by_sure_suspect])
def test_the_same_first_suspect(join):
    assert ids(join([cause("a"), cause("b")], BOTH)) == [["a", "b"]]
    assert ids(join([cause("a"), cause("b", kind="timeout")], BOTH)) == [["a"], ["b"]]


def test_two_with_a_place_only_where_it_is_sure():
    causes = [cause("a", exc=placed("one")), cause("b", exc=placed("two", "tax", type="KeyError"))]
    assert ids(by_likely_suspect(causes, BOTH)) == [["a"], ["b"]]
    assert ids(by_sure_suspect(causes, BOTH)) == [["a", "b"]]


def test_two_faults_in_one_function():
    causes = [cause("a", exc=placed("one")), cause("b", exc=placed("two", type="KeyError"))]
    assert ids(by_likely_suspect(causes, BOTH)) == ids(by_sure_suspect(causes, BOTH)) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("type", "details", "expected"),
    [
        ("NameError", {"name": "x"}, [["a"], ["b"]]),
        ("ImportError", {"name": "x"}, [["a"], ["b"]]),
        ("ValueError", {"fixture": "x"}, [["a"], ["b"]]),
        ("AttributeError", {"name": "x", "owner": "Cart"}, [["a", "b"]]),
    ],
)
def test_what_is_missing_by_name(type, details, expected):
    missing = placed("it is missing", type=type, details=details)
    assert ids(by_sure_suspect([cause("a", exc=missing), cause("b")], BOTH)) == expected


def test_a_common_setup_that_no_passing_test_runs_is_not_sure():
    known = calls(SETUP, TOTAL, TAX, passed=40, a=[(0, 1), (1, 1)], b=[(0, 1), (2, 1)])
    causes = [cause("a"), cause("b")]
    assert ids(by_likely_suspect(causes, known)) == ids(by_sure_suspect(causes, known)) == [["a"], ["b"]]


def test_without_counts_a_place_is_not_enough():
    causes = [cause("a", exc=placed("one")), cause("b", exc=placed("two"))]
    assert ids(by_sure_suspect(causes, None)) == [["a"], ["b"]]


@pytest.mark.parametrize("passed", [0, 1, 4])
def test_a_long_setup_that_few_passing_tests_run(passed):
    setup = called("connect", 10, passed=passed, end_line=60)
    known = calls(
        setup,
        called("get_user", 100),
        called("get_order", 200),
        passed=61,
        **{name: [(0, n) for n in range(1, 40)] + [(1, 1)] for name in ("a", "b", "c")},
        **{name: [(0, n) for n in range(1, 40)] + [(2, 1)] for name in ("d", "e", "f")},
    )
    causes = [cause("a", "b", "c"), cause("d", "e", "f")]
    assert ids(by_likely_suspect(causes, known)) == ids(by_sure_suspect(causes, known)) == [["a"], ["d"]]


@pytest.mark.parametrize("type", ["NameError", "ImportError", "AttributeError"])
def test_what_is_missing_is_not_likely_one(type):
    missing = raised(type, "it is missing", [in_test()], details={"name": "x", "owner": "Cart"})
    assert ids(by_likely_suspect([cause("a", exc=missing), cause("b")], BOTH)) == [["a"], ["b"]]
