"""Which function each line of a source file belongs to, by the code that Python makes of it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from loop_close.monitor.codes import codes_in


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiled:
    """A source file as it is now.

    :ivar owners: the function that each line belongs to; lines outside of functions are left out.
    :ivar module: lines that run when the module is imported, and at no other time.
    :ivar shared: lines of ``owners`` that run when the function is made as well, as in ``def f(): return 1``.
    """

    owners: Mapping[int, CodeType]
    module: frozenset[int]
    shared: frozenset[int]


def compiled(path: Path) -> Compiled | None:
    """Look at a file, without running it; None where it cannot be read, or is not Python (of this version)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes: whoever runs the file is told
            code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _looked_into(code)


def _looked_into(top: CodeType) -> Compiled:
    owners: dict[int, CodeType] = {}
    # Two lambdas of one line are one function, as for the monitor.
    functions: dict[tuple[int, str], CodeType] = {}
    module = _lines(top)
    making = set(module)
    for code, owner in codes_in(top):
        if owner is None:
            making |= _own_lines(code)
        else:
            function = functions.setdefault((owner.co_firstlineno, owner.co_qualname), owner)
            for line in _own_lines(code):
                owners.setdefault(line, function)  # of several functions the outer one: it runs for certain
    return Compiled(
        owners=owners, module=frozenset(module - owners.keys()), shared=frozenset(making & owners.keys())
    )


def _lines(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line}


def _own_lines(code: CodeType) -> set[int]:
    """Without the first line, that of the ``def`` or a decorator, unless it is all: it runs where it is made."""
    lines = _lines(code)
    return lines - {code.co_firstlineno} or lines
