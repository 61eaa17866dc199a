"""The verdict on a run that is known against its episode."""

from __future__ import annotations

from loop_close.memory import Progress
from loop_close.model import Verdict
from loop_close.progress.steps import attempts


def verdict_of(progress: Progress, alone: Verdict) -> Verdict:
    """What the run comes to.

    :param alone: the verdict on the run by itself: ``green``, ``first-failure`` or ``error``.
    """
    if alone == "error" or (alone == "green" and not progress.step.unresolved):
        return alone
    if progress.breaker.state == "open":
        return "stuck"
    if len(attempts(progress.episode.steps)) < 2 and not progress.step.advanced:
        is_first = progress.step.is_counted or progress.position == 1
        return "first-failure" if is_first else "no-progress"
    return "progress" if progress.step.advanced else "no-progress"
