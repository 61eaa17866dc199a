"""``repeated-failure``: a failure comes back although the code was edited each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loop_close.memory import Known, Signal
from loop_close.progress.known import form_now, is_flaky
from loop_close.progress.signals.contract import View, fired, silent, told
from loop_close.progress.steps import UNEDITED

KIND = "repeated-failure"


def repeated_failure(view: View) -> Signal:
    """The same shape in as many attempts since the last progress as the threshold says, the code edited before each."""
    need = view.limits.repeats
    runs = edited_runs(view)
    seen = {test: _seen(known, runs) for test, known in failing_now(view).items()}
    most = max(map(len, seen.values()), default=0)
    if most < need:
        return silent(
            KIND,
            f"no failure came back in {need} edited runs since the last progress (at most in {most})",
        )
    tests, shown = alike(seen)
    text = f"same failure in {told(shown)}, despite edits between them"
    return fired(KIND, shown, tests, text)


def alike(seen: Mapping[str, Sequence[int]]) -> tuple[list[str], Sequence[int]]:
    """The runs of the test that was seen most, and all tests that were seen in each of them."""
    shown = seen[min(seen, key=lambda test: (-len(seen[test]), test))]
    return [test for test, runs in seen.items() if set(shown) <= set(runs)], shown


def failing_now(view: View) -> dict[str, Known]:
    """What failed in this run, but for what fails by chance."""
    tests = {m.test for m in view.run.marks if not m.is_infrastructure}
    return {t: k for t, k in view.after.tests.items() if t in tests and not is_flaky(k)}


def edited_runs(view: View) -> set[int]:
    """Attempts since the last progress that an edit came before, as far as is known; the first always counts."""
    steps = view.stretch
    return {s.run for n, s in enumerate(steps) if n == 0 or s.edits.kind not in UNEDITED}


def _seen(known: Known, runs: set[int]) -> list[int]:
    """The runs in which it had the shape it has now."""
    form = form_now(known)
    return [run for run in form.runs if run in runs] if form is not None else []
