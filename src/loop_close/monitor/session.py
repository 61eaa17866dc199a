"""Call tracking of a session: attributes the lines that ran to tests, within a budget of CPU time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from loop_close.calls import sample_key
from loop_close.monitor import Budget
from loop_close.monitor.codes import Ownership, is_program_exception
from loop_close.monitor.count import CallCounts
from loop_close.monitor.executions import NO_EXECUTION, Execution, merge_executions, too_many_functions
from loop_close.monitor.watch import LineTracker

if TYPE_CHECKING:
    from loop_close.calls import Calls
    from loop_close.monitor.imports import FindTestCode


_P = ParamSpec("_P")


def _guarded(step: Callable[Concatenate[Monitor, _P], None]) -> Callable[Concatenate[Monitor, _P], None]:
    """Decorate a step so that an error in it ends call tracking and nothing else."""

    def guarded(self: Monitor, /, *arguments: _P.args, **more: _P.kwargs) -> None:
        if not self.why_off:
            try:
                step(self, *arguments, **more)
            except Exception as fault:
                self._take_fault(fault)

    return guarded


class Monitor:
    """Counts which functions of the code under test each test calls; starts when it is made.

    :param root: absolute path of the project's root.
    :param likely: node ids of tests that are likely to fail: these are always tracked.
    :param is_whole: track all tests, regardless of the cost.
    :ivar why_off: why call tracking is off, empty while it works.
    """

    def __init__(self, root: str, likely: Collection[str] = (), *, is_whole: bool = False) -> None:
        self.why_off = ""
        self._why_partial = ""
        self._ownership = Ownership(root)
        budget = Budget(likely, is_unlimited=is_whole)
        self._watch = LineTracker(self._ownership, budget)
        self.tests = Attribution(self._watch, budget)
        try:
            self.why_off = self._watch.start()
        except Exception as fault:
            self._give_up(f"{type(fault).__name__}: {fault}")

    def _take_fault(self, fault: Exception) -> None:
        """Stop call tracking, unless the program raised the exception, such as for a time limit or Ctrl-C."""
        if is_program_exception(fault):
            raise fault
        self._give_up(f"{type(fault).__name__}: {fault}")

    def _give_up(self, fault: str) -> None:
        self.why_off = f"call tracking failed: {fault}"
        self.stop()

    # The next three run for every test. They do without the decorator to save a call.

    def begin_test(self, nodeid: str) -> None:
        """Begin a test."""
        if not self.why_off:
            try:
                self.tests.begin_test(nodeid)
            except Exception as fault:
                self._take_fault(fault)

    def saw(self, report: Any) -> None:
        """Take a ``TestReport`` of the running test."""
        if not self.why_off:
            try:
                self.tests.saw(report)
            except Exception as fault:
                self._take_fault(fault)

    def end_test(self, nodeid: str, fixtures: Iterable[tuple[Any, bool]]) -> None:
        """End a test.

        :param fixtures: the fixtures that it used, each with whether it got the value. Only iterated where that
            matters.
        """
        if not self.why_off:
            try:
                if self._watch.fault:
                    raise RuntimeError(self._watch.fault)
                self.tests.end_test(nodeid, fixtures)
            except Exception as fault:
                self._take_fault(fault)

    @_guarded
    def begin_setup(self) -> None:
        """Begin the setup of a fixture of wider scope than a function."""
        self.tests.begin_setup()

    @_guarded
    def end_setup(self, fixture: Any, is_broken: bool) -> None:
        """End the setup of a fixture of wider scope.

        :param is_broken: the setup raised.
        """
        self.tests.end_setup(fixture, is_broken=is_broken)

    @_guarded
    def torn_down(self, fixture: Any, *, is_shared: bool) -> None:
        """A fixture was torn down.

        :param is_shared: its scope is wider than a function.
        """
        self.tests.torn_down(fixture, is_shared=is_shared)

    @_guarded
    def mark(self) -> None:
        """A fixture of the test was set up."""
        self.tests.mark()

    @_guarded
    def collected(self, nodeid: str, *, is_failed: bool) -> None:
        """The collection of a module ended."""
        self.tests.collected(nodeid, is_failed=is_failed)

    @property
    def untracked(self) -> list[str]:
        """The failing tests that were not tracked, in an order that depends on nothing else; none if it is off."""
        return [] if self.why_off else sorted(self.tests.count.untracked, key=sample_key)

    @_guarded
    def start_over(self) -> None:
        """In a copy of the process: track every test from now on, and count nothing that ran before."""
        self.tests.start_over()

    def calls(self, code_of: FindTestCode | None = None, *, is_part: bool = False) -> Calls | None:
        """The counts as a record; None if call tracking failed (see :attr:`why_off`).

        :param code_of: returns the code of a test by its node id, None if its module cannot be collected.
        :param is_part: other processes run other tests, which may fail.
        """
        from loop_close.monitor.count import calls_of

        if self.why_off:
            return None
        counted = self.tests.count, self._ownership, self._watch.imports
        try:
            self.tests.end()
            try:
                return calls_of(*counted, code_of, is_part=is_part)
            except Exception as fault:
                self._why_partial = f"imports were not tracked: {type(fault).__name__}: {fault}"
                return calls_of(*counted)
        except Exception as fault:
            self._give_up(f"{type(fault).__name__}: {fault}")
            return None

    @property
    def why_not_all(self) -> str:
        """Why the counts are incomplete, empty if they are not."""
        return too_many_functions() if self._watch.is_full else self._why_partial

    def stop(self) -> None:
        """Stop call tracking and restore the state of ``sys.monitoring``; may be called again."""
        try:
            self._watch.stop()
        except Exception as fault:
            self.why_off = self.why_off or f"call tracking could not be stopped: {fault}"
        if self._watch.fault and not self.why_off:  # an error that was found while stopping
            self.why_off = f"call tracking failed: {self._watch.fault}"


# --- attribution of the lines that ran to tests and shared fixtures

# What the setup of a fixture of wider scope ran, and whether it raised.
_Shared = tuple[Execution, bool]
_NOT_SHARED: _Shared = NO_EXECUTION, False


class Attribution:
    """Attributes each line that ran to tests, independent of the order of tests.

    What the setup of a fixture of wider scope ran counts for all tests that use the fixture. What its teardown ran
    counts for no test, unless a test fails in that teardown.
    """

    def __init__(self, watch: LineTracker, budget: Budget) -> None:
        self.count = CallCounts(watch.functions)
        self._watch = watch
        self._budget = budget
        self._nodeid = ""
        self._shared: dict[Any, _Shared] = {}
        self._torn_down: set[Any] = set()
        self._has_begun = False
        self._reset()

    def _reset(self) -> None:
        self._mark = 0
        self._is_tracked = True
        self._open: list[
            Execution
        ] = []  # of the test, then of the fixtures of wider scope that are being set up, the innermost last
        self._set_up: list[Any] = []
        self._teardown_ran = NO_EXECUTION
        self._outcome = ""
        self._teardown_failed = False
        self._is_failure_reported = False

    def start_over(self) -> None:
        """Count from nothing, and track every test."""
        self.count = CallCounts(self._watch.functions)
        self._budget.is_unlimited = True

    def _take(self, *, in_order: bool = True) -> None:
        """Attribute what ran since the last call to the innermost open test or fixture.

        After its failure was reported, a test only tears down. What runs then has no part in the failure.
        """
        ran = self._watch.take(in_order=in_order)
        self._mark = 0
        if not self._open:
            self._add_outside(ran)
        elif not self._is_failure_reported or len(self._open) > 1:
            self._open[-1] = merge_executions((self._open[-1], ran))

    @property
    def is_sharing(self) -> bool:
        """Whether the fixtures that the test uses are needed."""
        return self._is_tracked and bool(self._shared)

    def collected(self, nodeid: str, *, is_failed: bool) -> None:
        """End the collection of a module; if it failed, what the module ran counts as that of a test."""
        if self._open:
            return
        ran = self._watch.take()
        self._add_outside(ran)
        if is_failed:
            self.count.add(nodeid, ran, "failed", is_cut=self._watch.is_cut)
        self._watch.begin_test()

    def begin_test(self, nodeid: str) -> None:
        """Begin a test: what ran before belongs to no test."""
        self._nodeid = nodeid
        if self._watch.is_due:
            self._take()
        is_tracked = self._budget.allows(nodeid)
        self._watch.track(is_on=is_tracked)
        if self._watch.is_due:  # functions that waited to be tracked
            self._take()
        if not self._has_begun:
            self._watch.end_collection()
            self._has_begun = True
        self._watch.begin_test()
        self._open = [NO_EXECUTION]
        self._mark = 0
        self._is_tracked = is_tracked

    def mark(self) -> None:
        """Mark a point: what runs from here on belongs to the fixture that is torn down next, if any."""
        self._mark = self._watch.mark

    def saw(self, report: Any) -> None:
        """Take a report of the running test, which failed if any of its phases or subtests failed.

        A test that failed, was rerun and then passed counts as neither passed nor failed.
        """
        self.mark()
        outcome, when = report.outcome, report.when
        if outcome == "failed":
            self._failed(report)
        elif outcome not in ("passed", "skipped"):  # pytest-rerunfailures: "rerun"
            self._outcome = self._outcome or outcome
        elif self._outcome in ("", "passed", "skipped") and (
            when == "call" or (when == "setup" and outcome == "skipped")
        ):
            self._outcome = "xfailed" if hasattr(report, "wasxfail") else outcome

    def _failed(self, report: Any) -> None:
        self._teardown_failed |= report.when == "teardown"
        self._outcome = "failed"
        self._budget.failed(self._nodeid)
        if not hasattr(report, "context"):  # after a failing subtest the test continues
            self._take()
            self._is_failure_reported = True

    def end_test(self, nodeid: str, fixtures: Iterable[tuple[Any, bool]]) -> None:
        """Count what ran since the test began, and what the setup of its fixtures ran before.

        :param fixtures: its fixtures in order, each with whether the test got its value. If it did not, the fixture
            may be why the test failed.
        """
        in_order = self._outcome == "failed"
        if self._watch.is_due:
            self._take(in_order=in_order)
        own = self._open[0] if self._open else NO_EXECUTION
        if self._shared:
            own = merge_executions((*self._used(fixtures), own), in_order=in_order)
        if self._teardown_failed:
            own = merge_executions((own, self._teardown_ran))
        elif self._teardown_ran.has_any:
            self.count.add_outside(self._teardown_ran)
        if self._is_tracked:
            self.count.add(nodeid, own, self._outcome, is_cut=self._watch.is_cut)
        else:
            self.count.add_untracked(nodeid, own, self._outcome)
        while self._torn_down:
            self._shared.pop(self._torn_down.pop(), None)
        self._reset()

    def _used(self, fixtures: Iterable[tuple[Any, bool]]) -> Iterator[Execution]:
        remaining = dict.fromkeys(self._set_up)
        for fixture, has_value in fixtures:
            ran, is_broken = self._shared.get(fixture, _NOT_SHARED)
            if ran.has_any and (has_value or is_broken):
                remaining.pop(fixture, None)
                yield ran
        yield from (self._shared[fixture][0] for fixture in remaining if fixture in self._shared)

    def end(self) -> None:
        """End the session; if no test began, what modules ran counts as run before the tests."""
        self._add_outside(self._watch.rest())
        self.count.in_untracked |= self._watch.in_untracked

    def _add_outside(self, ran: Execution) -> None:
        if self._has_begun:
            self.count.add_outside(ran)
        else:
            self.count.add_before(ran)

    def begin_setup(self) -> None:
        """Begin the setup of a fixture of wider scope; always tracked, as tracked tests may use it later."""
        self._take()
        self._watch.track(is_on=True)
        if self._watch.is_due:  # functions that waited to be tracked: the fixture has no part in them
            self._take()
        self._open.append(NO_EXECUTION)

    def end_setup(self, fixture: Any, *, is_broken: bool) -> None:
        """End the setup of a fixture of wider scope; if it is broken, all tests that request it fail alike."""
        self._take()
        ran = self._open.pop()
        if len(self._open) > 1:  # another fixture requested it in its own setup
            self._open[-1] = merge_executions((self._open[-1], ran))
        else:
            self._watch.track(is_on=self._is_tracked)
        self._mark = 0
        self._torn_down.discard(fixture)
        self._shared.pop(fixture, None)
        if ran.has_any:
            self._shared[fixture] = ran, is_broken
            self._set_up.append(fixture)

    def torn_down(self, fixture: Any, *, is_shared: bool) -> None:
        """A fixture was torn down. What its setup ran is kept until the test ends."""
        if is_shared:
            ran = self._watch.since(self._mark)
            self._torn_down.add(fixture)
            if self._open:
                self._teardown_ran = merge_executions((self._teardown_ran, ran))
            else:
                self.count.add_outside(ran)
        self.mark()
