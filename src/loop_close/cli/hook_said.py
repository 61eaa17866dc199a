"""What an agent says over a red run, and what of it is kept for its next turns."""

from __future__ import annotations

from dataclasses import replace

from loop_close.agent.analysis import AnalysisContext, AnalysisResult
from loop_close.cli.sessions import Session

# As many as the analyzer looks back on, of which the one that is said now is the last.
_RESPONSES = 2
_ERRORS = 10
_LONGEST = 50_000  # of a message, whose end counts
_LONGEST_RESPONSE = 500
_LONGEST_ERROR = 300


def heard(before: Session, message: str) -> tuple[AnalysisResult, Session]:
    """What the agent's last message comes to after those before it, and the session with it.

    :param message: empty where the host does not say: then nothing is known, and nothing new kept.
    """
    message = message[-_LONGEST:]
    if not message.strip():
        return AnalysisResult(), before
    from loop_close.agent.analyzer import ResponseAnalyzer  # late: it has many patterns to compile

    after = _with(before, message)
    context = AnalysisContext(
        iteration=before.turns + 1, previous_responses=before.responses, error_history=after.errors
    )
    return ResponseAnalyzer().analyze(message, context), after


def _with(before: Session, message: str) -> Session:
    from loop_close.agent.analyzer import error_pattern, errors_in
    from loop_close.agent.response import read
    from loop_close.text.redact import clean

    said = read(message)
    error = error_pattern("\n".join(errors_in(said.lines)))
    # Before it is cut: the end of many an answer is nothing but test output.
    response = clean(message[-_LONGEST_RESPONSE:], _LONGEST_RESPONSE) if said.is_test_only else ""
    return replace(
        before,
        responses=(*before.responses, response)[-_RESPONSES:],
        errors=(*before.errors, clean(error, _LONGEST_ERROR))[-_ERRORS:],
    )
