"""``circuit_breaker``: ends the loop as stuck when the breaker is open, and never otherwise."""

from __future__ import annotations

from loop_close.agent.decision import Decision, Standing
from loop_close.agent.strategies.contract import ExitStrategy

_NAME = "circuit_breaker"


def decide(standing: Standing) -> Decision:
    """Stuck when the breaker is open."""
    breaker = standing.breaker
    if breaker.state == "open":
        return Decision(
            action="stuck",
            reason=f"the circuit breaker is open: {breaker.reason or 'no progress'}",
            strategy=_NAME,
        )
    state = "half open" if breaker.state == "half_open" else "closed"
    return Decision(action="continue", reason=f"the circuit breaker is {state}", strategy=_NAME)


STRATEGY = ExitStrategy(
    name=_NAME,
    decide=decide,
    description="stop as stuck when the circuit breaker opens; a net to put below another strategy",
)
