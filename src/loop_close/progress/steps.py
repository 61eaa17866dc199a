"""Which of an episode's steps count for what."""

from __future__ import annotations

from collections.abc import Iterable

from loop_close.memory import Step

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
