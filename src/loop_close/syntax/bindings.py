"""What a function binds its names to, line by line."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MAX_VALUES = 20


class _Binding(NamedTuple):
    """A value given to a name.

    :ivar is_whole: the name stands for nothing else from then on: not ``x += 1``, ``x.a = 1``, ``x[0] = 1``.
    """

    value: ast.expr
    is_whole: bool


def values_before(scope: ast.AST, name: str, line: int) -> list[ast.expr]:
    """What ``name`` is made of at ``line``: the last assignment before it, and what was added since.

    :returns: the latest first; empty when nothing in the scope binds it. Functions and classes inside the scope
        have names of their own and do not count.
    """
    found: list[ast.expr] = []
    for value, is_whole in reversed(_bindings(scope).get(name, ())):
        if value.lineno < line:
            found.append(value)
            if is_whole or len(found) == _MAX_VALUES:
                break
    return found


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Every node of a function or module, without those of the functions and classes in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _NESTED):
            yield from own_nodes(child)


@lru_cache(maxsize=64)
def _bindings(scope: ast.AST) -> dict[str, list[_Binding]]:
    """The bindings of each name, in the order of their lines."""
    found: defaultdict[str, list[_Binding]] = defaultdict(list)
    for node in own_nodes(scope):
        for target, value in _assigned(node):
            for name, is_whole in _names(target):
                found[name].append(_Binding(value, is_whole and not isinstance(node, ast.AugAssign)))
    for bindings in found.values():
        bindings.sort(key=lambda b: (b.value.lineno, b.value.col_offset))
    return found


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign():
            yield from ((target, node.value) for target in node.targets)
        case (
            ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value)
        ):
            yield node.target, value
        case ast.For() | ast.AsyncFor():
            yield node.target, node.iter
        case ast.withitem(optional_vars=ast.expr() as target):
            yield target, node.context_expr


def _names(target: ast.expr) -> Iterator[tuple[str, bool]]:
    """The names a target binds, and those of the objects it changes."""
    match target:
        case ast.Name(id=name):
            yield name, True
        case ast.Tuple() | ast.List():
            for element in target.elts:
                yield from _names(element)
        case ast.Starred():
            yield from _names(target.value)
        case ast.Attribute() | ast.Subscript():
            yield from ((name, False) for name, _ in _names(target.value))
