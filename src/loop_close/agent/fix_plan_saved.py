"""A fix plan as plain values, and back: a driver goes on from it after it was killed."""

from __future__ import annotations

from typing import Any

from loop_close.agent.fix_plan import MAX_STEPS, FixPlan, FixStep
from loop_close.agent.saved import Saved, StateError

_VERSION = 1
_STATES = ("open", "completed")


def to_dict(plan: FixPlan) -> dict[str, Any]:
    """Plain values that JSON keeps as they are."""
    return {"version": _VERSION, "steps": [_step_to_dict(step) for step in plan.steps]}


def from_dict(data: object) -> FixPlan:
    """The plan that :func:`to_dict` made the values of.

    :raises ValueError: naming the field that is missing or damaged; nothing is taken over then.
    """
    saved = Saved(data, "fix_plan")
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


def _step(saved: Saved) -> FixStep:
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
