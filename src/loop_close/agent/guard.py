"""Ends a loop of an agent that has spent its limits or that repeats itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from loop_close.agent.checks import check_amount, check_share, check_whole, is_finite
from loop_close.agent.limits import LimitReached, Limits, Spent, limit_reached
from loop_close.agent.outputs import LoopFound, Output, find_loop, output_of
from loop_close.agent.saved import Saved

WINDOW = 5
THRESHOLD = 0.9
_VERSION = 1
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
        """What the last output repeats, and how closely; None where it repeats nothing."""
        return self._found

    def check(self, now: float) -> LimitReached | None:
        """The limit that is reached, None while there is none: to be asked before each turn.

        :raises ValueError: when ``now`` is no finite number.
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
        """Count a turn of the agent that came to its end: failures are no longer in a row.

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
        saved = Saved(state)
        saved.check_version(_VERSION)
        guard = cls(limits, window=window, threshold=threshold)
        guard._spent = _spent(saved.record("spent"))
        guard._outputs.extend(_output(each) for each in saved.records("outputs"))
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
        # A clock that was set back takes nothing off.
        passed = max(now - self._now, 0.0) if self._now is not None else 0.0
        self._spent = replace(self._spent, runtime=self._spent.runtime + passed)
        self._now = now


def _spent(saved: Saved) -> Spent:
    return Spent(
        iterations=saved.whole("iterations"),
        runtime=saved.amount("runtime"),
        cost=saved.amount("cost"),
        failures=saved.whole("failures"),
    )


def _output(saved: Saved) -> Output:
    return Output(text=saved.text("text"), length=saved.whole("length"))
