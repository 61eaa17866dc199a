"""``auto``: ends the loop when the agent reports completion and the tests confirm it."""

from __future__ import annotations

from dataclasses import replace

from loop_close.agent.confidence import ENOUGH, TESTS, combined, confidence
from loop_close.agent.decision import Decision, Standing, doubts
from loop_close.agent.strategies import circuit_breaker
from loop_close.agent.strategies.claim import against
from loop_close.agent.strategies.contract import ExitStrategy

_NAME = "auto"


def decide(standing: Standing) -> Decision:
    """Done when completion is detected, the confidence reaches 70, and the run shows it.

    A green run is one of the two signals that a completion takes. A message that tells of errors needs more. Falls
    back to the circuit breaker, and to errors that repeat in what the agent says, where the runs show no progress.
    """
    reached = _score(standing)
    if _is_claimed(standing) and reached >= ENOUGH and not doubts(standing):
        keywords = ", ".join(standing.analysis.completion_signal.keywords)
        reason = f"the agent reports completion ({keywords}, {reached:g} % sure), and the tests are green"
        return Decision(action="done", reason=reason, strategy=_NAME)
    stopped = circuit_breaker.decide(standing)
    if stopped.action == "stuck":
        return stopped
    if standing.analysis.stuck_signal.detected and standing.verdict not in ("progress", "first-failure"):
        return Decision(action="stuck", reason=_repeats(standing), strategy=_NAME)
    return Decision(action="continue", reason=_why_not(standing, reached), strategy=_NAME)


def _score(standing: Standing) -> float:
    """The confidence of the message; a green run counts as tests that pass and as a second signal for the claim."""
    analysis = standing.analysis
    if doubts(standing):
        return analysis.confidence
    claim = combined(analysis.completion_signal.confidence / 100, TESTS)
    return confidence(replace(analysis.parts, tests=100.0, keywords=claim))


def _is_claimed(standing: Standing) -> bool:
    """Whether completion is detected; with a green run one keyword is enough."""
    signal = standing.analysis.completion_signal
    return not signal.qualifiers and bool(signal.keywords) and (signal.detected or not doubts(standing))


def _repeats(standing: Standing) -> str:
    repeated = standing.analysis.stuck_signal.repeated_patterns
    return f"the agent repeats itself: {repeated[0] if repeated else 'the same error'}"


def _why_not(standing: Standing, reached: float) -> str:
    signal = standing.analysis.completion_signal
    if signal.qualifiers:
        return f"the agent itself says it is not done: {signal.qualifiers[0]}"
    if signal.keywords and doubts(standing):
        return against(standing)
    if signal.keywords:
        said = f"the agent reports completion ({signal.keywords[0]})"
        return f"{said}, but the confidence is {reached:g}, below {ENOUGH:g}"
    return "the agent does not report completion"


STRATEGY = ExitStrategy(
    name=_NAME,
    decide=decide,
    description="stop as done when the agent reports completion and the tests are green; as stuck without progress",
)
