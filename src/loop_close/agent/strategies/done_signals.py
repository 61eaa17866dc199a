"""``done_signals``: ends the loop when enough speaks for completion, of whatever kind."""

from __future__ import annotations

from dataclasses import replace

from loop_close.agent.confidence import confidence
from loop_close.agent.decision import Decision, Standing, doubts
from loop_close.agent.strategies.claim import against
from loop_close.agent.strategies.contract import ExitStrategy

_NAME = "done_signals"
#: The threshold of seeds 001 and 003.
ENOUGH = 40.0


def decide(standing: Standing) -> Decision:
    """Done when the confidence reaches 40 and the run shows it: a green run counts as tests that pass."""
    is_claimed = bool(standing.analysis.completion_signal.keywords)
    reached = _score(standing)
    denied = standing.analysis.completion_signal.qualifiers
    if reached >= ENOUGH and denied:
        return Decision(
            action="continue", reason=f"the agent itself says it is not done: {denied[0]}", strategy=_NAME
        )
    if reached >= ENOUGH and not doubts(standing):
        return Decision(
            action="done", reason=f"confidence is {reached:g}, and the tests are green", strategy=_NAME
        )
    if is_claimed and reached >= ENOUGH:
        reason = against(standing)
    elif doubts(standing):
        reason = f"confidence is {reached:g}; {'; '.join(doubts(standing))}"
    else:
        reason = f"confidence is {reached:g}, below {ENOUGH:g}"
    return Decision(action="continue", reason=reason, strategy=_NAME)


def _score(standing: Standing) -> float:
    """The confidence of the agent's message, from 0 to 100; a green run counts as tests that pass."""
    analysis = standing.analysis
    if doubts(standing):
        return analysis.confidence
    return max(analysis.confidence, confidence(replace(analysis.parts, tests=100.0)))


STRATEGY = ExitStrategy(
    name=_NAME,
    decide=decide,
    description="stop as done when the confidence reaches 40 and the tests are green; no exact wording needed",
)
