"""Analysis of Python source: pure functions over syntax trees.

Here: the index of a module, which finds functions, classes, statements and assignments by line or name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from loop_close.records import Record

Function = ast.FunctionDef | ast.AsyncFunctionDef


class SourceIndex(Record, frozen=True):
    """A parsed module.

    :ivar functions: each function by its first line, decorators included (``co_firstlineno``).
    :ivar classes: the line of each class by qualified name.
    """

    tree: ast.Module
    functions: dict[int, Function]
    classes: dict[str, int]


def index_source(text: str) -> SourceIndex | None:
    """Parse ``text``; None if it is not valid for this Python version."""
    try:
        return _indexed(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _indexed(tree: ast.Module) -> SourceIndex:
    functions: dict[int, Function] = {}
    classes: dict[str, int] = {}
    for node, qualname in _definitions(tree, ""):
        if isinstance(node, ast.ClassDef):
            classes[qualname] = node.lineno
        else:
            functions[first_line(node)] = node
    return SourceIndex(tree=tree, functions=functions, classes=classes)


def _definitions(owner: ast.AST, prefix: str) -> Iterator[tuple[Function | ast.ClassDef, str]]:
    """Yield each definition below ``owner`` with its qualified name, as ``__qualname__`` spells it."""
    for node in ast.iter_child_nodes(owner):
        if isinstance(node, ast.ClassDef):
            yield node, prefix + node.name
            yield from _definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, Function):
            yield node, prefix + node.name
            yield from _definitions(node, f"{prefix}{node.name}.<locals>.")
        elif not isinstance(node, ast.expr):
            yield from _definitions(node, prefix)


def first_line(node: ast.stmt | ast.ExceptHandler) -> int:
    """The first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def enclosing_function(index: SourceIndex, line: int) -> Function | None:
    """The innermost function that contains a line; None if there is none."""
    around = [f for f in index.functions.values() if f.lineno <= line <= (f.end_lineno or f.lineno)]
    return max(around, key=lambda f: f.lineno, default=None)


def _parts(owner: ast.AST) -> Iterator[ast.stmt | ast.ExceptHandler | ast.match_case]:
    """The statements directly below ``owner``, and the handlers and cases that contain further statements."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        nodes = getattr(owner, name, None)
        if isinstance(nodes, list):
            yield from nodes


def lines_of(index: SourceIndex, name: str, line: int = 0) -> tuple[int, int]:
    """First and last line of the definition with the qualified name, decorators included; zeros if there is none.

    :param line: one of its lines, or 0 if unknown. Then the last of several definitions is taken, because the earlier
        ones are overloads or the getters of properties.
    """
    nodes = [node for node, qualname in _definitions(index.tree, "") if qualname == name]
    spans = [(first_line(node), node.end_lineno or node.lineno) for node in nodes]
    return next((span for span in reversed(spans) if not line or span[0] <= line <= span[1]), (0, 0))


def statement_at(owner: ast.AST, line: int) -> ast.stmt | None:
    """The innermost statement below ``owner`` that covers ``line``; a compound statement if it is in its header."""
    for node in _parts(owner):
        if isinstance(node, ast.match_case) or first_line(node) <= line <= (node.end_lineno or node.lineno):
            inner = statement_at(node, line)
            if inner is not None:
                return inner
            if isinstance(node, ast.stmt):
                return node
    return None


def docstring_end(function: Function) -> int | None:
    """The last line of the docstring; None if there is none."""
    first = function.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return first.end_lineno
    return None


def is_placeholder_body(function: Function) -> bool:
    """Whether the body is a placeholder: only ``...``, ``pass`` or a docstring, and no decorator requires that.

    ``@overload``, ``@abstractmethod`` and the methods of a ``Protocol`` are left empty on purpose.
    """
    if any("abstract" in ast.unparse(d) or "overload" in ast.unparse(d) for d in function.decorator_list):
        return False
    return all(
        isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in function.body
    )


# --- lines within the source of a function


def body_start(lines: Sequence[str]) -> int:
    """The number of lines above the body: decorators, signature, docstring.

    :param lines: the lines of one whole function, indented as in its module.
    :returns: 0 if the lines are not a whole function. A docstring without further statements counts as the body.
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
    """The first line below signature and docstring, even a comment; that of the docstring if nothing follows it."""
    end, first, *rest = docstring_end(function), *function.body
    return end + 1 if end is not None and rest and rest[0].lineno > end else first.lineno


def edited_at(lines: Sequence[str], diff: str) -> int | None:
    """The index of the first line that an edit changed; if it only removed lines, that of the next line.

    :param lines: the current source.
    :param diff: the recorded diff, with one line of context and without line numbers.
    :returns: None if the place cannot be found, for example because the source was edited since.
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
    """The line before the first change, its added lines, and the line after it; each list may be empty."""
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
    """Whether a line matches one of a diff, where long lines are cut."""
    if shown.endswith("…"):
        return line.startswith(shown[:-1])
    return line.rstrip() == shown.rstrip()
