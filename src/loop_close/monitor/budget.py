"""What call tracking may cost: it measures its own share of the CPU time and passes over tests beyond that.

A test that is passed over costs next to nothing: the lines that the tests before it ran stay disabled. What it calls
is then not known. So tests that are likely to fail come first: those that failed in the last run, and all tests of a
file after its first failure. Of the others, the parameters of a test function that is known by now come last.
"""

from __future__ import annotations

from collections.abc import Collection
from time import process_time

#: Of the CPU time of the process so far.
SHARE = 0.03
#: Of a run with failing tests, for the files in which they are: what they call is what the run is read for.
SHARE_AFTER_FAILURE = 0.25
#: CPU seconds at least, so that short runs are tracked in full.
ALLOWANCE = 0.3
# A function's return, and a step from a traceback's entry to the next, in callbacks for a line.
_RETURN, _STEP = 3, 16
# From so many tests of one function on, the next one needs this much of what is allowed to be left.
_FEW, _RESERVE = 3, 0.4
_CPU = process_time  # tests may put another one in its place


class Budget:
    """Decides before each test whether it is tracked.

    :param likely: node ids of tests that are always tracked.
    :param is_unlimited: track every test.
    :ivar spent: CPU seconds that tracking took.
    :ivar line: seconds that one callback takes, as measured on this machine.
    """

    def __init__(self, likely: Collection[str] = (), *, is_unlimited: bool = False) -> None:
        self.spent = 0.0
        self.line = 0.0
        self._likely = frozenset(likely)
        self._is_unlimited = is_unlimited
        self._failing: set[str] = set()
        self._times: dict[str, int] = {}

    def allows(self, nodeid: str) -> bool:
        """Whether the test that begins now is tracked."""
        if self._is_unlimited or nodeid in self._likely:
            return True
        now = _CPU()
        if nodeid.partition("::")[0] in self._failing:
            return self.spent < SHARE_AFTER_FAILURE * now + ALLOWANCE
        allowed = max(SHARE * now, ALLOWANCE)
        function = nodeid.partition("[")[0]
        if self._times.get(function, 0) >= _FEW:
            allowed *= 1 - _RESERVE
        if self.spent >= allowed:
            return False
        self._times[function] = self._times.get(function, 0) + 1
        return True

    def failed(self, nodeid: str) -> None:
        """A test failed: the others of its file are likely to."""
        self._failing.add(nodeid.partition("::")[0])

    def spend(self, seconds: float, lines: int = 0, functions: int = 0, steps: int = 0) -> None:
        """Add what tracking took: measured, and in callbacks, which are too short for a clock."""
        self.spent += seconds + self.line * (lines + _RETURN * functions + _STEP * steps)
