from called import CART, called, calls, nodeid
from records import failure, verdict

from loop_close.causes.suspects.elsewhere import with_elsewhere
from loop_close.causes.suspects.rank import found_for
from loop_close.model import Evidence, RootCause

TOTAL = called("total", 10, passed=5, lines={1: 5})
TAX = called("tax", 30, passed=5, lines={1: 5})
SETUP = called("setup", 50, passed=4)
KNOWN = calls(TOTAL, TAX, SETUP, passed=40, a=[(0, 1), (2, 1)], b=[(0, 1), (1, 1), (2, 1)], c=[(1, 1)])


def found(*tests):
    evidence = tuple(
        Evidence(kind="test-failure", snippet="", failure=failure(verdict(test=test), nodeid(test)))
        for test in tests
    )
    return found_for(RootCause(id="00000000", kind="test-failure", evidence=evidence), KNOWN)


def elsewhere(candidates):
    return {c.function: round(c.features.get("elsewhere", -1), 2) for c in candidates}


def test_one_cause_has_no_other():
    only = found("a")
    assert with_elsewhere([only]) == [only]
    assert with_elsewhere([]) == []


def test_what_the_other_finds_odd():
    one, other = with_elsewhere([found("a"), found("b")])
    assert elsewhere(one) == {"total": 0.41, "setup": 0}  # that few passing tests call it says nothing of two
    assert elsewhere(other) == {"total": 0.41, "tax": 0, "setup": 0}


def test_the_least_of_the_others_counts():
    one, *_ = with_elsewhere([found("b"), found("a"), found("c")])
    assert elsewhere(one) == {"total": 0, "tax": 0, "setup": 0}


def test_a_cause_of_which_nothing_is_known_does_not_count():
    one, none, other = with_elsewhere([found("a"), [], found("b")])
    assert (elsewhere(one), none) == ({"total": 0.41, "setup": 0}, [])
    assert [(c.file, c.function) for c in other] == [(CART, "setup"), (CART, "tax"), (CART, "total")]
