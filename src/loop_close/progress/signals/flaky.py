"""``flaky``: a test passes and fails with no change between."""

from __future__ import annotations

from loop_close.memory import Signal
from loop_close.progress.known import is_flaky
from loop_close.progress.signals.contract import View, fired, silent, told

KIND = "flaky"


def flaky(view: View) -> Signal:
    """Tests that came out otherwise twice although nothing was edited; they count no more in this episode."""
    found = {t: k for t, k in view.after.tests.items() if is_flaky(k)}
    if not found:
        return silent(KIND, "no test changed its result twice without an edit")
    runs = {run for known in found.values() for run in known.flips}
    text = f"passed and failed without an edit, in {told(sorted(runs))}"
    return fired(KIND, runs, found, text)
