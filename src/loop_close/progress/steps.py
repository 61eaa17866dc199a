"""Which of an episode's steps count for what."""

from __future__ import annotations

from collections.abc import Sequence

from loop_close.memory import Step


def stretch(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The attempts since the last one that advanced, that one included; all where none did."""
    counted = [step for step in steps if step.is_counted]
    start = next((n for n in range(len(counted) - 1, -1, -1) if counted[n].advanced), 0)
    return tuple(counted[start:])
