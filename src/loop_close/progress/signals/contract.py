"""What a signal is made from, and how one says that it fired or why it did not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from loop_close.memory import Episode, Run, Signal, Step, Thresholds
from loop_close.progress.compare import Changes
from loop_close.progress.steps import attempts, stretch

MAX_TESTS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A run and what it is compared with.

    :ivar before: the episode without the run, ``after`` with it.
    :ivar step: the run's own; the last of ``after.steps``.
    """

    run: Run
    before: Episode
    after: Episode
    changes: Changes
    step: Step
    limits: Thresholds

    @property
    def attempts(self) -> tuple[Step, ...]:
        """The runs of the episode that count, this one among them if it does."""
        return attempts(self.after.steps)

    @property
    def stretch(self) -> tuple[Step, ...]:
        """The attempts since the last run that advanced, that one included."""
        return stretch(self.after.steps)


Check = Callable[[View], Signal]


def fired(kind: str, runs: Iterable[int], tests: Iterable[str], explanation: str) -> Signal:
    """A signal, its tests bounded."""
    return Signal(
        kind=kind,
        runs=tuple(sorted(set(runs))),
        tests=tuple(sorted(set(tests))[:MAX_TESTS]),
        explanation=explanation,
    )


def silent(kind: str, explanation: str) -> Signal:
    """No signal, and what it lacks."""
    return Signal(kind=kind, is_on=False, explanation=explanation)


def told(runs: Iterable[int]) -> str:
    """``runs 3, 4 and 6``."""
    numbers = [str(run) for run in runs]
    if len(numbers) == 1:
        return f"run {numbers[0]}"
    return f"runs {', '.join(numbers[:-1])} and {numbers[-1]}"


def named(tests: Iterable[str]) -> str:
    """The first test and how many others."""
    ordered = sorted(set(tests))
    if not ordered:
        return "nothing"
    more = len(ordered) - 1
    return ordered[0] + (f" and {more} more" if more else "")
