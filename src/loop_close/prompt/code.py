"""Source code in the prompt: a function without its docstring, the lines that matter marked, omissions counted."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from loop_close.model import Source
from loop_close.prompt.show import safe
from loop_close.syntax.heads import body_line
from loop_close.syntax.index import Function, first_line, index_source, statement_at
from loop_close.text.markdown import fence

_MAX_LINE = 160
# Lines of a long function that are shown around the marked one.
_BEFORE, _AFTER = 4, 4
# A signature of more lines is cut: what it takes is told by its first ones.
_MAX_SIGNATURE = 3
#: What the marks in front of a line mean; the second only where it is used.
MARKED, NOT_RUN = ">", "-"


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A definition in syntax.

    :ivar shift: what to add to a line of the tree to get the line in the file.
    """

    node: Function | ast.ClassDef | None
    tree: ast.Module
    shift: int


@lru_cache(maxsize=64)
def _parsed(source: Source) -> _Parsed | None:
    """The syntax of consecutive lines; None where they cannot be parsed by themselves."""
    is_inner = source.lines[0][:1].isspace()
    index = index_source("\n".join([*(["if 1:"] if is_inner else []), *source.lines]))
    if index is None:
        return None
    first: ast.AST | None = next(iter(index.tree.body), None)
    if is_inner and isinstance(first, ast.If):
        first = next(iter(first.body), None)
    node = first if isinstance(first, Function | ast.ClassDef) else None
    return _Parsed(node, index.tree, source.start - 1 - is_inner)


def function_rows(
    source: Source, *, marked: int = 0, ran: Collection[int] = (), most: int = 25, column: int = 0
) -> list[str]:
    """A fenced block of a function: signature and body without the docstring, at most about ``most`` lines of it.

    Of a longer one: what is around the marked line, the headers of the blocks that it is in, and every ``return``.
    Each omission is a row that counts its lines.

    :param marked: the line to mark, 0 for none.
    :param ran: the lines that failing tests ran, by number; with none no line is marked as not run.
    :param column: where to put a caret below the marked line, from 1; 0 for none.
    :returns: rows of markdown; none where there is nothing to show.
    """
    if not source.lines:
        return []
    parsed = _parsed(source)
    head, body = _extent(source, parsed, marked)
    kept = _kept(source, parsed, body, marked, most) if len(body) > most else [*body]
    skipped = _not_run(parsed, ran) - {marked}
    rows = [_row(source, number, "") for number in head]
    last = body.start - 1
    for number in kept:
        rows += _omission(source, last, number)
        last = number
        if not _line(source, number).strip():
            continue
        mark = MARKED if number == marked else NOT_RUN if number in skipped else ""
        rows.append(_row(source, number, mark))
        if number == marked and 0 < column <= _MAX_LINE:
            rows.append(" " * (6 + column - 1) + "^")
    rows += _omission(source, last, body.stop)
    return fence("\n".join(rows), "python") if rows else []


def statement_rows(source: Source, line: int, most: int = 8) -> list[str]:
    """The whole statement that a line belongs to, as rows without margin; of a compound statement its header.

    :param most: rows; the rest is counted.
    """
    if not source.start <= line < source.start + len(source.lines):
        return []
    first, last = _statement(source, line)
    lines = [_line(source, number).rstrip() for number in range(first, last + 1)]
    indent = min((len(text) - len(text.lstrip()) for text in lines if text.strip()), default=0)
    rows = [text[indent:][:_MAX_LINE] for text in lines[:most]]
    return [*rows, f"… {len(lines) - most} more lines"] if len(lines) > most else rows


def _statement(source: Source, line: int) -> tuple[int, int]:
    parsed = _parsed(source)
    found = statement_at(parsed.tree, line - parsed.shift) if parsed is not None else None
    if parsed is None or found is None:
        return line, line
    first, last = _own_lines(found)
    return max(source.start, first + parsed.shift), min(
        last + parsed.shift, source.start + len(source.lines) - 1
    )


def _own_lines(statement: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement; of a compound one those of its header."""
    body: list[ast.stmt] | None = getattr(statement, "body", None)
    first = first_line(statement)
    if isinstance(statement, ast.Match):
        return first, statement.subject.end_lineno or first
    if body:
        return first, max(first, first_line(body[0]) - 1)
    return first, statement.end_lineno or first


def _extent(source: Source, parsed: _Parsed | None, marked: int) -> tuple[Sequence[int], range]:
    """The lines of the signature that are shown, and those of the body."""
    end = source.start + len(source.lines)
    node = parsed.node if parsed is not None else None
    if parsed is None or node is None:
        return (), range(source.start, end)
    begin = first_line(node) + parsed.shift
    if isinstance(node, ast.ClassDef):
        return (), range(begin, end)
    start = min(body_line(node) + parsed.shift, end)
    signature = (node.body[0].lineno + parsed.shift) if node.body else start
    head = range(node.lineno + parsed.shift, min(signature, start)) or range(begin, begin + 1)
    if start <= node.lineno + parsed.shift:  # all of it on one line
        return (), range(start, end)
    if begin <= marked < start:  # a decorator or a default value
        return (), range(begin, end)
    return head[:_MAX_SIGNATURE], range(start, end)


def _kept(source: Source, parsed: _Parsed | None, body: range, marked: int, most: int) -> list[int]:
    """The numbers of those lines of a long body that are shown, in order."""
    wanted: dict[int, None] = {}
    if marked in body:
        _add(wanted, body, [marked])
        _add(wanted, body, _headers(parsed, marked))
        _add(wanted, body, range(marked - _BEFORE, marked + _AFTER + 1))
    _add(wanted, body, _returns(parsed))
    kept = dict.fromkeys([*wanted][: most - 2])
    rest = sorted(body, key=lambda number: abs(number - marked)) if marked in body else body
    for number in rest:  # what is nearest to the line, or the beginning, as far as there is room
        if len(kept) >= most - 2:
            break
        kept.setdefault(number)
    numbers = sorted(kept)
    gaps = [n + 1 for n, following in pairwise(numbers) if following == n + 2]
    return sorted([*numbers, *gaps])  # to count one line takes as much room as to show it


def _add(wanted: dict[int, None], body: range, numbers: Collection[int]) -> None:
    wanted.update((number, None) for number in numbers if number in body)


def _headers(parsed: _Parsed | None, line: int) -> list[int]:
    """The first lines of the compound statements that a line is in, the innermost first."""
    if parsed is None:
        return []
    around = [
        node
        for node in ast.walk(parsed.tree)
        if isinstance(node, ast.stmt | ast.ExceptHandler)
        and hasattr(node, "body")
        and node.lineno < line - parsed.shift <= (node.end_lineno or 0)
    ]
    return [node.lineno + parsed.shift for node in sorted(around, key=lambda n: -n.lineno)]


def _returns(parsed: _Parsed | None) -> list[int]:
    if parsed is None:
        return []
    return sorted(n.lineno + parsed.shift for n in ast.walk(parsed.tree) if isinstance(n, ast.Return))


def _not_run(parsed: _Parsed | None, ran: Collection[int]) -> set[int]:
    """The lines of statements of which no line ran; without those that never run, such as ``global``."""
    if parsed is None or not ran:
        return set()
    found: set[int] = set()
    for node in _own_statements(parsed.node):
        first, last = _own_lines(node)
        lines = range(first + parsed.shift, last + parsed.shift + 1)
        if not any(number in ran for number in lines):
            found.update(lines)
    return found


def _own_statements(node: Function | ast.ClassDef | None) -> Iterator[ast.stmt]:
    """The statements of a function; not of the functions and classes inside, which run by themselves."""
    for statement in _below(node) if isinstance(node, Function) else ():
        is_silent = isinstance(statement, ast.Global | ast.Nonlocal | ast.Pass) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        )
        if not is_silent and not isinstance(statement, ast.Try | ast.With | ast.AsyncWith):
            yield statement


def _below(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, Function | ast.ClassDef | ast.expr):
            yield from _below(child)


def _omission(source: Source, last: int, following: int) -> list[str]:
    """A row that counts the lines between two that are shown; empty lines do not count."""
    left = sum(bool(_line(source, number).strip()) for number in range(last + 1, following))
    return [f"     … {left} line{'s' * (left != 1)}"] if left else []


@lru_cache(maxsize=512)
def _safe_lines(source: Source) -> tuple[str, ...]:
    """The lines, each safe by itself and as part of the whole: a private key is known by its first and last line."""
    whole = safe("\n".join(source.lines))
    shown = (safe(line).replace("\n", " ") for line in source.lines)
    return tuple(line if line in whole else "[redacted]" for line in shown)


def _line(source: Source, number: int) -> str:
    return _safe_lines(source)[number - source.start]


def _row(source: Source, number: int, mark: str) -> str:
    return f"{mark or ' '}{number:4} {_line(source, number).rstrip()[:_MAX_LINE]}".rstrip()
