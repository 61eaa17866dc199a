"""The lines that report the state of a loop and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.agent.fix_plan import FixPlan
from loop_close.agent.loop import AgentLoop
from loop_close.agent.tool_results import RunOutcome
from loop_close.cli.memory import loop_words, shown
from loop_close.conventions import is_test_file
from loop_close.drive.screen import spelled
from loop_close.memory import Edits
from loop_close.prompt.loop import plain_line

_SHOWN = 8
_MAX_STEPS = 12
# A hint is called "look" itself.
_STATES = {"open": "  ", "asked": "look: ", "hint": ""}
_ENDED = {
    "done": "done",
    "stuck": "stuck",
    "limit": "limit reached",
    "interrupted": "interrupted",
}


def trend(failing: Sequence[int]) -> str:
    """``9 → 6 → 4 failing``: the last runs, those that changed nothing once; ``0 failing`` where that is all."""
    moved = [count for at, count in enumerate(failing) if at == 0 or failing[at - 1] != count]
    if not any(moved):
        return "0 failing"
    more = "… → " if len(moved) > _SHOWN else ""
    return f"{more}{' → '.join(map(str, moved[-_SHOWN:]))} failing"


def standing(loop: AgentLoop, outcome: RunOutcome) -> str:
    """The state of the loop after a run of the tests, in words."""
    breaker = f"; {loop_words(outcome.breaker)}" if outcome.breaker.state != "closed" else ""
    if not outcome.is_complete:
        return f"the run did not finish{breaker}"
    if outcome.doubt and outcome.verdict == "green":
        return f"green, but tests were changed: {shown(outcome.doubt)}"
    if not outcome.is_counted:
        return f"the run is red, but no failing test is known{breaker}"
    return f"{trend(loop.failing)}{_unmoved(loop.failing)}{breaker}"


def _unmoved(failing: Sequence[int]) -> str:
    same = next((n for n, count in enumerate(reversed(failing)) if count != failing[-1]), len(failing)) - 1
    return f", the same as {same} run{'s' * (same != 1)} before" if same > 0 and failing[-1] else ""


def turn(loop: AgentLoop) -> str:
    """``turn 3 of 100``."""
    most = loop.limits.max_iterations
    return f"turn {loop.turns + 1}" + ("" if most == float("inf") else f" of {most:g}")


def summary(loop: AgentLoop, ended: str, reason: str) -> Iterator[str]:
    """How the loop ended, in lines."""
    turns = f"{loop.turns} turn{'s' * (loop.turns != 1)}"
    yield f"loop-close drive: {_ENDED[ended]} after {turns} in {spelled(loop.runtime)}: {shown(reason, 600)}"
    if loop.failing:
        yield f"  {trend(loop.failing)}" + (f"; cost {loop.cost:.2f}" if loop.cost else "")
    yield from (f"  {line}" for line in _steps(loop.plan))


def warnings(outcome: RunOutcome, edits: Edits | None, *, is_lost: bool = False) -> Iterator[str]:
    """What a person should look at.

    :param edits: of a loop that is done, all that was edited in it; None where that is not known, or it is not done.
    :param is_lost: the history was taken away during the loop.
    """
    if outcome.doubt:
        yield f"  tests are not as they were: {shown(outcome.doubt)}"
    for change in outcome.tests:
        if change.state in _STATES:
            yield f"  {_STATES[change.state]}{shown(plain_line(change), 600)}"
    if any(change.is_open for change in outcome.tests):
        yield "  to see the changes, and to accept them: loop-close accept"
    if is_lost:
        yield "  look: the history of runs was removed during the loop; what was edited in it is not known"
    if edits is None:
        return
    if outcome.edits_not_run:
        yield f"  look: {outcome.edits_not_run}"
    files = sorted({edit.file for edit in edits.edits if edit.is_effective})
    if not files:
        yield "  look: nothing was edited; a test that fails now and then may be all there was"
    elif all(map(is_test_file, files)):
        yield f"  look: only tests were edited: {shown(', '.join(files[:_SHOWN]))}"


def left(outcome: RunOutcome, prompt_file: str, work: Sequence[str] = ()) -> Iterator[str]:
    """What was tried, and how to go on, where the loop is not done.

    :param work: what the agent said it did, a line a turn.
    """
    if outcome.attempts:
        yield "  what was tried:"
        yield from (f"    {line}" for line in outcome.attempts)
    if work:
        yield "  what the agent said it did:"
        yield from (f"    {shown(line, 200)}" for line in work)
    yield f"  the next prompt: {prompt_file}"
    yield "  to go on with this loop, at a limit with a higher one: loop-close drive --resume"


def _steps(plan: FixPlan) -> Iterator[str]:
    for number, step in enumerate(plan.steps[:_MAX_STEPS], 1):
        is_own = step.cause.startswith("step ")
        state = (
            ("completed" if is_own else "fixed")
            if step.completed
            else "given up"
            if step.is_exhausted
            else "open"
        )
        tries = f" after {step.attempts} attempt{'s' * (step.attempts != 1)}" if step.attempts else ""
        yield f"{number}. {state}{tries}: {shown(step.description or step.cause, 160)}"
    if len(plan.steps) > _MAX_STEPS:
        yield f"… and {len(plan.steps) - _MAX_STEPS} more"
