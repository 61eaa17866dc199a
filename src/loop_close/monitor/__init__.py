"""Records which project functions each test called: by ``sys.monitoring``, or from coverage.py contexts.

Here: in how much detail each test is tracked, within a budget of CPU time.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from time import process_time


class Detail(IntEnum):
    """What is tracked of a test; more of it costs more."""

    NOTHING = 0
    FUNCTIONS = 1
    LINES = 2


# Tracking measures its own share of the time. Where that is spent, a test is tracked by function, which takes a
# quarter; where that share is spent too, it is not tracked. Then it costs next to nothing, as line events
# are removed. Tests that are likely to fail come first: those that failed in the last run, and all tests of a
# file after its first failure. Further parameter sets of a test function come last.

#: Share of the CPU time of the process so far.
SHARE = 0.02
#: The share for files with failing tests, whose calls matter most.
SHARE_AFTER_FAILURE = 0.25
#: Minimum in CPU seconds, so that short runs are tracked in full.
ALLOWANCE = 0.3
#: What tracking by function may take beyond that: share, and minimum in CPU seconds.
FUNCTIONS_SHARE, FUNCTIONS_ALLOWANCE = 0.015, 0.1
# Cost of a function's return, of one step along a traceback, and of a function that is called so often that its calls
# are disabled until the next test, in line callbacks.
_RETURN, _STEP, _DISABLED = 3, 16, 8
# After the first three tests of a function, the next is tracked only if this share of the budget is left.
_FEW, _RESERVE = 3, 0.4
_CPU = process_time  # tests may patch it


class Budget:
    """Decides before each test in how much detail it is tracked.

    :param likely: node ids of tests that are always tracked in full.
    :param is_unlimited: track every test in full.
    :ivar spent: CPU seconds that tracking took.
    :ivar line: seconds that one line callback takes, as measured on this machine.
    """

    def __init__(self, likely: Collection[str] = (), *, is_unlimited: bool = False) -> None:
        self.spent = 0.0
        self.line = 0.0
        self._likely = frozenset(likely)
        self._is_unlimited = is_unlimited
        self._failing: set[str] = set()
        self._times: dict[str, int] = {}

    def detail(self, nodeid: str) -> Detail:
        """What to track of the test that begins now."""
        if self._is_unlimited or nodeid in self._likely:
            return Detail.LINES
        now = _CPU()
        if nodeid.partition("::")[0] in self._failing and self.spent < SHARE_AFTER_FAILURE * now + ALLOWANCE:
            return Detail.LINES
        all_allowed = allowed = max(SHARE * now, ALLOWANCE)
        function = nodeid.partition("[")[0]
        if self._times.get(function, 0) >= _FEW:
            allowed *= 1 - _RESERVE
        if self.spent < allowed:
            self._times[function] = self._times.get(function, 0) + 1
            return Detail.LINES
        more = max(FUNCTIONS_SHARE * now, FUNCTIONS_ALLOWANCE)
        return Detail.FUNCTIONS if self.spent < all_allowed + more else Detail.NOTHING

    def failed(self, nodeid: str) -> None:
        """Record that a test failed: others of its file are likely to fail too."""
        self._failing.add(nodeid.partition("::")[0])

    def spend(
        self, seconds: float, lines: int = 0, functions: int = 0, steps: int = 0, disabled: int = 0
    ) -> None:
        """Add the cost of tracking.

        :param seconds: measured CPU time; the other parameters count what is too short for a clock.
        :param lines: line callbacks, and those of calls.
        :param functions: functions that ran.
        :param steps: steps along tracebacks.
        :param disabled: functions that were called so often that their calls are not reported.
        """
        self.spent += seconds + self.line * (
            lines + _RETURN * functions + _STEP * steps + _DISABLED * disabled
        )
