import pytest
from called import CART, called, calls, nodeid
from hypothesis import given
from hypothesis import strategies as st
from records import failure, frame, in_test, raised, verdict

from loop_close.causes.suspects.rank import found_for
from loop_close.causes.suspects.shared import agreement, alike, blame
from loop_close.model import Evidence, RootCause, Site

TOTAL = called("total", 10, passed=5, lines={1: 5})
SETUP = called("setup", 50)
TAX = called("tax", 70)
BOTH = calls(TOTAL, passed=40, a=[(0, 1)], b=[(0, 1)])
#: Ten functions that both tests ran.
TEN = calls(
    *(called(f"f{n}", 20 * n, passed=6) for n in range(1, 11)),
    passed=40,
    a=[(n, 1) for n in range(10)],
    b=[(n, 1) for n in range(10)],
)


#: Each test has a function of its own; what both ran most passing tests run as well.
SHARING = calls(
    called("parse", 10, passed=30, lines={1: 30}),
    called("total", 30, passed=5),
    called("tax", 50, passed=5),
    passed=40,
    a=[(0, 1), (1, 1)],
    b=[(0, 1), (2, 1)],
)


def cause(*tests, exc=None, kind="test-failure"):
    found = [failure(exc or verdict(test=test), nodeid(test)) for test in tests]
    evidence = tuple(Evidence(kind=kind, snippet="", failure=each) for each in found)
    return RootCause(id=tests[0], kind=kind, evidence=evidence)


def placed(message="one", function="total", **fields):
    return raised(message=message, frames=[in_test(), frame(CART, function)], **fields)


def pairs(causes, known, functions=None):
    """Of a group each."""
    number = len(known.functions) if functions is None and known is not None else functions or 0
    return alike([(each,) for each in causes], [found_for(each, known) for each in causes], number)


def two(first=None, second=None, known=BOTH, **kinds):
    return pairs([cause("a", exc=first), cause("b", exc=second, **kinds)], known) == [(0, 1)]


def test_nothing_is_known():
    assert pairs([cause("a"), cause("b")], None) == pairs([], BOTH) == []


def test_the_same_function_is_blamed():
    assert two()
    assert not two(kind="timeout")


def test_two_with_a_place_only_where_it_is_sure():
    assert two(placed(), placed("two", "tax", type="KeyError"))
    judged, other = cause("a", exc=placed("one", "f1")), cause("b", exc=placed("two", "f2", type="KeyError"))
    assert pairs([judged, cause("b")], TEN, functions=500) == [(0, 1)]
    assert pairs([judged, other], TEN, functions=500) == []


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({}, {}, True),
        ({}, {"type": "KeyError"}, False),
        ({}, {"site": Site(frame=frame(CART), statement="other()")}, False),
        ({"message": "f() missing 1 argument"}, {"message": "g() takes 0 arguments"}, False),
        ({"message": "f() missing 1 argument"}, {"message": "f() takes 0 arguments"}, True),
        ({"message": "list index out of range"}, {"message": "tuple index out of range"}, True),
    ],
)
def test_two_exceptions_out_of_one_function(first, second, expected):
    """One fault where one statement fails in one way."""
    assert two(placed(**first), placed(**second)) is expected


def test_what_a_group_holds_counts():
    """An exception of another type out of the same function is kept apart from all that is in the group."""
    groups = [(cause("a"), cause("b", exc=placed())), (cause("c", exc=placed("two", type="KeyError")),)]
    known = calls(TOTAL, passed=40, a=[(0, 1)], b=[(0, 1)], c=[(0, 1)])
    found = [found_for(group[0], known) for group in groups]
    assert alike(groups, found, 1) == []
    assert alike([groups[0][:1], groups[1]], found, 1) == [(0, 1)]


@pytest.mark.parametrize(
    ("type", "details", "expected"),
    [
        ("NameError", {"name": "x"}, False),
        ("ImportError", {"name": "x"}, False),
        ("ValueError", {"fixture": "x"}, False),
        ("AttributeError", {"name": "x", "owner": "Cart"}, True),
    ],
)
def test_what_is_missing_by_name(type, details, expected):
    assert two(placed("it is missing", type=type, details=details)) is expected


def test_a_common_setup_that_no_passing_test_runs_is_not_sure():
    known = calls(SETUP, TOTAL, TAX, passed=40, a=[(0, 1), (1, 1)], b=[(0, 1), (2, 1)])
    assert not two(known=known)


def test_without_counts_a_place_is_not_enough():
    assert not two(placed(), placed("two"), known=None)


@pytest.mark.parametrize(("passed", "expected"), [(0, False), (1, True), (5, True)])
def test_what_no_passing_test_runs_says_less(passed, expected):
    """What speaks for two functions at all speaks for the one as much as for the other."""
    lines = {1: passed} if passed else {}
    functions = called("select", 10, passed, lines), called("connect", 30, passed, lines)
    ran = [(0, 1), (1, 1), (0, 2), (1, 2)]
    known = calls(*functions, passed=40, a=ran, b=[ran[1], ran[0], ran[3], ran[2]])
    agreed = agreement(*[blame(found_for(cause(name), known)) for name in "ab"])
    assert 0.3 <= agreed < 0.6
    assert two(known=known) is expected


def test_plumbing_that_any_two_share_says_nothing():
    """However many functions there are that have nothing to do with either."""
    assert pairs([cause("a"), cause("b")], SHARING, functions=10_000) == []


@pytest.mark.parametrize("passed", [0, 1, 4])
def test_a_long_setup_that_few_passing_tests_run(passed):
    known = calls(
        called("connect", 10, passed=passed, end_line=60),
        called("get_user", 100),
        called("get_order", 200),
        passed=61,
        **{name: [(0, n) for n in range(1, 40)] + [(1, 1)] for name in ("a", "b", "c")},
        **{name: [(0, n) for n in range(1, 40)] + [(2, 1)] for name in ("d", "e", "f")},
    )
    assert pairs([cause("a", "b", "c"), cause("d", "e", "f")], known, functions=200) == []


def test_the_more_functions_there_are_the_more_an_agreement_says():
    """Both blame ten functions alike: one in ten by chance where there are ten, and hardly any where there are 200."""
    assert pairs([cause("a"), cause("b")], TEN, functions=10) == []
    assert pairs([cause("a"), cause("b")], TEN, functions=200) == [(0, 1)]


def test_each_once_and_those_that_agree_most_first():
    known = calls(TOTAL, TAX, passed=40, a=[(0, 1), (1, 1)], b=[(0, 1)], c=[(0, 1)])
    assert pairs([cause("a"), cause("b"), cause("c")], known) == [(1, 2)]


shares = st.dictionaries(st.tuples(st.just("a.py"), st.sampled_from("fghij")), st.floats(0, 1), min_size=1)


@given(shares, shares)
def test_agreement_is_a_chance(one, other):
    one, other = ({name: (v / (sum(d.values()) or 1), 0) for name, v in d.items()} for d in (one, other))
    found = agreement(one, other)
    assert 0 <= found <= 1 + 1e-9
    assert found == pytest.approx(agreement(other, one))
    if one.keys().isdisjoint(other.keys()):
        assert found == 0
