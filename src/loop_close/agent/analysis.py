"""The records of what an agent's response comes to: frozen values, no logic.

Their fields are those of the ResponseAnalyzer of Nity's loop, in snake_case, and a few more that tell why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalysisContext:
    """What is known when a response is looked at.

    :ivar iteration: the number of the turn, from 1; ``max_iterations`` the last one allowed, 0 for no limit.
    :ivar previous_responses: the oldest first.
    :ivar error_history: the errors of the turns so far, one text a turn, the oldest first.
    :ivar task_description: what the agent was told to do.
    """

    iteration: int = 1
    max_iterations: int = 0
    previous_responses: tuple[str, ...] = ()
    error_history: tuple[str, ...] = ()
    task_description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletionSignal:
    """Whether the agent says that its work is done.

    :ivar detected: it reports completion by one very strong keyword or by two signals, and takes nothing back.
    :ivar keywords: the keywords that count, in order of appearance, each once; in their dictionary form.
    :ivar test_only: there is test output and no word of a change.
    :ivar confidence: from 0 to 100.
    :ivar qualifiers: the agent's own words that take the completion back, bounded.
    """

    detected: bool = False
    keywords: tuple[str, ...] = ()
    test_only: bool = False
    confidence: float = 0.0
    qualifiers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class StuckSignal:
    """Whether the same error keeps coming.

    :ivar repeated_patterns: errors with their values masked that came often enough, the most frequent first.
    :ivar error_frequency: how often each pattern came.
    :ivar confidence: from 0 to 100.
    """

    detected: bool = False
    repeated_patterns: tuple[str, ...] = ()
    error_frequency: Mapping[str, int] = field(default_factory=dict)
    confidence: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfidenceParts:
    """What confidence is made of; each from 0 to 100.

    :ivar keywords: how strongly completion is claimed.
    :ivar tests: whether tests are said or shown to pass.
    :ivar quality: how long and how specific the response is.
    :ivar no_errors: 100 where it tells of no error.
    """

    keywords: float = 0.0
    tests: float = 0.0
    quality: float = 0.0
    no_errors: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalysisResult:
    """What one response comes to by itself, before it is weighed against the tests.

    :ivar should_exit: the agent claims completion with confidence, or it is stuck.
    :ivar exit_reason: why, in a sentence; None where it should go on.
    :ivar confidence: from 0 to 100, made of ``parts``.
    :ivar work_summary: like ``Modified 3 files, 12 tests passing, 2 errors fixed``; empty where nothing is told.
    """

    should_exit: bool = False
    exit_reason: str | None = None
    confidence: float = 0.0
    completion_signal: CompletionSignal = CompletionSignal()
    stuck_signal: StuckSignal = StuckSignal()
    work_summary: str = ""
    parts: ConfidenceParts = ConfidenceParts()


# How sure a completion is: the weighted sum of Nity's ResponseAnalyzer, and how signals add up to one claim.

#: Seed 003: completion keywords, tests passing, quality of the output, no errors.
WEIGHTS = ConfidenceParts(keywords=0.35, tests=0.25, quality=0.20, no_errors=0.20)
#: How far one signal goes by itself, from 0 to 1; several add up as independent reasons do.
VERY_HIGH, HIGH, TESTS = 0.9, 0.55, 0.5
#: What a claim of completion takes (Nity's exit strategy ``auto``).
ENOUGH = 70.0


def confidence(parts: ConfidenceParts) -> float:
    """The weighted sum of the parts, from 0 to 100.

    :param parts: from 0 to 100 each; what is outside counts as the nearer end.
    """
    total = (
        _bounded(parts.keywords) * WEIGHTS.keywords
        + _bounded(parts.tests) * WEIGHTS.tests
        + _bounded(parts.quality) * WEIGHTS.quality
        + _bounded(parts.no_errors) * WEIGHTS.no_errors
    )
    return _bounded(round(total, 2))


def combined(*signals: float) -> float:
    """The probability, in percent, that one of several independent signals is right ("noisy or").

    :param signals: from 0 to 1 each.
    """
    doubt = 1.0
    for signal in signals:
        doubt *= 1.0 - min(max(signal, 0.0), 1.0)
    return round(100.0 * (1.0 - doubt), 2)


def _bounded(value: float) -> float:
    # written so that a "not a number" counts as 0
    return min(value, 100.0) if value > 0.0 else 0.0
