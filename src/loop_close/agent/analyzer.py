"""Examines what an agent says at the end of a turn: is it done, is it stuck, and how sure is that."""

from __future__ import annotations

from collections.abc import Sequence

from loop_close.agent.analysis import (
    AnalysisContext,
    AnalysisResult,
    CompletionSignal,
    ConfidenceParts,
    StuckSignal,
)
from loop_close.agent.completion import Said, said_in, signal_of
from loop_close.agent.confidence import ENOUGH, confidence
from loop_close.agent.errors import errors_in
from loop_close.agent.quality import quality
from loop_close.agent.response import Response, read
from loop_close.agent.stuck import REPEATS, TEST_ONLY, TEST_WINDOW, stuck_in, with_test_only
from loop_close.agent.summary import summary_of

_CLAIMED = 50.0


class ResponseAnalyzer:
    """The ResponseAnalyzer of Nity's loop. It keeps nothing: the same input gives the same answer.

    Every method takes any string, however long, and raises nothing. Long texts are read from their end: see
    :func:`loop_close.agent.blocks.lines_of`.
    """

    def analyze(self, response: str, context: AnalysisContext) -> AnalysisResult:
        """All that a response comes to, before the tests are asked."""
        read_response = read(response)
        said = said_in(read_response, context.task_description)
        signal, stuck = signal_of(said, read_response), self.detect_stuck_loop(context.error_history)
        tests = _test_only_turns(read_response, context.previous_responses)
        if tests >= REPEATS:
            signal = CompletionSignal(test_only=True, qualifiers=(f"{TEST_ONLY} in {tests} responses",))
            said, stuck = Said(doubts=signal.qualifiers), with_test_only(stuck, tests)
        parts = _parts(read_response, said)
        reason = _exit_reason(signal, stuck)
        return AnalysisResult(
            should_exit=reason is not None,
            exit_reason=reason,
            confidence=confidence(parts),
            completion_signal=signal,
            stuck_signal=stuck,
            work_summary=summary_of(read_response),
            parts=parts,
        )

    def detect_completion(self, response: str, task_description: str = "") -> CompletionSignal:
        """Whether the response reports completion.

        :param task_description: its own words are discounted where the response repeats them.
        """
        read_response = read(response)
        return signal_of(said_in(read_response, task_description), read_response)

    def detect_stuck_loop(self, error_history: Sequence[str]) -> StuckSignal:
        """Whether one error, whatever its values, came three times.

        :param error_history: one text a turn, the oldest first; the last ten count.
        """
        return stuck_in(error_history)

    def extract_work_summary(self, response: str) -> str:
        """Like ``Modified 3 files, 12 tests passing, 2 errors fixed``; empty where nothing of it is told."""
        return summary_of(read(response))

    def calculate_confidence(self, response: str, context: AnalysisContext) -> float:
        """From 0 to 100: keywords 35 %, tests passing 25 %, quality 20 %, no errors 20 %."""
        return self.analyze(response, context).confidence


def _parts(response: Response, said: Said) -> ConfidenceParts:
    levels = [level for _, level in said.claims]
    words = 100.0 if "very high" in levels or levels.count("high") > 1 else 50.0 * ("high" in levels)
    is_said = "tests" in levels or any(name == "all tests passing" for name, _ in said.claims)
    shown = response.tally
    return ConfidenceParts(
        keywords=0.0 if said.doubts else words,
        tests=100.0 * shown.is_green if shown is not None else _CLAIMED * is_said,
        quality=quality(response),
        no_errors=100.0
        if any(line.text for line in response.lines) and not errors_in(response.lines)
        else 0.0,
    )


def _test_only_turns(response: Response, previous: Sequence[str]) -> int:
    """How many of the last responses hold nothing but test output, if this one does."""
    if not response.is_test_only:
        return 0
    return 1 + sum(read(text).is_test_only for text in previous[-TEST_WINDOW + 1 :])


def _exit_reason(signal: CompletionSignal, stuck: StuckSignal) -> str | None:
    """Being stuck outranks a claim: a person looks, and nothing is called done that is not."""
    if stuck.detected:
        return (
            f"stuck: {stuck.repeated_patterns[0]} ({stuck.error_frequency[stuck.repeated_patterns[0]]} times)"
        )
    if signal.detected and signal.confidence >= ENOUGH:
        return f"completion: {', '.join(signal.keywords)}"
    return None
