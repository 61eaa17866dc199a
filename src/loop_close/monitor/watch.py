"""Line tracking with ``sys.monitoring`` (Python 3.12 and later): the lines of the code under test that tests run."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Set
from time import perf_counter, thread_time
from types import CodeType, FrameType
from typing import Any

from loop_close.monitor import Budget
from loop_close.monitor.codes import (
    LONGEST_TABLE,
    Ownership,
    cost_of_a_line,
    hides_one_liners,
    is_program_exception,
    is_reported_by_owner,
    one_liner_start,
)
from loop_close.monitor.executions import NO_EXECUTION, RETURNED_NONE, Execution, Function, Hit, TrackedCode
from loop_close.monitor.handled import HandledExceptions
from loop_close.monitor.imports import ModuleBodies
from loop_close.monitor.tool import (
    AssertionReprs,
    FunctionStarts,
    MonitoringTool,
    ReturnEvents,
    TakenError,
    running_code,
)

_RAISED = "RAISE", "RERAISE"
# Calls per test that are reported of a function whose line table is too long; then one return per test.
_MANY_CALLS = 100
# Limit of functions first seen in untracked tests that wait to be tracked.
_MOST_PENDING = 5_000
_ID, _FRAME = id, sys._getframe  # tests may patch them
# The budget is of CPU time: on a busy machine, other processes run within a measured time. Windows counts CPU time in
# steps of 16 ms.
_CLOCK = perf_counter if sys.platform == "win32" else thread_time


class LineTracker:
    """Instruments functions of the code under test when they first run.

    After it ran, a line is not reported again before :meth:`take`, so that a loop costs only once. Then the events of
    the functions that ran are set again. ``sys.monitoring.restart_events`` would do this for all tools, coverage.py
    and debuggers among them.

    Python reports no event for some places, such as the loop of a comprehension. These stay instrumented and are slow.
    So once a test is not tracked, the line events of a function are only set while tests are: from its first start
    until the next test that is not tracked.

    :param budget: the budget of CPU time; unlimited by default.
    :ivar hits: the hits since the last :meth:`take`.
    :ivar imports: what ran while modules were imported.
    :ivar fault: an error that could not be raised where it occurred; empty if there is none.
    :ivar in_untracked: numbers of functions that untracked tests ran.
    :ivar is_tracking: whether the test is tracked. Without a tool id for starts, the lines that no earlier test ran are
        reported also where it is not.
    """

    def __init__(self, ownership: Ownership, budget: Budget | None = None) -> None:
        self.hits: list[Hit] = []
        self.fault = ""
        self.in_untracked: set[int] = set()
        self.is_tracking = True
        self._is_switched = True  # False: a time limit ended a change of it
        self._budget = budget or Budget(is_unlimited=True)
        self._ownership = ownership
        self._tracked = TrackedCode(ownership)
        self._reprs = AssertionReprs()
        self._ran_before: set[int] = set()
        self._special_events: dict[
            int, int
        ] = {}  # by id of the code object, where line events do not suffice
        self._one_liners: dict[int, int] = {}  # for some of these, the offset of the first instruction
        self._long: dict[int, int] = {}  # for some of these, 1 + the calls in this test
        self._pending: deque[CodeType] = deque(maxlen=_MOST_PENDING)
        self._covered_by_owner: set[int] = set()
        self._hides_one_liners = False
        self._monitoring: Any = getattr(sys, "monitoring", None)
        self._returns = ReturnEvents(self._monitoring)
        self._starts = FunctionStarts(self._monitoring, self._tracked, self._arm_at_start)
        self._armed_now: dict[int, CodeType] | None = (
            None  # while armed at the start, these; None: all are armed
        )
        self._tool = MonitoringTool({}, self._armed)
        self._handled = HandledExceptions(ownership, self._set_exception_callback)
        self._on_raised = self._handled.callback(self._take_fault)
        self._is_collecting, self._is_awake = True, False
        self._on_line, self._on_first_line = self._line_callbacks()
        self._bodies = ModuleBodies(
            ownership, self.hits, lambda start: self._tracked.ran(self._remove_since(start))
        )
        self.imports = self._bodies.imports

    @property
    def functions(self) -> Mapping[int, Function]:
        """The tracked functions, by number."""
        return self._tracked.functions

    @property
    def is_full(self) -> bool:
        """Whether there were more functions than are tracked."""
        return self._tracked.is_full

    @property
    def is_due(self) -> bool:
        """Whether :meth:`take` has anything to do: something ran, or a tool id was taken."""
        return bool(
            self.hits
            or self._handled.has_any
            or (self.is_tracking and self._ran_before)
            or self._starts.is_lost
        )

    @property
    def mark(self) -> int:
        """The point that is reached now: the number of hits."""
        return len(self.hits)

    @property
    def is_cut(self) -> bool:
        """Whether some exceptions since :meth:`begin_test` were not examined."""
        return self._handled.is_cut

    def begin_test(self) -> None:
        """Begin a test, or the collection of a module; exceptions handled before do not count.

        Python, pytest and pluggy handle some 80 exceptions per test. In a test they are reported only after its first
        line of the code under test, as that code cannot raise one before.
        """
        self._budget.spend(0, steps=self._handled.steps)
        for number, calls in self._long.items():
            if calls < _MANY_CALLS:
                self._long[number] = 1
        self._handled.begin_test()
        if not self.is_tracking:
            self._sleep()
        elif self._is_collecting:
            self._handled.listen(is_on=True)
        elif self._is_awake or self._handled.is_listening:
            self._is_awake = False
            self._tool.replace("LINE", self._on_first_line)
            self._handled.listen(is_on=False)

    def track(self, *, is_on: bool) -> None:
        """Set whether what runs from now on is tracked.

        If not, line events are removed, handled exceptions are not reported, and new functions wait.
        """
        if is_on is self.is_tracking and self._is_switched:
            return
        self._is_switched = False
        start, armed = _CLOCK(), len(self._armed_now or ())
        self._note_untracked()
        has_starts = self._starts.turn(is_on=is_on)
        self.is_tracking = is_on
        if is_on:
            self._follow_pending()
        if not has_starts:
            self._arm_all()
        elif not is_on:
            self._disarm()
        if is_on:
            self._rearm(set())
            self._arm_running()
            self._is_awake = True
        else:
            self._sleep()
        self._is_switched = True
        self._budget.spend(_CLOCK() - start, armed=armed)
        if is_on:
            self.begin_test()

    def _note_untracked(self) -> None:
        self.in_untracked |= self._starts.take_noted()

    def _disarm(self) -> None:
        """Remove the line events of all functions; from now on they are set at the first start."""
        self._tool.check()
        if self._armed_now is None:
            self._armed_now = {
                number: code for number, code, _ in self._functions() if number not in self._long
            }
        while self._armed_now:
            self._monitoring.set_local_events(self._tool.id, self._armed_now.popitem()[1], 0)

    def _arm_all(self) -> None:
        """Set the line events of all functions, as starts are not reported."""
        if self._armed_now is not None:
            self._armed_now = None
            for _, code, events in self._functions():
                self._monitoring.set_local_events(self._tool.id, code, events)

    def _arm_at_start(self, code: CodeType) -> bool:
        """Set the line events of a function that starts or goes on; this applies to the running call."""
        armed = self._armed_now
        if armed is None or _ID(code) in self._covered_by_owner or _ID(code) in self._long:
            return True
        try:
            if _ID(code) not in armed:  # another thread may have set them while they were removed
                self._monitoring.set_local_events(self._tool.id, code, 0)
            armed[_ID(code)] = code
            self._monitoring.set_local_events(self._tool.id, code, self._events_of(_ID(code)))
        except RecursionError:  # the program has used up its stack; the next call will do
            return False
        except Exception as fault:
            self._take_fault(fault)
        return True

    def _arm_running(self) -> None:
        """Set the line events of the functions that are running, also in other threads: these will not start."""
        for code in running_code():
            if self._tracked.codes.get(_ID(code)) is code and code.co_name != "<module>":
                self._arm_at_start(code)

    def _sleep(self) -> None:
        if self._is_awake or self._handled.is_listening:
            self._tool.replace("LINE", self._on_line)
            self._handled.listen(is_on=False)
        self._is_awake = False

    def _follow_pending(self) -> None:
        """Track the functions that first ran in untracked tests; of their lines, only the first is recorded."""
        while self._pending:
            code = self._pending.popleft()
            file = self._ownership.file_of(code.co_filename)
            if file is not None and _ID(code) not in self._tracked.codes:
                self._follow(code, file)
                self.hits.append((code, code.co_firstlineno))

    def _wake(self) -> None:
        self._is_awake = True
        self._tool.replace("LINE", self._on_line)
        self._handled.listen(is_on=True)

    def _set_exception_callback(self, is_on: bool) -> None:
        for event in _RAISED:
            self._tool.replace(event, self._on_raised if is_on else None)

    def start(self) -> str:
        """Start tracking.

        Modules are found when their first line runs. Functions of modules that are imported already are found when
        they are first called.

        :returns: why tracking is not possible; empty if it is.
        """
        if self._monitoring is not None:
            self._tool = MonitoringTool(self._callbacks(), self._armed)
        why_not = self._tool.start()
        if not why_not:
            self._hides_one_liners = hides_one_liners(self._monitoring, self._tool.id, self.hits)
            while_collecting = self._tool.replace("LINE", self._on_line)
            self._budget.line = cost_of_a_line(self._monitoring, self._tool.id, self.hits)
            self._tool.replace("LINE", while_collecting)
            self._tool.listen()
        return why_not

    def _callbacks(self) -> dict[str, Callable[..., Any] | None]:
        return {
            "LINE": self._bodies.on_line(self._on_line, self._monitoring.DISABLE, self._take_fault),
            "PY_START": self._on_start(),
            "PY_RETURN": self._on_return(),
            "PY_YIELD": self._on_return(),
            "INSTRUCTION": self._on_instruction(),
            **dict.fromkeys(_RAISED, self._on_raised),
        }

    def _line_callbacks(self) -> tuple[Callable[[CodeType, int], Any], Callable[[CodeType, int], Any]]:
        """The line callback, and that for the first line of a test."""
        append, disable = self.hits.append, getattr(self._monitoring, "DISABLE", None)

        def on_line(code: CodeType, line: int) -> Any:
            append((code, line))
            return disable

        def on_first_line(code: CodeType, line: int) -> Any:
            append((code, line))
            try:
                self._wake()
            except RecursionError:  # the program has used up its stack; the next line will do
                return disable
            except Exception as fault:
                self._take_fault(fault)
            return disable

        return on_line, on_first_line

    def end_collection(self) -> None:
        """Stop recording module bodies by line, which takes time, as the first test is about to begin."""
        self._bodies.end_collection()
        self._is_collecting = False
        self._is_awake = True

    def _on_start(self) -> Callable[[CodeType, int], Any]:
        reprs, long = self._reprs.codes, self._long
        files, disable, id, frame_above = self._ownership.files, self._monitoring.DISABLE, _ID, _FRAME

        def on_start(code: CodeType, offset: int) -> Any:
            try:
                if files.get(code.co_filename, "") is None and id(code) not in reprs:
                    return disable
                self._started(code, frame_above(1))
            except RecursionError:  # the program has used up its stack; the next call will do
                return None
            except Exception as fault:
                self._take_fault(fault)
            return None if id(code) in reprs or long.get(id(code), _MANY_CALLS) < _MANY_CALLS else disable

        return on_start

    def _started(self, code: CodeType, frame: FrameType) -> None:
        if _ID(code) in self._reprs.codes:
            self._reprs.begin(frame, len(self.hits))
            if self._reprs.frame is not None:
                self._handled.listen(is_on=False)
        elif not self.is_tracking and code.co_name != "<module>" and _ID(code) not in self._tracked.codes:
            self._pending.append(code)
        else:
            is_new = _ID(code) not in self._tracked.codes
            self._first_run(code, frame)
            if (is_new and code.co_name != "<module>") or _ID(code) in self._long:
                self._starts.add(code)
            if _ID(code) in self._long:
                self._count_call(code)

    def _end_repr(self) -> None:
        """Record again what was not recorded while a repr was made for a failure message."""
        if self.is_tracking:
            self._handled.listen(is_on=True)

    def _count_call(self, code: CodeType) -> None:
        """Count a call of a function with too many lines; after many calls, one return per test is reported."""
        self._long[_ID(code)] += 1
        if self._long[_ID(code)] >= _MANY_CALLS:
            self._special_events[_ID(code)] = (
                self._monitoring.events.PY_RETURN | self._monitoring.events.PY_YIELD
            )
            self._monitoring.set_local_events(self._tool.id, code, self._special_events[_ID(code)])
        if self.is_tracking and all(last is not code for last, _ in self.hits[-1:]):
            self._on_first_line(code, code.co_firstlineno)

    def _on_instruction(self) -> Callable[[CodeType, int], Any]:
        """The callback for one-line functions whose line events Python does not report: for the first instruction."""
        one_liners, append, disable, id = self._one_liners, self.hits.append, self._monitoring.DISABLE, _ID

        def on_instruction(code: CodeType, offset: int) -> Any:
            if one_liners.get(id(code)) == offset:
                append((code, code.co_firstlineno))
            return disable

        return on_instruction

    def _on_return(self) -> Callable[[CodeType, int, object], Any]:
        reprs, long, id, frame_above = self._reprs, self._long, _ID, _FRAME
        returns, disable, append = self._returns, self._monitoring.DISABLE, self.hits.append

        def on_return(code: CodeType, offset: int, value: object) -> Any:
            try:
                if id(code) in returns.codes:
                    if value is None and returns.should_record_none(code, frame_above(1)):
                        append((code, RETURNED_NONE))
                    return disable
                if id(code) in long:
                    append((code, code.co_firstlineno))
                    return disable
                if id(code) not in reprs.codes:
                    self._end_body(code)
                elif (start := reprs.end(frame_above(1))) is not None:
                    self._remove_since(start)
                    self._end_repr()
            except RecursionError:  # the next return will do
                return None
            except Exception as fault:
                self._take_fault(fault)
            return None

        return on_return

    def _take_fault(self, fault: Exception) -> None:
        """Record an error of a callback, or pass on an exception that the program raised, as in a signal handler."""
        if is_program_exception(fault):
            raise fault
        self.fault = f"{type(fault).__name__}: {fault}"

    def _first_run(self, code: CodeType, frame: FrameType) -> None:
        """Track a code object that runs for the first time."""
        if _ID(code) in self._tracked.codes:
            return
        file = self._ownership.file_of(code.co_filename)
        if file is not None:
            self._follow(code, file)
        if self._bodies.is_followed(code, frame, is_project=file is not None):
            self._tracked.codes[_ID(code)] = code
            self._bodies.begin(code)
            self._monitoring.set_local_events(
                self._tool.id, code, self._bodies.events(self._monitoring, code)
            )

    def _follow(self, code: CodeType, file: str) -> None:
        if code.co_name == "<module>":
            self.imports.modules.add(file)
        if self._tracked.is_due:
            self._release()
        owners: dict[int, set[int]] = {}
        for inner, owner in self._tracked.add(code):
            if len(inner.co_linetable) > LONGEST_TABLE:
                self._long[_ID(inner)], self._special_events[_ID(inner)] = 1, 0
                continue
            if (
                _ID(owner) not in self._long
                and inner is not owner
                and is_reported_by_owner(inner, owner, owners)
            ):
                self._covered_by_owner.add(_ID(inner))
                continue
            if inner is owner:
                self._returns.follow(inner)
            if self._hides_one_liners and (begin := one_liner_start(inner)):
                # With its line event: beside a debugger, the instruction is not reported but the line is.
                events = self._returns.events_of(_ID(inner)) | self._monitoring.events.INSTRUCTION
                self._one_liners[_ID(inner)], self._special_events[_ID(inner)] = begin, events
            self._starts.follow(inner)
            # Pending functions are tracked at the end, when the tool may not be ours.
            if self._armed_now is None and self._tool.is_ours():
                self._monitoring.set_local_events(self._tool.id, inner, self._events_of(_ID(inner)))

    def _events_of(self, number: int) -> int:
        """The events of a function while its lines are tracked, by the id of its code object."""
        return self._special_events.get(number, self._returns.events_of(number))

    def _release(self) -> None:
        """Release code objects that nothing else refers to, including those that ran since the last :meth:`take`."""
        self._starts.release()
        armed = list(self._armed_now or ())
        if self._armed_now is not None:
            self._armed_now.clear()
        ran = self.hits[:]
        self._ran_before |= {_ID(code) for code, _ in ran}
        self.hits[: len(ran)] = self._tracked.by_first_codes(ran)
        ran.clear()
        self._tracked.release()
        codes = self._tracked.codes
        if self._armed_now is not None:
            self._armed_now |= {number: codes[number] for number in armed if number in codes}
        for numbers in (self._ran_before, self._covered_by_owner):
            numbers.intersection_update(self._tracked.codes)
        for known in (self._special_events, self._one_liners, self._long):
            for number in known.keys() - self._tracked.codes.keys():
                del known[number]
        self._returns.keep(self._tracked.codes.keys())
        self.imports.keep(self._tracked.codes.keys())

    def _end_body(self, code: CodeType) -> None:
        self._monitoring.set_local_events(self._tool.id, code, 0)
        self._bodies.end(code)

    def _remove_since(self, start: int) -> list[Hit]:
        """Remove and return the hits from this index on; their lines are reported again."""
        if hits := self._cut(start):
            self._rearm({_ID(code) for code, _ in hits})
        return hits

    def _cut(self, start: int) -> list[Hit]:
        hits = self.hits[start:]
        del self.hits[start : start + len(hits)]  # not to the end: other threads may have added more
        return hits

    def take(self, *, in_order: bool = True) -> Execution:
        """What ran since the last call; its lines are reported again, unless the test is not tracked.

        :param in_order: record the order of lines and the returned None as well.

        :raises TakenError: when the program took our tool id.
        """
        start = _CLOCK()
        if self._reprs.frame is not None:
            self._reprs.forget()
            self._end_repr()
        swallowed = self._handled.take() if self._handled.has_any else {}
        if self._starts.is_lost:
            raise TakenError
        if not self.hits and not (self.is_tracking and self._ran_before):
            return Execution(swallowed=swallowed) if swallowed else NO_EXECUTION
        hits = self._cut(0)
        masks, codes = self._tracked.masks(hits)
        ran = Execution(masks, swallowed=swallowed)
        if not self.is_tracking:
            self._ran_before |= codes
        else:
            self._rearm(codes)
            if in_order:
                lines, returned_none = self._tracked.in_order(hits), self._tracked.returned_none(hits)
                ran = ran._replace(lines=lines, returned_none=returned_none)
        self._budget.spend(_CLOCK() - start, len(hits), len(codes))
        return ran

    def since(self, mark: int) -> Execution:
        """What ran since this point; its lines are reported again after the next :meth:`take`."""
        hits = self._cut(mark)
        self._ran_before |= {_ID(code) for code, _ in hits}
        return self._tracked.ran(hits)._replace(lines=self._tracked.in_order(hits))

    def rest(self) -> Execution:
        """What ran since the last :meth:`take`, at the end of the session; its lines are not reported again."""
        self._note_untracked()
        self._follow_pending()
        return self._tracked.ran(self._cut(0))

    def _rearm(self, numbers: Set[int]) -> None:
        """Report the lines of these code objects again when they next run.

        :param numbers: ids of the code objects.
        :raises TakenError: when the program took our tool id.
        """
        self._tool.check()
        arm, tool = self._monitoring.set_local_events, self._tool.id
        codes, returns, special = self._tracked.codes, self._returns, self._special_events
        with_returns, line, both = returns.codes, returns.line, returns.both
        before, self._ran_before = self._ran_before, set()
        if before:
            numbers = numbers | before
        if self._armed_now is not None:
            numbers = numbers & (self._armed_now.keys() | self._long.keys())
        for number in numbers:
            code = codes.get(number)
            if code is not None:  # unknown, or just released by another thread
                arm(tool, code, 0)
                arm(tool, code, special.get(number, both if number in with_returns else line))

    def _armed(self) -> Iterator[tuple[CodeType, int]]:
        """The code objects that have local events, with these events."""
        events = self._monitoring.events
        for number, code in list(self._tracked.codes.items()):
            if self.imports.is_open(number):
                yield code, self._bodies.events(self._monitoring, code)
        yield from ((code, events) for _, code, events in self._functions())
        for code in self._reprs.codes.values():
            yield code, events.PY_RETURN

    def _functions(self) -> Iterator[tuple[int, CodeType, int]]:
        """The functions whose lines are reported, with the ids of their code objects and their events."""
        for number, code in list(self._tracked.codes.items()):
            is_reported = code.co_name != "<module>" and number not in self._covered_by_owner
            if is_reported and not self.imports.is_open(number):
                yield number, code, self._events_of(number)

    def stop(self) -> None:
        """Stop tracking and restore the state of ``sys.monitoring``; may be called again."""
        is_ours = self._starts.stop()
        if not (self._tool.stop() and is_ours) and not self.fault:
            self.fault = f"TakenError: {TakenError()}"
