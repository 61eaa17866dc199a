"""The words of signals: facts of the runs that they name."""

import re

import pytest
from histories import did, history, node

from loop_close.loop import fold
from loop_close.records import Objection, OldOutcome
from loop_close.signals import KINDS, signals

SAID = {
    "the same failure in runs 1, 2 and 3, with edits between them": [did("", "a")] * 3,
    "still failing in runs 1, 2 and 3, with other values": [did("", {"a": f"s={n}"}) for n in (7, 5, 7)],
    "still failing in runs 1, 2 and 3, some with other values": [
        did("", {"a": f"s={n}", "b": "t"}) for n in (7, 5, 7)
    ],
    "nearly the same message in runs 1, 2 and 3": [
        did("", {"a": f"s~cannot move the crate to place {place}"}) for place in ("north", "nord", "norte")
    ],
    "runs 3 and 4 have the same failures as runs 1 and 2: a cycle of 2 attempts": [
        did("", test) for test in "abab"
    ],
    "in each of runs 3, 4 and 5 tests were fixed and tests were broken; failing after them: 2, 2, 2": [
        did("", tests) for tests in ("a b c", "d b", "e b", "f b", "g b")
    ],
    "passed before and fails since run 3": [did("", "a"), did("", "a", edit="none"), did("", "a b")],
    "no project file changed between runs 2, 3 and 4": [did("", "a")] * 2 + [did("", "a", edit="none")] * 2,
    "only comments, formatting, docstrings or prose changed between runs 1, 2 and 3": [
        did("", "a"),
        did("", "a", edit="ineffective"),
        did("", "a", edit="none"),
    ],
    "passed and failed on the same code; last changed in run 3; counted neither way": [
        did("", "a f"),
        did("", "a", edit="none"),
        did("", "a f", edit="none"),
    ],
    "failures of the network, the disk, the memory or a worker in runs 1 and 3; counted neither way": [
        did("", {"a": "s", "t": "!net"}),
        did("", "a"),
        did("", {"a": "s", "t": "!net"}),
    ],
}


@pytest.mark.parametrize("said", SAID)
def test_explanation(said):
    runs = history(SAID[said])
    found = {signal.explanation: signal for signal in signals(fold(runs), runs)}
    assert said in found
    named = " ".join(re.findall(r"runs? ([\d, and]+)", said))
    assert {int(number) for number in re.findall(r"\d+", named)} <= {*found[said].runs}


def test_tests_of_a_repeated_failure_are_those_that_failed_in_all_of_its_runs():
    runs = history([did("", "a b"), did("", "a b"), did("", "a b c")])
    (signal,) = (each for each in signals(fold(runs), runs) if each.kind == "repeated-failure")
    assert (signal.runs, signal.tests) == ((1, 2, 3), (node("a"), node("b")))


def test_a_run_that_advanced_has_no_signal_of_standing_still():
    runs = history([did("", "a b"), did("", "a b"), did("", "a b"), did("", "b")])
    assert [len(signals(fold(runs[:n]), runs[:n])) for n in (3, 4)] == [1, 0]


OBJECTION = Objection(
    files=("tests/test_a.py", "tests/conftest.py"),
    tests=(OldOutcome(test=node("a"), outcome="failed", reason="assert 7 == 6"),),
    omitted=2,
)


@pytest.mark.parametrize(
    ("objection", "said"),
    [
        (
            OBJECTION,
            "differing from the tests as they were: tests/test_a.py, tests/conftest.py; 3 of the old tests do not pass",
        ),
        (
            Objection(files=("tests/test_a.py",), reason="no module named shop"),
            "differing from the tests as they were: tests/test_a.py; the old tests did not run: no module named shop",
        ),
    ],
)
def test_an_objection_is_shown_even_if_nothing_fails(objection, said):
    runs = history([did("", "a"), did("")])
    found = signals(fold(runs), runs, [objection])
    assert [(each.kind, each.explanation) for each in found] == [("test-tampering", said)]


def test_signals_come_in_the_order_of_their_kinds():
    runs = history([did("", test + " f") for test in "abab"] + [did("", "b", edit="none")])
    kinds = [each.kind for each in signals(fold(runs), runs, [OBJECTION])]
    assert len(kinds) > 2
    assert kinds == sorted(kinds, key=KINDS.index)
