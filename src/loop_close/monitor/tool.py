"""Access to ``sys.monitoring``: our tool id, the returns that matter, and the functions that print values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Set
from opcode import opmap
from types import CodeType, FrameType, FunctionType
from typing import Any

from loop_close.monitor.codes import (
    returns_value,
)

# Generators give their values another way (CO_GENERATOR, CO_ASYNC_GENERATOR); who awaits is no caller (CO_COROUTINE).
_IS_GENERATOR, _IS_COROUTINE = 0x20 | 0x200, 0x80
_CACHE, _JUMP, _POP, _RETURN = (opmap[name] for name in ("CACHE", "JUMP_FORWARD", "POP_TOP", "RETURN_VALUE"))
# They run a property's setter or deleter, and drop what it returns.
_SETS = frozenset(opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))


class Returns:
    """Tells which None is missed, by the byte code of the function and of those who called it.

    :param monitoring: ``sys.monitoring``, None where there is none.
    :ivar codes: ids of the code objects whose returns are to be told.
    :ivar line: the events of all others; ``both`` theirs.
    """

    def __init__(self, monitoring: Any) -> None:
        self.codes: set[int] = set()
        self._gives: dict[int, bool] = {}
        self.line: int = monitoring.events.LINE if monitoring is not None else 0
        self.both: int = self.line | (monitoring.events.PY_RETURN if monitoring is not None else 0)

    def follow(self, code: CodeType) -> None:
        """Have the returns of a function told, if None out of it may be missed."""
        if not code.co_flags & _IS_GENERATOR and code.co_name not in PROCEDURES:
            self.codes.add(id(code))

    def events_of(self, number: int) -> int:
        """What is to be told of a function."""
        return self.both if number in self.codes else self.line

    def keep(self, numbers: Set[int]) -> None:
        """Forget all code objects but these."""
        self.codes &= numbers
        for number in self._gives.keys() - numbers:
            del self._gives[number]

    def is_missed(self, code: CodeType, frame: FrameType) -> bool:
        """Whether the None that a function returns is to be noted.

        :param frame: that of the function, about to end.
        """
        number = id(code)
        if number not in self._gives:
            self._gives[number] = returns_value(code)
        return self._gives[number] or _is_used(code, frame.f_back)


def _is_used(code: CodeType, caller: FrameType | None) -> bool:
    """Whether a caller does something with what the function gives, other than to give it to its own caller."""
    if code.co_name in GIVERS:
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
    """Whether it may call a function by its name or its maker's: else C code is between, or an alias."""
    known = caller.co_names, caller.co_varnames, caller.co_freevars, caller.co_cellvars
    names = [part.rpartition(".")[2] for part in code.co_qualname.split(".<locals>.")]
    return any(name in each for name in names for each in known)


def _following(codes: bytes, place: int) -> int:
    """The instruction after the one that runs; one that only jumps on, as after ``f() if x else None``, is none."""
    place += 2
    while place < len(codes) and codes[place] in (_CACHE, _JUMP):
        place += 2 + 2 * codes[place + 1] * (codes[place] == _JUMP)
    return codes[place] if place < len(codes) else _POP


# Methods that Python itself calls (its data model): which have a value to give, and which have none.

_GIVE = """
new prepare class_getitem mro_entries instancecheck subclasscheck getattr getattribute getitem dir len length_hint
contains iter reversed repr str bytes format fspath hash bool int float complex index round trunc floor ceil neg pos
abs invert lt le eq ne gt ge sizeof copy deepcopy replace reduce reduce_ex getstate getnewargs getnewargs_ex
"""
_OPERATE = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or"
_DO = """
init post_init init_subclass set_name del setstate setattr delattr set delete setitem delitem enter exit aenter aexit
call get missing
"""

#: What they give is used, whoever the caller is.
GIVERS = frozenset(
    f"__{method}__"
    for method in (*_GIVE.split(), *(f"{p}{method}" for method in _OPERATE.split() for p in ("", "r", "i")))
)
#: They have nothing to give, or need not.
PROCEDURES = frozenset(f"__{method}__" for method in _DO.split())


# What turns an exception or the operands of an assertion into words: a ``__repr__`` that it calls is not
# tested.

# Functions that tell, each with the module that has to call it where others may do so for their own ends. Where
# one of pytest's is gone, such reprs just count.
_REPR_FUNCTIONS = (
    ("pytest", "ExceptionInfo.getrepr", ""),
    ("_pytest.assertion.rewrite", "_saferepr", ""),
    ("_pytest.assertion.rewrite", "_call_reprcompare", ""),
    ("unittest.util", "safe_repr", ""),
    ("pprint", "pformat", "unittest.case"),
)


class AssertionReprs:
    """Follows the telling that is going on, from where it begins to where it returns.

    One that ends by an exception never returns: what it ran counts, as it may be why the test fails (a time limit).

    :ivar codes: the functions that tell, by the id of their code objects.
    :ivar frame: where the telling that goes on began; None for none.
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
        self._begun = 0

    def begin(self, frame: FrameType, now: int) -> None:
        """One of those functions is called; whether it begins to tell, or is part of a telling, is found out here.

        :param now: how much ran until now.
        """
        caller, above = self._callers[id(frame.f_code)], frame.f_back
        if caller and (above is None or above.f_globals.get("__name__") != caller):
            return
        if self.frame is None or all(each is not self.frame for each in _above(frame)):
            self.frame, self._begun = frame, now

    def end(self, frame: FrameType) -> int | None:
        """One of those functions returns.

        :returns: how much had run when the telling began; None where it goes on.
        """
        if frame is not self.frame:
            return None
        self.frame = None
        return self._begun

    def forget(self) -> None:
        """What began will not return, or what ran until now was taken already."""
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


# The id under which ``sys.monitoring`` knows us.

#: Tool ids to try. Nobody asks for them by a name but optimizers (5), of which there are hardly any. Hypothesis and
#: others that take any id begin with 3.
FREE_IDS = (5, 4)


class MonitoringTool:
    """One tool id of ``sys.monitoring``.

    :param callbacks: what to call, by the name of the event.
    :param armed: gives the code objects that have events of their own, with these.
    :ivar id: the tool id, ``name`` what it is known by.
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
        """Take an id; why there is none, empty when there is. Nothing is told before :meth:`listen`."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            return f"Python {version} does not report calls; 3.12 and newer do"
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
        """Have all functions told when they start, and exceptions when they meet a handler; of some code more."""
        for code, events in self._armed():
            self._monitoring.set_local_events(self.id, code, events)
        # Exceptions are told of all code or of none. To hear of no more, a callback is taken away: that is cheap.
        self._events = self._monitoring.events.PY_START | self._monitoring.events.EXCEPTION_HANDLED
        self._monitoring.set_events(self.id, self._events)

    def replace(self, event: str, callback: Callable[..., Any] | None) -> None:
        """Call another one for an event from now on, or none."""
        self._callbacks[event] = callback
        if self.is_ours():
            self._monitoring.register_callback(self.id, getattr(self._monitoring.events, event), callback)

    def is_ours(self) -> bool:
        """Whether we have an id that nobody took from us."""
        return self._monitoring is not None and self._monitoring.get_tool(self.id) == self.name

    def stop(self) -> bool:
        """Leave everything as it was; more than once is fine.

        :returns: whether we had an id until now, with what we asked for.
        """
        monitoring, self._monitoring = self._monitoring, None
        if monitoring is None:
            return True
        is_ours: bool = monitoring.get_tool(self.id) == self.name
        if not is_ours:
            if monitoring.get_tool(self.id) is not None:
                return False
            # The program freed the id: what we asked for is still there, for whoever takes it next.
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
