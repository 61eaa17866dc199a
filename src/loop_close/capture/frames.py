"""Walk a traceback and keep the frames that run in project files."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType, TracebackType

from loop_close.capture.project import Project
from loop_close.capture.sources import function_of, index_of, source_around
from loop_close.conventions import is_test_file
from loop_close.model import Frame
from loop_close.syntax.index import Function, statement_at
from loop_close.syntax.templates import only_raises_again

# A place that is on a traceback so many times is one that calls itself, if by way of others.
_OFTEN = 10
_COMPREHENSION = re.compile(r"(?:\.<locals>)?\.?<(?:list|dict|set)comp>\Z")


@dataclass(frozen=True, slots=True)
class Live:
    """A frame of a traceback with the place it stopped at.

    :ivar span: (line, end line, column, end column) of the instruction; columns in UTF-8 bytes.
    :ivar file: the path below the root, None outside of the project.
    """

    frame: FrameType
    line: int
    span: tuple[int, int, int, int] | None
    file: str | None

    @property
    def code(self) -> CodeType:
        """The code that runs in it."""
        return self.frame.f_code


def live_frames(traceback: TracebackType | None, project: Project) -> list[Live]:
    """Every frame of the traceback, outermost first; those around the tests (pytest itself) among them."""
    return list(_walk(traceback, project))


def without_end(own: list[Live]) -> list[Live]:
    """The frames of a recursion without end, up to the last call of its uppermost function that calls on.

    It ends wherever the stack does, which is elsewhere under another runner, or in a helper that is called on the way.
    """
    places = [(frame.file or "", frame.code.co_firstlineno, frame.line) for frame in own]
    counts = Counter(places)
    most = max(counts.values(), default=0)
    if most < _OFTEN:
        return own  # it was raised by hand, or goes in circles where no file is the project's
    first = min(place for place, times in counts.items() if 2 * times >= most)
    return own[: len(places) - places[::-1].index(first)]


def _walk(traceback: TracebackType | None, project: Project) -> Iterator[Live]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        file = project.relative(code.co_filename)
        # Only in project files does the very instruction matter; of all frames, most are pytest's.
        span = _span(code, traceback.tb_lasti) if file is not None else None
        yield Live(traceback.tb_frame, traceback.tb_lineno or (span[0] if span else 0), span, file)
        traceback = traceback.tb_next


def _span(code: CodeType, offset: int) -> tuple[int, int, int, int] | None:
    """The source range of the instruction at ``offset`` (PEP 657)."""
    if offset < 0:
        return None
    # One item for each code unit, which has two bytes.
    line, end_line, column, end_column = next(islice(code.co_positions(), offset // 2, None), (None,) * 4)
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return line, end_line, column, end_column


def is_hidden(frame: FrameType) -> bool:
    """Whether the function set ``__tracebackhide__`` (a helper that is not what the failure is about)."""
    if "__tracebackhide__" not in frame.f_code.co_varnames:
        return False
    return frame.f_locals.get("__tracebackhide__") is True  # anything else would have to be run to be known


def statement_of(live: Live) -> tuple[ast.stmt | None, Function | None]:
    """The statement that a frame stopped at, and the function around it; None for what is not known."""
    function = function_of(live.code)
    index = index_of(live.code.co_filename)
    scope: ast.AST | None = function or (index.tree if index else None)
    return statement_at(scope, live.line) if scope is not None else None, function


def is_handing_on(live: Live) -> bool:
    """Whether the frame raises an exception that it was given or caught: another place made it."""
    function = function_of(live.code)
    statement = statement_at(function, live.line) if function is not None else None
    return function is not None and statement is not None and only_raises_again(statement, function)


def record(live: Live) -> Frame:
    """The frame as a value, its function's source with it."""
    file = live.file or ""
    return Frame(
        file=file,
        line=live.line,
        function=function_name(live.code),
        is_test=is_test_file(file),
        is_hidden=is_hidden(live.frame),
        is_handing_on=is_handing_on(live),
        source=source_around(live.code, live.line),
    )


def function_name(code: CodeType) -> str:
    """The qualified name; of a comprehension that of its function (since Python 3.12 they share a frame)."""
    return _COMPREHENSION.sub("", code.co_qualname) or code.co_qualname
