"""Find functions, classes and statements of a module by line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class SourceIndex:
    """A parsed module.

    :ivar functions: each function by its first line, decorators included (``co_firstlineno``).
    :ivar classes: the line of each class by qualified name.
    """

    tree: ast.Module
    functions: dict[int, Function]
    classes: dict[str, int]


def index_source(text: str) -> SourceIndex | None:
    """Parse ``text``; None where it is not Python (of this version)."""
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
    """The line a statement starts at, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def enclosing_function(index: SourceIndex, line: int) -> Function | None:
    """The innermost function around a line."""
    around = [f for f in index.functions.values() if f.lineno <= line <= (f.end_lineno or f.lineno)]
    return max(around, key=lambda f: f.lineno, default=None)


def _parts(owner: ast.AST) -> Iterator[ast.stmt | ast.ExceptHandler | ast.match_case]:
    """The statements directly below ``owner``, with the handlers and cases that hold more of them."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        nodes = getattr(owner, name, None)
        if isinstance(nodes, list):
            yield from nodes


def lines_of(index: SourceIndex, name: str, line: int = 0) -> tuple[int, int]:
    """First and last line of the definition with the qualified name, decorators included; zeros for none.

    :param line: one of its lines, 0 where none is known: then it is the last of several, as earlier ones are
        overloads, and getters of properties.
    """
    nodes = [node for node, qualname in _definitions(index.tree, "") if qualname == name]
    spans = [(first_line(node), node.end_lineno or node.lineno) for node in nodes]
    return next((span for span in reversed(spans) if not line or span[0] <= line <= span[1]), (0, 0))


def class_named(index: SourceIndex, name: str) -> ast.ClassDef | None:
    """The class with the qualified name, the last of several."""
    if name not in index.classes:
        return None
    found = (node for node, qualname in _definitions(index.tree, "") if qualname == name)
    return next((node for node in reversed([*found]) if isinstance(node, ast.ClassDef)), None)


def statement_at(owner: ast.AST, line: int) -> ast.stmt | None:
    """The innermost statement below ``owner`` that covers ``line``; a compound one for its own header."""
    for node in _parts(owner):
        if isinstance(node, ast.match_case) or first_line(node) <= line <= (node.end_lineno or node.lineno):
            inner = statement_at(node, line)
            if inner is not None:
                return inner
            if isinstance(node, ast.stmt):
                return node
    return None


def expression_at(statement: ast.stmt, span: tuple[int, int, int, int]) -> ast.expr | None:
    """The expression that spans exactly (line, end line, column, end column), columns in UTF-8 bytes."""
    for node in ast.walk(statement):
        if isinstance(node, ast.expr) and span == (
            node.lineno,
            node.end_lineno,
            node.col_offset,
            node.end_col_offset,
        ):
            return node
    return None


def docstring_end(function: Function) -> int | None:
    """The last line of the docstring; None where there is none."""
    first = function.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return first.end_lineno
    return None


def is_placeholder_body(function: Function) -> bool:
    """Whether nothing is written yet: only ``...``, ``pass`` or a docstring, and no decorator asks for that.

    ``@overload``, ``@abstractmethod`` and the methods of a ``Protocol`` are left empty on purpose.
    """
    if any("abstract" in ast.unparse(d) or "overload" in ast.unparse(d) for d in function.decorator_list):
        return False
    return all(
        isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in function.body
    )
