"""What the makers of faults work with: a change, and the names there are around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from benchmarks.localize.spans import Function, Text


@dataclass(frozen=True, slots=True)
class Change:
    """New text for the characters from ``start`` to ``end``."""

    start: int
    end: int
    after: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """A function's surroundings.

    :ivar attributes: names that follow each base expression (``self``, ``os.path``) in the file.
    :ivar keywords: names of keyword arguments in the file.
    :ivar locals: the names that the function binds, its parameters among them.
    """

    text: Text
    function: Function
    random: Random
    attributes: dict[str, list[str]] = field(default_factory=dict)
    keywords: list[str] = field(default_factory=list)
    locals: list[str] = field(default_factory=list)

    def replace(self, node: ast.expr | ast.stmt, after: str) -> Change:
        """A change of all of a node."""
        return Change(*self.text.span(node), after)

    def words(self, node: ast.expr | ast.stmt) -> str:
        """A node's own text."""
        start, end = self.text.span(node)
        return self.text.source[start:end]

    def other(self, names: Sequence[str], but: str) -> str | None:
        """Another one of some names, None where there is no other."""
        others = sorted({name for name in names if name != but and not name.startswith("__")})
        return self.random.choice(others) if others else None


def own(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function's statements, without those of functions inside it, docstring and annotations."""
    body = function.node.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        body = body[1:]
    for statement in body:
        yield from _walk(statement)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    yield node
    if isinstance(node, ast.AnnAssign):
        children: list[ast.AST] = [node.target, *([node.value] if node.value else [])]
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from _walk(child)
