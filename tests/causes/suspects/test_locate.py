import pytest
from called import CART, called, calls, nodeid
from loops import edited, loop, step
from loops import known as failing
from records import failure, frame, in_test, origin, raised, verdict

from loop_close.causes import joined, located
from loop_close.model import Evidence, RootCause

TOTAL = called("total", 10, passed=5, lines={1: 5})
BOTH = calls(TOTAL, passed=100, a=[(0, 1)], b=[(0, 1)], c=[(0, 1)])


def cause(*tests, exc=None, kind="test-failure", id=None):
    found = [failure(exc or verdict(test=test), nodeid(test)) for test in tests]
    evidence = tuple(Evidence(kind=kind, snippet="", failure=each) for each in found)
    return RootCause(id=id or tests[0], kind=kind, evidence=evidence)


def parts(causes, known=BOTH):
    """The tests of each cause."""
    return [
        "".join(e.failure.nodeid.rpartition("::")[2] for e in each.evidence) for each in joined(causes, known)
    ]


def are_one(first=None, second=None, known=BOTH, **fields):
    return len(joined([cause("a", exc=first), cause("b", exc=second, **fields)], known)) == 1


def placed(function="total", **fields):
    return raised(frames=[in_test(), frame(CART, function)], **fields)


def test_one_cause_stays_as_it_is():
    only = cause("b")
    assert joined([only], BOTH) == [only]
    assert joined([], BOTH) == []


def test_causes_that_share_their_suspects_are_one():
    (found,) = joined([cause("b"), cause("a"), cause("c")], BOTH)
    assert (found.id, [e.failure.nodeid for e in found.evidence]) == ("a", [nodeid(name) for name in "bac"])


def test_causes_of_two_kinds_are_two():
    assert not are_one(kind="timeout")


def test_causes_whose_tests_ran_nothing_are_not_joined():
    assert parts([cause("a"), cause("b")], calls()) == ["a", "b"]


def test_causes_whose_failures_began_after_edits_of_different_functions_are_two():
    steps = step(1), step(2, edits=edited("total", CART)), step(3, edits=edited("tax", CART))
    began = [failing(nodeid("a"), since=2), failing(nodeid("b"), since=3)]
    known = calls(TOTAL, called("tax", 50, 0), passed=5, a=[(0, 1)], b=[(0, 1), (1, 1)])
    causes = [cause("a"), cause("b")]
    assert len(joined(causes, known)) == 1
    assert len(joined(causes, known, loop(*steps, failing=began))) == 2
    together = [began[0], failing(nodeid("b"), since=2)]
    assert len(joined(causes, known, loop(*steps, failing=together))) == 1


def test_causes_with_functions_of_their_own_are_two():
    """Most passing tests run as well what the two have in common."""
    functions = called("parse", 10, 30, {1: 30}), called("total", 30, 5), called("tax", 50, 5)
    known = calls(*functions, passed=40, a=[(0, 1), (1, 1)], b=[(0, 1), (2, 1)], c=[(0, 1), (2, 1)])
    assert parts([cause("a"), cause("b"), cause("c")], known) == ["a", "bc"]


@pytest.mark.parametrize(("passed", "expected"), [(0, ["ab"]), (4, ["a", "b"])])
def test_a_line_that_sets_the_tests_of_both_apart_as_well_as_of_one_makes_them_one(passed, expected):
    """So many functions are as likely that the one in common has little of the probability."""
    common = called("common", 10, passed, {1: passed} if passed else None)
    own = [called(f"f{n}", 100 * n) for n in range(1, 25)]
    ran = {"a": [(n, 1) for n in range(13)], "b": [(0, 1), *((n, 1) for n in range(13, 25))]}
    assert parts([cause("a"), cause("b")], calls(common, *own, passed=9, **ran)) == expected


def test_causes_of_tests_that_ran_no_function_are_apart():
    known = calls(TOTAL, passed=9, a=[], b=[])
    assert parts([cause("a"), cause("b")], known) == ["a", "b"]


def test_functions_that_all_passing_tests_run_join_nothing():
    lines = range(1, 6)
    plumbing = [called(f"p{n}", 100 * n, 1000, dict.fromkeys(lines, 1000)) for n in range(1, 21)]
    owned = [called(f"own{n}", 10, 20, dict.fromkeys(lines, 20), file=f"{n}.py") for n in range(6)]
    ran = {name: [(p, k) for p in [*range(20), 20 + n] for k in lines] for n, name in enumerate("abcdef")}
    assert parts([cause(name) for name in ran], calls(*plumbing, *owned, passed=1000, **ran)) == [*"abcdef"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (None, None, True),
        ("KeyError", None, True),
        ("KeyError", "KeyError", True),
        ("KeyError", "TypeError", False),
    ],
)
def test_what_one_function_raised_from_different_exceptions_has_different_causes(first, second, expected):
    def wrapped(type):
        return placed(cause=placed("tax", type=type) if type else None)

    assert are_one(wrapped(first), wrapped(second)) is expected


def test_exceptions_of_two_functions_may_have_one_cause():
    assert are_one(placed(), placed("tax", type="KeyError"))


def test_causes_that_cannot_be_joined_do_not_count_among_those_compared():
    unknown = [cause(f"x{n}", f"y{n}") for n in range(40)]
    pair = [cause("b"), cause("a")]
    assert len(joined([*unknown, *pair], BOTH)) == len(joined([*pair, *unknown], BOTH)) == 41


def test_the_failure_about_the_first_suspect_is_shown():
    far, near = failure(verdict(), nodeid("a")), failure(verdict(origin("total", CART)), nodeid("b"))
    evidence = tuple(Evidence(kind="test-failure", snippet="", failure=each) for each in (far, near))
    (found,) = located([RootCause(id="a", kind="test-failure", evidence=evidence)], BOTH)
    assert [e.failure for e in found.evidence] == [near, far]
    assert found.suspects[0].function == "total"


def test_without_a_suspect_the_order_stays():
    (found,) = located([cause("a", "b")], calls())
    assert (found.suspects, found.evidence) == ((), cause("a", "b").evidence)


def test_causes_beyond_the_first_twenty_get_no_suspects():
    found = located([cause("a", id=str(n)) for n in range(21)], BOTH)
    assert [bool(each.suspects) for each in found] == [True] * 20 + [False]
