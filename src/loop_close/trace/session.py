"""Tracking in a session: which tests are tracked, within a budget of CPU time, and which lines ran for each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from time import process_time
from typing import Any, Concatenate, ParamSpec

from loop_close.calls import Calls
from loop_close.facts import Name
from loop_close.trace.code import Ownership
from loop_close.trace.counts import Counts
from loop_close.trace.lines import LineTracker, Ran, is_program_exception, merge
from loop_close.trace.traced import TracedCall, TracedLines

# --- the budget

# Tracking measures its own share of the time. Where that is spent, a test is not tracked. Then it costs next to
# nothing, as no line is reported again. Tests that failed in the last run come first, further parameter sets of a test
# function last.

#: Share of the CPU time of the process so far.
SHARE = 0.012
#: Minimum in CPU seconds, for short runs.
ALLOWANCE = 0.08
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
        self._times: dict[str, int] = {}

    def allows(self, nodeid: str) -> bool:
        """Whether the test that begins now is tracked."""
        if self.is_unlimited or nodeid in self._likely:
            return True
        allowed = max(SHARE * _CPU(), ALLOWANCE)
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

    def spend(self, seconds: float) -> None:
        """Add the CPU time that it took to read what was reported."""
        self.spent += _WHOLE * seconds


# --- the lines of each test

#: For a second look: the text of a value that has some names, and the functions whose calls are kept, by file and name.
Watched = tuple[Callable[[Any, Sequence[str]], str], Collection[Name]]
_P = ParamSpec("_P")


def _guarded(step: Callable[Concatenate[Monitor, _P], None]) -> Callable[Concatenate[Monitor, _P], None]:
    """Decorate a step so that an error in it ends tracking and nothing else."""

    def guarded(self: Monitor, /, *arguments: _P.args, **more: _P.kwargs) -> None:
        if not self.why_off:
            try:
                step(self, *arguments, **more)
            except Exception as fault:
                if is_program_exception(fault):  # as for a time limit, or Ctrl-C
                    raise
                self._give_up(fault)

    return guarded


class _Test:
    """A tracked test that is running.

    :ivar ran: what it ran so far; ``teardown`` is what tore down fixtures of wider scope.
    :ivar set_up: the fixtures of wider scope that were set up for it.
    :ivar outcome: as pytest names it, empty until reported.
    :ivar is_failure_reported: from then on it only tears down, which has no part in the failure.
    """

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid
        self.ran: Ran = {}
        self.teardown: Ran = {}
        self.set_up: list[Any] = []
        self.outcome = ""
        self.failed_in_teardown = False
        self.is_failure_reported = False


class Monitor:
    """Counts which lines of the code under test each test runs; starts when it is made.

    What the setup of a fixture of wider scope ran counts for all tests that use the fixture. What its teardown ran
    counts for no test, unless a test fails in that teardown. So the counts do not depend on the order of the tests.

    :param root: absolute path of the project's root.
    :param likely: node ids of tests that are likely to fail: these are always tracked.
    :param is_whole: track all tests, regardless of the cost.
    :param watched: trace, on every Python, and keep the calls of these; None for lines by ``sys.monitoring``.
    :ivar why_off: why tracking is off, empty while it works.
    :ivar tracked: the tests that are tracked, as far as they began.
    :ivar test: the one that is running; None outside of any, and in one that is not tracked.
    """

    def __init__(
        self,
        root: str,
        likely: Collection[str] = (),
        *,
        is_whole: bool = False,
        watched: Watched | None = None,
    ) -> None:
        self.why_off = ""
        self.tracked: set[str] = set()
        self._ownership = Ownership(root)
        self._budget = Budget(likely, is_unlimited=is_whole)
        self._tracker = LineTracker(self._ownership, self._budget.spend)
        if watched is not None:
            self._tracker = TracedLines(self._ownership, self._budget.spend, *watched)
        self._counts = Counts(self._tracker.functions)
        self.test: _Test | None = None
        self._is_on = True
        # Of the fixtures of wider scope that are being set up, the innermost last.
        self._setups: list[Ran] = []
        # What the setup of each such fixture ran, and whether it raised.
        self._shared: dict[Any, tuple[Ran, bool]] = {}
        self._torn_down: list[Any] = []
        # What runs from here on belongs to the fixture that is torn down next, if any.
        self._mark = 0
        self._start()

    @_guarded
    def _start(self) -> None:
        self.why_off = self._tracker.start()

    def _give_up(self, fault: Exception) -> None:
        self.why_off = f"call tracking failed: {type(fault).__name__}: {fault}"
        self.stop()

    def _take(self) -> None:
        """Attribute what ran since the last call to the fixture that is being set up, else to the test."""
        ran = self._tracker.take()
        self._mark = 0
        if self._setups:
            merge(self._setups[-1], ran)
        elif self.test is None:
            self._add_outside(ran)
        elif not self.test.is_failure_reported:
            merge(self.test.ran, ran)

    def _add_outside(self, ran: Ran) -> None:
        self._counts.outside |= ran.keys()

    @_guarded
    def collected(self, nodeid: str, *, is_failed: bool) -> None:
        """End the collection of a module; if it failed, what the module ran counts as that of a test."""
        if self.test is None:
            ran = self._tracker.take()
            self._add_outside(ran)
            if is_failed:
                self._counts.add(nodeid, ran, "failed")

    @_guarded
    def begin_test(self, nodeid: str) -> None:
        """Begin a test: what ran before belongs to no test."""
        self._take()
        self._is_on = self._budget.allows(nodeid)
        if self._is_on:
            self.tracked.add(nodeid)
            self.test = _Test(nodeid)
        self._tracker.turn(is_on=self._is_on)

    @_guarded
    def mark(self) -> None:
        """A fixture of the test was set up."""
        self._mark = self._tracker.mark

    @_guarded
    def saw(self, report: Any) -> None:
        """Take a report of the running test, which failed if any of its phases or subtests failed.

        A test that failed, was rerun and then passed counts as neither passed nor failed.
        """
        test, outcome, when = self.test, report.outcome, report.when
        if test is None:
            return
        self._mark = self._tracker.mark
        if outcome == "failed":
            test.outcome = outcome
            test.failed_in_teardown |= when == "teardown"
            if not hasattr(report, "context"):  # after a failing subtest the test continues
                self._take()
                test.is_failure_reported = True
        elif outcome not in ("passed", "skipped"):  # pytest-rerunfailures: "rerun"
            test.outcome = test.outcome or outcome
        elif test.outcome in ("", "passed", "skipped") and (
            when == "call" or (when == "setup" and outcome == "skipped")
        ):
            test.outcome = "xfailed" if hasattr(report, "wasxfail") else outcome

    @_guarded
    def end_test(self, fixtures: Iterable[tuple[Any, bool]]) -> None:
        """End the test: count what it ran, and what the setup of its fixtures ran before.

        :param fixtures: those that it used, each with whether it got the value. If it did not, the fixture
            may be why the test failed. Only iterated where a fixture of wider scope was set up.
        """
        if self._tracker.fault:
            raise RuntimeError(self._tracker.fault)
        self._take()
        test, self.test = self.test, None
        if test is not None:
            for ran in self._used(test, fixtures) if self._shared else ():
                merge(test.ran, ran)
            if test.failed_in_teardown:
                merge(test.ran, test.teardown)
            else:
                self._add_outside(test.teardown)
            self._counts.add(test.nodeid, test.ran, test.outcome)
        while self._torn_down:
            self._shared.pop(self._torn_down.pop(), None)

    def _used(self, test: _Test, fixtures: Iterable[tuple[Any, bool]]) -> Iterator[Ran]:
        left = dict.fromkeys(test.set_up)
        for fixture, has_value in fixtures:
            ran, is_broken = self._shared.get(fixture, ({}, False))
            if has_value or is_broken:
                left.pop(fixture, None)
                yield ran
        yield from (self._shared[fixture][0] for fixture in left if fixture in self._shared)

    @_guarded
    def begin_setup(self) -> None:
        """Begin the setup of a fixture of wider scope; always tracked, as tracked tests may use it later."""
        self._take()
        self._tracker.turn(is_on=True)
        self._setups.append({})

    @_guarded
    def end_setup(self, fixture: Any, *, is_broken: bool) -> None:
        """End the setup of a fixture of wider scope; if it is broken, all tests that request it fail alike."""
        self._take()
        ran = self._setups.pop()
        if self._setups:  # another fixture requested it in its own setup
            merge(self._setups[-1], ran)
        else:
            self._tracker.turn(is_on=self._is_on)
        if fixture in self._torn_down:
            self._torn_down.remove(fixture)
        self._shared.pop(fixture, None)
        if ran:
            self._shared[fixture] = ran, is_broken
            if self.test is not None:
                self.test.set_up.append(fixture)
            else:  # it may be gone before a tracked test uses it
                self._add_outside(ran)

    @_guarded
    def torn_down(self, fixture: Any, *, is_shared: bool) -> None:
        """A fixture was torn down. What its setup ran is kept until the test ends.

        :param is_shared: its scope is wider than a function.
        """
        if is_shared:
            ran = self._tracker.cut(self._mark)
            self._torn_down.append(fixture)
            if self.test is not None:
                merge(self.test.teardown, ran)
            else:
                self._add_outside(ran)
        self._mark = self._tracker.mark

    @property
    def traced(self) -> Mapping[int, TracedCall]:
        """The calls of watched functions, by their number."""
        return self._tracker.calls if isinstance(self._tracker, TracedLines) else {}

    def calls(self) -> Calls | None:
        """The counts as a record; None if tracking failed (see :attr:`why_off`)."""
        if self.why_off:
            return None
        try:
            self._add_outside(self._tracker.take())
            self._counts.outside |= self._tracker.outside
            return self._counts.calls(self._ownership, self._tracker.modules)
        except Exception as fault:
            self._give_up(fault)
            return None

    def stop(self) -> None:
        """Stop tracking and restore the state of ``sys.monitoring``; may be called again."""
        try:
            self._tracker.stop()
        except Exception as fault:
            self.why_off = self.why_off or f"call tracking could not be stopped: {fault}"
        if self._tracker.fault and not self.why_off:  # an error that was found while stopping
            self.why_off = f"call tracking failed: {self._tracker.fault}"
