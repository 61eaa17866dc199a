"""The decision whether the loop goes on, and its input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from loop_close.agent.analysis import AnalysisResult
from loop_close.agent.fix_plan import FixPlan
from loop_close.memory import Breaker

if TYPE_CHECKING:  # its records take a while to make, and a hook is waited for
    from loop_close.model import Verdict

_NOTHING_SAID = AnalysisResult()
_CLOSED = Breaker()

Action = Literal["continue", "done", "stuck"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """The result of an exit strategy.

    :ivar reason: why, in a sentence.
    :ivar strategy: name of the strategy that decided; of several, the first that fired.
    :ivar warnings: notes for a person, one line each.
    """

    action: Action
    reason: str
    strategy: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """All that is known at the end of an agent's turn.

    :ivar analysis: of the agent's message; empty without a message.
    :ivar verdict: of the last run; None without a run. ``failing``: number of tests that still fail after it.
    :ivar is_fresh: no project file was edited since that run.
    :ivar is_complete: that run finished, and it selected every test.
    :ivar tampered: in words, how tests were changed so that they no longer fail; empty if they were not.
    :ivar iteration: the number of the turn, from 1.
    :ivar fix_plan: None if no plan is kept.
    """

    analysis: AnalysisResult = _NOTHING_SAID
    verdict: Verdict | None = None
    failing: int = 0
    is_fresh: bool = False
    is_complete: bool = False
    tampered: str = ""
    breaker: Breaker = _CLOSED
    iteration: int = 1
    fix_plan: FixPlan | None = None


def doubts(standing: Standing) -> tuple[str, ...]:
    """What keeps the last run from showing that the work is done; empty where it is green beyond doubt."""
    said = (
        _verdict(standing),
        "" if standing.is_fresh or standing.verdict is None else "tests have not run since the last edit",
        "" if standing.is_complete or standing.verdict is None else "the run is incomplete",
        f"tests were tampered with: {standing.tampered}" if standing.tampered else "",
    )
    return tuple(filter(None, said))


def is_proven(standing: Standing) -> bool:
    """Whether the tests show that the work is done: green, after the last edit, all of them, as they were."""
    return not doubts(standing)


def _verdict(standing: Standing) -> str:
    if standing.verdict is None:
        return "no tests have run"
    if standing.verdict == "green":
        return ""
    if standing.failing:
        return f"{standing.failing} {'test fails' if standing.failing == 1 else 'tests fail'}"
    return (
        "the run ended in an error"
        if standing.verdict == "error"
        else f"the last run is not green ({standing.verdict})"
    )
