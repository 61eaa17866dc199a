"""Whether an agent's errors repeat, as Nity's ResponseAnalyzer asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from loop_close.agent.analysis import StuckSignal
from loop_close.agent.errors import error_patterns

#: So often an error comes before it counts as repeated (Nity's ResponseAnalyzer).
REPEATS = 3
#: Turns that are looked back on.
WINDOW = 10
#: Responses among which so many that hold nothing but test output are too many.
TEST_WINDOW = 5
#: The pattern of responses that hold nothing but test output.
TEST_ONLY = "only test output, no change"
_A_TIME = 25.0


def stuck_in(error_history: Sequence[str]) -> StuckSignal:
    """Whether one error came three times in the last ten turns.

    :param error_history: one text a turn, the oldest first; each error of a turn counts once. Values do not matter, as
        :func:`loop_close.text.normalize.mask` replaces them.
    """
    patterns = Counter(pattern for text in error_history[-WINDOW:] for pattern in error_patterns(text))
    repeated = [(pattern, count) for pattern, count in patterns.items() if count >= REPEATS]
    repeated.sort(key=lambda item: (-item[1], item[0]))
    return StuckSignal(
        detected=bool(repeated),
        repeated_patterns=tuple(pattern for pattern, _ in repeated),
        error_frequency=dict(sorted(patterns.items())),
        confidence=_confidence(max(patterns.values(), default=0)),
    )


def with_test_only(signal: StuckSignal, number: int) -> StuckSignal:
    """The signal, with so many responses in a row that held nothing but test output."""
    return StuckSignal(
        detected=True,
        repeated_patterns=(*signal.repeated_patterns, TEST_ONLY),
        error_frequency={**signal.error_frequency, TEST_ONLY: number},
        confidence=max(signal.confidence, _confidence(number)),
    )


def _confidence(number: int) -> float:
    return min(100.0, number * _A_TIME)
