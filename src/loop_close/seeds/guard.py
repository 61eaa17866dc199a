"""Seed 002: whether the loop of an agent may go on, by its limits and by what its agent repeats.

After ralph-orchestrator's loop detection.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import asdict, replace

from loop_close.records import Record
from loop_close.seeds import restored
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


class Spent(Record, frozen=True, kw_only=True):
    """What a loop has spent.

    :ivar runtime: seconds.
    :ivar failures: those in a row.
    """

    iterations: Annotated[int, msgspec.Meta(ge=0)] = 0
    runtime: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    cost: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    failures: Annotated[int, msgspec.Meta(ge=0)] = 0


class LimitReached(Record, frozen=True, kw_only=True):
    """A limit and what reached it.

    :ivar value: what is spent; ``maximum``: the limit, never above the value.
    :ivar reason: the same in words.
    """

    limit: LimitName
    value: float
    maximum: float
    reason: str


class GuardState(Record, frozen=True, kw_only=True):
    """What a guard goes on from in another process.

    :ivar outputs: as they are kept, the oldest first.
    """

    spent: Spent = Spent()
    outputs: tuple[str, ...] = ()


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
    passes from one ``now`` to the next; between :meth:`state` and :meth:`from_state` none passes.

    :ivar found: similarity of the last output to the one that it repeats; None if it repeats none.
    :param limits: what the loop may spend.
    :param loop_threshold: the similarity, from 0 to 1, from which on (``>=``) an output repeats another one.
    :param max_recent_outputs: how many outputs are compared with.
    :param ratio: as in :func:`similarity`.
    :raises ValueError: for a threshold that is not from 0 to 1, and fewer than one output.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        loop_threshold: float = 0.9,
        max_recent_outputs: int = 5,
        ratio: Ratio = "ratio",
    ) -> None:
        _check("loop_threshold", loop_threshold, 0 <= loop_threshold <= 1, "from 0 to 1")
        _check("max_recent_outputs", max_recent_outputs, max_recent_outputs >= 1, "of at least 1")
        self.limits = limits or Limits()
        self.found: float | None = None
        self._threshold = loop_threshold
        self._ratio = ratio
        self._outputs: deque[str] = deque(maxlen=max_recent_outputs)
        self._spent = Spent()
        self._now: float | None = None

    @property
    def spent(self) -> Spent:
        """What the loop has spent so far."""
        return self._spent

    def check(self, now: float) -> LimitReached | None:
        """The first limit that is reached, None while there is none: to be asked before each turn.

        :raises ValueError: if ``now`` is not a finite number.
        """
        self._pass(now)
        spent, limits = self._spent, self.limits
        rows: tuple[tuple[LimitName, float, float, str], ...] = (
            ("iterations", spent.iterations, limits.max_iterations, "turns"),
            ("runtime", spent.runtime, limits.max_runtime, "seconds of run time"),
            ("cost", spent.cost, limits.max_cost, "cost"),
            ("failures", spent.failures, limits.max_consecutive_failures, "failures in a row"),
        )
        for name, value, maximum, what in rows:
            if value >= maximum:
                reason = f"{_spelled(value)} {what}, the limit is {_spelled(maximum)}"
                return LimitReached(limit=name, value=value, maximum=maximum, reason=reason)
        return None

    def detect_loop(self, output: str | None) -> bool:
        """Whether the output repeats one of the last ones; if it does not, it is kept for those to come.

        An output with nothing to see in it repeats nothing and is not kept.
        """
        self.found = None
        shown = clean(cut(output or "", _LONGEST))
        if not shown.strip():
            return False
        for earlier in self._outputs:
            alike = similarity(shown, earlier, self._ratio)
            if alike >= self._threshold:
                _LOG.warning("Loop detected: %.1f%% similarity to previous output", 100 * alike)
                self.found = alike
                return True
        self._outputs.append(shown)
        return False

    def record_success(self, *, cost: float = 0.0, now: float | None = None) -> None:
        """Count a completed turn of the agent: failures are no longer in a row.

        :param cost: of this turn; ``now``: as in :meth:`check`.
        :raises ValueError: when the cost is below 0 or not finite.
        """
        self._record(cost, now, failures=0)

    def record_failure(self, *, cost: float = 0.0, now: float | None = None) -> None:
        """Count a turn that failed, as :meth:`record_success` one that did not."""
        self._record(cost, now, failures=self._spent.failures + 1)

    def forgive(self) -> None:
        """Forget that turns failed in a row, as when a person has looked; what is spent stays so."""
        self._spent = replace(self._spent, failures=0)

    def reset(self) -> None:
        """Forget all that was spent and said."""
        self._spent = Spent()
        self._now = None
        self.clear_loop_history()

    def clear_loop_history(self) -> None:
        """Forget what was said; what is spent stays so."""
        self._outputs.clear()
        self.found = None

    def state(self) -> dict[str, Any]:
        """What to go on from after this process, as JSON can hold it. Outputs in it are redacted and bounded."""
        state = GuardState(spent=self._spent, outputs=tuple(self._outputs))
        restorable: dict[str, Any] = msgspec.to_builtins(state)
        return restorable

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], limits: Limits | None = None, **settings: Any
    ) -> SafetyGuard:
        """The guard that gave the state; the limits and settings are those given now.

        :raises ValueError: naming the field which is damaged.
        """
        saved = restored(state, GuardState)
        guard = cls(limits, **settings)
        guard._spent = saved.spent
        guard._outputs.extend(saved.outputs)
        return guard

    def _record(self, cost: float, now: float | None, failures: int) -> None:
        _check("cost", cost, 0 <= cost < math.inf, "of at least 0")
        if now is not None:
            self._pass(now)
        spent = self._spent
        self._spent = replace(
            spent, iterations=spent.iterations + 1, cost=spent.cost + cost, failures=failures
        )

    def _pass(self, now: float) -> None:
        _check("now", now, abs(now) < math.inf, "of seconds")
        # A clock that was set back does not reduce the run time.
        passed = max(now - (now if self._now is None else self._now), 0.0)
        self._spent = replace(self._spent, runtime=self._spent.runtime + passed)
        self._now = now


def _check(name: str, value: float, fits: bool, what: str) -> None:
    if not fits:
        raise ValueError(f"{name} is {value!r}: it must be a number {what}")


def _spelled(number: float) -> str:
    return f"{number:.2f}".removesuffix(".00")
