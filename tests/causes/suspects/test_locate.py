import pytest
from called import called, calls, nodeid
from msgspec.structs import replace
from records import SRC, failure, origin, raised, verdict

from loop_close.causes.locate import joined, located
from loop_close.model import Evidence, RootCause

TOTAL = called("total", 10, passed=5, file=SRC)


def cause(id, *failures):
    evidence = tuple(Evidence(kind="test-failure", snippet="", failure=each) for each in failures)
    return RootCause(id=id, kind="test-failure", evidence=evidence)


def test_one_cause_stays_as_it_is():
    only = cause("b", failure(verdict(), nodeid("test_a")))
    assert joined([only], calls(TOTAL, passed=100, test_a=[(0, 1)])) == [only]


def test_two_that_are_one():
    one, two = failure(verdict(), nodeid("test_a")), failure(verdict(), nodeid("test_b"))
    (found,) = joined(
        [cause("b", one), cause("a", two)], calls(TOTAL, passed=100, test_a=[(0, 1)], test_b=[(0, 1)])
    )
    assert (found.id, [e.failure for e in found.evidence]) == ("a", [one, two])


def test_what_both_know_together_decides_anew():
    """The third blames what the first two blame together; all are one in the order of the first of each."""
    failures = [failure(verdict(test=test), nodeid(test)) for test in ("test_a", "test_b", "test_c")]
    known = calls(TOTAL, passed=100, test_a=[(0, 1)], test_b=[(0, 1)], test_c=[(0, 1)])
    (found,) = joined([cause(id, each) for id, each in zip("cba", failures, strict=True)], known)
    assert (found.id, [e.failure for e in found.evidence]) == ("a", failures)


def test_those_that_can_be_none_with_others_take_no_place():
    """Only so many are compared: not those of tests of which nothing is known, nor those that a name tells."""
    unknown = [cause(f"u{n}", *[failure(verdict(), nodeid(f"gone{n}{k}")) for k in "ab"]) for n in range(40)]
    named = raised(type="NameError", details={"name": "x"})
    names = [
        cause(f"n{n}", *[failure(named, nodeid(test)) for test in ("test_a", "test_b")]) for n in range(40)
    ]
    pair = [
        cause("b", failure(verdict(), nodeid("test_a"))),
        cause("a", failure(verdict(), nodeid("test_b"))),
    ]
    known = calls(TOTAL, passed=100, test_a=[(0, 1)], test_b=[(0, 1)])
    assert (
        len(joined([*unknown, *names, *pair], known)) == len(joined([*pair, *names, *unknown], known)) == 81
    )


@pytest.mark.parametrize(
    ("type", "details", "expected"),
    [
        ("NameError", {"name": "x"}, 2),
        ("ImportError", {"name": "x"}, 2),
        ("ValueError", {"fixture": "x"}, 2),
        ("AttributeError", {"name": "x", "owner": "Cart"}, 1),
    ],
)
def test_what_is_missing_by_name(type, details, expected):
    missing = failure(raised(type=type, details=details), nodeid("test_a"))
    known = calls(TOTAL, passed=100, test_a=[(0, 1)], test_b=[(0, 1)])
    assert (
        len(joined([cause("a", missing), cause("b", failure(verdict(), nodeid("test_b")))], known))
        == expected
    )


def test_the_failure_about_the_first_suspect_is_shown():
    far = failure(verdict(), nodeid("test_a"))
    near = failure(verdict(origin("total")), nodeid("test_b"))
    (found,) = located([cause("a", far, near)], calls(TOTAL, passed=100, test_a=[(0, 1)], test_b=[(0, 1)]))
    assert [e.failure for e in found.evidence] == [near, far]
    assert found.suspects[0].function == "total"


def test_the_cause_whose_first_suspect_explains_most_failures_comes_first():
    known = calls(TOTAL, called("tax", 50, 9, {1: 9}), passed=10, test_a=[(1, 1)], test_b=[(0, 1)])
    sure = cause("a", failure(raised(), nodeid("test_b")))
    unsure = cause("b", failure(verdict(), nodeid("test_a")))
    many = cause("c", *(failure(verdict(), nodeid(f"test_{n}")) for n in range(30)))
    assert [found.id for found in located([unsure, sure], known)] == ["a", "b"]
    assert [found.id for found in located([many, sure], known)] == [
        "c",
        "a",
    ]  # where nothing is likely, it has a tenth
    blocking = replace(unsure, kind="syntax-error")
    assert [found.id for found in located([blocking, sure], known)] == ["b", "a"]


def test_without_a_suspect_the_order_stays():
    failures = failure(verdict(), nodeid("test_a")), failure(verdict(), nodeid("test_b"))
    (found,) = located([cause("a", *failures)], None)
    assert ([e.failure for e in found.evidence], found.suspects) == ([*failures], ())
