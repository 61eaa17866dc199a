"""``whack-a-mole``: each run fixes one thing and breaks another."""

from __future__ import annotations

from loop_close.memory import Signal
from loop_close.progress.signals.contract import View, fired, silent, told

KIND = "whack-a-mole"


def whack_a_mole(view: View) -> Signal:
    """As many attempts in a row as the threshold says fixed tests and broke others, none with a new best count."""
    need = view.limits.mole
    moles = [s for s in view.attempts[-need:] if s.fixed and s.broken]
    least, best = view.after.best
    if len(moles) < need or best >= moles[0].run:
        return silent(KIND, f"{len(moles)} of the last {need} runs fixed some tests and broke others")
    tests = (*view.changes.fixed, *view.changes.broken)
    runs = [s.run for s in moles]
    text = f"{told(runs)} each fixed some tests and broke others; run {best} still has the fewest failures, {least}"
    return fired(KIND, runs, tests, text)
