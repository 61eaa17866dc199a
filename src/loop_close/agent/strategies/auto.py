"""``auto``: ends the loop when the agent reports completion and the tests confirm it."""

from __future__ import annotations

from loop_close.agent.confidence import ENOUGH, TESTS, combined
from loop_close.agent.decision import Decision, Standing, doubts
from loop_close.agent.strategies import circuit_breaker
from loop_close.agent.strategies.claim import against
from loop_close.agent.strategies.contract import ExitStrategy

_NAME = "auto"


def decide(standing: Standing) -> Decision:
    """Done when completion is detected with a confidence of 70 and the run shows it.

    A green run is one of the two signals that it takes. Falls back to the circuit breaker, and to errors that repeat
    in what the agent says, where the runs show no progress.
    """
    confidence = _confidence(standing)
    if confidence >= ENOUGH and not doubts(standing):
        keywords = ", ".join(standing.analysis.completion_signal.keywords)
        reason = f"the agent reports completion ({keywords}), and the tests are green"
        return Decision(action="done", reason=reason, strategy=_NAME)
    stopped = circuit_breaker.decide(standing)
    if stopped.action == "stuck":
        return stopped
    if standing.analysis.stuck_signal.detected and standing.verdict not in ("progress", "first-failure"):
        return Decision(action="stuck", reason=_repeats(standing), strategy=_NAME)
    return Decision(action="continue", reason=_why_not(standing, confidence), strategy=_NAME)


def _confidence(standing: Standing) -> float:
    """Of the claim, with the run as a signal for it; 0 where there is no claim, or one that is taken back."""
    signal = standing.analysis.completion_signal
    if not signal.keywords or signal.qualifiers:
        return 0.0
    if not doubts(standing):
        return combined(signal.confidence / 100, TESTS)
    return signal.confidence if signal.detected else 0.0


def _repeats(standing: Standing) -> str:
    repeated = standing.analysis.stuck_signal.repeated_patterns
    return f"the agent repeats itself: {repeated[0] if repeated else 'the same error'}"


def _why_not(standing: Standing, confidence: float) -> str:
    signal = standing.analysis.completion_signal
    if signal.qualifiers:
        return f"the agent itself says it is not done: {signal.qualifiers[0]}"
    if confidence >= ENOUGH:
        return against(standing)
    if signal.keywords:
        return f"a single completion phrase ({signal.keywords[0]}) is not enough"
    return "the agent does not report completion"


STRATEGY = ExitStrategy(
    name=_NAME,
    decide=decide,
    description="stop as done when the agent reports completion and the tests are green; as stuck without progress",
)
