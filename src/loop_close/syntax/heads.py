"""Where to look in the source of a function: past its docstring, and at a line that an edit changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from loop_close.syntax.index import Function, docstring_end, index_source


def body_start(lines: Sequence[str]) -> int:
    """How many lines stand above the body: decorators, signature, docstring.

    :param lines: those of one whole function, as far indented as they are in its module.
    :returns: 0 where the lines are no whole function. A docstring that is all there is counts as the body.
    """
    is_inner = bool(lines) and lines[0][:1].isspace()
    index = index_source("\n".join([*(["if 1:"] if is_inner else []), *lines]))
    node: ast.AST | None = index.tree if index is not None else None
    for _ in range(1 + is_inner):
        node = next(iter(getattr(node, "body", ())), None)
    if not isinstance(node, Function):
        return 0
    first = body_line(node) - 1 - is_inner
    while first < len(lines) and not lines[first].strip():
        first += 1
    return first


def body_line(function: Function) -> int:
    """The first line below signature and docstring, be it a comment; of one that has no more, the docstring's."""
    end, first, *rest = docstring_end(function), *function.body
    return end + 1 if end is not None and rest and rest[0].lineno > end else first.lineno


def edited_at(lines: Sequence[str], diff: str) -> int | None:
    """The index of the first line that an edit changed; where it only removed lines, of the one after them.

    :param lines: of the source as it is now.
    :param diff: as it is remembered: with a line of context, without the numbers of lines.
    :returns: None where it cannot be told, as where the source was edited since.
    """
    rows = diff.split("\n")
    if not any(row.startswith(("+", "-")) for row in rows):
        return None
    before, added, after = _first_change(rows)
    for block, skipped in ((before + added + after, len(before)), (added, 0)):
        found = next(_places(lines, block), None) if block else None
        if found is not None:
            return min(found + skipped, len(lines) - 1)
    return None


def _first_change(rows: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The line before the first change, the lines that it added, the line after it; each may be missing."""
    first = next((n for n, row in enumerate(rows) if row[:1] in ("+", "-")), len(rows))
    last = next((n for n in range(first, len(rows)) if rows[n][:1] not in ("+", "-")), len(rows))
    added = [row[1:] for row in rows[first:last] if row.startswith("+")]
    return _context(rows[:first][-1:]), added, _context(rows[last:][:1])


def _context(rows: Sequence[str]) -> list[str]:
    return [row[1:] for row in rows if row[:1] in ("", " ")]


def _places(lines: Sequence[str], block: Sequence[str]) -> Iterator[int]:
    for start in range(len(lines) - len(block) + 1):
        if all(map(_is_alike, lines[start : start + len(block)], block)):
            yield start


def _is_alike(line: str, shown: str) -> bool:
    """Whether a line is the one that a diff shows, which cuts what is long."""
    if shown.endswith("…"):
        return line.startswith(shown[:-1])
    return line.rstrip() == shown.rstrip()
