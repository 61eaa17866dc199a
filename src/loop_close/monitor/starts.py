"""Tracking by function: which functions a test called, at less than half of the cost of its lines.

An event at each start of a function is reported to a tool id of its own. The tool of the lines has such an event for
all code, to discover functions; what it disables there cannot be enabled again for single functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from types import CodeType
from typing import Any

from loop_close.monitor.executions import TrackedCode
from loop_close.monitor.tool import MonitoringTool

# After so many calls within a test, the calls of a function are disabled until the next test, which costs about as
# much as these calls: 1.05 and 0.17 µs with CPython 3.13.0.
_MANY_CALLS = 5
_START = "PY_START"
_ID = id  # tests may patch it


class FunctionStarts:
    """Records the functions that are called, in the order of their first calls.

    :param monitoring: ``sys.monitoring``, None before Python 3.12.
    :param tracked: the functions to track.
    :ivar has_begun: the events are set; they stay until :meth:`stop`.
    :ivar is_on: calls are recorded now.
    """

    def __init__(self, monitoring: Any, tracked: TrackedCode) -> None:
        self.has_begun = self.is_on = self._is_paused = False
        self._monitoring = monitoring
        self._tracked = tracked
        self._disable = getattr(monitoring, "DISABLE", None)
        self._calls: dict[int, int] = {}  # by the id of a code object, in the order of the first calls
        self._settled: dict[
            int, None
        ] = {}  # numbers of functions, where code objects may have been released since
        self._disabled: dict[int, CodeType] = {}
        self._number = 0
        self._recording, self._ignoring = self._callbacks()
        self._tool = MonitoringTool({_START: self._ignoring}, self._armed)

    def _callbacks(self) -> tuple[Callable[[CodeType, int], Any], Callable[[CodeType, int], Any]]:
        """The callback that records calls, and the one that disables them."""
        calls, disabled, disable, id = self._calls, self._disabled, self._disable, _ID

        def record(code: CodeType, offset: int) -> Any:
            number = id(code)
            before = calls.get(number)
            if before is None:
                calls[number] = 1
            elif before < _MANY_CALLS:
                calls[number] = before + 1
            else:
                disabled[number] = code
                return disable
            return None

        def ignore(code: CodeType, offset: int) -> Any:
            disabled[id(code)] = code
            return disable

        return record, ignore

    def begin(self) -> bool:
        """Set the events of all tracked functions, the first time.

        :returns: whether there is a tool id for it.
        """
        if not self.has_begun:
            if self._tool.start():
                return False
            self.has_begun = True
            for code, events in self._armed():
                self._monitoring.set_local_events(self._tool.id, code, events)
        return self._tool.is_ours()

    def turn(self, *, is_on: bool) -> None:
        """Begin or stop recording; functions that were disabled meanwhile are reported again.

        :attr:`is_on` stays False where there is no tool id for it.
        """
        if is_on is self.is_on or (is_on and not self.begin()):
            return
        self.is_on, self._is_paused = is_on, False
        self._tool.replace(_START, self._recording if is_on else self._ignoring)
        if is_on:
            self._enable()

    def _enable(self) -> None:
        arm, tool, events = self._monitoring.set_local_events, self._tool.id, self._monitoring.events.PY_START
        codes = self._tracked.codes
        while self._disabled:
            number, code = self._disabled.popitem()
            if codes.get(number) is code:
                arm(tool, code, 0)
                arm(tool, code, events)

    def pause(self) -> None:
        """Record nothing until :meth:`resume`, and disable nothing."""
        if self.is_on:
            self._is_paused = True
            self._tool.replace(_START, None)

    def resume(self) -> None:
        """End a pause."""
        if self.is_on:
            self._is_paused = False
            self._tool.replace(_START, self._recording)

    def follow(self, code: CodeType) -> None:
        """Set the event of a function that is tracked from now on."""
        if self.has_begun and self._tool.is_ours():
            self._monitoring.set_local_events(self._tool.id, code, self._monitoring.events.PY_START)

    def add(self, code: CodeType) -> None:
        """Record a call that began before its function was followed."""
        if self.is_on and not self._is_paused:
            self._calls.setdefault(_ID(code), 1)

    @property
    def has_any(self) -> bool:
        """Whether any functions were called since the last :meth:`take`."""
        return bool(self._settled or self._calls)

    @property
    def number_of_functions(self) -> int:
        """How many functions were called since then; several code objects may be of one, such as lambdas in it."""
        numbers = self._tracked.numbers
        return len(self._settled.keys() | {numbers[each] for each in list(self._calls) if each in numbers})

    def release(self) -> None:
        """Hold no code objects, before some of them are released."""
        self.settle()
        self._enable()

    def settle(self) -> None:
        """Convert code objects to the numbers of their functions."""
        calls = dict(self._calls)
        self._calls.clear()
        self._number += sum(calls.values())
        numbers = self._tracked.numbers
        self._settled.update(dict.fromkeys(numbers[each] for each in calls if each in numbers))

    def take(self) -> tuple[list[int], int, int]:
        """The functions that were called since the last time, in the order of their first calls, by number.

        :returns: also how many calls were recorded, and how many functions were called too often to record all calls.
        """
        self.settle()
        found, calls, disabled = list(self._settled), self._number, len(self._disabled)
        self._settled.clear()
        self._number = 0
        if self.is_on and disabled:
            self._enable()
        return found, calls, disabled

    def since(self, number: int) -> list[int]:
        """Remove and return the functions that were first called since there were so many."""
        self.settle()
        found = list(islice(self._settled, number, None))
        for number in found:
            del self._settled[number]
        return found

    def _armed(self) -> Iterator[tuple[CodeType, int]]:
        for code in list(self._tracked.codes.values()):
            if code.co_name != "<module>":
                yield code, self._monitoring.events.PY_START

    def stop(self) -> bool:
        """Give the tool id back; may be called again.

        :returns: whether it was still ours, or never taken.
        """
        self.is_on = False
        return self._tool.stop()
