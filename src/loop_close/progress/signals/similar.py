"""``similar-failure``: the wording differs a little each time, and it is the same failure."""

from __future__ import annotations

from loop_close.memory import Known, Signal
from loop_close.progress.known import form_now, is_worded_alike
from loop_close.progress.signals.contract import View, fired, silent, told
from loop_close.progress.signals.repeated import alike, edited_runs, failing_now

KIND = "similar-failure"


def similar_failure(view: View) -> Signal:
    """Messages of one type and place that are nearly alike, in as many edited runs as the threshold says."""
    need = view.limits.repeats
    runs = edited_runs(view)
    seen = {
        test: _seen(known, runs, view.limits.similarity)
        for test, known in failing_now(view).items()
        if len(known.forms) > 1
    }
    often = {test: shown for test, shown in seen.items() if len(shown) >= need}
    if not often:
        return silent(KIND, f"no failure came back in {need} runs with a similar message")
    tests, shown = alike(often)
    text = f"nearly the same message in {told(shown)}, despite edits between them"
    return fired(KIND, shown, tests, text)


def _seen(known: Known, runs: set[int], threshold: float) -> list[int]:
    now = form_now(known)
    if now is None or not now.message:
        return []
    alike = [f for f in known.forms if is_worded_alike(f, now, threshold)]
    if len(alike) < 2:  # with equal words it is a repeated failure
        return []
    return sorted({run for form in alike for run in form.runs if run in runs})
