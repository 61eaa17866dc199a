import pytest
from called import CART, called, calls, nodeid
from hypothesis import given
from hypothesis import strategies as st
from records import failure, in_test, raised, verdict

from loop_close.causes.candidates import Candidate
from loop_close.causes.locate import CauseEvidence, LinesRun, averaged, located, others
from loop_close.model import Evidence, RootCause


def tells(**blamed):
    """A root cause that blames one function, and whose tests ran the same line that some passing ones ran as well."""
    return [
        CauseEvidence(
            kind="test-failure",
            blame={(CART, function): (1.0, 5)},
            lines=LinesRun(
                tests=frozenset({name}), failed={(0, 1): 1}, passed={(0, 1): 8}, scores=[(0.3, (0, 1))]
            ),
            place=None,
        )
        for name, function in blamed.items()
    ]


def found(**shares):
    each = ((c, Candidate(file=CART, function=c, spectrum=None, clue=None, features={})) for c in shares)
    return sorted(((shares[c], one) for c, one in each), key=lambda each: (-each[0], each[1].function))


def of(scores):
    return {candidate.function: round(share, 3) for share, candidate in scores}


def test_one_by_itself_has_no_others():
    assert others(dict(enumerate(tells(a="total")))) == {0: []}
    assert others({}) == {}


def test_those_that_blame_the_same_come_before_those_that_do_not():
    near = others(dict(enumerate(tells(a="total", b="tax", c="total"))))
    assert [number for number, _ in near[0]] == [2, 1]
    (_, likely), (_, unlikely) = near[0]
    assert likely > unlikely > 0
    assert near[2] == [(0, likely), (1, unlikely)]


def test_no_more_than_two():
    near = others(dict(enumerate(tells(a="total", b="tax", c="total", d="total", e="total"))))
    assert [number for number, _ in near[0]] == [2, 3]


def test_one_that_is_most_probably_another_fault():
    one, other = tells(a="total", b="tax")
    lines = LinesRun(tests=frozenset("b"), failed={(1, 1): 1}, passed={(1, 1): 0}, scores=[(1.0, (1, 1))])
    apart = CauseEvidence(kind=other.kind, blame=other.blame, lines=lines, place=None)
    own = LinesRun(tests=frozenset("a"), failed={(2, 1): 1}, passed={(2, 1): 0}, scores=[(1.0, (2, 1))])
    assert others({0: CauseEvidence(kind=one.kind, blame=one.blame, lines=own, place=None), 1: apart}) == {
        0: [],
        1: [],
    }


def test_alone_the_shares_stay():
    own = found(total=0.75, tax=0.25)
    assert averaged(own, []) == own


@pytest.mark.parametrize(
    ("odds", "expected"),
    [
        (0.25, {"total": 0.64, "tax": 0.32}),
        (1.0, {"tax": 0.5, "total": 0.4}),
        (3.0, {"tax": 0.65, "total": 0.2}),
    ],
)
def test_the_mean_by_the_odds(odds, expected):
    """What only the other one's tests ran is not a suspect of this one."""
    scores = averaged(found(total=0.8, tax=0.2), [(odds, found(tax=0.8, add=0.2))])
    assert [*of(scores).items()] == [*expected.items()]


def test_two_others():
    scores = averaged(found(total=0.8, tax=0.2), [(1.0, found(tax=1.0)), (2.0, found(total=0.5, tax=0.5))])
    assert of(scores) == {"tax": 0.55, "total": 0.45}


shares = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 1), min_size=1)


def to_one(each):
    return {name: share / sum(each.values()) for name, share in each.items()}


@given(shares, st.lists(st.tuples(st.floats(0.05, 50), shares), max_size=2))
def test_shares_stay_shares(own, wholes):
    scores = averaged(found(**to_one(own)), [(odds, found(**to_one(each))) for odds, each in wholes])
    assert {candidate.function for _, candidate in scores} == own.keys()
    assert 0 < sum(share for share, _ in scores) <= 1.000001
    assert [share for share, _ in scores] == sorted((share for share, _ in scores), reverse=True)


def cause(id, *tests, exc=None):
    failures = [failure(exc or verdict(test=test), nodeid(test)) for test in tests]
    evidence = tuple(Evidence(kind="test-failure", snippet="", failure=each) for each in failures)
    return RootCause(id=id, kind="test-failure", evidence=evidence)


def test_what_the_tests_of_another_one_tell():
    """By its own test it is the function that ran last; the other one's runs only the one before."""
    functions = called("tax", 10, 5, {1: 5}), called("total", 30, 5, {1: 5}), called("setup", 50, 9, {1: 9})
    ran = {"a": [(2, 1), (1, 1), (0, 1)], "b": [(2, 1), (1, 1)]}
    known = calls(*functions, passed=40, **ran)
    causes = [cause("a", "a"), cause("b", "b", exc=raised(frames=[in_test()]))]
    alone, _ = located([causes[0], cause("c", "unknown")], known)
    first, _ = located(causes, known)
    assert alone.suspects[0].function == "tax"
    assert first.suspects[0].function == "total"
    assert first.suspects[0].failed == (1, 1)  # by its own failures


def test_what_is_told_by_a_name_has_no_others():
    known = calls(
        called("tax", 10, 5, {1: 5}),
        called("total", 30, 5, {1: 5}),
        passed=40,
        a=[(0, 1), (1, 1)],
        b=[(1, 1)],
    )
    missing = raised(type="NameError", details={"name": "x"})
    (alone,) = located([cause("a", "a", exc=missing)], known)
    both = {each.id: each for each in located([cause("a", "a", exc=missing), cause("b", "b")], known)}
    assert both["a"].suspects == alone.suspects != ()
