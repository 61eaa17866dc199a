"""Faults in what is called and with what: attributes, the order of arguments, keywords."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.localize.mutation import Change, Context


def attributes(context: Context, node: ast.AST) -> Iterator[Change]:
    """Another attribute that the same expression is asked for elsewhere in the file."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        other = context.other(context.attributes.get(ast.unparse(node.value), ()), node.attr)
        if other is not None:
            end = context.text.span(node)[1]
            yield Change(end - len(node.attr), end, other)


def swapped(context: Context, node: ast.AST) -> Iterator[Change]:
    """Two arguments that stand side by side, each in the other's place."""
    if not isinstance(node, ast.Call):
        return
    for left, right in pairwise(node.args):
        if isinstance(left, ast.Starred) or isinstance(right, ast.Starred):
            continue
        start, middle = context.text.span(left)
        rest, end = context.text.span(right)
        between = context.text.source[middle:rest]
        yield Change(start, end, f"{context.words(right)}{between}{context.words(left)}")


def keywords(context: Context, node: ast.AST) -> Iterator[Change]:
    """A keyword argument left out, or given by another name."""
    if not isinstance(node, ast.Call):
        return
    for keyword in node.keywords:
        if keyword.arg is None:
            continue
        start = context.text.offset(keyword.lineno, keyword.col_offset)
        end = context.text.span(keyword.value)[1]
        yield _without(context, start, end)
        other = context.other(context.keywords, keyword.arg)
        if other is not None:
            yield Change(start, start + len(keyword.arg), other)


def _without(context: Context, start: int, end: int) -> Change:
    """The text with the comma that belongs to it taken out."""
    source = context.text.source
    before = source[:start].rstrip()
    if before.endswith(","):
        return Change(len(before) - 1, end, "")
    after = source[end:]
    return Change(start, end + (len(after) - len(after.lstrip(", "))), "")
