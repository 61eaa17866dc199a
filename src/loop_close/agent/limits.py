"""What a loop may spend, and which of it is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loop_close.agent.checks import check_above_zero, check_whole

LimitName = Literal["iterations", "runtime", "cost", "failures"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a loop may spend, each reached at ``>=``; ``math.inf`` is no limit.

    The defaults are those of ralph-orchestrator's loop detection.

    :ivar max_iterations: turns of the agent.
    :ivar max_runtime: seconds that the loop ran.
    :ivar max_cost: in whatever currency costs are recorded in.
    :ivar max_consecutive_failures: failed turns in a row.
    """

    max_iterations: float = 100
    max_runtime: float = 4 * 60 * 60.0
    max_cost: float = 10.0
    max_consecutive_failures: float = 5

    def __post_init__(self) -> None:
        check_whole("max_iterations", self.max_iterations, 1, is_endless=True)
        check_above_zero("max_runtime", self.max_runtime)
        check_above_zero("max_cost", self.max_cost)
        check_whole("max_consecutive_failures", self.max_consecutive_failures, 1, is_endless=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What a loop has spent.

    :ivar runtime: seconds.
    :ivar failures: those in a row.
    """

    iterations: int = 0
    runtime: float = 0.0
    cost: float = 0.0
    failures: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitReached:
    """A limit and what reached it.

    :ivar value: what is spent; ``maximum``: the limit, never above the value.
    :ivar reason: the same in words.
    """

    limit: LimitName
    value: float
    maximum: float
    reason: str


def limit_reached(spent: Spent, limits: Limits) -> LimitReached | None:
    """The first limit that is reached, of iterations, runtime, cost and failures in this order; None for none."""
    if spent.iterations >= limits.max_iterations:
        return _reached("iterations", spent.iterations, limits.max_iterations, "turns")
    if spent.runtime >= limits.max_runtime:
        return _reached("runtime", spent.runtime, limits.max_runtime, "seconds of run time")
    if spent.cost >= limits.max_cost:
        return _reached("cost", spent.cost, limits.max_cost, "cost")
    if spent.failures >= limits.max_consecutive_failures:
        return _reached("failures", spent.failures, limits.max_consecutive_failures, "failures in a row")
    return None


def _reached(limit: LimitName, value: float, maximum: float, what: str) -> LimitReached:
    reason = f"{_spelled(value)} {what}, the limit is {_spelled(maximum)}"
    return LimitReached(limit=limit, value=value, maximum=maximum, reason=reason)


def _spelled(number: float) -> str:
    return f"{number:.2f}".removesuffix(".00")
