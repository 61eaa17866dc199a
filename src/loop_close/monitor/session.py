"""Record the calls of a session, test by test, within a budget of CPU time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from loop_close.monitor.codes import Ownership, is_program_exception
from loop_close.monitor.count import CallCounts
from loop_close.monitor.executions import NO_EXECUTION, Execution, merge_executions, too_many_functions
from loop_close.monitor.watch import Budget, LineTracker

if TYPE_CHECKING:
    from loop_close.calls import Calls
    from loop_close.monitor.imports import FindTestCode


_P = ParamSpec("_P")


def _careful(step: Callable[Concatenate[Monitor, _P], None]) -> Callable[Concatenate[Monitor, _P], None]:
    """A fault of ours ends the counting and nothing else."""

    def careful(self: Monitor, /, *arguments: _P.args, **more: _P.kwargs) -> None:
        if not self.why_off:
            try:
                step(self, *arguments, **more)
            except Exception as fault:
                self._take_fault(fault)

    return careful


class Monitor:
    """Counts which functions of the code under test each test calls, from now on.

    :param root: absolute path of the project's root.
    :param likely: node ids of tests that are likely to fail: what they call is always tracked.
    :param is_whole: track all tests, whatever it costs.
    :ivar why_off: why it does not count, empty when it does.
    """

    def __init__(self, root: str, likely: Collection[str] = (), *, is_whole: bool = False) -> None:
        self.why_off = ""
        self._why_less = ""
        self._ownership = Ownership(root)
        budget = Budget(likely, is_unlimited=is_whole)
        self._watch = LineTracker(self._ownership, budget)
        self.tests = Attribution(self._watch, budget)
        try:
            self.why_off = self._watch.start()
        except Exception as fault:
            self._give_up(f"{type(fault).__name__}: {fault}")

    def _take_fault(self, fault: Exception) -> None:
        """Stop counting. A test's time limit, which is the program's to raise, is no fault; nor is Ctrl-C."""
        if is_program_exception(fault):
            raise fault
        self._give_up(f"{type(fault).__name__}: {fault}")

    def _give_up(self, fault: str) -> None:
        self.why_off = f"call tracking failed: {fault}"
        self.stop()

    # The next three are called for every test, where a call less is worth a line more.

    def begin_test(self, nodeid: str) -> None:
        """A test begins."""
        if not self.why_off:
            try:
                self.tests.begin_test(nodeid)
            except Exception as fault:
                self._take_fault(fault)

    def saw(self, report: Any) -> None:
        """A report of the test that runs in this process."""
        if not self.why_off:
            try:
                self.tests.saw(report)
            except Exception as fault:
                self._take_fault(fault)

    def end_test(self, nodeid: str, fixtures: Iterable[tuple[Any, bool]]) -> None:
        """It is over.

        :param fixtures: those that it used, each with whether it got the value; not asked for where that does not
            matter.
        """
        if not self.why_off:
            try:
                if self._watch.fault:
                    raise RuntimeError(self._watch.fault)
                self.tests.end_test(nodeid, fixtures)
            except Exception as fault:
                self._take_fault(fault)

    @_careful
    def begin_setup(self) -> None:
        """A fixture of wider scope is about to be set up."""
        self.tests.begin_setup()

    @_careful
    def end_setup(self, fixture: Any, is_broken: bool) -> None:
        """It is set up, or raised."""
        self.tests.end_setup(fixture, is_broken=is_broken)

    @_careful
    def torn_down(self, fixture: Any, *, is_shared: bool) -> None:
        """A fixture is torn down.

        :param is_shared: its scope is wider than a function.
        """
        self.tests.torn_down(fixture, is_shared=is_shared)

    @_careful
    def mark(self) -> None:
        """A fixture of the test is set up."""
        self.tests.mark()

    @_careful
    def collected(self, nodeid: str, *, is_failed: bool) -> None:
        """A module was collected, or could not be."""
        self.tests.collected(nodeid, is_failed=is_failed)

    def calls(self, code_of: FindTestCode | None = None, *, is_part: bool = False) -> Calls | None:
        """What was counted; None when it failed, and :attr:`why_off` says why.

        :param code_of: gives the code of a test by its node id, None for a module that cannot be collected.
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
                self._why_less = f"imports were not tracked: {type(fault).__name__}: {fault}"
                return calls_of(*counted)
        except Exception as fault:
            self._give_up(f"{type(fault).__name__}: {fault}")
            return None

    @property
    def why_not_all(self) -> str:
        """Why not everything that ran was counted, empty when it was."""
        return too_many_functions() if self._watch.is_full else self._why_less

    def stop(self) -> None:
        """Leave everything as it was; more than once is fine."""
        try:
            self._watch.stop()
        except Exception as fault:
            self.why_off = self.why_off or f"call tracking could not be stopped: {fault}"
        if self._watch.fault and not self.why_off:  # found only now
            self.why_off = f"call tracking failed: {self._watch.fault}"


# One test after the other: what ran in it, and in the fixtures that it shares with others.

# A fixture of wider scope that is set up: what its setup ran, and whether it raised.
_Shared = tuple[Execution, bool]
_NOT_SHARED: _Shared = NO_EXECUTION, False


class Attribution:
    """Says which test each line that ran belongs to, so that it does not matter which test came first.

    What the setup of a fixture of wider scope ran counts for all tests that use it. What its teardown ran counts
    for none, unless the test in which it happens fails there.
    """

    def __init__(self, watch: LineTracker, budget: Budget) -> None:
        self.count = CallCounts(watch.functions)
        self._watch = watch
        self._budget = budget
        self._nodeid = ""
        self._shared: dict[Any, _Shared] = {}
        self._gone: set[Any] = set()
        self._has_begun = False
        self._forget()

    def _forget(self) -> None:
        self._mark = 0
        self._is_tracked = True
        self._open: list[
            Execution
        ] = []  # the test, and the fixtures of wider scope that are being set up in it
        self._set_up: list[Any] = []
        self._left = NO_EXECUTION
        self._outcome = ""
        self._fails_leaving = False
        self._is_told = False

    def _take(self, *, in_order: bool = True) -> None:
        """Give what ran since the last time to the innermost that is open.

        A failing test that is over only tidies up: where that fails as well it is no matter of the first failure.
        """
        ran = self._watch.take(in_order=in_order)
        self._mark = 0
        if not self._open:
            self._add_outside(ran)
        elif not self._is_told or len(self._open) > 1:
            self._open[-1] = merge_executions((self._open[-1], ran))

    @property
    def is_sharing(self) -> bool:
        """Whether it matters which fixtures the test uses."""
        return self._is_tracked and bool(self._shared)

    def collected(self, nodeid: str, *, is_failed: bool) -> None:
        """A module was collected, or could not be: then what it ran until it failed counts as that of a test."""
        if self._open:
            return
        ran = self._watch.take()
        self._add_outside(ran)
        if is_failed:
            self.count.add(nodeid, ran, "failed", is_cut=self._watch.is_cut)
        self._watch.begin_test()

    def begin_test(self, nodeid: str) -> None:
        """What ran until now belongs to no test."""
        self._nodeid = nodeid
        is_tracked = self._budget.allows(nodeid)
        self._watch.track(is_on=is_tracked)
        if self._watch.is_due:
            self._take()
        if not self._has_begun:
            self._watch.end_collection()
            self._has_begun = True
        self._watch.begin_test()
        self._open = [NO_EXECUTION]
        self._mark = 0
        self._is_tracked = is_tracked

    def mark(self) -> None:
        """What runs from now on belongs to the fixture that is torn down next, if one is."""
        self._mark = len(self._watch.hits)

    def saw(self, report: Any) -> None:
        """A report of the test that runs: it failed if any of its phases or subtests did.

        One that failed and was run again counts neither way if it passes then.
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
        self._fails_leaving |= report.when == "teardown"
        self._outcome = "failed"
        self._budget.failed(self._nodeid)
        if not hasattr(report, "context"):  # after a subtest the test goes on
            self._take()
            self._is_told = True

    def end_test(self, nodeid: str, fixtures: Iterable[tuple[Any, bool]]) -> None:
        """Count what ran since the test began, with what the fixtures that it uses ran before.

        :param fixtures: those of wider scope among others, in order, each with whether the test got its value; if
            not, it may have failed by it.
        """
        in_order = self._outcome == "failed"
        if self._watch.is_due:
            self._take(in_order=in_order)
        own = self._open[0] if self._open else NO_EXECUTION
        if self._shared:
            own = merge_executions((*self._used(fixtures), own), in_order=in_order)
        if self._fails_leaving:
            own = merge_executions((own, self._left))
        elif self._left.has_any:
            self.count.add_outside(self._left)
        if self._is_tracked:
            self.count.add(nodeid, own, self._outcome, is_cut=self._watch.is_cut)
        else:
            self.count.add_untracked(nodeid, own, self._outcome)
        while self._gone:
            self._shared.pop(self._gone.pop(), None)
        self._forget()

    def _used(self, fixtures: Iterable[tuple[Any, bool]]) -> Iterator[Execution]:
        sure = dict.fromkeys(self._set_up)
        for fixture, is_sure in fixtures:
            ran, is_broken = self._shared.get(fixture, _NOT_SHARED)
            if ran.has_any and (is_sure or is_broken):
                sure.pop(fixture, None)
                yield ran
        yield from (self._shared[fixture][0] for fixture in sure if fixture in self._shared)

    def end(self) -> None:
        """The tests are over, or there were none as modules could not be imported: then what they ran is left."""
        self._add_outside(self._watch.rest())

    def _add_outside(self, ran: Execution) -> None:
        if self._has_begun:
            self.count.add_outside(ran)
        else:
            self.count.add_before(ran)

    def begin_setup(self) -> None:
        """A fixture of wider scope is about to be set up: other tests may be tracked that use it."""
        self._take()
        self._watch.track(is_on=True)
        self._open.append(NO_EXECUTION)

    def end_setup(self, fixture: Any, *, is_broken: bool) -> None:
        """It is set up, or failed to be: then all who ask for it fail alike."""
        self._take()
        ran = self._open.pop()
        if len(self._open) > 1:  # another fixture asked for it in its own setup
            self._open[-1] = merge_executions((self._open[-1], ran))
        else:
            self._watch.track(is_on=self._is_tracked)
        self._mark = 0
        self._gone.discard(fixture)
        self._shared.pop(fixture, None)
        if ran.has_any:
            self._shared[fixture] = ran, is_broken
            self._set_up.append(fixture)

    def torn_down(self, fixture: Any, *, is_shared: bool) -> None:
        """A fixture is torn down; the test may still ask what the setup of a shared one ran."""
        if is_shared:
            ran = self._watch.since(self._mark)
            self._gone.add(fixture)
            if self._open:
                self._left = merge_executions((self._left, ran))
            else:
                self.count.add_outside(ran)
        self.mark()
