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
    for node, qualname in definitions(tree):
        if isinstance(node, ast.ClassDef):
            classes[qualname] = node.lineno
        else:
            functions[first_line(node)] = node
    return SourceIndex(tree=tree, functions=functions, classes=classes)


def definitions(owner: ast.AST, prefix: str = "") -> Iterator[tuple[Function | ast.ClassDef, str]]:
    """Yield each definition below ``owner`` with its qualified name, as ``__qualname__`` spells it."""
    for node in ast.iter_child_nodes(owner):
        if isinstance(node, ast.ClassDef):
            yield node, prefix + node.name
            yield from definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, Function):
            yield node, prefix + node.name
            yield from definitions(node, f"{prefix}{node.name}.<locals>.")
        elif not isinstance(node, ast.expr):
            yield from definitions(node, prefix)


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
    nodes = [node for node, qualname in definitions(index.tree) if qualname == name]
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


def edited_at(lines: Sequence[str], diff: str) -> int | None:
    """The index of the first line that an edit changed; if it only removed lines, that of the next line.

    :param lines: the current source.
    :param diff: the recorded diff, with one line of context and without line numbers.
    :returns: None if that line, between the two beside it, cannot be found: the source was edited since.
    """
    rows = diff.split("\n")
    first = next((number for number, row in enumerate(rows) if row.startswith(("+", "-"))), len(rows))
    start = max(first - 1, 0)
    block = [row[1:] for row in rows if not row.startswith("-")][start : first + 2]
    for at in range(len(lines) - len(block) + 1 if first < len(rows) and block else 0):
        if all(map(_is_alike, lines[at : at + len(block)], block)):
            return min(at + first - start, len(lines) - 1)
    return None


def _is_alike(line: str, shown: str) -> bool:
    """Whether a line matches one of a diff, where long lines are cut."""
    return line.startswith(shown[:-1]) if shown.endswith("…") else line.rstrip() == shown.rstrip()
