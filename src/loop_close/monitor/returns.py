"""None that comes out of a function whose caller wants a value: what a lost ``return`` looks like from outside."""

from __future__ import annotations

from collections.abc import Set
from opcode import opmap
from types import CodeType, FrameType
from typing import Any

from loop_close.monitor.codes import gives_values
from loop_close.monitor.special import GIVERS, PROCEDURES

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
            self._gives[number] = gives_values(code)
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
