"""The plan of ``fix_plan``: the root causes of an episode as steps, and how often each was attempted.

After the exit strategies of Nity's loop; here the runs say what became of a step, not the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loop_close.agent.saved import StateError, StateReader, check_whole
from loop_close.text.sanitize import one_line

MAX_ATTEMPTS = 3
#: Later causes are left out of the plan.
MAX_STEPS = 200
_LONGEST = 160


@dataclass(frozen=True, kw_only=True, slots=True)
class FixStep:
    """One root cause to be fixed.

    :ivar cause: the id of the root cause.
    :ivar completed: it was gone after a complete run; one that comes back is open again.
    :ivar attempts: edits that were made at it, the one that cleared it among them.
    """

    cause: str
    description: str = ""
    completed: bool = False
    attempts: int = 0
    max_attempts: int = MAX_ATTEMPTS

    @property
    def is_exhausted(self) -> bool:
        """Whether it was attempted as often as it may be, in vain: it is skipped."""
        return not self.completed and self.attempts >= self.max_attempts

    @property
    def is_open(self) -> bool:
        """Whether it is still to be done."""
        return not self.completed and not self.is_exhausted


@dataclass(frozen=True, kw_only=True, slots=True)
class FixPlan:
    """Steps in the order in which their causes came to be known."""

    steps: tuple[FixStep, ...] = ()

    @property
    def current_step(self) -> int:
        """The index of the first step that is still to be done; the number of steps where none is."""
        return next((n for n, step in enumerate(self.steps) if step.is_open), len(self.steps))


def followed(plan: FixPlan, steps: Sequence[tuple[str, bool]]) -> FixPlan:
    """A plan of a user's own steps as they stand now; attempts are kept by description.

    :param steps: (description, whether it is completed), in the order in which they are to be taken.
    """
    known = {step.description: step for step in plan.steps}
    made = []
    for number, (text, is_completed) in enumerate(steps[:MAX_STEPS], 1):
        description = one_line(text, _LONGEST)
        step = known.get(description, FixStep(cause=f"step {number}", description=description))
        made.append(replace(step, cause=f"step {number}", completed=is_completed))
    return FixPlan(steps=tuple(made))


def attempted(plan: FixPlan) -> FixPlan:
    """The plan after one more attempt at its current step."""
    at = plan.current_step
    return FixPlan(
        steps=tuple(replace(s, attempts=s.attempts + 1) if n == at else s for n, s in enumerate(plan.steps))
    )


def updated(
    plan: FixPlan,
    causes_now: Mapping[str, str],
    *,
    is_complete: bool,
    is_edited: bool,
    max_attempts: int = MAX_ATTEMPTS,
) -> FixPlan:
    """The plan after a run.

    A step is completed when its cause is gone from a complete run. An edit counts as an attempt at the steps that it
    cleared; where it cleared none, at the current one.

    :param causes_now: what each root cause of the run is, by its id, the first to fix first.
    :param is_complete: every test was meant to run, the run came to its end, and no test was taken out of it.
    :param is_edited: the program was changed since the run before.
    :param max_attempts: of steps that are new.
    :raises ValueError: for a ``max_attempts`` that is no whole number above 0.
    """
    check_whole("max_attempts", max_attempts, 1)
    current = plan.current_step
    cleared = {s.cause for s in plan.steps if is_complete and not s.completed and s.cause not in causes_now}
    attempted = cleared or {step.cause for step in plan.steps[current : current + 1]}
    steps = [
        _after(step, step.cause in causes_now, cleared, attempted if is_edited else set())
        for step in plan.steps
    ]
    known = {step.cause for step in plan.steps}
    new = (
        FixStep(cause=cause, description=one_line(text, _LONGEST), max_attempts=max_attempts)
        for cause, text in causes_now.items()
        if cause not in known
    )
    return FixPlan(steps=(*steps, *new)[:MAX_STEPS])


def _after(step: FixStep, is_there: bool, cleared: set[str], attempted: set[str]) -> FixStep:
    attempts = step.attempts + (step.cause in attempted)
    completed = step.cause in cleared or (step.completed and not is_there)
    return replace(step, completed=completed, attempts=attempts)


# A fix plan as plain values, and back: a driver goes on from it after it was killed.

_VERSION = 1
_STATES = ("open", "completed")


def to_dict(plan: FixPlan) -> dict[str, Any]:
    """Plain values that JSON keeps as they are."""
    return {"version": _VERSION, "steps": [_step_to_dict(step) for step in plan.steps]}


def from_dict(data: object) -> FixPlan:
    """The plan that :func:`to_dict` made the values of.

    :raises ValueError: naming the field that is missing or damaged; nothing is taken over then.
    """
    saved = StateReader(data, "fix_plan")
    saved.check_version(_VERSION)
    records = saved.records("steps")
    if len(records) > MAX_STEPS:
        raise StateError(f"fix_plan.steps has {len(records)} steps, expected at most {MAX_STEPS}")
    steps = tuple(map(_step, records))
    seen: set[str] = set()
    for at, step in enumerate(steps):
        if step.cause in seen:
            raise StateError(f"fix_plan.steps[{at}].cause appears twice: {step.cause[:40]!a}")
        seen.add(step.cause)
    return FixPlan(steps=steps)


def _step_to_dict(step: FixStep) -> dict[str, Any]:
    return {
        "cause": step.cause,
        "description": step.description,
        "state": "completed" if step.completed else "open",
        "attempts": step.attempts,
        "max_attempts": step.max_attempts,
    }


def _step(saved: StateReader) -> FixStep:
    step = FixStep(
        cause=saved.text("cause"),
        description=saved.text("description"),
        completed=saved.text("state", _STATES) == "completed",
        attempts=saved.whole("attempts"),
        max_attempts=saved.whole("max_attempts"),
    )
    if not step.max_attempts:
        raise StateError(f"{saved.path}.max_attempts is 0, expected a number above 0")
    return step
