"""Which of an episode's steps count for what."""

from __future__ import annotations

import re
from collections.abc import Iterable

from loop_close.memory import Episode, Progress, Step

#: pytest's options that choose by what failed last: other tests each time.
LAST_FAILED = re.compile(r"(?:^| )--(?:lf|last-failed|sw|stepwise|loop-close-failed)\b")

#: Kinds of edits that leave the program what it was.
UNEDITED = ("none", "ineffective")


def attempts(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Those that count: no killed run, no fault of the machine, no mere look."""
    return tuple(step for step in steps if step.is_counted)


def stretch(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The attempts since the last one that advanced, that one included; all where none did."""
    counted = attempts(steps)
    start = next((n for n in range(len(counted) - 1, -1, -1) if counted[n].advanced), 0)
    return counted[start:]


def worth_telling(progress: Progress) -> list[Step]:
    """The runs that an edit came before, and killed ones; of the first only where it is known what was edited."""
    first, *rest = progress.episode.steps if progress.episode.steps else [progress.step]
    is_begun = first.run == progress.episode.first
    begun = [first] if not is_begun or first.edits.kind == "effective" else []
    return [*begun, *(s for s in rest if s.is_killed or s.is_counted or s.edits.kind == "effective")]


def same_code_as(step: Step, progress: Progress) -> int | None:
    """The number of the earlier run that had the very same code, where the code was another one between."""
    earlier = [s for s in progress.episode.steps if s.run < step.run and s.code]
    if not step.code or not earlier or earlier[-1].code == step.code:
        return None
    return next((s.run for s in earlier if s.code == step.code), None)


def selections_of_green(episode: Episode) -> tuple[str, ...]:
    """How a green run before the episode may have chosen its tests, if all that fails now is to have passed in it.

    All tests will do (an empty text). So will those that the episode began with, as long as no failure was new in a run
    that chose others: what else fails may have been broken before that green run, and its diff must not be hidden.
    """
    first = episode.selection
    is_enough = all(step.selection == first or not step.new for step in episode.steps)
    return ("", first) if is_enough and not LAST_FAILED.search(first) else ("",)
