"""Whether a result of ours shows progress, and the keys by which results say so."""

from __future__ import annotations

from loop_close.memory import Progress, Step
from loop_close.progress.steps import attempts

#: In the ``_meta`` of a tool's result, with the value true: it made no progress. The first is that of
#: nimblebrain's loop brake, the second our own. Our own with the value false: it did make progress.
NON_ADVANCING_KEYS = ("ai.nimblebrain/non-advancing", "dev.loop-close/non-advancing")
OWN_KEY = NON_ADVANCING_KEYS[1]
#: With the value true: the machine failed, the result tells nothing of the tool.
INFRASTRUCTURE_KEYS = ("ai.nimblebrain/infra-error", "dev.loop-close/infrastructure")


def is_non_advancing(progress: Progress | None) -> bool:
    """Whether the loop stands still after a run, by what the memory knows and not by any text.

    :param progress: what the run came to; None where nothing is remembered, of which nothing can be said.
    :returns: False for a run after which nothing fails, for one that advanced, for the first attempt of an
        episode, and for what the machine failed. True for an attempt that did not advance, and for any look at
        the failures while the breaker is open.
    """
    if progress is None or not progress.step.unresolved or progress.step.advanced:
        return False
    if _is_of_machine(progress.step):
        return False
    if progress.breaker.state == "open":
        return True
    return progress.step.is_counted and len(attempts(progress.episode.steps)) > 1


def progress_meta(progress: Progress | None, *, is_green: bool) -> dict[str, bool]:
    """What to put into the ``_meta`` of a result that reports a run, for a supervisor of ours or another.

    :param is_green: what the run itself came to: one may be red without a failure that is known by name.
    :returns: both keys with true where the loop stands still; our own with false where it advanced or nothing
        fails; the key for the machine's faults; nothing where there is nothing to say.
    """
    if is_non_advancing(progress):
        return dict.fromkeys(NON_ADVANCING_KEYS, True)
    if progress is None or not (is_green or progress.step.unresolved):
        return {}
    if progress.step.unresolved and _is_of_machine(progress.step):
        return dict.fromkeys(INFRASTRUCTURE_KEYS, True)
    return {OWN_KEY: False} if progress.step.advanced or not progress.step.unresolved else {}


def _is_of_machine(step: Step) -> bool:
    return step.is_killed or (bool(step.infrastructure) and not step.is_counted)
