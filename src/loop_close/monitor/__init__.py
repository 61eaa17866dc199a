"""Records which project functions each test called: by ``sys.monitoring``, or from coverage.py contexts.

Here: which tests are tracked, within a budget of CPU time.
"""

from __future__ import annotations

from collections.abc import Collection
from time import process_time

# Tracking measures its own share of the time. Where that is spent, a test is not tracked. Then it costs next to
# nothing, as line events are removed. Tests that are likely to fail come first: those that failed in the last run, and
# all tests of a file after its first failure. Further parameter sets of a test function come last.

#: Share of the CPU time of the process so far.
SHARE = 0.03
#: The share for files with failing tests, whose calls matter most.
SHARE_AFTER_FAILURE = 0.25
#: Minimum in CPU seconds, for short runs.
ALLOWANCE = 0.25
# Cost of a function's return, of one step along a traceback, and of a function whose line events are set at its start,
# in line callbacks.
_RETURN, _STEP, _ARMED = 3, 8, 8
# Once a limit is reached, tests are tracked again when less than this share of it is spent. To begin and to end costs
# time, as Python instruments anew all functions that run after it.
_RESUMED = 0.8
# After the first three tests of a function, the next is tracked only if this share of the budget is left.
_FEW, _RESERVE = 3, 0.4
_CPU = process_time  # tests may patch it


class Budget:
    """Decides before each test whether it is tracked.

    :param likely: node ids of tests that are always tracked.
    :ivar is_unlimited: track every test.
    :ivar spent: CPU seconds that tracking took.
    :ivar line: seconds that one line callback takes, as measured on this machine.
    """

    def __init__(self, likely: Collection[str] = (), *, is_unlimited: bool = False) -> None:
        self.spent = 0.0
        self.line = 0.0
        self._likely = frozenset(likely)
        self.is_unlimited = is_unlimited
        self._is_used_up = False
        self._is_kept = False  # what is left is for the first tests of each function
        self._failing: set[str] = set()
        self._times: dict[str, int] = {}

    def allows(self, nodeid: str) -> bool:
        """Whether the test that begins now is tracked."""
        if self.is_unlimited or nodeid in self._likely:
            return True
        now = _CPU()
        if nodeid.partition("::")[0] in self._failing and self.spent < SHARE_AFTER_FAILURE * now + ALLOWANCE:
            return True
        allowed = max(SHARE * now, ALLOWANCE)
        self._is_used_up = self._is_beyond(allowed, was=self._is_used_up)
        self._is_kept = self._is_beyond((1 - _RESERVE) * allowed, was=self._is_kept)
        if self._is_used_up:
            return False
        function = nodeid.partition("[")[0].rstrip("0123456789")  # made from data, tests have a number
        times = self._times.get(function, 0)
        if times >= _FEW and self._is_kept:
            return False
        self._times[function] = times + 1
        return True

    def _is_beyond(self, limit: float, *, was: bool) -> bool:
        """Whether more is spent than a limit; once it is, until much less is."""
        return self.spent >= (_RESUMED * limit if was else limit)

    def failed(self, nodeid: str) -> None:
        """Record that a test failed: others of its file are likely to fail too."""
        self._failing.add(nodeid.partition("::")[0])

    def spend(
        self, seconds: float, lines: int = 0, functions: int = 0, steps: int = 0, armed: int = 0
    ) -> None:
        """Add the cost of tracking.

        :param seconds: measured CPU time; the other parameters count what is too short for a clock.
        :param lines: line callbacks.
        :param functions: functions that ran.
        :param steps: steps along tracebacks.
        :param armed: functions whose lines were set at their start.
        """
        self.spent += seconds + self.line * (lines + _RETURN * functions + _STEP * steps + _ARMED * armed)
