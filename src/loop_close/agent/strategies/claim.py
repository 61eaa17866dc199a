"""What an agent claims, against what the tests show."""

from __future__ import annotations

from loop_close.agent.decision import Decision, Standing, doubts


def against(standing: Standing) -> str:
    """In a sentence, what stands against a claim that the work is done."""
    return f"the agent says it is done, but {'; '.join(doubts(standing))}"


def borne_out(decision: Decision, standing: Standing) -> Decision:
    """The decision, unless it says ``done`` and the tests do not show it: then the loop goes on."""
    if decision.action != "done" or not doubts(standing):
        return decision
    reason = f"{decision.reason}; but {'; '.join(doubts(standing))}"
    return Decision(action="continue", reason=reason, strategy=decision.strategy, warnings=decision.warnings)
