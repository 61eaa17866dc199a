"""None that comes out of a function whose caller wants a value: what a lost ``return`` looks like from outside."""

from __future__ import annotations

from collections.abc import Set
from opcode import opmap
from types import CodeType, FrameType
from typing import Any

from loop_close.monitor.codes import gives_values

# Generators give their values another way (CO_GENERATOR, CO_ASYNC_GENERATOR); who awaits is no caller (CO_COROUTINE).
_IS_GENERATOR, _IS_COROUTINE = 0x20 | 0x200, 0x80
_CACHE, _JUMP, _POP, _RETURN = (opmap[name] for name in ("CACHE", "JUMP_FORWARD", "POP_TOP", "RETURN_VALUE"))
# Methods that Python calls by itself, and that have nothing to give, or need not.
_PROCEDURES = frozenset(
    f"__{name}__"
    for name in (
        *(
            "init",
            "post_init",
            "init_subclass",
            "set_name",
            "prepare",
            "del",
            "setstate",
            "setattr",
            "delattr",
        ),
        *(
            "set",
            "delete",
            "setitem",
            "delitem",
            "enter",
            "exit",
            "aenter",
            "aexit",
            "call",
            "get",
            "missing",
        ),
    )
)


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
        if not code.co_flags & _IS_GENERATOR and code.co_name not in _PROCEDURES:
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
    if code.co_name.startswith("__") and code.co_name.endswith("__"):
        return True  # Python uses it
    while caller is not None and not code.co_flags & _IS_COROUTINE and _names(caller.f_code, code.co_name):
        code, following = caller.f_code, _following(caller.f_code.co_code, caller.f_lasti)
        if following != _RETURN:
            return following != _POP
        caller = caller.f_back
    return False


def _names(code: CodeType, name: str) -> bool:
    """Whether a function may call another one by its name: else C code stands between them, or an alias."""
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return any(name in each for each in names)


def _following(codes: bytes, place: int) -> int:
    """The instruction after the one that runs; one that only jumps on, as after ``f() if x else None``, is none."""
    place += 2
    while place < len(codes) and codes[place] in (_CACHE, _JUMP):
        place += 2 + 2 * codes[place + 1] * (codes[place] == _JUMP)
    return codes[place] if place < len(codes) else _POP
