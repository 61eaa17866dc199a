"""Lines that run, and calls with their values, by ``sys.settrace``: on every Python, but slow, so for a few tests."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from dis import opmap
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from time import perf_counter
from types import CodeType, FrameType
from typing import Any, NamedTuple

from loop_close.conventions import is_test_file
from loop_close.facts import Name, base_name
from loop_close.trace.code import Ownership
from loop_close.trace.lines import LineTracker, Ran

#: So many calls of a test are kept, and so many values of a generator.
MOST_CALLS, _MOST_VALUES = 1_000, 10
#: When texts have taken so many seconds, no more calls are kept.
_MOST_SECONDS = 0.5
_LABEL = re.compile(r"[\w-]{1,40}")
_RETURNS = frozenset(opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in opmap)
#: Python 3.13 is at the instruction after the one that yields.
_YIELDS = frozenset((opmap["YIELD_VALUE"], opmap["RESUME"]))
_ID = id  # tests may patch it


class TracedCall(NamedTuple):
    """One call of a watched function.

    :ivar parent: the number of the call that it was made in; -1 for none.
    :ivar line: the running line of the test code that led to it; 0 if it has a parent.
    :ivar arguments: their texts by name; ``changed``: of the same objects when it ended, those that were others.
    :ivar result: how it ended, as in :attr:`loop_close.model.SeenCall.result`.
    """

    name: Name
    parent: int
    line: int
    arguments: Mapping[str, str]
    result: str
    changed: Mapping[str, str] = {}


@dataclass(slots=True)
class _Open:
    """A call that has not ended.

    :ivar labels: what its values may be named by: its own name, and arguments such as ``"X-Api-Key"``.
    :ivar held: its arguments themselves, so that no other object gets the place in memory, and passes for one of them.
    :ivar values: what it yielded.
    :ivar error: the exception that was raised in it last; ``is_raised``: just now; ``is_left``: it closed a generator.
    """

    code: CodeType
    number: int
    parent: int
    line: int
    labels: tuple[str, ...]
    held: Mapping[str, Any]
    arguments: Mapping[str, str] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)
    error: str = ""
    is_raised: bool = False
    is_left: bool = False


class TracedLines(LineTracker):
    """Tracks lines as its base does, and keeps the calls of watched functions.

    :param text_of: the text of a value that has some names; it runs no code of the program.
    :param watched: file and qualified name of each function to watch.
    :ivar calls: those that ended, by their number in the order in which they began.
    """

    def __init__(
        self,
        ownership: Ownership,
        spend: Callable[[float], None],
        text_of: Callable[[Any, Sequence[str]], str],
        watched: Collection[Name],
    ) -> None:
        super().__init__(ownership, spend)
        self.calls: dict[int, TracedCall] = {}
        self._text_of = text_of
        self._watched = frozenset(watched)
        self._names: dict[int, Name | None] = {}
        self._seen: set[tuple[int, int]] = set()
        self._open: dict[int, _Open] = {}
        self._starts: dict[int, int] = {}
        self._number = 0
        self._spent = 0.0

    def start(self) -> str:
        """Start tracing."""
        threading.settrace(self._on_call)
        sys.settrace(self._on_call)
        return ""

    def stop(self) -> None:
        """Stop tracing; a generator that was left ends."""
        sys.settrace(None)
        threading.settrace(None)
        for number, call in [*self._open.items()]:
            self._leave(number, call)

    def _leave(self, number: int, call: _Open) -> None:
        """End a generator that was not exhausted."""
        if call.values:
            self._end(number, call, f"yielded {', '.join(call.values)}", {})

    def cut(self, mark: int) -> Ran:
        """What ran since this point; each line is reported again."""
        self._seen.clear()
        return super().cut(mark)

    def _arm(self) -> None:
        pass  # every line is reported

    def _watch(self, code: CodeType, own: set[int]) -> None:
        pass

    # --- what Python reports

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        try:
            if _ID(code) in self._reprs:
                self._marks[_ID(code)] = self.mark
                return self._on_repr
            if self._ownership.file_of(code.co_filename) is None or not self._is_tracked(code):
                return None
            if self._names[_ID(code)] is not None and not self._marks:
                self._begin(frame)
            return self._on_event
        except RecursionError:  # the program has used up its stack
            return None
        except Exception as fault:
            self._take_fault(fault)
            return None

    def _is_tracked(self, code: CodeType) -> bool:
        """Whether it is a function; those inside of it are found with it."""
        if _ID(code) not in self._names:
            self._follow(code)
            file, _, function = self._ownership.place_of(code)
            name = file, base_name(function)
            # An async generator yields at each ``await``, too, and what it yields itself comes wrapped.
            is_plain = code.co_name[0] != "<" and not code.co_flags & CO_ASYNC_GENERATOR
            self._names[_ID(code)] = name if name in self._watched and is_plain else None
        return _ID(code) in self._owners

    def _on_repr(self, frame: FrameType, event: str, argument: Any) -> Any:
        """In a function that makes a repr for the message of a failure: what that runs counts for no test."""
        if event == "return" and _ID(frame.f_code) in self._marks:
            self.outside |= self.cut(self._marks.pop(_ID(frame.f_code))).keys()
        return self._on_repr

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> Any:
        try:
            if event == "line":
                hit = _ID(frame.f_code), frame.f_lineno
                if hit not in self._seen:
                    self._seen.add(hit)
                    self._hits.append((frame.f_code, frame.f_lineno))
            if (call := self._open.get(_ID(frame))) is not None and call.code is frame.f_code:
                if event == "return":
                    self._pause_or_end(frame, call, argument)
                call.is_raised = event == "exception"
                if call.is_raised:
                    kind, raised, _ = argument
                    call.is_left = kind is GeneratorExit
                    call.error = self._text(raised, call) if type(raised) is kind else kind.__name__
        except RecursionError:
            pass
        except Exception as fault:
            self._take_fault(fault)
        return self._on_event

    # --- the calls

    def _begin(self, frame: FrameType) -> None:
        # Where the first call began: one that is further goes on. The ``id`` of a frame may be that of an earlier one.
        if frame.f_lasti > self._starts.setdefault(_ID(frame.f_code), frame.f_lasti):
            return
        if self._number >= MOST_CALLS or self._spent > _MOST_SECONDS:
            return
        if (left := self._open.get(_ID(frame))) is not None:
            self._leave(_ID(frame), left)
        parent = self._around(frame.f_back)
        line = self._test_line(frame) if parent is None else 0
        texts = [each for each in frame.f_locals.values() if type(each) is str and _LABEL.fullmatch(each)]
        labels, held = (frame.f_code.co_name, *texts), _arguments(frame)
        above = parent.number if parent is not None else -1
        call = _Open(frame.f_code, self._number, above, line, labels, held)
        call.arguments = {name: self._text(value, call, name) for name, value in held.items()}
        self._open[_ID(frame)] = call
        self._number += 1

    def _around(self, frame: FrameType | None) -> _Open | None:
        """The innermost open call of a frame and those that called it."""
        while frame is not None:
            call = self._open.get(_ID(frame))
            if call is not None and call.code is frame.f_code:
                return call
            frame = frame.f_back
        return None

    def _test_line(self, frame: FrameType | None) -> int:
        """The running line of the nearest test code."""
        while frame is not None:
            file = self._ownership.relative(frame.f_code.co_filename)
            if file is not None and is_test_file(file):
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def _text(self, value: Any, call: _Open, *name: str) -> str:
        began = perf_counter()
        try:
            return self._text_of(value, (*name, *call.labels))
        finally:
            self._spent += perf_counter() - began

    def _pause_or_end(self, frame: FrameType, call: _Open, value: Any) -> None:
        instruction = call.code.co_code[frame.f_lasti]
        is_generator = call.code.co_flags & CO_GENERATOR
        if instruction in _YIELDS and not call.is_raised:
            if is_generator and len(call.values) < _MOST_VALUES:
                call.values.append(self._text(value, call))
            return
        if instruction in _RETURNS and not is_generator:
            result = f"= {self._text(value, call)}"
        elif instruction in _RETURNS or call.is_left:
            result = f"yielded {', '.join(call.values) or 'nothing'}"
        else:
            result = f"raised {call.error}"
        now = _arguments(frame)  # a name that is bound to another object says nothing of the argument
        same = [name for name, value in call.held.items() if now.get(name) is value]
        texts = {name: self._text(call.held[name], call, name) for name in same}
        changed = {name: text for name, text in texts.items() if text != call.arguments[name]}
        self._end(_ID(frame), call, result, changed)

    def _end(self, number: int, call: _Open, result: str, changed: Mapping[str, str]) -> None:
        name = self._names[_ID(call.code)] or ("", "")
        self.calls[call.number] = TracedCall(name, call.parent, call.line, call.arguments, result, changed)
        del self._open[number]


def _arguments(frame: FrameType) -> dict[str, Any]:
    code, held = frame.f_code, frame.f_locals
    number = code.co_argcount + code.co_kwonlyargcount
    number += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return {name: held[name] for name in code.co_varnames[:number] if name in held}
