"""Whether the loop of an agent may go on: its limits and repetitions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec.structs import asdict, replace

from loop_close.agent import (
    AMOUNT,
    WHOLE,
    check_above_zero,
    check_amount,
    check_share,
    check_whole,
    checked_state,
    is_finite,
)
from loop_close.records import Record
from loop_close.text import cut

LimitName = Literal["iterations", "runtime", "cost", "failures"]


class Limits(Record, frozen=True, kw_only=True):
    """What a loop may spend, each reached at ``>=``; ``math.inf`` means unlimited.

    The defaults are those of ralph-orchestrator's loop detection.

    :ivar max_iterations: turns of the agent.
    :ivar max_runtime: seconds that the loop ran.
    :ivar max_cost: in whatever currency costs are recorded in.
    :ivar max_consecutive_failures: failed turns in a row.
    """

    max_iterations: float = 100
    max_runtime: float = 4 * 60 * 60.0
    max_cost: float = 10.0
    max_consecutive_failures: float = 5

    def __post_init__(self) -> None:
        check_whole("max_iterations", self.max_iterations, 1, is_endless=True)
        check_above_zero("max_runtime", self.max_runtime)
        check_above_zero("max_cost", self.max_cost)
        check_whole("max_consecutive_failures", self.max_consecutive_failures, 1, is_endless=True)


class Spent(Record, frozen=True, kw_only=True):
    """What a loop has spent.

    :ivar runtime: seconds.
    :ivar failures: those in a row.
    """

    iterations: int = 0
    runtime: float = 0.0
    cost: float = 0.0
    failures: int = 0


class LimitReached(Record, frozen=True, kw_only=True):
    """A limit and what reached it.

    :ivar value: what is spent; ``maximum``: the limit, never above the value.
    :ivar reason: the same in words.
    """

    limit: LimitName
    value: float
    maximum: float
    reason: str


def limit_reached(spent: Spent, limits: Limits) -> LimitReached | None:
    """The first limit that is reached, of iterations, runtime, cost and failures in this order; None for none."""
    if spent.iterations >= limits.max_iterations:
        return _reached("iterations", spent.iterations, limits.max_iterations, "turns")
    if spent.runtime >= limits.max_runtime:
        return _reached("runtime", spent.runtime, limits.max_runtime, "seconds of run time")
    if spent.cost >= limits.max_cost:
        return _reached("cost", spent.cost, limits.max_cost, "cost")
    if spent.failures >= limits.max_consecutive_failures:
        return _reached("failures", spent.failures, limits.max_consecutive_failures, "failures in a row")
    return None


def _reached(limit: LimitName, value: float, maximum: float, what: str) -> LimitReached:
    reason = f"{_spelled(value)} {what}, the limit is {_spelled(maximum)}"
    return LimitReached(limit=limit, value=value, maximum=maximum, reason=reason)


def _spelled(number: float) -> str:
    return f"{number:.2f}".removesuffix(".00")


# With the line about what was left out it stays below what ``ratio`` compares whole.
_LONGEST = 9_900


class Output(Record, frozen=True, kw_only=True):
    """An output as it is kept: redacted, and a long one cut to its head and tail.

    :ivar length: characters of the whole output.
    """

    text: str
    length: int


class LoopFound(Record, frozen=True, kw_only=True):
    """An output that repeats an earlier one.

    :ivar similarity: from the threshold to 1.
    """

    similarity: float


WINDOW = 5
THRESHOLD = 0.9
_VERSION = 1
_STATE = {
    "version": _VERSION,
    "spent": {"iterations": WHOLE, "runtime": AMOUNT, "cost": AMOUNT, "failures": WHOLE},
    "outputs": [{"text": str, "length": WHOLE}],
}
_DEFAULT = Limits()


class SafetyGuard:
    """Counts what a loop spends and remembers what its agent said last.

    After ralph-orchestrator's loop detection. It reads no clock: ``now`` is seconds of any clock that
    does not jump, such as ``time.monotonic``. Run time is what passes from one ``now`` to the next, the first of
    all being its beginning; between :meth:`state` and :meth:`from_state` none passes.

    :param limits: what the loop may spend.
    :param window: how many outputs are kept to compare with.
    :param threshold: the similarity, from 0 to 1, from which on (``>=``) an output repeats another one.
    :raises ValueError: for a window below 1 or a threshold that is not from 0 to 1.
    """

    def __init__(
        self, limits: Limits = _DEFAULT, *, window: int = WINDOW, threshold: float = THRESHOLD
    ) -> None:
        check_whole("window", window, 1)
        check_share("threshold", threshold)
        self.limits = limits
        self._threshold = threshold
        self._outputs: deque[Output] = deque(maxlen=window)
        self._spent = Spent()
        self._found: LoopFound | None = None
        self._now: float | None = None

    @property
    def spent(self) -> Spent:
        """What the loop has spent so far."""
        return self._spent

    @property
    def found(self) -> LoopFound | None:
        """What the last output repeats, and how closely; None if it repeats nothing."""
        return self._found

    def check(self, now: float) -> LimitReached | None:
        """The limit that is reached, None while there is none: to be asked before each turn.

        :raises ValueError: if ``now`` is not a finite number.
        """
        self._pass(now)
        return limit_reached(self._spent, self.limits)

    def detect_loop(self, output: str | None) -> bool:
        """Whether the output repeats one of the last ones; one that does not is kept for those to come.

        An empty output, or one with nothing to see in it, repeats nothing and is not kept.
        """
        self._found = None
        seen = output_of(output or "")
        if not seen.text.strip():
            return False
        self._found = find_loop(seen, self._outputs, self._threshold)
        if self._found is None:
            self._outputs.append(seen)
        return self._found is not None

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
        self._found = None

    def state(self) -> dict[str, Any]:
        """What to go on from after this process, as JSON can hold it. Outputs in it are redacted and bounded."""
        return {
            "version": _VERSION,
            "spent": asdict(self._spent),
            "outputs": [asdict(output) for output in self._outputs],
        }

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        limits: Limits = _DEFAULT,
        *,
        window: int = WINDOW,
        threshold: float = THRESHOLD,
    ) -> SafetyGuard:
        """The guard that gave the state; the settings are those given now.

        :raises StateError: a ValueError that names the field which is damaged.
        """
        saved = checked_state(state, _STATE)
        guard = cls(limits, window=window, threshold=threshold)
        guard._spent = Spent(**saved["spent"])
        guard._outputs.extend(Output(**each) for each in saved["outputs"])
        return guard

    def _record(self, cost: float, now: float | None, failures: int) -> None:
        check_amount("cost", cost)
        if now is not None:
            self._pass(now)
        spent = self._spent
        self._spent = replace(
            spent, iterations=spent.iterations + 1, cost=spent.cost + cost, failures=failures
        )

    def _pass(self, now: float) -> None:
        if not is_finite(now):
            raise ValueError(f"now is {now!r}: it must be a time in seconds, a finite number")
        # A clock that was set back does not reduce the run time.
        passed = max(now - self._now, 0.0) if self._now is not None else 0.0
        self._spent = replace(self._spent, runtime=self._spent.runtime + passed)
        self._now = now


def output_of(text: str) -> Output:
    """What to keep of an output, in linear time: without credentials and invisible characters."""
    from loop_close.text.redact import clean  # late: few loops need it

    return Output(text=clean(cut(text, _LONGEST)), length=len(text))


def find_loop(output: Output, kept: Iterable[Output], threshold: float) -> LoopFound | None:
    """The similarity to the latest kept output that reaches the threshold; None if none does."""
    from loop_close.text.normalize import ratio  # late, too

    for earlier in reversed(list(kept)):
        short, long = sorted((output.length, earlier.length))
        # Long texts are kept in part: their lengths bound how similar the whole texts can be.
        if long > _LONGEST and 2 * short < threshold * (short + long):
            continue
        similarity = ratio(output.text, earlier.text, cutoff=threshold)
        if similarity >= threshold:
            return LoopFound(similarity=similarity)
    return None
