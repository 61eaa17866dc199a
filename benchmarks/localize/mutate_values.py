"""Faults in expressions: comparisons, numbers, truth values, operators, names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.localize.mutation import Change, Context

_COMPARED = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in",),
    "not in": ("in",),
}
_CALCULATED = {"+": "-", "-": "+", "*": "+", "//": "/", "/": "*", "%": "//", "&": "|", "|": "&", "<<": ">>"}


def comparisons(context: Context, node: ast.AST) -> Iterator[Change]:
    """The opposite, or the one that differs at the border."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for left, right in pairwise(sides):
            word = _between(context, left, right)
            for other in _COMPARED.get(word[0] if word else "", ()):
                assert word is not None
                yield Change(word[1], word[2], other)


def operators(context: Context, node: ast.AST) -> Iterator[Change]:
    """Another operation on the same operands."""
    if isinstance(node, ast.BinOp) and not isinstance(node.left, ast.Constant | ast.JoinedStr):
        word = _between(context, node.left, node.right)
        if word and word[0] in _CALCULATED:
            yield Change(word[1], word[2], _CALCULATED[word[0]])


def numbers(context: Context, node: ast.AST) -> Iterator[Change]:
    """One more or one less; the length of something less one."""
    if isinstance(node, ast.Constant) and type(node.value) is int and context.words(node).isdecimal():
        yield context.replace(node, str(node.value + 1))
        if node.value:
            yield context.replace(node, str(node.value - 1))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        start, end = context.text.span(node)
        yield Change(start, end, f"({context.words(node)} - 1)")


def booleans(context: Context, node: ast.AST) -> Iterator[Change]:
    """``and`` for ``or``, ``True`` for ``False``, a ``not`` lost."""
    if isinstance(node, ast.BoolOp):
        other = "or" if isinstance(node.op, ast.And) else "and"
        word = _between(context, node.values[0], node.values[1])
        if word and len(node.values) == 2 and word[0] in ("and", "or"):
            yield Change(word[1], word[2], other)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield context.replace(node, str(not node.value))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield context.replace(node, context.words(node.operand))


def names(context: Context, node: ast.AST) -> Iterator[Change]:
    """Another variable of the function."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in context.locals:
        other = context.other(context.locals, node.id)
        if other is not None:
            yield context.replace(node, other)


def _between(context: Context, left: ast.expr, right: ast.expr) -> tuple[str, int, int] | None:
    """The operator between two operands and where it stands, None where more than it and brackets is there."""
    start, end = context.text.span(left)[1], context.text.span(right)[0]
    found = re.fullmatch(r"[\s)]*([^\s()]+(?: not| in)?)[\s(]*", context.text.source[start:end])
    return (found[1], start + found.start(1), start + found.end(1)) if found else None
