"""Source as rows: functions with marks, and the statement of a test."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from loop_close.model import SourceLines
from loop_close.prompt import safe_lines, short
from loop_close.records import Record
from loop_close.syntax import Function, first_line, index_source, last_line, statement_at
from loop_close.text import fence

#: A function of so many lines is shown whole; of a longer one as many.
MOST_ROWS = 40
# With so many lines in all its docstring is shown, too: most functions are longer, so that the median prompt is not.
_WITH_DOCSTRING = 12
_MOST_OF_TEST = 8
#: The marks behind the number of a line; the second is explained where it is used.
MARKED, NOT_RUN = ">", "-"
LEGEND = f"`{NOT_RUN}`: not run by these failing tests."


class _Parsed(Record, frozen=True):
    """A definition in syntax.

    :ivar shift: what to add to a line of the tree to get the line in the file.
    """

    node: Function | ast.ClassDef | None
    tree: ast.Module
    shift: int


@lru_cache(maxsize=64)
def _parsed(source: SourceLines) -> _Parsed:
    """The syntax of consecutive lines; without statements if they cannot be parsed by themselves."""
    is_inner = "".join(source.lines[:1])[:1].isspace()
    index = index_source("\n".join([*(["if 1:"] if is_inner else []), *source.lines]))
    tree = index.tree if index is not None else ast.Module(body=[], type_ignores=[])
    first: ast.AST | None = next(iter(tree.body), None)
    if is_inner and isinstance(first, ast.If):
        first = next(iter(first.body), None)
    node = first if isinstance(first, Function | ast.ClassDef) else None
    return _Parsed(node=node, tree=tree, shift=source.start - 1 - is_inner)


def function_rows(
    source: SourceLines, *, marked: int = 0, ran: Collection[int] = (), most: int = MOST_ROWS
) -> list[str]:
    """A fenced block of a function, each line with its number: whole up to ``most`` lines, a docstring if it is short.

    Of a longer one as many lines around the marked one, and the header. Each omission is a row that counts its lines.

    :param marked: the line to mark, 0 for none.
    :param ran: the lines that failing tests ran, by number; with none no line is marked as not run.
    :returns: rows of markdown; none if there is nothing to show.
    """
    parsed = _parsed(source)
    texts = dict(zip(source.numbers, _safe_lines(source), strict=True))
    lines = [number for number, text in texts.items() if text.strip()]
    if len(lines) > _WITH_DOCSTRING:
        docstring = _docstring(parsed)
        lines = [number for number in lines if number not in docstring]
    begin = max(_begin(parsed, source), lines[0]) if lines else 0
    kept = lines if len(lines) <= most else _around(lines, begin, marked, most)
    skipped = _not_run(parsed, ran) - {marked}
    rows, width = [], len(str(source.numbers.stop - 1))
    for before, number in pairwise([source.start - 1, *kept, source.numbers.stop]):
        if omitted := sum(before < each < number for each in lines):
            rows.append(f"… {omitted} line{'s' * (omitted != 1)}")
        if number in texts:
            mark = MARKED if number == marked else NOT_RUN if number in skipped else " "
            rows.append(f"{number:{width}}{mark} {short(texts[number].rstrip())}")
    legend = [LEGEND] * (not skipped.isdisjoint(kept))
    return [*fence("\n".join(rows), "python"), *legend] if lines else []


def _around(lines: Sequence[int], begin: int, marked: int, most: int) -> list[int]:
    """The lines around the marked one, else the first ones; and the header.

    :param begin: the line of the ``def``.
    """
    at = lines.index(marked) if marked in lines else 0
    start = max(0, min(at - most // 2, len(lines) - most))
    return sorted({begin, *lines[start : start + most]})


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def statement_rows(source: SourceLines, line: int, *, with_above: bool = True) -> list[str]:
    """The whole statement that a line belongs to, below the lines of its function before it: at most eight rows.

    Without margin; of a compound statement the header.

    :param with_above: with the lines before it.
    """
    if line not in source.numbers:
        return []
    first, last = _statement(source, line)
    lines = dict(zip(source.numbers, _safe_lines(source), strict=True))
    parsed = _parsed(source)
    is_module = parsed.tree.body and parsed.node is None  # one line of it says little of the next
    begin = first if is_module else _begin(parsed, source)
    docstring = _docstring(parsed)
    before = [n for n, text in lines.items() if begin <= n < first and text.strip() and n not in docstring]
    own = [number for number in range(first, last + 1) if lines[number].strip()]
    room = max(0, _MOST_OF_TEST - len(own)) if with_above else 0
    kept = [*before[max(0, len(before) - room) :], *own[:_MOST_OF_TEST]]
    indent = min((_indent(lines[number]) for number in kept), default=0)
    rows = [short(lines[number][indent:].rstrip()) for number in kept]
    more = len(own) - _MOST_OF_TEST
    return [*rows, f"… {more} more line{'s' * (more != 1)}"] if more > 0 else rows


def _begin(parsed: _Parsed, source: SourceLines) -> int:
    """The line of the ``def``, below the decorators; without one the first line."""
    return parsed.node.lineno + parsed.shift if parsed.node is not None else source.start


def _statement(source: SourceLines, line: int) -> tuple[int, int]:
    """The first and the last line of a statement, within the lines that are kept."""
    parsed = _parsed(source)
    found = statement_at(parsed.tree, line - parsed.shift)
    if found is None:
        return line, line
    first, last = (number + parsed.shift for number in _own_lines(found))
    if not first <= line <= last:  # of an ``except`` or a ``case`` no statement is the header
        return line, line
    return max(source.start, first), last


def _own_lines(statement: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement; of a compound one those of its header."""
    body: list[ast.stmt] | None = getattr(statement, "body", None)
    first = first_line(statement)
    if isinstance(statement, ast.Match):
        return first, last_line(statement.subject)
    if body:
        return first, max(first, first_line(body[0]) - 1)
    return first, last_line(statement)


def _docstring(parsed: _Parsed) -> range:
    """The lines of the docstring of a function or class, if it has other statements."""
    body = parsed.node.body if parsed.node is not None else []
    match body:
        case [ast.Expr(value=ast.Constant(value=str())) as text, other, *_] if text.lineno < other.lineno:
            return range(text.lineno + parsed.shift, last_line(text) + parsed.shift + 1)
    return range(0)


def _not_run(parsed: _Parsed, ran: Collection[int]) -> set[int]:
    """The lines of statements of which no line ran; without those that never run, such as ``global``."""
    if not ran:
        return set()
    found: set[int] = set()
    for node in _own_statements(parsed.node):
        first, last = _own_lines(node)
        lines = range(first + parsed.shift, last + parsed.shift + 1)
        if not any(number in ran for number in lines):
            found.update(lines)
    return found


def _own_statements(node: Function | ast.ClassDef | None) -> Iterator[ast.stmt]:
    """The statements of a function that run; not those of the functions and classes inside, which run by themselves."""
    waiting: list[ast.AST] = [node] if isinstance(node, Function) else []
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.stmt) and not _is_silent(child):
                yield child
            if not isinstance(child, Function | ast.ClassDef | ast.expr):
                waiting.append(child)


def _is_silent(statement: ast.stmt) -> bool:
    """Whether no line is reported for it when it runs, or for its header."""
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None):
            return True
    silent = ast.Global | ast.Nonlocal | ast.Pass | ast.Try | ast.TryStar | ast.With | ast.AsyncWith
    return isinstance(statement, silent)


@lru_cache(maxsize=512)
def _safe_lines(source: SourceLines) -> tuple[str, ...]:
    return safe_lines(source.lines)
