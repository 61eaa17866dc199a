"""Record with ``sys.monitoring`` (Python 3.12 and later) the lines of the code under test that each test runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from time import process_time
from typing import TYPE_CHECKING, Any

from loop_close.monitor.codes import Ownership, is_program_exception
from loop_close.monitor.executions import NO_EXECUTION, Execution

if TYPE_CHECKING:
    pass

import sys
from collections import deque
from collections.abc import Mapping, Set
from time import perf_counter
from types import CodeType, FrameType

from loop_close.monitor.codes import (
    LONGEST_TABLE,
    hides_one_liners,
    is_reported_by_owner,
    one_liner_start,
)
from loop_close.monitor.executions import RETURNED_NONE, Function, Hit, TrackedCode
from loop_close.monitor.handled import HandledExceptions
from loop_close.monitor.imports import ModuleBodies
from loop_close.monitor.tool import AssertionReprs, MonitoringTool, Returns

_HANDLED = "EXCEPTION_HANDLED"
_TAKEN = "the program took over our tool id of sys.monitoring"
# In one test so many calls of a function with many lines are reported; after that one return in each test.
_MANY_CALLS = 100
# New functions of tests that are passed over which wait to be followed.
_MOST_UNMET = 5_000
_ID, _FRAME, _CLOCK = id, sys._getframe, perf_counter  # tests may put other ones in their place


class TakenError(RuntimeError):
    """The program took the tool id that we use."""


class LineTracker:
    """Instruments functions of the code under test as they come to be known.

    A line that ran is not told again before :meth:`take`, so that a loop costs once. Only our own events are
    armed anew, and only those of functions that ran: ``sys.monitoring.restart_events`` would wake those of
    coverage.py and of debuggers as well.

    :ivar hits: what ran since the last time, by code objects.
    :ivar imports: what ran while modules were imported.
    :ivar fault: what went wrong where it could not be raised; empty for nothing.
    :ivar is_idle: a test is passed over: only lines that no test ran since they were armed are reported.
    """

    def __init__(self, ownership: Ownership, budget: Budget | None = None) -> None:
        self.hits: list[Hit] = []
        self.fault = ""
        self.is_idle = False
        self._budget = budget or Budget(is_unlimited=True)
        self._ownership = ownership
        self._followed = TrackedCode(ownership)
        self._telling = AssertionReprs()
        self._ran_before: set[int] = set()
        self._odd: dict[int, int] = {}  # the events of those that are not reported by lines alone
        self._singles: dict[int, int] = {}  # of them, the offsets of the first instructions
        self._long: dict[int, int] = {}  # of them, 1 and how often they were called in this test
        self._unmet: deque[CodeType] = deque(maxlen=_MOST_UNMET)
        self._silent: set[int] = set()
        self._hides_one_liners = False
        self._monitoring: Any = getattr(sys, "monitoring", None)
        self._returns = Returns(self._monitoring)
        self._tool = MonitoringTool({}, self._armed)
        self._handled = HandledExceptions(ownership, self._hear_of_exceptions)
        self._on_handled = self._handled.callback(self._take_fault)
        self._is_collecting, self._is_awake = True, False
        self._on_line, self._on_first_line = self._line_callbacks()
        self._bodies = ModuleBodies(
            ownership, self.hits, lambda begun: self._followed.ran(self._remove_since(begun))
        )
        self.imports = self._bodies.imports

    @property
    def functions(self) -> Mapping[int, Function]:
        """Each function that is known, by its number."""
        return self._followed.functions

    @property
    def is_full(self) -> bool:
        """Whether there were more functions than are followed."""
        return self._followed.is_full

    @property
    def is_due(self) -> bool:
        """Whether anything ran since the last time."""
        return bool(self.hits or self._handled.has_any)

    @property
    def is_cut(self) -> bool:
        """Whether not all exceptions since :meth:`begin_test` were looked at."""
        return self._handled.is_cut

    def begin_test(self) -> None:
        """A test begins, or a module is collected: what was heard of exceptions before is no matter any more.

        Python, pytest and pluggy handle some 80 in each test. In a test they are heard of from its first line of the
        code under test on: before that line it raises none.
        """
        self._budget.spend(0, steps=self._handled.steps)
        for number, calls in self._long.items():
            if calls < _MANY_CALLS:
                self._long[number] = 1
        self._handled.begin_test()
        if self.is_idle:
            self._sleep()
        elif self._is_collecting:
            self._handled.listen(is_on=True)
        elif self._is_awake or self._handled.is_listening:
            self._is_awake = False
            self._tool.replace("LINE", self._on_first_line)
            self._handled.listen(is_on=False)

    def track(self, *, is_on: bool) -> None:
        """Track what runs from now on, or pass over it.

        Meanwhile lines that ran stay disabled, handled exceptions are not reported, and new functions wait.
        """
        if is_on is not self.is_idle:
            return
        self.is_idle = not is_on
        if self.is_idle:
            self._sleep()
        else:
            begun = _CLOCK()
            self._meet_later()
            self._rearm(set())
            self._is_awake = True
            self._budget.spend(_CLOCK() - begun)
            self.begin_test()

    def _sleep(self) -> None:
        if self._is_awake or self._handled.is_listening:
            self._tool.replace("LINE", self._on_line)
            self._handled.listen(is_on=False)
        self._is_awake = False

    def _meet_later(self) -> None:
        """Follow the functions that ran first in tests that were passed over, of which no line is known."""
        while self._unmet:
            code = self._unmet.popleft()
            file = self._ownership.file_of(code.co_filename)
            if file is not None and _ID(code) not in self._followed.codes:
                self._follow(code, file)
                self.hits.append((code, code.co_firstlineno))

    def _wake(self) -> None:
        self._is_awake = True
        self._tool.replace("LINE", self._on_line)
        self._handled.listen(is_on=True)

    def _hear_of_exceptions(self, is_on: bool) -> None:
        self._tool.replace(_HANDLED, self._on_handled if is_on else None)

    def start(self) -> str:
        """Begin; why it cannot be done, empty when it is.

        Modules are found when their first line runs, functions of modules imported before when they are first called.
        """
        if self._monitoring is not None:
            self._tool = MonitoringTool(self._callbacks(), self._armed)
        why_not = self._tool.start()
        if not why_not:
            self._hides_one_liners = hides_one_liners(self._monitoring, self._tool.id, self.hits)
            self._budget.line = self._cost_of_a_line()
            self._tool.listen()
        return why_not

    def _cost_of_a_line(self) -> float:
        """Seconds that a callback for a line takes: of a few runs the fastest."""
        arm, code, line = (
            self._monitoring.set_local_events,
            _some_lines.__code__,
            self._monitoring.events.LINE,
        )
        found = []
        for _ in range(5):
            arm(self._tool.id, code, line)
            begun = _CLOCK()
            _some_lines()
            reported = _CLOCK()
            arm(self._tool.id, code, 0)
            _some_lines()
            plain = _CLOCK()
            _some_lines()
            found.append(((reported - begun) - (_CLOCK() - plain)) / max(1, len(self.hits)))
            self.hits.clear()
        return max(min(found), 2e-8)

    def _callbacks(self) -> dict[str, Callable[..., Any] | None]:
        return {
            "LINE": self._bodies.on_line(self._on_line, self._monitoring.DISABLE, self._take_fault),
            "PY_START": self._on_start(),
            "PY_RETURN": self._on_return(),
            "PY_YIELD": self._on_return(),
            "INSTRUCTION": self._on_instruction(),
            _HANDLED: self._on_handled,
        }

    def _line_callbacks(self) -> tuple[Callable[[CodeType, int], Any], Callable[[CodeType, int], Any]]:
        """What to call for the lines of a test, and for the first of them."""
        append, disable = self.hits.append, getattr(self._monitoring, "DISABLE", None)

        def on_line(code: CodeType, line: int) -> Any:
            append((code, line))
            return disable

        def on_first_line(code: CodeType, line: int) -> Any:
            append((code, line))
            try:
                self._wake()
            except RecursionError:  # the program is at the end of its stack; the next line will do
                return disable
            except Exception as fault:
                self._take_fault(fault)
            return disable

        return on_line, on_first_line

    def end_collection(self) -> None:
        """The first test is about to begin: bodies of modules are not told by line any more, which takes time."""
        self._bodies.end_collection()
        self._is_collecting = False
        self._is_awake = True

    def _on_start(self) -> Callable[[CodeType, int], Any]:
        telling, long = self._telling.codes, self._long
        files, disable, id, frame_above = self._ownership.files, self._monitoring.DISABLE, _ID, _FRAME

        def on_start(code: CodeType, offset: int) -> Any:
            try:
                if files.get(code.co_filename, "") is None and id(code) not in telling:
                    return disable
                self._started(code, frame_above(1))
            except RecursionError:  # the program is at the end of its stack; the next call will do
                return None
            except Exception as fault:
                self._take_fault(fault)
            return None if id(code) in telling or long.get(id(code), _MANY_CALLS) < _MANY_CALLS else disable

        return on_start

    def _started(self, code: CodeType, frame: FrameType) -> None:
        if _ID(code) in self._telling.codes:
            self._telling.begin(frame, len(self.hits))
            self._handled.listen(is_on=self._telling.frame is None)
        elif self.is_idle and code.co_name != "<module>" and _ID(code) not in self._followed.codes:
            self._unmet.append(code)
        else:
            self._meet(code, frame)
            if _ID(code) in self._long:
                self._count_call(code)

    def _count_call(self, code: CodeType) -> None:
        """Note a call of a function with too many lines; one that is called often is reported once, on return."""
        self._long[_ID(code)] += 1
        if self._long[_ID(code)] >= _MANY_CALLS:
            self._odd[_ID(code)] = self._monitoring.events.PY_RETURN | self._monitoring.events.PY_YIELD
            self._monitoring.set_local_events(self._tool.id, code, self._odd[_ID(code)])
        if not self.is_idle and all(last is not code for last, _ in self.hits[-1:]):
            self._on_first_line(code, code.co_firstlineno)

    def _on_instruction(self) -> Callable[[CodeType, int], Any]:
        """For functions of one line, where Python does not report the line: its first instruction does instead."""
        singles, append, disable, id = self._singles, self.hits.append, self._monitoring.DISABLE, _ID

        def on_instruction(code: CodeType, offset: int) -> Any:
            if singles.get(id(code)) == offset:
                append((code, code.co_firstlineno))
            return disable

        return on_instruction

    def _on_return(self) -> Callable[[CodeType, int, object], Any]:
        telling, long, id, frame_above = self._telling, self._long, _ID, _FRAME
        returns, disable, append = self._returns, self._monitoring.DISABLE, self.hits.append

        def on_return(code: CodeType, offset: int, value: object) -> Any:
            try:
                if id(code) in returns.codes:
                    if value is None and returns.is_missed(code, frame_above(1)):
                        append((code, RETURNED_NONE))
                    return disable
                if id(code) in long:
                    append((code, code.co_firstlineno))
                    return disable
                if id(code) not in telling.codes:
                    self._end_body(code)
                elif (begun := telling.end(frame_above(1))) is not None:
                    self._remove_since(begun)
                    self._handled.listen(is_on=True)
            except RecursionError:  # the next return will do
                return None
            except Exception as fault:
                self._take_fault(fault)
            return None

        return on_return

    def _take_fault(self, fault: Exception) -> None:
        """Note a fault of ours; what the program raises while we are at work, in a signal handler say, is not ours."""
        if is_program_exception(fault):
            raise fault
        self.fault = f"{type(fault).__name__}: {fault}"

    def _meet(self, code: CodeType, frame: FrameType) -> None:
        """A code object runs for the first time."""
        if _ID(code) in self._followed.codes:
            return
        file = self._ownership.file_of(code.co_filename)
        if file is not None:
            self._follow(code, file)
        if self._bodies.is_followed(code, frame, is_project=file is not None):
            self._followed.codes[_ID(code)] = code
            self._bodies.begin(code)
            self._monitoring.set_local_events(
                self._tool.id, code, self._bodies.events(self._monitoring, code)
            )

    def _follow(self, code: CodeType, file: str) -> None:
        if code.co_name == "<module>":
            self.imports.modules.add(file)
        if self._followed.is_due:
            self._release()
        owners: dict[int, set[int]] = {}
        for inner, owner in self._followed.add(code):
            if len(inner.co_linetable) > LONGEST_TABLE:
                self._long[_ID(inner)], self._odd[_ID(inner)] = 1, 0
                continue
            if (
                _ID(owner) not in self._long
                and inner is not owner
                and is_reported_by_owner(inner, owner, owners)
            ):
                self._silent.add(_ID(inner))
                continue
            if inner is owner:
                self._returns.follow(inner)
            events = self._returns.events_of(_ID(inner))
            if self._hides_one_liners and (begin := one_liner_start(inner)):
                events |= self._monitoring.events.INSTRUCTION
                self._singles[_ID(inner)], self._odd[_ID(inner)] = begin, events
            if self._tool.is_ours():  # what is met later may be so after the end
                self._monitoring.set_local_events(self._tool.id, inner, events)

    def _release(self) -> None:
        """Let go of code objects that nobody else holds, those that ran since the last time as well."""
        ran = self.hits[:]
        self._ran_before |= {_ID(code) for code, _ in ran}
        self.hits[: len(ran)] = self._followed.by_first_codes(ran)
        ran.clear()
        self._followed.release()
        for numbers in (self._ran_before, self._silent):
            numbers.intersection_update(self._followed.codes)
        for known in (self._odd, self._singles, self._long):
            for number in known.keys() - self._followed.codes.keys():
                del known[number]
        self._returns.keep(self._followed.codes.keys())
        self.imports.keep(self._followed.codes.keys())

    def _end_body(self, code: CodeType) -> None:
        self._monitoring.set_local_events(self._tool.id, code, 0)
        self._bodies.end(code)

    def _remove_since(self, begun: int) -> list[Hit]:
        """Take out what ran since there was so much, and have it told again."""
        if hits := self._cut(begun):
            self._rearm({_ID(code) for code, _ in hits})
        return hits

    def _cut(self, begun: int) -> list[Hit]:
        hits = self.hits[begun:]
        del self.hits[begun : begun + len(hits)]  # not all: other threads may have added more
        return hits

    def take(self, *, in_order: bool = True) -> Execution:
        """What ran since the last time; it is told again from now on, unless the test is passed over.

        :raises TakenError: when the program took our tool id.
        """
        begun = _CLOCK()
        if self._telling.frame is not None:
            self._telling.forget()
            self._handled.listen(is_on=True)
        swallowed = self._handled.take() if self._handled.has_any else {}
        if not self.hits:
            return Execution(swallowed=swallowed) if swallowed else NO_EXECUTION
        hits = self._cut(0)
        masks, codes = self._followed.masks(hits)
        if self.is_idle:
            self._ran_before |= codes
        else:
            self._rearm(codes)
        ran = Execution(masks, swallowed=swallowed)
        if in_order:
            ran = Execution(
                masks, self._followed.in_order(hits), self._followed.returned_none(hits), swallowed
            )
        self._budget.spend(_CLOCK() - begun, len(hits), len(codes))
        return ran

    def since(self, mark: int) -> Execution:
        """What ran since there was so much; its lines are reported again once the rest is taken."""
        hits = self._cut(mark)
        self._ran_before |= {_ID(code) for code, _ in hits}
        return self._followed.ran(hits)._replace(lines=self._followed.in_order(hits))

    def rest(self) -> Execution:
        """What ran since the last time, at the end: it is not told again."""
        self._meet_later()
        return self._followed.ran(self._cut(0))

    def _rearm(self, numbers: Set[int]) -> None:
        """Have the lines of these code objects told again, the next time they run."""
        if not self._tool.is_ours():
            raise TakenError(_TAKEN)
        arm, tool = self._monitoring.set_local_events, self._tool.id
        codes, returns, odd = self._followed.codes, self._returns, self._odd
        told, line, both = returns.codes, returns.line, returns.both
        before, self._ran_before = self._ran_before, set()
        if before:
            numbers = numbers | before
        for number in numbers:
            code = codes.get(number)
            if code is not None:  # unknown, or another thread is letting go of it
                arm(tool, code, 0)
                arm(tool, code, odd.get(number, both if number in told else line))

    def _armed(self) -> Iterator[tuple[CodeType, int]]:
        """Every code object that we want to listen of, with its events."""
        events = self._monitoring.events
        for number, code in list(self._followed.codes.items()):
            if self.imports.is_open(number):
                yield code, self._bodies.events(self._monitoring, code)
            elif code.co_name != "<module>" and number not in self._silent:
                yield code, self._odd.get(number, self._returns.events_of(number))
        for code in self._telling.codes.values():
            yield code, events.PY_RETURN

    def stop(self) -> None:
        """Leave everything as it was; more than once is fine."""
        if not self._tool.stop() and not self.fault:
            self.fault = f"TakenError: {_TAKEN}"


def _some_lines() -> int:
    """What the cost of a line is measured on."""
    a = 0
    a += 1
    a += 2
    a += 3
    a += 4
    a += 5
    a += 6
    a += 7
    a += 8
    a += 9
    a += 10
    a += 11
    a += 12
    a += 13
    a += 14
    a += 15
    a += 16
    return a


# What call tracking may cost: it measures its own share of the CPU time and passes over tests beyond that.
# A test that is passed over costs next to nothing: the lines that the tests before it ran stay disabled. What
# it calls is then not known. So tests that are likely to fail come first: those that failed in the last run,
# and all tests of a file after its first failure. Of the others, the parameters of a test function that is
# known by now come last.

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
