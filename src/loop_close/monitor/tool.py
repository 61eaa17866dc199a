"""Access to ``sys.monitoring``: the tool id, the return events to record, and the functions that print values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Set
from opcode import opmap
from types import CodeType, FrameType, FunctionType
from typing import Any

from loop_close.monitor.codes import returns_value
from loop_close.monitor.executions import TrackedCode

# CO_GENERATOR and CO_ASYNC_GENERATOR: generators yield their values. CO_COROUTINE: ``await`` is not a call.
_IS_GENERATOR, _IS_COROUTINE = 0x20 | 0x200, 0x80
_CACHE, _JUMP, _POP, _RETURN = (opmap[name] for name in ("CACHE", "JUMP_FORWARD", "POP_TOP", "RETURN_VALUE"))
# These run a property's setter or deleter, and discard what it returns.
_SETS = frozenset(opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))


class ReturnEvents:
    """Decides from byte code which None is returned where a value was expected: that of the function and its callers.

    :param monitoring: ``sys.monitoring``, None before Python 3.12.
    :ivar codes: ids of the code objects whose return events are enabled.
    :ivar line: the events of the other code objects; ``both`` those of ``codes``.
    """

    def __init__(self, monitoring: Any) -> None:
        self.codes: set[int] = set()
        self._returns_value: dict[int, bool] = {}
        self.line: int = monitoring.events.LINE if monitoring is not None else 0
        self.both: int = self.line | (monitoring.events.PY_RETURN if monitoring is not None else 0)

    def follow(self, code: CodeType) -> None:
        """Enable the return events of a function if a None that it returns may be unexpected."""
        if not code.co_flags & _IS_GENERATOR and code.co_name not in PROCEDURES:
            self.codes.add(id(code))

    def events_of(self, number: int) -> int:
        """The events of a code object, by its id."""
        return self.both if number in self.codes else self.line

    def keep(self, numbers: Set[int]) -> None:
        """Forget all code objects but those with these ids."""
        self.codes &= numbers
        for number in self._returns_value.keys() - numbers:
            del self._returns_value[number]

    def should_record_none(self, code: CodeType, frame: FrameType) -> bool:
        """Whether to record that a function returns None: it also returns values, or its caller uses the result.

        :param frame: the frame of the function, about to end.
        """
        number = id(code)
        if number not in self._returns_value:
            self._returns_value[number] = returns_value(code)
        return self._returns_value[number] or _is_used(code, frame.f_back)


def _is_used(code: CodeType, caller: FrameType | None) -> bool:
    """Whether a caller uses the function's result, other than by returning it to its own caller."""
    if code.co_name in RESULT_METHODS:
        return True
    while caller is not None and not code.co_flags & _IS_COROUTINE and _names(caller.f_code, code):
        if caller.f_code.co_code[caller.f_lasti] in _SETS:
            return False
        code, following = caller.f_code, _following(caller.f_code.co_code, caller.f_lasti)
        if following != _RETURN:
            return following != _POP
        caller = caller.f_back
    return False


def _names(caller: CodeType, code: CodeType) -> bool:
    """Whether the caller uses the name of the function, or of the one that made it.

    If not, C code is between them, or an alias.
    """
    known = caller.co_names, caller.co_varnames, caller.co_freevars, caller.co_cellvars
    names = [part.rpartition(".")[2] for part in code.co_qualname.split(".<locals>.")]
    return any(name in each for name in names for each in known)


def _following(codes: bytes, place: int) -> int:
    """The instruction after the running one; jumps are followed, as after ``f() if x else None``."""
    place += 2
    while place < len(codes) and codes[place] in (_CACHE, _JUMP):
        place += 2 + 2 * codes[place + 1] * (codes[place] == _JUMP)
    return codes[place] if place < len(codes) else _POP


# --- special methods of Python's data model: with and without a result

_WITH_RESULT = """
new prepare class_getitem mro_entries instancecheck subclasscheck getattr getattribute getitem dir len length_hint
contains iter reversed repr str bytes format fspath hash bool int float complex index round trunc floor ceil neg pos
abs invert lt le eq ne gt ge sizeof copy deepcopy replace reduce reduce_ex getstate getnewargs getnewargs_ex
"""
_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or"
_WITHOUT_RESULT = """
init post_init init_subclass set_name del setstate setattr delattr set delete setitem delitem enter exit aenter aexit
call get missing
"""

#: Python uses their results, even where no caller is visible.
RESULT_METHODS = frozenset(
    f"__{method}__"
    for method in (
        *_WITH_RESULT.split(),
        *(f"{p}{method}" for method in _OPERATORS.split() for p in ("", "r", "i")),
    )
)
#: They need not return a value.
PROCEDURES = frozenset(f"__{method}__" for method in _WITHOUT_RESULT.split())


# --- reprs for failure messages: a ``__repr__`` called for one is not under test

# Functions that make such reprs: module, name, and the only calling module for which they do so, if there is one.
# If a pytest version lacks one of them, the lines that its reprs run count as lines of the test.
_REPR_FUNCTIONS = (
    ("pytest", "ExceptionInfo.getrepr", ""),
    ("_pytest.assertion.rewrite", "_saferepr", ""),
    ("_pytest.assertion.rewrite", "_call_reprcompare", ""),
    ("unittest.util", "safe_repr", ""),
    ("pprint", "pformat", "unittest.case"),
)


class AssertionReprs:
    """Tracks the outermost call that makes a repr for a failure message.

    A call that ends by an exception has no return event. What it ran counts, as it may be why the test fails (a time
    limit).

    :ivar codes: the functions that make such reprs, by the id of their code objects.
    :ivar frame: the frame of the outermost call; None if there is none.
    """

    def __init__(self) -> None:
        self.codes: dict[int, CodeType] = {}
        self._callers: dict[int, str] = {}
        for module, name, caller in _REPR_FUNCTIONS:
            function = _attribute(sys.modules.get(module), name)
            if isinstance(function, FunctionType):
                self.codes[id(function.__code__)] = function.__code__
                self._callers[id(function.__code__)] = caller
        self.frame: FrameType | None = None
        self._start = 0

    def begin(self, frame: FrameType, hits: int) -> None:
        """One of the functions is called; ignored if another caller uses it, or inside of such a call.

        :param frame: the frame of the function.
        :param hits: the number of hits so far.
        """
        caller, above = self._callers[id(frame.f_code)], frame.f_back
        if caller and (above is None or above.f_globals.get("__name__") != caller):
            return
        if self.frame is None or all(each is not self.frame for each in _above(frame)):
            self.frame, self._start = frame, hits

    def end(self, frame: FrameType) -> int | None:
        """One of the functions returns.

        :returns: the number of hits when the outermost call began; None if this is not the end of that call.
        """
        if frame is not self.frame:
            return None
        self.frame = None
        return self._start

    def forget(self) -> None:
        """Drop the current call: it will not return, or its hits were taken already."""
        self.frame = None


def _attribute(owner: object, path: str) -> object:
    for name in path.split("."):
        owner = getattr(owner, name, None)
    return owner


def _above(frame: FrameType) -> Iterator[FrameType]:
    above = frame.f_back
    while above is not None:
        yield above
        above = above.f_back


def running_code() -> Iterator[CodeType]:
    """The code objects on the stacks of all threads."""
    for frame in _FRAMES().values():
        yield frame.f_code
        for above in _above(frame):
            yield above.f_code


# --- the tool id

#: Tool ids to try. Only optimizers use one of them by name (5), and these are rare. Hypothesis and other tools that
#: take any free id begin with 3.
FREE_IDS = (5, 4)


class TakenError(RuntimeError):
    """The program took a tool id that we use."""

    def __init__(self) -> None:
        super().__init__("the program took over our tool id of sys.monitoring")


class MonitoringTool:
    """One tool id of ``sys.monitoring``.

    :param callbacks: the callbacks by the name of the event.
    :param armed: returns the code objects that have local events, with these events.
    :ivar id: the tool id; ``name`` is registered with it.
    """

    def __init__(
        self,
        callbacks: dict[str, Callable[..., Any] | None],
        armed: Callable[[], Iterable[tuple[CodeType, int]]],
    ) -> None:
        self.id = -1
        self.name = f"loop-close {id(self):x}"
        self._callbacks = callbacks
        self._armed = armed
        self._monitoring: Any = None
        self._events = 0

    def start(self) -> str:
        """Take a tool id and register the callbacks; no events are enabled before :meth:`listen`.

        :returns: why there is no id; empty if there is one.
        """
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            return "run with Python 3.12 or newer to get the function named"
        free = [tool for tool in FREE_IDS if monitoring.get_tool(tool) is None]
        if not free:
            return "the tool ids of sys.monitoring that loop-close may use (5 and 4) are in use"
        self._monitoring = monitoring
        self.id = free[0]
        monitoring.use_tool_id(self.id, self.name)
        for event, callback in self._callbacks.items():
            monitoring.register_callback(self.id, getattr(monitoring.events, event), callback)
        return ""

    def listen(self) -> None:
        """Enable the start of all functions, the raising of all exceptions, and the local events of armed code."""
        for code, events in self._armed():
            self._monitoring.set_local_events(self.id, code, events)
        # Those of exceptions are enabled for all code or for none. Removing the callback turns them off at little cost.
        events = self._monitoring.events
        self._events = events.PY_START | events.RAISE | events.RERAISE
        self._monitoring.set_events(self.id, self._events)

    def replace(self, event: str, callback: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Replace or remove the callback of an event.

        :returns: the callback before.
        """
        before, self._callbacks[event] = self._callbacks[event], callback
        if self.is_ours():
            self._monitoring.register_callback(self.id, getattr(self._monitoring.events, event), callback)
        return before

    def is_ours(self) -> bool:
        """Whether the tool id is still ours."""
        return self._monitoring is not None and self._monitoring.get_tool(self.id) == self.name

    def check(self) -> None:
        """Ensure that the tool id is still ours.

        :raises TakenError: when it is not.
        """
        if not self.is_ours():
            raise TakenError

    def stop(self) -> bool:
        """Restore the state of ``sys.monitoring``; may be called again.

        :returns: whether the id and its events were still ours, or were never taken.
        """
        monitoring, self._monitoring = self._monitoring, None
        if monitoring is None:
            return True
        is_ours: bool = monitoring.get_tool(self.id) == self.name
        if not is_ours:
            if monitoring.get_tool(self.id) is not None:
                return False
            # The program freed the id. Our events are still set and would be those of the id's next user.
            monitoring.use_tool_id(self.id, self.name)
        is_ours &= monitoring.get_events(self.id) == self._events
        monitoring.set_events(self.id, 0)
        for code, _ in self._armed():
            monitoring.set_local_events(self.id, code, 0)
        for event, callback in self._callbacks.items():
            number = getattr(monitoring.events, event)
            is_ours &= monitoring.register_callback(self.id, number, None) is callback
        monitoring.free_tool_id(self.id)
        return is_ours


# --- starts of functions: where to record lines

# To a tool id of its own is reported that a function starts, or that a generator or coroutine goes on. The tool of the
# lines has a start event for all code, to discover functions; what it disables there cannot be enabled again for single
# functions.

_STARTS = "PY_START", "PY_RESUME"
_ID, _FRAMES = id, sys._current_frames  # tests may patch them


class FunctionStarts:
    """Reports the first start of each function while tests are tracked; at other times it is only noted.

    :param monitoring: ``sys.monitoring``, None before Python 3.12.
    :param tracked: the functions to track.
    :param on_first: called at the first start of each function. It returns whether that suffices; if not, it is called
        at the next start again.
    :ivar has_begun: the events are set; they stay until :meth:`stop`.
    """

    def __init__(self, monitoring: Any, tracked: TrackedCode, on_first: Callable[[CodeType], bool]) -> None:
        self.has_begun = False
        self._is_reporting: bool | None = False  # None: a time limit ended a change of it
        self._monitoring = monitoring
        self._tracked = tracked
        self._on_first = on_first
        self._reported: dict[int, CodeType] = {}  # by id; their events are disabled, as those of the next
        self._noted: dict[int, CodeType] = {}
        # The numbers of functions that were noted, where code objects were released since.
        self._numbers: set[int] = set()
        self._report, self._note = self._callbacks(getattr(monitoring, "DISABLE", None))
        self._tool = MonitoringTool(dict.fromkeys(_STARTS, self._note), self._armed)
        self._events = (
            monitoring.events.PY_START | monitoring.events.PY_RESUME if monitoring is not None else 0
        )

    def _callbacks(
        self, disable: Any
    ) -> tuple[Callable[[CodeType, int], Any], Callable[[CodeType, int], Any]]:
        reported, noted, on_first, id = self._reported, self._noted, self._on_first, _ID

        def report(code: CodeType, offset: int) -> Any:
            reported[id(code)] = code
            return disable if on_first(code) else None

        def note(code: CodeType, offset: int) -> Any:
            noted[id(code)] = code
            return disable

        return report, note

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

    def turn(self, *, is_on: bool) -> bool:
        """Report the starts of functions from now on, also of those that were reported before; or only note them.

        :returns: whether there is a tool id for it.
        """
        if not self.begin():
            return False
        if is_on is not self._is_reporting:
            self._is_reporting = None
            for event in _STARTS:
                self._tool.replace(event, self._report if is_on else self._note)
            if is_on:
                self._enable()
            self._is_reporting = is_on
        return True

    @property
    def is_lost(self) -> bool:
        """Whether starts are missing because the program took the tool id."""
        return bool(self._is_reporting) and not self._tool.is_ours()

    def _enable(self) -> None:
        arm, tool, events = self._monitoring.set_local_events, self._tool.id, self._events
        codes = self._tracked.codes
        if self._reported or self._noted:
            self._tool.check()
        for found in (self._reported, self._noted):
            for number, code in list(found.items()):
                if codes.get(number) is code:
                    arm(tool, code, 0)
                    arm(tool, code, events)
                found.pop(number, None)  # last: a time limit may end this at any point

    def follow(self, code: CodeType) -> None:
        """Set the event of a function that is tracked from now on."""
        if self.has_begun and self._tool.is_ours():
            self._monitoring.set_local_events(self._tool.id, code, self._events)

    def add(self, code: CodeType) -> None:
        """Take a call that began before its function was followed."""
        if self._is_reporting:
            self._on_first(code)

    def release(self) -> None:
        """Hold no code objects, before some of them are released; all starts are reported again.

        :raises TakenError: when the program took the tool id.
        """
        self._numbers |= self._numbers_noted()
        self._enable()

    def take_noted(self) -> set[int]:
        """The functions that were noted since the last time, by number."""
        found, self._numbers = self._numbers | self._numbers_noted(), set()
        return found

    def _numbers_noted(self) -> set[int]:
        numbers = map(self._tracked.numbers.get, list(self._noted))
        return {number for number in numbers if number is not None}

    def _armed(self) -> Iterator[tuple[CodeType, int]]:
        for code in list(self._tracked.codes.values()):
            if code.co_name != "<module>":
                yield code, self._events

    def stop(self) -> bool:
        """Give the tool id back; may be called again.

        :returns: whether it was still ours, or never taken.
        """
        self._is_reporting = False
        return self._tool.stop()
