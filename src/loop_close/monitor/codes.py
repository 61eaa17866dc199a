"""The code under test: its files and functions, and which of their lines ran."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from opcode import opmap
from os.path import basename
from types import CodeType, FrameType, TracebackType
from typing import Any

from loop_close.project_files import ProjectFiles

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


def is_reported_by_owner(code: CodeType, owner: CodeType, owners: dict[int, set[int]]) -> bool:
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


def returns_value(code: CodeType) -> bool:
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


# Which code objects are functions of the code under test.

# By name: what tests patch must not be called from here, and calls of ours must not count as theirs.


class Ownership(ProjectFiles):
    """Tells the files of the code under test from all others, quickly: it is asked for every function that runs.

    :param root: absolute path of the project's root.
    :ivar files: what is known of files already asked for, by the names that code objects have.
    """

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.files: dict[str, str | None] = {}

    def file_of(self, filename: str) -> str | None:
        """The path of a file of the code under test, relative to the root; None for any other file, tests too."""
        if filename not in self.files:
            relative = self.relative(filename) if _is_python(filename) else None
            self.files[filename] = None if relative is None or self.is_test_code(relative) else relative
        return self.files[filename]

    def is_test(self, filename: str) -> bool:
        """Whether it is a file of the project's tests."""
        relative = self.relative(filename) if _is_python(filename) else None
        return relative is not None and self.is_test_code(relative)

    def _is_there(self, path: str) -> bool:
        try:
            self._stat(path)
        except (OSError, ValueError) as error:
            if is_of_program(error):
                raise
            return False
        return True


def _is_python(filename: str) -> bool:
    """Whether it names Python source: templates and generated code have lines of another kind, or none."""
    return filename.endswith((".py", ".pyw")) or not (filename.startswith("<") or "." in basename(filename))


# Tell faults of ours from exceptions that the program raised while we were at work: by a signal, from a
# thread.


def is_of_program(fault: BaseException) -> bool:
    """Whether it is none of ours to keep, as that of a test's time limit.

    Python calls a signal handler with the frame that it interrupts. What another thread throws in
    (``PyThreadState_SetAsyncExc``) has no frame of its own: it comes out of ours, and is of a kind that we never raise.
    """
    frames = [*_frames(fault.__traceback__)]
    if any(_was_handed(called, frame) for frame, called in pairwise(frames)):
        return True
    return not _is_our_kind(type(fault)) and all(
        _is_ours(each.f_globals.get("__name__")) for each in frames[-1:]
    )


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _was_handed(called: FrameType, frame: FrameType) -> bool:
    if not is_function(called.f_code):  # its names may be kept by anything
        return False
    values = [*called.f_locals.values()]
    inner = [each for value in values if type(value) is tuple for each in value]  # of ``*arguments``
    return any(value is frame for value in (*values, *inner))


def _is_our_kind(kind: type[BaseException]) -> bool:
    return _is_ours(kind.__module__) and not issubclass(kind, TimeoutError)


def _is_ours(module: object) -> bool:
    """Whether a module is of this package, or of Python."""
    name = str(module).partition(".")[0]
    return name == "loop_close" or name in sys.stdlib_module_names
