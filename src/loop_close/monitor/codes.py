"""What code objects are: functions with the lambdas and comprehensions that count as part of them, modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from opcode import opmap
from types import CodeType
from typing import Any

#: CO_NEWLOCALS: of functions; the bodies of modules and classes run in a namespace that they are given.
_IS_FUNCTION = 0x02
# What Python makes on its own for a ``def``: neither is called when the function is.
_MADE = ("__annotate", "<generic parameters")
_EXTENDED = opmap["EXTENDED_ARG"]
#: Python finds the line of an instruction by walking the table of lines, so that code takes the square of its length
#: to tell its lines. Of code with a longer one no lines are asked for.
LONGEST_TABLE = 16_384


def is_function(code: CodeType) -> bool:
    """Whether it is the code of a function, and not of a module or a class body."""
    return bool(code.co_flags & _IS_FUNCTION)


def is_part(code: CodeType) -> bool:
    """Whether it has no name of its own: a lambda or a comprehension, which counts as part of what is around it."""
    return code.co_name.startswith("<") and code.co_name != "<module>"


def codes_in(top: CodeType) -> Iterator[tuple[CodeType, CodeType | None]]:
    """Each code object once, itself first and the outer before the inner, with the function that it counts as part of.

    That is None for the bodies of modules and classes, and for what Python makes on its own.
    """
    left: list[tuple[CodeType, CodeType | None]] = [(top, None)]
    seen = set()  # ids: made by hand, one may be in many places
    while left:
        code, around = left.pop()
        if id(code) not in seen:
            seen.add(id(code))
            owner = _owner(code, around)
            yield code, owner
            left += [(inner, owner) for inner in reversed(code.co_consts) if isinstance(inner, CodeType)]


def _owner(code: CodeType, around: CodeType | None) -> CodeType | None:
    if not is_function(code) or code.co_name.startswith(_MADE):
        return None
    return around if around is not None and is_part(code) else code


def single_start(code: CodeType) -> int:
    """Where the body begins, as an offset, if that is on the line of ``def`` itself; else 0."""
    begin = 2 * code.co_code[::2].index(opmap["RESUME"])
    lines = [line for start, end, line in code.co_lines() if start <= begin + 2 and end > begin]
    return begin + 2 if len(set(lines)) == 1 else 0


def is_told_by_its_maker(code: CodeType, owner: CodeType, owners: dict[int, set[int]]) -> bool:
    """Whether it is a generator expression on lines that what makes it has as well.

    Of its loop Python stops at every turn, whether or not anybody hears of it.

    :param owners: lines of owners by their ids, added to: a function may have thousands of such.
    """
    if code.co_name != "<genexpr>":
        return False
    if id(owner) not in owners:
        owners[id(owner)] = lines_of(owner)
    return lines_of(code) <= owners[id(owner)]


def lines_of(code: CodeType) -> set[int]:
    """The lines of its own instructions."""
    return {line for *_, line in code.co_lines() if line is not None}


def gives_values(code: CodeType) -> bool:
    """Whether any ``return`` of it is not just None, written or not."""
    value, constant, load = (opmap.get(name) for name in ("RETURN_VALUE", "RETURN_CONST", "LOAD_CONST"))
    high, is_none = 0, False
    for op, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        if op == _EXTENDED:
            high = (high | low) << 8
            continue
        was_none, is_none = is_none, op in (constant, load) and code.co_consts[high | low] is None
        if (op == constant and not is_none) or (op == value and not was_none):
            return True
        high = 0
    return False


def is_import(names: Mapping[str, Any]) -> bool:
    """Whether the body of a module runs to import it, and not as a program (``runpy``) or by ``exec``.

    :param names: the globals that it runs with.
    """
    name = str(names.get("__name__"))
    module = sys.modules.get(name)
    return name != "__main__" and not name.startswith("<") and getattr(module, "__dict__", None) is names


def hides_singles(monitoring: Any, tool: int, hits: list[Any]) -> bool:
    """Whether the line of ``def f(): return 1`` is not told, as in 3.13.0, unless its start is.

    :param monitoring: ``sys.monitoring``, in which the tool has a callback for lines.
    :param hits: what that callback appends to; empty afterwards.
    """
    single: Any = lambda: 1  # noqa: E731
    single()  # specializes its first instruction, which then hides the line
    monitoring.set_local_events(tool, single.__code__, monitoring.events.LINE)
    single()
    monitoring.set_local_events(tool, single.__code__, 0)
    is_told = bool(hits)
    hits.clear()
    return not is_told
