import pytest
from called import CART, called, calls, nodeid
from hypothesis import given
from hypothesis import strategies as st
from records import failure, frame, in_test, raised, verdict

from loop_close.causes.locate import agreement, evidence_of, joined, odds
from loop_close.causes.rank import found_for
from loop_close.model import Evidence, RootCause, Site

TOTAL = called("total", 10, passed=5, lines={1: 5})
SETUP = called("setup", 50)
TAX = called("tax", 70)
BOTH = calls(TOTAL, passed=40, a=[(0, 1)], b=[(0, 1)])


def cause(*tests, exc=None, kind="test-failure"):
    found = [failure(exc or verdict(test=test), nodeid(test)) for test in tests]
    evidence = tuple(Evidence(kind=kind, snippet="", failure=each) for each in found)
    return RootCause(id=tests[0], kind=kind, evidence=evidence)


def placed(message="one", function="total", **fields):
    return raised(message=message, frames=[in_test(), frame(CART, function)], **fields)


def group(known, cause):
    return evidence_of(cause, found_for(cause, known), known)


def pairs(causes, known=BOTH):
    """Positions of those that come to be one."""
    found = [[i for i, one in enumerate(causes) if is_in(one, each)] for each in joined(causes, known)]
    return [tuple(each) for each in found if len(each) > 1]


def is_in(cause, joined):
    return any(each is cause.evidence[0] for each in joined.evidence)


def two(first=None, second=None, known=BOTH, **kinds):
    return pairs([cause("a", exc=first), cause("b", exc=second, **kinds)], known) == [(0, 1)]


def weighed(known):
    return odds(group(known, cause("a")), group(known, cause("b")))


def test_nothing_ran():
    assert pairs([cause("a"), cause("b")], calls()) == pairs([]) == []


def test_the_same_function_is_blamed():
    assert two()
    assert not two(kind="timeout")


def test_each_has_a_line_of_its_own_that_no_passing_test_runs():
    """What is in common is run by most passing tests as well."""
    functions = called("parse", 10, 30, {1: 30}), called("total", 30, 5), called("tax", 50, 5)
    assert not two(known=calls(*functions, passed=40, a=[(0, 1), (1, 1)], b=[(0, 1), (2, 1)]))


def test_a_common_line_that_few_passing_tests_run_explains_both():
    """Each has a line of its own as well, which more passing tests run."""
    functions = called("parse", 10, 5, {1: 1}), called("total", 30, 20, {1: 9}), called("tax", 50, 20, {1: 9})
    assert two(known=calls(*functions, passed=40, a=[(0, 1), (1, 1)], b=[(0, 1), (2, 1)]))


def test_one_that_a_few_of_many_failing_tests_ran():
    """The line of one test is not what the others fail by, who have one of their own."""
    many = {f"m{n}": [(0, 1), (1, 1)] for n in range(9)}
    functions = called("total", 10, passed=20, lines={1: 20, 2: 0}), called("tax", 30, passed=5)
    known = calls(*functions, passed=20, b=[(0, 1), (0, 2)], **many, m9=[(0, 1), (0, 2), (1, 1)])
    assert pairs([cause(*many, "m9"), cause("b")], known) == []


def test_what_runs_to_show_a_value_explains_nothing():
    """A file with contexts knows no better."""
    shown, total, tax = called("Cart.__repr__", 90), called("total", 30, 30), called("tax", 50, 30)
    ran = {"a": [(0, 1), (1, 1)], "b": [(0, 1), (2, 1)]}
    assert weighed(calls(shown, total, tax, passed=30, **ran)) < weighed(
        calls(called("Cart.render", 90), total, tax, passed=30, **ran)
    )


def test_exceptions_out_of_two_functions():
    assert two(placed(), placed("two", "tax", type="KeyError"))


CALLED = {"type": "TypeError"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({}, {}, True),
        ({}, {"type": "KeyError"}, False),
        ({}, {"site": Site(frame=frame(CART), statement="other()")}, False),
        (
            {**CALLED, "message": "f() missing 1 argument"},
            {**CALLED, "message": "g() takes 0 arguments"},
            False,
        ),
        (
            {**CALLED, "message": "f() missing 1 argument"},
            {**CALLED, "message": "f() takes 0 arguments"},
            True,
        ),
        ({"message": "list index out of range"}, {"message": "tuple index out of range"}, True),
    ],
)
def test_two_exceptions_out_of_the_function_that_both_blame(first, second, expected):
    """One fault where one statement fails in one way."""
    assert two(placed(**first), placed(**second)) is expected


def test_two_exceptions_out_of_a_function_that_neither_blames():
    """What they were handed is wrong: one fault, that shows in two ways."""
    parse = called("parse", 10, passed=5)
    known = calls(parse, called("total", 30, 39, {1: 39}), passed=40, a=[(0, 1), (1, 1)], b=[(0, 1), (1, 1)])
    assert two(placed(), placed(type="KeyError"), known)


@pytest.mark.parametrize(("passed", "expected"), [(0, False), (1, True)])
def test_what_no_passing_test_runs_says_less(passed, expected):
    """Whatever fails may have to go through the setup."""
    lines = {1: passed} if passed else {}
    setup = called("connect", 10, passed, lines, end_line=30)
    pages = [called(f"page{n}", 20 + 40 * n, passed, lines, end_line=50 + 40 * n) for n in range(4)]
    ran = [(0, 1), (1, 1), (2, 1)], [(0, 1), (3, 1), (4, 1)]
    known = calls(setup, *pages, passed=40, a=ran[0], b=ran[1])
    assert 0.005 < agreement(*(group(known, cause(name)).blame for name in "ab")) < 0.3
    assert two(known=known) is expected


@pytest.mark.parametrize("passed", [0, 2, 4])
def test_a_long_setup_that_few_passing_tests_run(passed):
    """Each has a function of its own that no passing test calls."""
    known = calls(
        called("connect", 10, passed, dict.fromkeys(range(1, 40), passed) if passed else {}, end_line=60),
        called("get_user", 100),
        called("get_order", 200),
        passed=61,
        **{name: [(0, n) for n in range(1, 40)] + [(1, 1)] for name in ("a", "b", "c")},
        **{name: [(0, n) for n in range(1, 40)] + [(2, 1)] for name in ("d", "e", "f")},
    )
    assert pairs([cause("a", "b", "c"), cause("d", "e", "f")], known) == []


def test_a_common_setup_that_no_passing_test_runs_is_not_sure():
    known = calls(SETUP, TOTAL, TAX, passed=40, a=[(0, 1), (1, 1)], b=[(0, 1), (2, 1)])
    assert not two(known=known)


@pytest.mark.parametrize(("plumbed", "own"), [(1000, 500), (1000, 20), (890, 500), (500, 200), (300, 50)])
def test_plumbing_that_many_passing_tests_run_joins_nothing(plumbed, own):
    """Nor does what is joined by it swallow the rest."""
    lines = range(1, 6)
    plumbing = [called(f"p{n}", 100 * n, plumbed, dict.fromkeys(lines, plumbed)) for n in range(1, 21)]
    owned = [called(f"own{n}", 10, own, dict.fromkeys(lines, own), file=f"{n}.py") for n in range(6)]
    ran = {f"t{n}": [(p, k) for p in [*range(20), 20 + n] for k in lines] for n in range(6)}
    assert pairs([cause(test) for test in ran], calls(*plumbing, *owned, passed=1000, **ran)) == []


def test_what_few_of_the_tests_ran_is_not_blamed():
    """Most fail before they run anything; two of them ran what others fail by, and nothing else."""
    known = calls(
        called("add", 10, 14, {1: 14}),
        called("quote", 30, 4, {1: 1}),
        passed=67,
        **{f"e{n}": [(0, 1)] * (n < 2) for n in range(12)},
        **{f"f{n}": [(0, 1), (1, 1)] for n in range(3)},
    )
    early, late = cause(*(f"e{n}" for n in range(12))), cause("f0", "f1", "f2")
    assert group(known, early).blame == {}
    assert pairs([early, late], known) == []


def test_two_failures_of_one_test():
    """As those of subtests are: all that ran is in common, whatever is wrong."""
    functions = [called(f"f{n}", 20 * n, passed=20 + n, lines={1: 20 + n}) for n in range(1, 21)]
    known = calls(*functions, passed=60, a=[(n, 1) for n in range(20)])
    assert (
        pairs(
            [cause("a", exc=placed("one", "f3")), cause("a", exc=placed("two", "f9", type="KeyError"))], known
        )
        == []
    )


shares = st.dictionaries(st.tuples(st.just("a.py"), st.sampled_from("fghij")), st.floats(0, 1), min_size=1)


@given(shares, shares)
def test_agreement_is_a_chance(one, other):
    one, other = ({name: (v / (sum(d.values()) or 1), 0) for name, v in d.items()} for d in (one, other))
    found = agreement(one, other)
    assert 0 <= found <= 1 + 1e-9
    assert found == pytest.approx(agreement(other, one))
    if one.keys().isdisjoint(other.keys()):
        assert found == 0


def test_names_of_tests_do_not_keep_root_causes_of_one_fault_apart():
    ran = [(0, 1), (1, 1)]
    known = calls(called("parse"), called("total", 30), passed=9, test_total=ran, test_parse=ran)
    one, other = (group(known, cause(name)) for name in ("test_total", "test_parse"))
    assert one.blame == other.blame != {}
