"""The code under test: its files and functions, and which of their lines ran."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from opcode import opmap
from os.path import basename
from time import perf_counter
from types import CodeType, FrameType, TracebackType
from typing import Any

from loop_close.conventions import is_test_file
from loop_close.project_files import ProjectFiles

#: CO_NEWLOCALS: set for functions; the bodies of modules and classes run in a namespace that already exists.
_IS_FUNCTION = 0x02
# Functions that Python generates for a ``def``. A call of that function does not call them.
_GENERATED = ("__annotate", "<generic parameters")
_EXTENDED = opmap["EXTENDED_ARG"]
#: Bytes of ``co_linetable``. To find the line of an instruction, Python walks this table from its start. Reporting all
#: lines of a function therefore takes quadratic time. For a longer table no line events are requested.
LONGEST_TABLE = 16_384


def is_function(code: CodeType) -> bool:
    """Whether the code object is that of a function, and not of a module or a class body."""
    return bool(code.co_flags & _IS_FUNCTION)


def is_part(code: CodeType) -> bool:
    """Whether the code object is a lambda or a comprehension: it counts as part of the function around it."""
    return code.co_name.startswith("<") and code.co_name != "<module>"


def codes_in(top: CodeType) -> Iterator[tuple[CodeType, CodeType | None]]:
    """All code objects inside ``top``, each once: ``top`` first, and the outer before the inner.

    :returns: pairs of a code object and the function that it counts as part of. That function is None for module
        and class bodies, and for code that Python generates.
    """
    left: list[tuple[CodeType, CodeType | None]] = [(top, None)]
    seen = set()  # ids: in hand-made code, one object may occur in several places
    while left:
        code, around = left.pop()
        if id(code) not in seen:
            seen.add(id(code))
            owner = _owner(code, around)
            yield code, owner
            left += [(inner, owner) for inner in reversed(code.co_consts) if isinstance(inner, CodeType)]


def _owner(code: CodeType, around: CodeType | None) -> CodeType | None:
    if not is_function(code) or code.co_name.startswith(_GENERATED):
        return None
    return around if around is not None and is_part(code) else code


def one_liner_start(code: CodeType) -> int:
    """The offset in ``co_code`` at which the body begins if it is on the line of the ``def``; else 0."""
    begin = 2 * code.co_code[::2].index(opmap["RESUME"])
    lines = [line for start, end, line in code.co_lines() if start <= begin + 2 and end > begin]
    return begin + 2 if len(set(lines)) == 1 else 0


def is_reported_by_owner(code: CodeType, owner: CodeType, owners: dict[int, set[int]]) -> bool:
    """Whether all lines of a generator expression are also lines of its owner, whose events report them.

    It then needs no events of its own. They would interrupt its loop at each iteration, even when disabled.

    :param owner: the function that the code object counts as part of.
    :param owners: a cache of the lines of each owner, by ``id``: one function may hold thousands of them.
    """
    if code.co_name != "<genexpr>":
        return False
    if id(owner) not in owners:
        owners[id(owner)] = lines_of(owner)
    return lines_of(code) <= owners[id(owner)]


def lines_of(code: CodeType) -> set[int]:
    """The lines of the code object's own instructions, without those of the code objects inside it."""
    return {line for *_, line in code.co_lines() if line is not None}


def returns_value(code: CodeType) -> bool:
    """Whether any ``return`` of the function, written or implied, returns something other than the constant None."""
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
    """Whether the body of a module runs because of an import, and not as a program (``runpy``) or by ``exec``.

    :param names: the globals that the body runs with.
    """
    name = str(names.get("__name__"))
    module = sys.modules.get(name)
    return name != "__main__" and not name.startswith("<") and getattr(module, "__dict__", None) is names


def hides_one_liners(monitoring: Any, tool: int, hits: list[Any]) -> bool:
    """Whether this Python (3.13.0) reports no line event for ``def f(): return 1``.

    The first instruction of such a function needs an instruction event instead.

    :param monitoring: ``sys.monitoring``, in which the tool has a callback for lines.
    :param tool: the tool id.
    :param hits: the list that the callback appends to; empty afterwards.
    """
    single: Any = lambda: 1  # noqa: E731
    single()  # specializes its first instruction, which then hides the line
    monitoring.set_local_events(tool, single.__code__, monitoring.events.LINE)
    single()
    monitoring.set_local_events(tool, single.__code__, 0)
    is_reported = bool(hits)
    hits.clear()
    return not is_reported


# By the instructions of whole test suites, a line callback takes so many times this in a program. Neither its code nor
# the line's is warm, the line loses its specialization, and lines that Python does not report stay slow.
_COLD = 4.0


def cost_of_a_line(monitoring: Any, tool: int, hits: list[Any]) -> float:
    """Seconds that a line callback takes: from the minimum of 20 measurements.

    :param monitoring: ``sys.monitoring``, in which the tool has a callback for lines.
    :param tool: the tool id.
    :param hits: the list that the callback appends to; empty afterwards.
    """
    arm, code = monitoring.set_local_events, _some_lines.__code__
    found = []
    for _ in range(20):
        arm(tool, code, monitoring.events.LINE)
        start = perf_counter()
        _some_lines()
        reported = perf_counter()
        arm(tool, code, 0)
        _some_lines()
        plain = perf_counter()
        _some_lines()
        found.append(((reported - start) - (perf_counter() - plain)) / max(1, len(hits)))
        hits.clear()
    return _COLD * max(min(found), 2e-8)


def _some_lines() -> int:
    a = 0
    a += 1
    a += 2
    a += 3
    a += 4
    a += 5
    a += 6
    a += 7
    a += 8
    a += 9
    a += 10
    a += 11
    a += 12
    return a


# --- files of the code under test


class Ownership(ProjectFiles):
    """Decides which files belong to the code under test; fast, as it is asked about every function that runs.

    :param root: absolute path of the project's root.
    :ivar files: results of :meth:`file_of` so far, by ``co_filename``.
    """

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.files: dict[str, str | None] = {}

    def file_of(self, filename: str) -> str | None:
        """The path of a file of the code under test, relative to the root; None for any other file and for tests."""
        if filename not in self.files:
            relative = self.relative(filename) if _is_python(filename) else None
            self.files[filename] = None if relative is None or is_test_file(relative) else relative
        return self.files[filename]

    def is_test(self, filename: str) -> bool:
        """Whether the file is test code of the project."""
        relative = self.relative(filename) if _is_python(filename) else None
        return relative is not None and is_test_file(relative)

    def _exists(self, path: str) -> bool:
        try:
            self._stat(path)
        except (OSError, ValueError) as error:
            if is_program_exception(error):
                raise
            return False
        return True


def _is_python(filename: str) -> bool:
    """Whether the file is Python source: templates and generated code have no usable line numbers."""
    return filename.endswith((".py", ".pyw")) or not (filename.startswith("<") or "." in basename(filename))


# --- errors of the plugin, and exceptions that the program raises while a callback runs


def is_program_exception(fault: BaseException) -> bool:
    """Whether the program raised the exception inside a callback, as for the time limit of a test.

    A signal handler receives the frame that it interrupts, which shows that the exception is the program's. One that
    another thread injects (``PyThreadState_SetAsyncExc``) has no frame of its own and seems to come from our code.
    Only its type, which our code never raises, shows that it is the program's.
    """
    frames = [*_frames(fault.__traceback__)]
    if any(_received_frame(called, frame) for frame, called in pairwise(frames)):
        return True
    return not _is_own_exception_type(type(fault)) and all(
        _is_own_module(each.f_globals.get("__name__")) for each in frames[-1:]
    )


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _received_frame(called: FrameType, frame: FrameType) -> bool:
    if not is_function(called.f_code):  # a module or class body may keep frames for other reasons
        return False
    values = [*called.f_locals.values()]
    inner = [each for value in values if type(value) is tuple for each in value]  # ``*args`` of the handler
    return any(value is frame for value in (*values, *inner))


def _is_own_exception_type(kind: type[BaseException]) -> bool:
    return _is_own_module(kind.__module__) and not issubclass(kind, TimeoutError)


def _is_own_module(module: object) -> bool:
    """Whether the module belongs to this package or to the standard library."""
    name = str(module).partition(".")[0]
    return name == "loop_close" or name in sys.stdlib_module_names
