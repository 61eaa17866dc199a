"""Exceptions that left or were raised in the code under test, and were handled before they reached the test."""

from __future__ import annotations

import contextlib
import os
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from opcode import opmap
from os.path import basename, dirname, join
from threading import get_ident
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

from loop_close.monitor.codes import LONGEST_TABLE, Ownership

#: Steps per test: one for each exception, and one for each entry of its traceback. They take less than 0.5 ms.
MOST_STEPS = 300
#: A table of handlers with more bytes is not parsed: it takes too long, and the rest of the test is not examined.
LONGEST_HANDLERS = 4_096
#: Events per step, as most frames have no handler for an exception that passes through them, and ends of iterations
#: are raised too. An event takes 0.1 to 0.3 µs, about a sixteenth of a step.
EVENTS = 10
#: After this many steps in a session (some 30 ms), only the first ``FEW_STEPS`` of each test are taken (70 µs a test).
MOST_IN_SESSION = 20_000
FEW_STEPS = 50
#: After this many exceptions of one kind in one handler, only every sixteenth that it handles is examined.
SAMPLED_FROM = 32
_SAMPLE_MASK = 15
#: Different exceptions recorded per test.
_MOST_KEPT = 100
_MOST_TEXT, _MOST_NAME = 300, 200
# These end iteration, generators and tasks, and are not errors.
_CONTROL = (StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt)
_CANCELLED = "asyncio.exceptions", "CancelledError"
# An exception that these packages handle has reached the test, or was raised while they reported on it.
_RUNNERS = ("_pytest", "pluggy", "pytest", "unittest", "doctest")
_DOCTEST = "<doctest "
# These read the attributes without running code of the program, whatever its exception class overrides.
_TRACEBACK = vars(BaseException)["__traceback__"].__get__
_ARGS = vars(BaseException)["args"].__get__
_QUALNAME, _MRO = (vars(type)[name].__get__ for name in ("__qualname__", "__mro__"))
# The first instruction of an ``except`` or ``with``. Other handlers only clean up and re-raise.
_PUSH = opmap.get("PUSH_EXC_INFO")
# These only hand an exception on, and remove themselves from its traceback.
_HANDING_ON = (
    contextlib._GeneratorContextManager.__exit__.__code__,
    contextlib._AsyncGeneratorContextManager.__aexit__.__code__,
)
_FRAME, _ID = sys._getframe, id  # tests may patch them


class Handled(NamedTuple):
    """Where an exception left the code under test, and its type; see :class:`loop_close.calls.Swallowed`."""

    file: str
    line: int
    function: str
    type: str


class Note(NamedTuple):
    """Message and handler of the first exception of a kind; see :class:`loop_close.calls.Swallowed`."""

    message: str
    caught: str


class _Entry:
    """Exceptions of one type that left the code under test in one instruction and met one handler.

    :ivar what: their common key: (id of the code object, offset of the instruction, id of the type).
    :ivar handler: the id of the handler's code object.
    :ivar handled: None if the exceptions reached the test, are handed on, or are not errors; ``note`` likewise.
    :ivar times: how many there were.
    """

    __slots__ = ("handled", "handler", "note", "times", "what")

    def __init__(
        self, what: tuple[int, int, int], handler: int, handled: Handled | None, note: Note | None
    ) -> None:
        self.what = what
        self.handler = handler
        self.handled = handled
        self.note = note
        self.times = 0


class HandledExceptions:
    """Follows exceptions from handler to handler, without keeping an exception, frame or code object alive.

    An exception that is raised again meets another handler: the last handler counts. An exception is identified by
    its id and the place where it was raised.

    The handler is looked up where the exception is raised, as ``EXCEPTION_HANDLED`` can hang: where the stack is full,
    no callback can begin. CPython 3.12 and 3.13 then look for a handler of this error, find the one that covers a
    whole generator again, and never end.

    :param set_listening: called with whether exceptions are to be reported from now on.
    :ivar last: by the id of each exception that has not reached the test, its latest entry.
    :ivar left: the remaining steps of this test; below 0 some exceptions were not examined.
    :ivar is_listening: whether exceptions are reported now.
    :ivar sampled: handlers of which only a sample of exceptions is examined, with the number of exceptions since. The
        key is the sum of the code object's id and the instruction's offset. It is faster than a pair, and collisions
        are rare.
    """

    def __init__(self, ownership: Ownership, set_listening: Callable[[bool], None]) -> None:
        self.last: dict[int, _Entry] = {}
        self.left = MOST_STEPS
        self.sampled: dict[int, int] = {}
        self._allowed = MOST_STEPS
        self._events = EVENTS * MOST_STEPS
        self._spent = 0
        self._ended: dict[_Entry, None] = {}
        self._entries: dict[tuple[int, ...], _Entry] = {}
        self._kept = 0
        self._ownership = ownership
        self._set_listening = set_listening
        self.is_listening = True
        self._is_phase_over = False
        self._is_test: dict[str, bool] = {}
        self._is_runner_file: dict[str, bool] = {}
        self._runners = tuple(_runner_paths())
        self._thread = get_ident()

    @property
    def has_any(self) -> bool:
        """Whether any exceptions were recorded since the last :meth:`take`."""
        return bool(self.last or self._ended)

    @property
    def is_cut(self) -> bool:
        """Whether some exceptions of this test were not examined."""
        return self.left < 0 or bool(self.sampled)

    @property
    def steps(self) -> int:
        """How many steps were taken since the last test began."""
        return self._allowed - self.left + (EVENTS * self._allowed - self._events) // 16

    def begin_test(self) -> None:
        """Begin a test; its number of steps depends on how many the session has taken."""
        if self._spent < MOST_IN_SESSION:
            self._spent += max(0, self._allowed - self.left - FEW_STEPS)
        self.left = self._allowed = MOST_STEPS if self._spent < MOST_IN_SESSION else FEW_STEPS
        self._events = EVENTS * self._allowed
        self._thread = get_ident()
        self._is_phase_over = False
        self.sampled.clear()

    def listen(self, *, is_on: bool) -> None:
        """Start or stop listening to exceptions; it stays off if this test is over, or has used up its steps."""
        if is_on != self.is_listening and not (is_on and (self._is_phase_over or self.left < 0)):
            self.is_listening = is_on
            self._set_listening(is_on)

    def callback(
        self, take_fault: Callable[[Exception], None]
    ) -> Callable[[CodeType, int, BaseException], None]:
        """The callback for ``RAISE`` and ``RERAISE``; it passes errors of its own to ``take_fault``."""
        last, entries, is_runner, end = self.last, self._entries, self._is_runner_file, _end_of_phase()
        sampled, id = self.sampled, _ID

        def on_raised(code: CodeType, offset: int, exception: BaseException) -> None:
            table, kind = code.co_exceptiontable, type(exception)
            self._events = self._events - 1 if len(table) <= LONGEST_HANDLERS else -1
            # The end of an iteration is raised at the loop as well, which ends without a handler.
            is_control = issubclass(kind, _CONTROL)
            if self._events >= 0 and code is not end and (is_control or not table):
                return
            try:
                handler = handler_of(table, offset) if self._events >= 0 else None
                if handler is None and self._events >= 0:
                    return
                self.left = (self.left if self._events >= 0 else 0) - 1
                if self.left < 0 or handler is None:
                    self.listen(is_on=False)
                    return
                if code is end:
                    self._is_phase_over = True
                    self.listen(is_on=False)
                    if is_control:
                        return
                where = id(code) + handler
                if where in sampled:
                    sampled[where] += 1
                    if sampled[where] & _SAMPLE_MASK:
                        return
                if (
                    is_runner.get(code.co_filename, True)
                    and id(exception) not in last
                    and self._is_runner(code)
                ):
                    return  # an exception that leaves a test meets thirty of their handlers
                at, steps = self._left_in(exception)
                self.left -= steps
                if at is None:
                    if id(exception) in last:  # the id was that of another exception before
                        self._ended[last.pop(id(exception))] = None
                    return
                key = id(at.tb_frame.f_code), at.tb_lasti, id(kind), id(code), handler
                entry = entries.get(key)
                if entry is None:
                    entry = self._entry(key, code, exception, at, _FRAME(1))
                entry.times += 1
                if entry.times == SAMPLED_FROM:
                    sampled[where] = 0
                before = last.get(id(exception))
                if before is not entry:
                    self._replace(before, entry, exception)
            except (RecursionError, MemoryError):  # the program has used up its stack or memory
                return
            except Exception as fault:
                take_fault(fault)

        return on_raised

    def _left_in(self, exception: BaseException) -> tuple[TracebackType | None, int]:
        """Where the exception left the code under test, and how many steps along its traceback were taken."""
        files, file_of = self._ownership.files, self._ownership.file_of
        at, node, steps = None, _TRACEBACK(exception), 0
        while node is not None and steps <= MOST_STEPS:
            name = node.tb_frame.f_code.co_filename
            file = files.get(name, "")
            if file is not None and (file or file_of(name) is not None):
                at = node
            node = node.tb_next
            steps += 1
        return at, steps

    def _entry(
        self,
        key: tuple[int, int, int, int, int],
        code: CodeType,
        exception: BaseException,
        at: TracebackType,
        frame: FrameType,
    ) -> _Entry:
        kind, offset = type(exception), key[-1]
        handled = note = None
        is_handed_on = any(code is each for each in _HANDING_ON)
        if not is_handed_on and self._is_swallowed(frame, exception) and not _is_control(kind):
            if self._kept < _MOST_KEPT:
                self._kept += 1
                handled, note = (
                    self._handled(kind, at),
                    Note(_message(exception), self._caught(code, offset, frame)),
                )
            else:
                self.left = min(self.left, 0)
        self._entries[key] = entry = _Entry(key[:3], key[3], handled, note)
        return entry

    def _is_swallowed(self, frame: FrameType, exception: BaseException) -> bool:
        """Whether the handler runs below the test, so that the test does not see the exception.

        :param frame: the handler's.
        """
        name = frame.f_code.co_filename
        if self._is_of_test(name):
            return False
        if self._is_runner(frame.f_code):
            return False
        above = frame.f_back
        while above is not None:
            self.left -= 1
            if self._is_of_test(above.f_code.co_filename):
                return True
            above = above.f_back
        if get_ident() != self._thread:
            return True
        return not any(self._is_of_test(each.tb_frame.f_code.co_filename) for each in _nodes(exception))

    def _is_runner(self, code: CodeType) -> bool:
        name = code.co_filename
        if name not in self._is_runner_file:
            is_runner = name.startswith(self._runners) and self._ownership.file_of(name) is None
            self._is_runner_file[name] = is_runner
        return self._is_runner_file[name]

    def _is_of_test(self, filename: str) -> bool:
        if filename not in self._is_test:
            self._is_test[filename] = filename.startswith(_DOCTEST) or self._ownership.is_test(filename)
        return self._is_test[filename]

    def _handled(self, kind: type[BaseException], at: TracebackType) -> Handled:
        code = at.tb_frame.f_code
        name = _string(_QUALNAME(kind)).replace("<locals>.", "")
        return Handled(
            file=self._ownership.file_of(code.co_filename) or "",
            line=at.tb_lineno or code.co_firstlineno,
            function=_plain(_string(code.co_qualname), _MOST_NAME),
            type=_plain(name, _MOST_NAME),
        )

    def _caught(self, code: CodeType, offset: int, frame: FrameType) -> str:
        """Where the exception was handled; empty if it was raised again there and Python code no longer sees it."""
        if code.co_code[offset] != _PUSH:
            return ""
        file = self._ownership.file_of(code.co_filename)
        return f"{file}:{_line(code, offset)}" if file is not None else _plain(_module(frame), _MOST_NAME)

    def _replace(self, before: _Entry | None, entry: _Entry, exception: BaseException) -> None:
        """Record that an exception met a handler.

        :param before: the entry under the same id. It is of the same exception only if that was raised again: then
            the traceback has the frame of the earlier handler. Else it is of another exception that had the id.
        """
        if before is not None and before.handled is not None:
            frames = (each.tb_frame for each in _nodes(exception))
            is_same = before.what == entry.what and any(_ID(each.f_code) == before.handler for each in frames)
            if not is_same:
                self._ended[before] = None
        if entry.handled is not None:
            self.last[_ID(exception)] = entry
        else:
            self.last.pop(_ID(exception), None)

    def take(self) -> dict[Handled, Note]:
        """The exceptions that were swallowed since the last call, with details."""
        found: dict[Handled, Note] = {}
        swallowed = {*self._ended, *self.last.copy().values()}
        # In the order in which they came: that of ids depends on memory.
        for entry in list(self._entries.values()):  # other threads may add more
            if entry in swallowed and entry.handled is not None and entry.note is not None:  # both or neither
                known = found.get(entry.handled)
                if known is None or not known.caught:
                    found[entry.handled] = entry.note
        self._ended.clear()
        self.last.clear()
        self._entries.clear()
        self._kept = 0
        return found


def handler_of(table: bytes, offset: int) -> int | None:
    """The offset of the handler of an exception, in bytes; None if the function has none there.

    :param table: ``co_exceptiontable`` of a code object.
    :param offset: of the instruction that raises, in bytes.
    """
    starts, handlers = _ranges(table)
    place = bisect_right(starts, offset) - 1
    if place < 0:
        return None
    end, handler = handlers[place]
    return handler if offset < end else None


@lru_cache(maxsize=1024)
def _ranges(table: bytes) -> tuple[list[int], list[tuple[int, int]]]:
    """Where each range of instructions starts; where it ends, and its handler; all offsets in bytes.

    The format: Objects/exception_handling_notes.txt of CPython. Each entry is four numbers of 6 bits a byte: start,
    length and handler in units of two bytes, then the depth of the stack.
    """
    numbers: list[int] = []
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    starts = [2 * start for start in numbers[::4]]
    ends = [start + 2 * length for start, length in zip(starts, numbers[1::4], strict=True)]
    return starts, [*zip(ends, [2 * handler for handler in numbers[2::4]], strict=True)]


def _runner_paths() -> Iterator[str]:
    """Path prefixes of the files of test runners."""
    for name in _RUNNERS:
        yield join(dirname(os.__file__), name, "")
        yield join(dirname(os.__file__), f"{name}.py")
        file = getattr(sys.modules.get(name), "__file__", None)
        if type(file) is str and basename(file) == "__init__.py":
            yield join(dirname(file), "")


def _end_of_phase() -> CodeType | None:
    """The code in which pytest catches what a test or an import raised: only its report follows."""
    kind = getattr(sys.modules.get("pytest"), "CallInfo", None)
    return getattr(getattr(kind, "from_call", None), "__code__", None)


def _nodes(exception: BaseException) -> list[TracebackType]:
    found: list[TracebackType] = []
    node = _TRACEBACK(exception)
    while node is not None and len(found) <= MOST_STEPS:
        found.append(node)
        node = node.tb_next
    return found


def _is_control(kind: type[BaseException]) -> bool:
    """Whether the class, or one of its bases, is for control flow, such as the end of an iteration."""
    return issubclass(kind, _CONTROL) or any(_full_name(base) == _CANCELLED for base in _MRO(kind))


def _full_name(kind: type) -> tuple[str, str]:
    return _string(vars(type)["__dict__"].__get__(kind).get("__module__")), _string(_QUALNAME(kind))


def _module(frame: FrameType) -> str:
    return _string(dict.get(frame.f_globals, "__name__"))


def _string(value: object) -> str:
    """The value of a ``str`` or subclass as an exact ``str``; empty for other types."""
    return str.__str__(value) if issubclass(type(value), str) else ""


def _line(code: CodeType, offset: int) -> int:
    """The line of an instruction, or of the first later instruction that has a line."""
    if len(code.co_linetable) > LONGEST_TABLE:
        return code.co_firstlineno
    lines = (line for _, end, line in code.co_lines() if end > offset and line is not None)
    return next(lines, code.co_firstlineno)


def _message(exception: BaseException) -> str:
    """The arguments as ``str`` of a builtin exception shows them; empty if any is not a short builtin value."""
    args: tuple[Any, ...] = _ARGS(exception)
    kind = type(exception)
    if len(args) == 1 and type(args[0]) is str and not issubclass(kind, KeyError):
        return _plain(args[0], _MOST_TEXT)
    if not all(map(_is_short, args)):
        return ""
    if len(args) == 2 and issubclass(kind, OSError):
        return _plain(f"[Errno {args[0]}] {args[1]}", _MOST_TEXT)
    shown = [repr(each) for each in args]
    return _plain(shown[0] if len(shown) == 1 else f"({', '.join(shown)})" if shown else "", _MOST_TEXT)


def _is_short(value: object) -> bool:
    """Whether its ``repr`` is short and runs no code of the program."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) <= _MOST_TEXT  # type: ignore[arg-type]
    if kind is int:
        return -(1 << 128) < value < 1 << 128  # type: ignore[operator]
    return kind is float or kind is bool or value is None


def _plain(text: str, most: int) -> str:
    """The text, cut and with surrogates escaped, as an xdist worker cannot send them."""
    return text[:most].encode("utf-8", "backslashreplace").decode("utf-8")
