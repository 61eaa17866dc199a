"""Have ``sys.monitoring`` (Python 3.12 and later) tell the lines of the code under test that run, each once a test."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from opcode import opmap
from types import CodeType, FrameType
from typing import Any

from loop_close.monitor.faults import is_of_handler
from loop_close.monitor.marks import MARK, telling_codes
from loop_close.monitor.ownership import Ownership, is_function, is_part

#: A line that ran: the id of a code object, and the line's number.
Hit = tuple[int, int]
#: Tool ids to try: 4 and 3 mean nothing in particular, but Hypothesis takes 3; 5 is for optimizers, which are rare.
FREE_IDS = (4, 5, 3)
# Functions made anew again and again, as by modules that tests reload, are not looked at for ever.
_MOST_CODES = 100_000


# Python finds the line of an instruction by walking the table of lines, so that a function takes the square of its
# length. Of one that is longer only its start is told.
_LONGEST_TABLE = 16_384
_ID, _FRAME = id, sys._getframe


class TakenError(RuntimeError):
    """The program freed the tool id that we use."""


class Watch:
    """Instruments functions of the code under test as they come to be known.

    A line that ran is not told again before :meth:`take`, so that a loop costs once. Only our own events are
    armed anew, and only those of functions that ran: ``sys.monitoring.restart_events`` would wake those of
    coverage.py and of debuggers as well.

    :ivar functions: each function that is known, by the id of its first code object; all code objects are kept
        alive, as ids are used again.
    :ivar imported: functions that ran while a module was imported.
    :ivar fault: what went wrong where it could not be raised; empty for nothing.
    """

    def __init__(self, ownership: Ownership) -> None:
        self.functions: dict[int, CodeType] = {}
        self.imported: set[int] = set()
        self.fault = ""
        self._hits: list[Hit] = []
        self._importing: dict[int, tuple[CodeType, int]] = {}
        self._codes: dict[int, CodeType] = {}
        self._singles: set[int] = set()
        self._long: set[int] = set()
        self._parts: dict[int, int] = {}
        self._places: dict[tuple[str | None, int, str], int] = {}
        self._ownership = ownership
        self._monitoring: Any = None
        self._tool = self._line = 0
        self._hides_singles = False
        self._name = f"loop-close {id(self):x}"

    def start(self) -> str:
        """Begin; why it cannot be done, empty when it is.

        Modules are found when their first line runs, functions of modules imported before when they are first called.
        """
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            return (
                f"Python {sys.version_info.major}.{sys.version_info.minor} has no sys.monitoring (3.12 has)"
            )
        free = [tool for tool in FREE_IDS if monitoring.get_tool(tool) is None]
        if not free:
            return "every free tool id of sys.monitoring is taken"
        self._tool = free[0]
        monitoring.use_tool_id(self._tool, self._name)
        self._monitoring, self._line = monitoring, monitoring.events.LINE
        self._register(monitoring)
        return ""

    def _register(self, monitoring: Any) -> None:
        hits, singles, long = self._hits, self._singles, self._long
        disable, events = monitoring.DISABLE, monitoring.events
        telling, files = telling_codes(), self._ownership.files
        id, frame_above = _ID, _FRAME  # tests may put others in their place

        def on_line(code: CodeType, line: int) -> Any:
            hits.append((id(code), line))  # by id: the hash of a code object is that of all it holds
            return disable

        def on_start(code: CodeType, offset: int) -> Any:
            if id(code) in telling:
                hits.append(MARK)
                return None  # each time
            if id(code) in long:
                hit = id(code), code.co_firstlineno
                hits.extend([hit] if hits[-1:] != [hit] else [])
                return None
            if files.get(code.co_filename, "") is None:
                return disable
            try:
                self._meet(code, frame_above(1))
            except RecursionError:  # the program is at the end of its stack; the next call will do
                return None
            except Exception as fault:
                self._take_fault(fault)
            return None if id(code) in singles else disable

        def on_return(code: CodeType, offset: int, value: object) -> None:
            try:
                self._was_imported(code)
            except Exception as fault:
                self._take_fault(fault)

        monitoring.register_callback(self._tool, events.LINE, on_line)
        monitoring.register_callback(self._tool, events.PY_START, on_start)
        monitoring.register_callback(self._tool, events.PY_RETURN, on_return)
        self._hides_singles = self._is_hidden()
        monitoring.set_events(self._tool, events.PY_START)

    def _take_fault(self, fault: Exception) -> None:
        """Note a fault of ours; what a signal handler of the program raises while we are at work is the program's."""
        if is_of_handler(fault):
            raise fault
        self.fault = f"{type(fault).__name__}: {fault}"

    def _is_hidden(self) -> bool:
        """Whether the line of ``def f(): return 1`` is not told, as in 3.13.0, unless its start is."""
        single: Any = lambda: 1  # noqa: E731
        single()  # specializes its first instruction, which then hides the line
        self._monitoring.set_local_events(self._tool, single.__code__, self._line)
        single()
        self._monitoring.set_local_events(self._tool, single.__code__, 0)
        is_told = bool(self._hits)
        self._hits.clear()
        return not is_told

    def _meet(self, code: CodeType, frame: FrameType) -> None:
        """A code object runs for the first time."""
        if id(code) in self._codes or self._ownership.file_of(code.co_filename) is None:
            return
        # As a list: at the end of the stack all of it is found, or none.
        for inner, owner in list(_functions(code)):
            if id(inner) not in self._codes:
                self._add(inner, owner)
        if code.co_name == "<module>" and _is_import(frame.f_globals):
            self._importing[id(code)] = code, len(self._hits)
            self._monitoring.set_local_events(self._tool, code, self._monitoring.events.PY_RETURN)

    def _add(self, code: CodeType, owner: CodeType) -> None:
        """Arm a code object. One that was made several times (a reload) is one function, and so are its parts."""
        if len(self._codes) >= _MOST_CODES:
            return
        place = self._ownership.file_of(owner.co_filename), owner.co_firstlineno, owner.co_qualname
        first = self._places.setdefault(place, id(owner))
        self.functions.setdefault(first, owner)
        if first != id(code):
            self._parts[id(code)] = first
        self._codes[id(code)] = code
        if self._hides_singles and owner is code and _begins_on_its_line(code):
            self._singles.add(id(code))
        if len(code.co_linetable) > _LONGEST_TABLE:
            self._long.add(id(code))
        else:
            self._monitoring.set_local_events(self._tool, code, self._line)

    def _was_imported(self, code: CodeType) -> None:
        """Set aside what ran since the module's first line ran: it is no matter of the test that imported it first.

        An import that fails is not heard of again: what it ran counts for the test that fails by it.
        """
        _, begun = self._importing.pop(id(code), (code, len(self._hits)))
        self._monitoring.set_local_events(self._tool, code, 0)
        ran = self._hits[begun:]
        if ran:
            del self._hits[begun : begun + len(ran)]
            self.imported |= {number for number, _ in self._taken(ran)} - {MARK[0]}

    def mark(self) -> None:
        """From here on a failing test runs code only to tell how it failed."""
        self._hits.append(MARK)

    def take(self) -> dict[Hit, None]:
        """The lines that ran since the last time, by function, each once, in order; they are told again from now on.

        :raises TakenError: when the program freed our tool id.
        """
        if not self._hits:
            return {}
        ran = self._hits[:]
        del self._hits[: len(ran)]  # not clear(): other threads may have added more
        return self._taken(ran)

    def _taken(self, ran: list[Hit]) -> dict[Hit, None]:
        codes = {number for number, _ in ran}
        codes.discard(MARK[0])
        self._rearm(codes)
        parts = self._parts
        if not parts.keys().isdisjoint(codes):
            ran = [(parts.get(number, number), line) for number, line in ran]
        return dict.fromkeys(ran)

    def _rearm(self, numbers: Iterable[int]) -> None:
        """Have the lines of these code objects told again, the next time they run."""
        if not self._is_ours():
            raise TakenError("the program freed our tool id of sys.monitoring")
        arm, tool, line, codes = self._monitoring.set_local_events, self._tool, self._line, self._codes
        for number in numbers:
            if number in self._long:
                continue
            arm(tool, codes[number], 0)
            arm(tool, codes[number], line)

    def _is_ours(self) -> bool:
        return self._monitoring is not None and self._monitoring.get_tool(self._tool) == self._name

    def stop(self) -> None:
        """Leave everything as it was; more than once is fine."""
        monitoring, tool = self._monitoring, self._tool
        is_ours = self._is_ours()
        self._monitoring = None
        if not is_ours:
            return
        monitoring.set_events(tool, 0)
        for code in (*self._codes.values(), *(code for code, _ in self._importing.values())):
            monitoring.set_local_events(tool, code, 0)
        for event in (monitoring.events.LINE, monitoring.events.PY_START, monitoring.events.PY_RETURN):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


def _functions(code: CodeType, owner: CodeType | None = None) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions in a code object, itself among them, each with the one that it counts as part of.

    :param owner: the function around it, None in modules and classes.
    """
    if is_function(code):
        owner = owner if owner is not None and is_part(code) else code
        yield code, owner
    else:
        owner = None
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _functions(inner, owner)


def _begins_on_its_line(code: CodeType) -> bool:
    """Whether the body begins on the line of ``def`` itself."""
    begin = 2 * code.co_code[::2].index(opmap["RESUME"])
    lines = [line for start, end, line in code.co_lines() if start <= begin + 2 and end > begin]
    return len(set(lines)) == 1


def _is_import(names: Mapping[str, Any]) -> bool:
    """Whether the body of a module runs to import it, and not as a program (``runpy``) or by ``exec``."""
    name = str(names.get("__name__"))
    module = sys.modules.get(name)
    return name != "__main__" and not name.startswith("<") and getattr(module, "__dict__", None) is names
