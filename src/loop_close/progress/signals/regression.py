"""``regression``: what had passed fails again."""

from __future__ import annotations

from loop_close.memory import Signal
from loop_close.progress.signals.contract import View, fired, named, silent

KIND = "regression"


def regression(view: View) -> Signal:
    """Tests that passed earlier in the episode and fail now; from its third run on."""
    broken = view.changes.broken
    if not broken:
        return silent(KIND, "no test fails that passed earlier in this episode")
    if len(view.attempts) < view.limits.repeats:
        return silent(
            KIND, f"{named(broken)} passed before; a regression needs at least {view.limits.repeats} runs"
        )
    again = [test for test in broken if test in view.before.tests]
    said = (
        "fixed in this episode and failing again" if again else "passed earlier in this episode and fails now"
    )
    return fired(KIND, [*_before(view, again or broken), view.step.run], again or broken, said)


def _before(view: View, broken: list[str]) -> list[int]:
    """The runs in which they were last seen to pass, as far as they were watched; else the last run of all tests."""
    seen = {view.before.tests[test].ran for test in broken if test in view.before.tests}
    full = [step.run for step in view.before.steps if step.is_full and not step.is_killed][-1:]
    return sorted(seen) or full
