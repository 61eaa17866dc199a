"""``test-tampering``: a test stopped failing because of what was done to the test."""

from __future__ import annotations

from collections import Counter

from loop_close.memory import Signal
from loop_close.progress.signals.contract import View, fired, silent

KIND = "test-tampering"


def test_tampering(view: View) -> Signal:
    """Tests that failed in the episode and were since deleted, skipped, marked, left out, or lost assertions.

    A fact and no alarm: it is told in the run that shows it, and until the test fails or passes as it was.
    """
    found = {t: k.tampered for t, k in view.after.tests.items() if k.tampered[0]}
    if not found:
        return silent(KIND, "every test that failed in the episode is still there")
    ways = Counter(f"{what} since run {run}" for run, what in found.values())
    told = [way if number == len(found) else f"{number} {way}" for way, number in sorted(ways.items())]
    text = f"failed in this episode, {' and '.join(told)}"
    return fired(KIND, {run for run, _ in found.values()}, found, text)
