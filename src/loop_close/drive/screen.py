"""What a person sees of the loop: a line at each step, and in the end how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from loop_close.records import State
from loop_close.seeds.loop import AgentLoop
from loop_close.seeds.strategies import FixPlan, FixStep
from loop_close.text import one_line

_HOUR = 3_600
_SHOWN = 8
_MAX_STEPS = 12
_ENDED = {
    "done": "done",
    "failing": "NOT done: limit reached",
    "unknown": "NOT done: limit reached",
    "stuck": "NOT done: stuck",
    "objected": "NOT done: a person must accept changed tests",
    "unavailable": "NOT done: the agent is unavailable",
    "interrupted": "NOT done: interrupted",
}


def spelled(seconds: float) -> str:
    """``1:02:03``, or ``0:02:03``."""
    whole = int(seconds)
    return f"{whole // _HOUR}:{whole % _HOUR // 60:02}:{whole % 60:02}"


def trend(failing: Sequence[int]) -> str:
    """``9 → 6 → 4 failing``: the last runs, those that changed nothing once."""
    moved = [count for count, _ in groupby(failing)]
    more = "… → " if len(moved) > _SHOWN else ""
    return f"{more}{' → '.join(map(str, moved[-_SHOWN:]))} failing"


def state_line(loop: AgentLoop, state: State) -> str:
    """The state of the loop after the checks, in words."""
    known = f"; {trend(loop.state.failing)}" if loop.state.failing else ""
    return one_line(f"{state.verdict}: {state.reason}{known}", 300)


def turn_label(loop: AgentLoop) -> str:
    """``turn 3 of 100``."""
    return f"turn {loop.turns + 1} of {loop.guard.limits.max_iterations:g}"


def summary_lines(loop: AgentLoop, ended: str, reason: str, state: State) -> Iterator[str]:
    """How the loop ended, in lines; each file that a person accepted is named."""
    spent = loop.state.spent
    turns = f"{loop.turns} turn{'s' * (loop.turns != 1)}"
    yield f"loop-close drive: {_ENDED[ended]} after {turns} in {spelled(spent.runtime)}: {one_line(reason, 600)}"
    if loop.state.failing:
        yield f"  {trend(loop.state.failing)}" + (f"; cost {spent.cost:.2f}" if spent.cost else "")
    yield from (f"  accepted by a person: {one_line(path, 200)}" for path in state.accepted[:_SHOWN])
    yield from (f"  {line}" for line in _steps(loop.plan))


def next_step_lines(attempts: Sequence[str], prompt_file: str, work: Sequence[str] = ()) -> Iterator[str]:
    """What was tried, and how to go on, where the loop is not done.

    :param work: what the agent said it did, a line a turn.
    """
    if attempts:
        yield "  what was tried:"
        yield from (f"    {line}" for line in attempts)
    if work:
        yield "  what the agent said it did:"
        yield from (f"    {one_line(line, 200)}" for line in work)
    yield f"  the next prompt: {prompt_file}"
    yield "  to go on with this loop, at a limit with a higher one: loop-close drive --resume"


def _steps(plan: FixPlan) -> Iterator[str]:
    for number, step in enumerate(plan.steps[:_MAX_STEPS], 1):
        tries = f" after {step.attempts} attempt{'s' * (step.attempts != 1)}" if step.attempts else ""
        yield f"{number}. {_became(step)}{tries}: {one_line(step.description or step.cause, 160)}"
    if len(plan.steps) > _MAX_STEPS:
        yield f"… and {len(plan.steps) - _MAX_STEPS} more"


def _became(step: FixStep) -> str:
    if step.completed:
        return "completed" if step.cause.startswith("step ") else "fixed"
    return "given up" if step.is_exhausted else "open"
