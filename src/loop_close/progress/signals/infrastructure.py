"""``infrastructure``: the machine fails, and not the program."""

from __future__ import annotations

from loop_close.memory import Signal
from loop_close.progress.signals.contract import View, fired, silent, told

KIND = "infrastructure"


def infrastructure(view: View) -> Signal:
    """The machine failed tests in as many runs as the threshold says, this one among them."""
    need = view.limits.repeats
    steps = [s for s in view.after.steps if s.infrastructure]
    if not view.step.infrastructure or len(steps) < need:
        return silent(
            KIND,
            f"{len(steps)} of {need} required runs with an infrastructure failure",
        )
    tests = {test for step in steps for test in step.infrastructure}
    runs = [s.run for s in steps]
    text = f"infrastructure failure (time limit, network, disk, worker) in {told(runs)}"
    return fired(KIND, runs, tests, text)
