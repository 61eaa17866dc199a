"""Source lines and syntax trees of the files that frames run in, read once."""

from __future__ import annotations

import linecache
import warnings
from functools import lru_cache
from types import CodeType

from loop_close.model import Source
from loop_close.syntax.index import Function, SourceIndex, index_source

MAX_LINES = 60
MAX_LINE = 2_000  # longer ones are cut when they are shown, after credentials were looked for
_MAX_PARSED = 1_000_000


@lru_cache(maxsize=64)
def index_of(filename: str) -> SourceIndex | None:
    """The parsed file; None where it cannot be parsed or is larger than a person would write."""
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


def source_around(code: CodeType, line: int) -> Source | None:
    """The function's lines, the ``line`` among them, at most :data:`MAX_LINES`."""
    node = function_of(code)
    if node is not None:
        return source_between(code.co_filename, code.co_firstlineno, node.end_lineno or line, line)
    return source_between(code.co_filename, max(1, line - 5), line + 3, line)


@lru_cache(maxsize=4096)
def source_between(filename: str, first: int, last: int, line: int) -> Source | None:
    """Lines ``first`` to ``last`` of a file, cut to :data:`MAX_LINES` around ``line``."""
    if last - first >= MAX_LINES:
        first = max(first, min(line - MAX_LINES // 2, last - MAX_LINES + 1))
        last = first + MAX_LINES - 1
    lines = linecache.getlines(filename)[first - 1 : last]
    cut = tuple(text.rstrip("\r\n")[:MAX_LINE] for text in lines)
    return Source(start=first, lines=cut) if cut else None


def forget() -> None:
    """Read every file anew from now on."""
    index_of.cache_clear()
    source_between.cache_clear()
    linecache.checkcache()
