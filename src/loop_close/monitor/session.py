"""The monitor of one session: started before the project is imported, read when the tests are over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from loop_close.monitor.budget import Budget
from loop_close.monitor.faults import is_of_program
from loop_close.monitor.followed import too_many
from loop_close.monitor.ownership import Ownership
from loop_close.monitor.tests import Attribution
from loop_close.monitor.watch import Watch

if TYPE_CHECKING:
    from loop_close.calls import Calls
    from loop_close.monitor.made import CodeOf

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
        self._watch = Watch(self._ownership, budget)
        self.tests = Attribution(self._watch, budget)
        try:
            self.why_off = self._watch.start()
        except Exception as fault:
            self._give_up(f"{type(fault).__name__}: {fault}")

    def _take_fault(self, fault: Exception) -> None:
        """Stop counting. A test's time limit, which is the program's to raise, is no fault; nor is Ctrl-C."""
        if is_of_program(fault):
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

    def calls(self, code_of: CodeOf | None = None, *, is_part: bool = False) -> Calls | None:
        """What was counted; None when it failed, and :attr:`why_off` says why.

        :param code_of: gives the code of a test by its node id, None for a module that cannot be collected.
        :param is_part: other processes run other tests, which may fail.
        """
        from loop_close.monitor.functions import calls_of

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
        return too_many() if self._watch.is_full else self._why_less

    def stop(self) -> None:
        """Leave everything as it was; more than once is fine."""
        try:
            self._watch.stop()
        except Exception as fault:
            self.why_off = self.why_off or f"call tracking could not be stopped: {fault}"
        if self._watch.fault and not self.why_off:  # found only now
            self.why_off = f"call tracking failed: {self._watch.fault}"
