"""``oscillation``: the failures go round in a circle."""

from __future__ import annotations

from loop_close.memory import Returned, Signal, Step
from loop_close.progress.outcome import is_about
from loop_close.progress.signals.contract import View, fired, silent, told
from loop_close.progress.steps import UNEDITED

KIND = "oscillation"
_LONGEST = 5


def oscillation(view: View) -> Signal:
    """The last two runs each brought back what failed as many runs ago: a cycle of 2 to 5 (one revert is no cycle).

    So does a failure that comes back after one green run after another.
    """
    steps = [s for s in view.attempts if s.edits.kind not in UNEDITED]
    returned = _returned(view)
    if returned:
        runs = [*returned[0].runs, view.run.number]
        text = f"the same failure in {told(runs)}, each time after it had been fixed"
        return fired(KIND, runs, [each.test for each in returned], text)
    for length in range(2, _LONGEST + 1):
        if view.step.is_counted and _is_cycle(steps, length):
            runs = [s.run for s in steps[-length - 2 :]]
            tests = set(view.changes.new) | set(view.changes.fixed) | set(view.changes.changed)
            text = f"{told(runs[-2:])} have the same failures as {told(runs[:2])}: a cycle of {length} runs"
            return fired(KIND, runs, tests or view.changes.unresolved, text)
    return silent(KIND, "the failures did not return to an earlier state twice in a row")


def _returned(view: View) -> list[Returned]:
    """Failures that began again with this run and that as many episodes had as the threshold says, this one included.

    Each of those episodes ended green. A test that was edited asks for something else; without an edit it is chance.
    """
    if view.run.edits.kind in UNEDITED:
        return []
    marks = {(m.test, m.shape) for m in view.run.marks if not m.is_infrastructure}
    began = {test for test in view.changes.new if not any(is_about(e, test) for e in view.run.edits.edits)}
    found = [
        each
        for each in view.before.returned
        if len(each.runs) + 1 >= view.limits.repeats
        and each.test in began
        and (each.test, each.shape) in marks
    ]
    return sorted(found, key=lambda each: (-len(each.runs), each.test))


def _is_cycle(steps: list[Step], length: int) -> bool:
    states = [s.state for s in steps]
    if len(states) < length + 2:
        return False
    comes_back = states[-1] == states[-1 - length] and states[-2] == states[-2 - length]
    return comes_back and states[-1] != states[-2] and len(set(states[-length:])) == length
