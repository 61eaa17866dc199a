"""``test-tampering``: a test stopped failing because of what was done to the test."""

from __future__ import annotations

from collections import Counter

from loop_close.memory import Known, Signal
from loop_close.progress.signals.contract import View, fired, silent

KIND = "test-tampering"
_WAYS = {
    "skipped": "skipped",
    "xfailed": "marked as expected to fail",
    "deleted": "deleted",
    "uncollected": "no longer collected",
    "weakened": "has fewer assertions",
    "": "changed",
}


def test_tampering(view: View) -> Signal:
    """Tests that failed in the episode and were since deleted, skipped, marked, left out, or lost assertions.

    A fact and no alarm: it is told in the run that shows it, and until the test fails or passes as it was.
    """
    found = {t: k for t, k in view.after.tests.items() if k.tampered[0]}
    if not found:
        return silent(KIND, "all tests that failed in this episode still exist")
    ways = Counter(f"{_told(known)} since run {known.tampered[0]}" for known in found.values())
    told = [way if number == len(found) else f"{number} {way}" for way, number in sorted(ways.items())]
    text = f"failed in this episode, {' and '.join(told)}"
    return fired(KIND, {known.tampered[0] for known in found.values()}, found, text)


def _told(known: Known) -> str:
    before, after = known.asserts
    return (
        f"{_WAYS[known.tampered[1]]} ({before}, now {after})"
        if known.asserts[0]
        else _WAYS[known.tampered[1]]
    )
