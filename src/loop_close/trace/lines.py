"""The lines of the code under test that run, as ``sys.monitoring`` reports them (Python 3.12 and later)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from time import perf_counter, thread_time
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from loop_close.trace.code import Ownership, Place, codes_in, is_function, lines_of

#: What ran between two points: a mask of lines by the function. A function is known by the ``id`` of its first code
#: object, because hashing a code object hashes all its contents; it is kept alive, so that no id is used again. The
#: lowest bit of a mask is the function's first line.
Ran = dict[int, int]

#: Tool ids to try. Only optimizers use one of them by name (5), and these are rare. Hypothesis and other tools that
#: take any free id begin with 3.
FREE_IDS = (5, 4)
#: Bytes of ``co_linetable``. To find the line of an instruction, Python walks this table from its start. Reporting all
#: lines of a function therefore takes quadratic time. Of one with a longer table only the return is reported.
_LONGEST_TABLE = 16_384
# Python 3.13.0 reports no line for ``def f(): return 1``; there its return is asked for as well.
_HIDES_LINES = sys.version_info[:3] == (3, 13, 0)
# Functions that make a repr for a failure message: a ``__repr__`` that they call is not under test. Where a pytest
# version lacks one, or the call ends by an exception, what its reprs run counts.
_REPRS = (
    ("pytest", "ExceptionInfo.getrepr"),
    ("_pytest.assertion.rewrite", "_saferepr"),
    ("_pytest.assertion.rewrite", "_call_reprcompare"),
    ("unittest.util", "safe_repr"),
)
_ID, _FRAME = id, sys._getframe  # tests may patch them
# The budget is of CPU time: on a busy machine, other processes run within a measured time. Windows counts CPU time in
# steps of 16 ms.
_CLOCK = perf_counter if sys.platform == "win32" else thread_time


class TakenError(RuntimeError):
    """The program took the tool id that we use."""

    def __str__(self) -> str:
        return "the program took over our tool id of sys.monitoring"


class LineTracker:
    """Reports each line of the code under test once, until :meth:`take` arms the functions again that ran.

    A loop costs only once. ``sys.monitoring.restart_events`` would arm all functions for all tools, coverage.py and
    debuggers among them. While :attr:`is_on` is false nothing is armed again, and what runs is disarmed: at a jump
    within a line Python computes the line each time, though it reports none.

    :param spend: gets the CPU seconds that it takes.
    :ivar functions: the first code object of each function, by its ``id``. Functions with the same file, first line
        and qualified name are one function, such as those of a module that tests reload.
    :ivar modules: files whose modules ran.
    :ivar outside: the functions that ran while modules were imported, for the repr of a failure message, or for the
        first time while :attr:`is_on` was false.
    :ivar is_on: whether what runs is tracked.
    :ivar fault: an error that could not be raised where it occurred; empty if there is none.
    """

    def __init__(self, ownership: Ownership, spend: Callable[[float], None]) -> None:
        self.functions: dict[int, CodeType] = {}
        self.modules: set[str] = set()
        self.outside: set[int] = set()
        self.is_on = True
        self.fault = ""
        self._ownership = ownership
        self._spend = spend
        self._monitoring: Any = None
        self._tool = -1
        self._name = f"loop-close {id(self):x}"
        self._hits: list[tuple[CodeType, int]] = []
        # By the ``id`` of a code object, with its events; the function that it belongs to, and the first line of that.
        self._codes: dict[int, CodeType] = {}
        self._events: dict[int, int] = {}
        self._owners: dict[int, tuple[int, int]] = {}
        self._places: dict[Place, int] = {}
        # Code objects with lines that are not reported again until they are armed. Those of them that are disarmed have
        # no events; the others keep those of lines that did not run.
        self._due: set[int] = set()
        self._disarmed: set[int] = set()
        # Functions that make a repr. Of these and of modules that are being imported the number of hits before.
        self._reprs = _repr_functions()
        self._marks: dict[int, int] = {}

    def start(self) -> str:
        """Start tracking; functions are found when they are first called.

        :returns: why that is not possible; empty if it is.
        """
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            return "Python 3.12 or newer records all"
        free = [tool for tool in FREE_IDS if monitoring.get_tool(tool) is None]
        if not free:
            return "the tool ids of sys.monitoring that loop-close may use (5 and 4) are in use"
        self._monitoring, self._tool = monitoring, free[0]
        monitoring.use_tool_id(self._tool, self._name)
        for event, callback in self._callbacks().items():
            monitoring.register_callback(self._tool, event, callback)
        for code in self._reprs.values():
            monitoring.set_local_events(self._tool, code, monitoring.events.PY_RETURN)
        monitoring.set_events(self._tool, monitoring.events.PY_START)
        return ""

    def _callbacks(self) -> Mapping[int, Callable[..., Any]]:
        events, disable = self._monitoring.events, self._monitoring.DISABLE
        append, id, files, owners = self._hits.append, _ID, self._ownership.files, self._owners
        hits, reprs, marks = self._hits, self._reprs, self._marks

        def on_line(code: CodeType, line: int) -> Any:
            append((code, line))
            return disable

        def on_start(code: CodeType, offset: int) -> Any:
            try:
                if id(code) in reprs:
                    marks[id(code)] = len(hits)
                    return None
                if files.get(code.co_filename, "") is not None:
                    self._discover(code, _FRAME(1))
            except RecursionError:  # the program has used up its stack; the next call will do
                return None
            except Exception as fault:
                self._take_fault(fault)
            return disable

        def on_return(code: CodeType, offset: int, value: object) -> Any:
            try:
                if (mark := marks.pop(id(code), None)) is not None:
                    self.outside |= self.cut(mark).keys()
                if id(code) in reprs:
                    return None
                if id(code) in owners:
                    append((code, code.co_firstlineno))
            except RecursionError:  # the next return will do
                return None
            except Exception as fault:
                self._take_fault(fault)
            return disable

        return {
            events.LINE: on_line,
            events.PY_START: on_start,
            events.PY_RETURN: on_return,
            events.PY_YIELD: on_return,
        }

    def _take_fault(self, fault: Exception) -> None:
        """Record an error of a callback, or pass on an exception that the program raised, as in a signal handler."""
        if is_program_exception(fault):
            raise fault
        self.fault = f"{type(fault).__name__}: {fault}"

    # --- code that runs for the first time

    def _discover(self, code: CodeType, frame: FrameType) -> None:
        """Track the function of a code object that runs for the first time, with the functions inside it.

        Not all of a module that runs: most functions that are imported are never called.
        """
        file = self._ownership.file_of(code.co_filename)
        if file is None:
            return
        if code.co_name == "<module>":
            self.modules.add(file)
            # What a module runs does not belong to the test that imported it first. A failing import does not return:
            # what it ran counts for the test that fails by it.
            if _is_import(frame.f_globals):
                self._codes[_ID(code)] = code
                self._marks[_ID(code)] = len(self._hits)
                self._monitoring.set_local_events(self._tool, code, self._monitoring.events.PY_RETURN)
        elif is_function(code):
            self._follow(code)
            if not self.is_on and _ID(code) in self._owners:
                self.outside.add(self._owners[_ID(code)][0])

    def _follow(self, top: CodeType) -> None:
        """Track a function, and those inside it."""
        for code, owner in list(codes_in(top)):  # a list: after a RecursionError all is tracked, or nothing
            if owner is None or (number := _ID(code)) in self._codes:
                continue
            own = lines_of(code)
            if min(own, default=owner.co_firstlineno) < owner.co_firstlineno:
                continue  # made by hand or by a template: its lines are not those of the file
            self._codes[number] = code
            function = self._places.setdefault(self._ownership.place_of(owner), _ID(owner))
            self._owners[number] = function, owner.co_firstlineno
            self.functions.setdefault(function, owner)
            self._watch(code, own)

    def _watch(self, code: CodeType, own: set[int]) -> None:
        """Have the lines of a code object reported."""
        events = self._monitoring.events
        ends = events.PY_RETURN | events.PY_YIELD
        if len(code.co_linetable) > _LONGEST_TABLE:
            self._events[_ID(code)] = ends
        elif _HIDES_LINES and len(own) == 1:
            self._events[_ID(code)] = ends | events.LINE
        else:
            self._events[_ID(code)] = events.LINE
        if self.is_on:
            self._monitoring.set_local_events(self._tool, code, self._events[_ID(code)])
        else:
            self._due.add(_ID(code))
            self._disarmed.add(_ID(code))

    # --- what ran

    def turn(self, *, is_on: bool) -> None:
        """Set whether what runs from now on is tracked."""
        if is_on or self.is_on:
            self.is_on = is_on
            self._arm()

    @property
    def mark(self) -> int:
        """The point that is reached now, for :meth:`cut`."""
        return len(self._hits)

    def take(self) -> Ran:
        """What ran since the last call; its lines are reported again if what runs is tracked.

        :raises TakenError: when the program took our tool id.
        """
        self._marks.clear()  # what is left is of imports that failed
        return self.cut(0)

    def cut(self, mark: int) -> Ran:
        """What ran since this point, as :meth:`take`."""
        if len(self._hits) <= mark:
            return {}
        start = _CLOCK()
        hits = self._hits[mark:]
        del self._hits[mark : mark + len(hits)]  # not to the end: other threads may have added more
        ran = self._masks(hits)
        self._spend(_CLOCK() - start)
        self._arm()
        return ran

    def _masks(self, hits: Iterable[tuple[CodeType, int]]) -> Ran:
        found: Ran = {}
        last, function, first, mask = None, 0, 0, 0
        for code, line in hits:  # every line of every test: most follow another line of the same function
            if code is not last:
                found[function] = mask
                last = code
                self._due.add(_ID(code))
                function, first = self._owners[_ID(code)]
                mask = found.get(function, 0)
            mask |= 1 << line - first
        found[function] = mask
        found.pop(0, None)  # of the initial values, which belong to no function
        return found

    def _arm(self) -> None:
        """Report the lines again of the functions that ran, if what runs is tracked; else disarm these."""
        due = self._due if self.is_on else self._due - self._disarmed
        if self._monitoring is None or not due:
            return
        if not self._is_ours():
            raise TakenError
        arm, tool, codes, events = self._monitoring.set_local_events, self._tool, self._codes, self._events
        start = _CLOCK()
        for number in list(due):
            arm(tool, codes[number], 0)
            self._disarmed.add(number)
            if self.is_on:
                arm(tool, codes[number], events[number])
                self._disarmed.discard(number)
                self._due.discard(number)  # last: a time limit may end this at any point
        self._spend(_CLOCK() - start)

    def _is_ours(self) -> bool:
        return self._monitoring is not None and self._monitoring.get_tool(self._tool) == self._name

    def stop(self) -> None:
        """Stop tracking and restore the state of ``sys.monitoring``; may be called again."""
        if self._monitoring is None:
            return
        monitoring, tool, is_ours = self._monitoring, self._tool, self._is_ours()
        if monitoring.get_tool(tool) is None:
            # The program freed the id. Our events are still set and would be those of the id's next user.
            monitoring.use_tool_id(tool, self._name)
        if self._is_ours():
            is_ours &= monitoring.get_events(tool) == monitoring.events.PY_START
            monitoring.set_events(tool, 0)
            # Without a change Python would keep what was disabled in them.
            for number in list(self._disarmed):
                monitoring.set_local_events(tool, self._codes[number], monitoring.events.PY_RETURN)
            for code in (*self._codes.values(), *self._reprs.values()):
                monitoring.set_local_events(tool, code, 0)
            for event in self._callbacks():
                monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)
        self._monitoring = None
        if not is_ours and not self.fault:
            self.fault = f"TakenError: {TakenError()}"


def _is_import(names: Mapping[str, Any]) -> bool:
    """Whether the body of a module runs because of an import, and not as a program (``runpy``) or by ``exec``.

    :param names: the globals that the body runs with.
    """
    name = str(names.get("__name__"))
    module = sys.modules.get(name)
    return name != "__main__" and not name.startswith("<") and getattr(module, "__dict__", None) is names


def _repr_functions() -> dict[int, CodeType]:
    """The code of the functions that make a repr, by its ``id``."""
    found = {}
    for module, path in _REPRS:
        function: Any = sys.modules.get(module)
        for name in path.split("."):
            function = getattr(function, name, None)
        if isinstance(function, FunctionType):
            found[id(function.__code__)] = function.__code__
    return found


def merge(ran: Ran, more: Ran) -> None:
    """Add to what ran what else ran."""
    for function, mask in more.items():
        ran[function] = ran.get(function, 0) | mask


def lines_in(mask: int, first: int) -> list[int]:
    """The lines of a mask, by the first line of its function."""
    return [first + place for place, bit in enumerate(bin(mask)[:1:-1]) if bit == "1"]


# --- exceptions that the program raises while a callback runs


def is_program_exception(fault: BaseException) -> bool:
    """Whether the program raised the exception inside a callback, as for the time limit of a test.

    A signal handler receives the frame that it interrupts, which shows that the exception is the program's. One that
    another thread injects (``PyThreadState_SetAsyncExc``) has no frame of its own and seems to come from our code.
    Only its type, which our code never raises, shows that it is the program's.
    """
    frames = [*_frames(fault.__traceback__)]
    if any(_received_frame(called, frame) for frame, called in pairwise(frames)):
        return True
    is_ours = _is_own_module(type(fault).__module__) and not isinstance(fault, TimeoutError)
    return not is_ours and bool(frames) and _is_own_module(frames[-1].f_globals.get("__name__"))


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _received_frame(called: FrameType, frame: FrameType) -> bool:
    """Whether a function has the frame as an argument; not a module or a class body, which may hold any frames."""
    arguments = [*called.f_locals.values()] if called.f_code.co_varnames else []
    arguments += [
        each for value in arguments if type(value) is tuple for each in value
    ]  # ``*args`` of the handler
    return any(value is frame for value in arguments)


def _is_own_module(module: object) -> bool:
    """Whether the module belongs to this package or to the standard library."""
    name = str(module).partition(".")[0]
    return name == "loop_close" or name in sys.stdlib_module_names
