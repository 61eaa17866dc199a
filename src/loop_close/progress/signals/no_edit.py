"""``no-edit`` and ``no-effective-edit``: the tests ran again, and the code was as before."""

from __future__ import annotations

from loop_close.memory import Signal
from loop_close.progress.signals.contract import View, fired, silent, told
from loop_close.progress.steps import UNEDITED


def no_edit(view: View) -> Signal:
    """As many runs as the threshold says on exactly the same files."""
    return _idle(view, "no-edit", ("none",), "no project file changed between")


def no_effective_edit(view: View) -> Signal:
    """The same where only comments, formatting, docstrings or prose changed."""
    found = _idle(
        view,
        "no-effective-edit",
        UNEDITED,
        "only comments, formatting, docstrings or prose changed between",
    )
    kinds = {s.edits.kind for s in view.after.steps if s.run in found.runs[1:]}
    if found.is_on and "ineffective" not in kinds:
        return silent(found.kind, "nothing changed at all")
    return found


def _idle(view: View, kind: str, kinds: tuple[str, ...], said: str) -> Signal:
    need = view.limits.repeats
    runs = [view.step.run]
    steps = view.attempts
    for step, before in zip(reversed(steps), reversed(steps[:-1]), strict=False):
        if step.edits.kind not in kinds:
            break
        runs.insert(0, before.run)
    if not view.step.is_counted or len(runs) < need:
        return silent(kind, f"{len(runs)} of {need} required runs on the same code")
    return fired(kind, runs, (), f"{said} {told(sorted(runs))}")
