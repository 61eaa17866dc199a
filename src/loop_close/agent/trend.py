"""How many tests fail from run to run of a loop, and for how many turns that did not get better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from loop_close.agent.advancing import OWN_KEY
from loop_close.agent.run_outcome import RunOutcome

_COUNTS = 1_000


class Trend:
    """The counts of a loop's own runs: an agent also runs tests by itself, and the history counts those, too.

    :ivar failing: how many tests failed after each run of which that is known.
    :ivar vain: turns in a row after which no fewer tests failed than ever before.
    :param patience: such turns before which an open breaker is a half open one.
    """

    def __init__(self, patience: int, failing: Sequence[int] = (), vain: int = 0) -> None:
        self._patience = patience
        self.failing = list(failing)[-_COUNTS:]
        self.vain = vain

    def moved(self, outcome: RunOutcome, *, is_turn: bool) -> RunOutcome:
        """The outcome of the next run, as far as the loop got with it.

        :param is_turn: the agent had a turn before it.
        """
        best = min(self.failing, default=None)
        is_better = outcome.is_counted and (best is None or outcome.failing < best)
        if outcome.is_counted:
            self.failing = [*self.failing, outcome.failing][-_COUNTS:]
        self.vain = 0 if is_better else self.vain + is_turn
        if is_better and best is not None:
            outcome = replace(outcome, has_advanced=True, meta={OWN_KEY: False})
        if outcome.breaker.state == "open" and self.vain < self._patience:
            outcome = replace(outcome, breaker=replace(outcome.breaker, state="half_open"))
        return outcome
