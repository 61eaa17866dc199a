"""The code of the project: its files, their source and syntax trees, and the frames of a traceback in them."""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
import warnings
from functools import lru_cache
from types import CodeType, FrameType, TracebackType

from loop_close.conventions import is_test_file
from loop_close.model import Frame, SourceLines
from loop_close.project_files import ProjectFiles
from loop_close.syntax import (
    Function,
    SourceIndex,
    enclosing_function,
    first_line,
    index_source,
    is_reraise,
    last_line,
    statement_at,
)
from loop_close.text.normalize import relativize

# --- which files are the project's, and their source text

#: Where the Python of a system lives beside everything else.
_SHARED = ("/", "/usr", "/usr/local")


class ProjectCode:
    """The source files of the project and their syntax.

    :param root: absolute path of the root (pytest's ``rootpath``).
    :param files: those of the root, as they were found before the first test.
    :ivar root: the same without links.
    """

    def __init__(self, root: str, files: ProjectFiles | None = None) -> None:
        self._files = files or ProjectFiles(root)
        self.root = self._files.root
        self._known: dict[str, str | None] = {}
        self._shorter = [(os.path.abspath(root), ""), (self.root, "")]
        if self._files.top != self.root:
            self._shorter.append((self._files.top, os.path.relpath(self._files.top, self.root)))
        pythons = (folder for folder in (sys.prefix, sys.base_prefix) if folder not in _SHARED)
        self._shorter += [(folder, "<python>") for folder in pythons]

    def relative(self, filename: str) -> str | None:
        """The path of a project file relative to the root, with ``/``; None for any other file."""
        if filename not in self._known:
            found = self._files.relative(filename)
            if found is None and os.path.isabs(filename):
                found = self._files.relative(os.path.realpath(filename))
            self._known[filename] = found
        return self._known[filename]

    def tidy(self, text: str) -> str:
        """The text with relative paths for files below the root, and short paths for those of the environment."""
        return relativize(text, self._shorter)


# --- source lines and syntax trees of the files that frames run in, read once

MAX_LINES = 60
MAX_LINE = 2_000  # longer ones are cut when they are shown, after credentials were looked for
_MAX_PARSED = 1_000_000


@lru_cache(maxsize=64)
def index_of(filename: str) -> SourceIndex | None:
    """The parsed file; None if it cannot be parsed or is too large."""
    text = "".join(linecache.getlines(filename))
    if not text or len(text) > _MAX_PARSED:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the parser's, of an odd escape in a file that is not ours
        return index_source(text)


def function_of(code: CodeType) -> Function | None:
    """The syntax tree of a running function."""
    index = index_of(code.co_filename)
    return index.functions.get(code.co_firstlineno) if index else None


def source_around(code: CodeType, line: int) -> SourceLines:
    """The function's lines, the ``line`` among them, at most :data:`MAX_LINES`; of a module some around it."""
    function = scope_of(code, line)
    if not isinstance(function, Function):
        return source_between(code.co_filename, max(1, line - 5), line + 3, line)
    return source_between(code.co_filename, first_line(function), last_line(function), line)


@lru_cache(maxsize=4096)
def source_between(filename: str, first: int, last: int, line: int) -> SourceLines:
    """Lines ``first`` to ``last`` of a file, cut to :data:`MAX_LINES` around ``line``."""
    if last - first >= MAX_LINES:
        first = max(first, min(line - MAX_LINES // 2, last - MAX_LINES + 1))
        last = first + MAX_LINES - 1
    lines = linecache.getlines(filename)[first - 1 : last]
    cut = tuple(text.rstrip("\r\n")[:MAX_LINE] for text in lines)
    return SourceLines(start=first, lines=cut) if cut else SourceLines()


def forget() -> None:
    """Drop the cache."""
    index_of.cache_clear()
    source_between.cache_clear()
    linecache.checkcache()


# --- walk a traceback and keep the frames that run in project files

_COMPREHENSION = re.compile(r"(?:\.<locals>)?\.?<(?:list|dict|set)comp>\Z")


def frames_of(exc: BaseException) -> list[TracebackType]:
    """Every entry of the traceback, outermost first, including those of pytest."""
    found, trace = [], exc.__traceback__
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def without_end(own: list[TracebackType]) -> list[TracebackType]:
    """The frames of an infinite recursion, up to one of its places, which is the same wherever it was entered.

    Where the recursion itself ends depends on the depth of the stack, and so on the runner.
    """
    codes = [trace.tb_frame.f_code for trace in own]
    places = [(c.co_filename, c.co_firstlineno, line_of(trace)) for c, trace in zip(codes, own, strict=True)]
    again = next((number for number, place in enumerate(places) if place in places[:number]), None)
    if again is None:
        return own  # it was raised by hand, or goes in circles where no file is the project's
    start = places.index(places[again])
    return own[: places.index(min(places[start:again])) + 1]


def line_of(trace: TracebackType) -> int:
    """The line where a frame stopped; 0 if unknown."""
    return trace.tb_lineno or 0


def is_hidden(frame: FrameType) -> bool:
    """Whether the function set ``__tracebackhide__``: a helper, which the failure is not about."""
    if "__tracebackhide__" not in frame.f_code.co_varnames:
        return False
    return frame.f_locals.get("__tracebackhide__") is True  # anything else would have to be run to be known


def scope_of(code: CodeType, line: int) -> ast.AST | None:
    """The function that runs, the one around a lambda or a comprehension, or the module; None if unknown."""
    index = index_of(code.co_filename)
    if index is None:
        return None
    own = None if code.co_name == "<module>" else index.functions.get(code.co_firstlineno)
    return own or enclosing_function(index, line) or index.tree


def statement_in(code: CodeType, line: int) -> ast.stmt | None:
    """The statement that code runs in a line; None if unknown."""
    scope = scope_of(code, line)
    return statement_at(scope, line) if scope is not None else None


def statement_of(trace: TracebackType) -> ast.stmt | None:
    """The statement at which a frame stopped; None if unknown."""
    return statement_in(trace.tb_frame.f_code, line_of(trace))


def is_handing_on(trace: TracebackType) -> bool:
    """Whether the frame raises an exception that it received or caught: it was created elsewhere."""
    function, statement = function_of(trace.tb_frame.f_code), statement_of(trace)
    return function is not None and statement is not None and is_reraise(statement, function)


def record(trace: TracebackType, project: ProjectCode) -> Frame:
    """The frame as a record, with the source of its function."""
    code, line = trace.tb_frame.f_code, line_of(trace)
    file = project.relative(code.co_filename) or ""
    return Frame(
        file=file,
        line=line,
        function=function_name(code),
        is_test=is_test_file(file),
        is_hidden=is_hidden(trace.tb_frame),
        is_handing_on=is_handing_on(trace),
        source=source_around(code, line),
    )


def function_name(code: CodeType) -> str:
    """The qualified name; for a comprehension that of its function (since Python 3.12 they share a frame)."""
    return _COMPREHENSION.sub("", code.co_qualname) or code.co_qualname
