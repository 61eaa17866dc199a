"""``circuit_breaker``: ends the loop as stuck when the breaker is open, and never otherwise."""

from __future__ import annotations

from loop_close.agent.decision import Decision, Standing
from loop_close.agent.strategies.contract import ExitStrategy

_NAME = "circuit_breaker"


def decide(standing: Standing) -> Decision:
    """Stuck when the breaker is open."""
    breaker = standing.breaker
    if breaker.state == "open":
        reason = breaker.reason or "no progress"
        return Decision(action="stuck", reason=f"the loop is stuck: {reason}", strategy=_NAME)
    return Decision(action="continue", reason=breaker.reason or "the loop is not stuck", strategy=_NAME)


STRATEGY = ExitStrategy(
    name=_NAME,
    decide=decide,
    description="stop as stuck after several runs without progress; combine it with another strategy",
)
