"""How sure a completion is: the weighted sum of Nity's ResponseAnalyzer, and how signals add up to one claim."""

from __future__ import annotations

from loop_close.agent.analysis import ConfidenceParts

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
