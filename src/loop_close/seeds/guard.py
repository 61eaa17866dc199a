"""Seed 002: whether the loop of an agent may go on, by its limits and by what its agent repeats.

After ralph-orchestrator's loop detection.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec.structs import asdict

from loop_close.records import Record
from loop_close.text import cut
from loop_close.text.redact import clean

_LOG = logging.getLogger(__name__)

LimitName = Literal["iterations", "runtime", "cost", "failures"]


class Limits(Record, frozen=True, kw_only=True):
    """What a loop may spend, each reached at ``>=``; ``math.inf`` means unlimited.

    :ivar max_iterations: turns of the agent.
    :ivar max_runtime: seconds that the loop ran.
    :ivar max_cost: in whatever currency costs are recorded in.
    :ivar max_consecutive_failures: failed turns in a row.
    :raises ValueError: for a limit that is not a number above 0.
    """

    max_iterations: float = 100
    max_runtime: float = 4 * 60 * 60.0
    max_cost: float = 10.0
    max_consecutive_failures: float = 5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            _check(name, value, value > 0, "above 0, or math.inf for no limit")


class Spent(msgspec.Struct, kw_only=True):
    """What a loop has spent, and what its agent said; JSON can hold it.

    :ivar runtime: seconds.
    :ivar failures: those in a row.
    :ivar outputs: the last outputs, redacted and bounded, the oldest first.
    """

    iterations: Annotated[int, msgspec.Meta(ge=0)] = 0
    runtime: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    cost: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    failures: Annotated[int, msgspec.Meta(ge=0)] = 0
    outputs: list[str] = []


class LimitReached(Record, frozen=True, kw_only=True):
    """The limit that is reached, and what reached it in words."""

    limit: LimitName
    reason: str


#: How two texts are compared: rapidfuzz's functions of these names.
Ratio = Literal["ratio", "partial_ratio", "token_sort_ratio"]
# Of an output so many characters are kept, from its start and its end; a partial ratio of more would take seconds.
_LONGEST, _LONGEST_PART = 9_900, 1_000


def similarity(a: str, b: str, ratio: Ratio = "ratio") -> float:
    """How alike two texts are, from 0 to 1; 0 if one is empty.

    :param ratio: ``ratio`` compares the whole texts, ``partial_ratio`` the shorter one and the part of the longer one
        that it is most like, ``token_sort_ratio`` their sorted words.
    """
    from rapidfuzz import fuzz  # late: 10 to 50 ms

    most = _LONGEST_PART if ratio == "partial_ratio" else _LONGEST
    compare: Callable[[str, str], float] = getattr(fuzz, ratio)
    # The last digits are noise: 0.07 times 100 is more than 7.
    return round(compare(cut(a, most), cut(b, most)) / 100, 9) if a and b else 0.0


class SafetyGuard:
    """Counts what a loop spends and compares what its agent says with its last outputs.

    It reads no clock: ``now`` is seconds of any clock that does not jump, such as ``time.monotonic``. Run time is what
    passes from one ``now`` to the next.

    :ivar spent: what the loop has spent; another guard, also of another process, can go on from it.
    :ivar found: similarity of the last output to the one that it repeats; None if it repeats none.
    :param limits: what the loop may spend.
    :param spent: what it has spent already.
    :param loop_threshold: the similarity, from 0 to 1, from which on (``>=``) an output repeats another one.
    :param max_recent_outputs: how many outputs are compared with.
    :param ratio: as in :func:`similarity`.
    :raises ValueError: for a threshold that is not from 0 to 1, and fewer than one output.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        spent: Spent | None = None,
        *,
        loop_threshold: float = 0.9,
        max_recent_outputs: int = 5,
        ratio: Ratio = "ratio",
    ) -> None:
        _check("loop_threshold", loop_threshold, 0 <= loop_threshold <= 1, "from 0 to 1")
        _check("max_recent_outputs", max_recent_outputs, max_recent_outputs >= 1, "of at least 1")
        self.limits = limits or Limits()
        self.spent = spent or Spent()
        self.found: float | None = None
        self._threshold = loop_threshold
        self._ratio: Ratio = ratio
        self._most = max_recent_outputs
        self._now: float | None = None

    def check(self, now: float) -> LimitReached | None:
        """The first limit that is reached, None while there is none: to be asked before each turn.

        :raises ValueError: if ``now`` is not a finite number.
        """
        self._pass(now)
        spent, limits = self.spent, self.limits
        rows: tuple[tuple[LimitName, float, float, str], ...] = (
            ("iterations", spent.iterations, limits.max_iterations, "turns"),
            ("runtime", spent.runtime, limits.max_runtime, "seconds of run time"),
            ("cost", spent.cost, limits.max_cost, "cost"),
            ("failures", spent.failures, limits.max_consecutive_failures, "failures in a row"),
        )
        for name, value, maximum, what in rows:
            if value >= maximum:
                reason = f"{_spelled(value)} {what}, the limit is {_spelled(maximum)}"
                return LimitReached(limit=name, reason=reason)
        return None

    def detect_loop(self, output: str | None) -> bool:
        """Whether the output repeats one of the last ones; if it does not, it is kept for those to come.

        An output with nothing to see in it repeats nothing and is not kept.
        """
        self.found = None
        shown = clean(cut(output or "", _LONGEST))
        if not shown.strip():
            return False
        for earlier in self.spent.outputs[-self._most :]:
            alike = similarity(shown, earlier, self._ratio)
            if alike >= self._threshold:
                _LOG.warning("Loop detected: %.1f%% similarity to previous output", 100 * alike)
                self.found = alike
                return True
        self.spent.outputs = [*self.spent.outputs, shown][-self._most :]
        return False

    def record_success(self, *, cost: float = 0.0, now: float | None = None) -> None:
        """Count a completed turn of the agent: failures are no longer in a row.

        :param cost: of this turn; ``now``: as in :meth:`check`.
        :raises ValueError: when the cost is below 0 or not finite.
        """
        self._record(cost, now, failures=0)

    def record_failure(self, *, cost: float = 0.0, now: float | None = None) -> None:
        """Count a turn that failed, as :meth:`record_success` one that did not."""
        self._record(cost, now, failures=self.spent.failures + 1)

    def reset(self) -> None:
        """Forget all that was spent and said."""
        self.spent = Spent()
        self._now = self.found = None

    def clear_loop_history(self) -> None:
        """Forget what was said; what is spent stays so."""
        self.spent.outputs = []
        self.found = None

    def _record(self, cost: float, now: float | None, failures: int) -> None:
        _check("cost", cost, 0 <= cost < math.inf, "of at least 0")
        if now is not None:
            self._pass(now)
        self.spent.iterations += 1
        self.spent.cost += cost
        self.spent.failures = failures

    def _pass(self, now: float) -> None:
        _check("now", now, abs(now) < math.inf, "of seconds")
        # A clock that was set back does not reduce the run time.
        self.spent.runtime += max(now - (now if self._now is None else self._now), 0.0)
        self._now = now


def _check(name: str, value: float, fits: bool, what: str) -> None:
    if not fits:
        raise ValueError(f"{name} is {value!r}: it must be a number {what}")


def _spelled(number: float) -> str:
    return f"{number:.2f}".removesuffix(".00")
