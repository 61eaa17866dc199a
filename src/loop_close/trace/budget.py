"""Which tests are tracked, within a budget of CPU time."""

from __future__ import annotations

from collections.abc import Collection
from time import process_time

# Tracking measures its own share of the time. Where that is spent, a test is not tracked. Then it costs next to
# nothing, as no line is reported again. Tests that are likely to fail come first: those that failed in the last run,
# and all tests of a file after its first failure. Further parameter sets of a test function come last.

#: Share of the CPU time of the process so far.
SHARE = 0.03
#: The share for files with failing tests, whose lines matter most.
SHARE_AFTER_FAILURE = 0.25
#: Minimum in CPU seconds, for short runs.
ALLOWANCE = 0.25
# Once a limit is reached, tests are tracked again when less than this share of it is spent.
_RESUMED = 0.8
# After the first three tests of a function, the next is tracked only if this share of the budget is left.
_FEW, _RESERVE = 3, 0.4
# What tracking costs, as a multiple of the time that it takes to read what was reported: most goes to the callbacks
# and to the instrumented code itself, which are too short for a clock.
_WHOLE = 2.0
_CPU = process_time  # tests may patch it


class Budget:
    """Decides before each test whether it is tracked.

    :param likely: node ids of tests that are always tracked.
    :ivar is_unlimited: track every test.
    :ivar spent: CPU seconds that tracking took.
    """

    def __init__(self, likely: Collection[str] = (), *, is_unlimited: bool = False) -> None:
        self.spent = 0.0
        self.is_unlimited = is_unlimited
        self._likely = frozenset(likely)
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
        function = nodeid.partition("[")[0].rstrip("0123456789")  # made from data, tests have a number
        times = self._times.get(function, 0)
        if self._is_used_up or (times >= _FEW and self._is_kept):
            return False
        self._times[function] = times + 1
        return True

    def _is_beyond(self, limit: float, *, was: bool) -> bool:
        """Whether more is spent than a limit; once it is, until much less is."""
        return self.spent >= (_RESUMED * limit if was else limit)

    def failed(self, nodeid: str) -> None:
        """Record that a test failed: others of its file are likely to fail too."""
        self._failing.add(nodeid.partition("::")[0])

    def spend(self, seconds: float) -> None:
        """Add the CPU time that it took to read what was reported."""
        self.spent += _WHOLE * seconds
