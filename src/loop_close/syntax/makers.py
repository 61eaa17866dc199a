"""The statements that surely made what a later statement tests, whatever the conditions were."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from loop_close.records import Record
from loop_close.syntax.uses import NESTED, bound_names, checked_expressions, own_nodes, target_names


class Maker(Record, frozen=True):
    """A statement that assigned, from a call, a name that a later statement tests.

    :ivar value: the assigned expression.
    :ivar changed: names in it that may have another value by now.
    :ivar is_next: the tested statement follows at once.
    """

    statement: ast.stmt
    value: ast.expr
    changed: frozenset[str]
    is_next: bool


def makers_of(scope: ast.AST, statement: ast.stmt) -> list[Maker]:
    """The statements that made the names that a statement tests, from calls; in the order of the code.

    Only those that ran before it whatever the conditions were, and after which nothing may have bound the name again.
    """
    before, known = [*_assigned_before(_path_to(scope, statement))], _index_of(scope)
    read = (node for part in checked_expressions(statement) for node in ast.walk(part))
    names = {node.id for node in read if isinstance(node, ast.Name)}
    found: dict[int, Maker] = {}
    for name in names:
        bound = [each for each in before if (name, True) in target_names(each.target)]
        if not bound or not any(isinstance(node, ast.Call) for node in ast.walk(bound[-1].value)):
            continue
        maker, _, value, is_next = bound[-1]
        if not _is_changed(known, name, maker, statement):
            inner = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
            changed = frozenset(each for each in inner if _is_changed(known, each, maker, statement))
            found[id(maker)] = Maker(maker, value, changed, is_next)
    return sorted(found.values(), key=lambda each: _begin(each.statement))


def _path_to(scope: ast.AST, statement: ast.stmt) -> list[tuple[list[ast.stmt], int]]:
    """The blocks around a statement, outermost first, each with the index of the part that the statement is in."""
    for block in _blocks(scope):
        for index, each in enumerate(block):
            if each is statement:
                return [(block, index)]
            if not isinstance(each, NESTED) and (inner := _path_to(each, statement)):
                return [(block, index), *inner]
    return []


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


class _Assigned(NamedTuple):
    statement: ast.stmt
    target: ast.expr
    value: ast.expr
    is_next: bool


def _assigned_before(path: Sequence[tuple[list[ast.stmt], int]]) -> Iterator[_Assigned]:
    """The assignments that surely ran before the end of a path, and the headers of the blocks around it."""
    for depth, (block, index) in enumerate(path):
        is_last = depth == len(path) - 1
        for number, each in enumerate(block[:index]):
            is_next = is_last and number == index - 1
            if isinstance(each, ast.Assign):
                yield from (_Assigned(each, target, each.value, is_next) for target in each.targets)
            elif isinstance(each, ast.AnnAssign) and each.value is not None:
                yield _Assigned(each, each.target, each.value, is_next)
        around = block[index]
        is_next = depth == len(path) - 2 and path[-1][1] == 0
        if isinstance(around, ast.For | ast.AsyncFor) and not is_last:
            yield _Assigned(around, around.target, around.iter, is_next)
        elif isinstance(around, ast.With | ast.AsyncWith) and not is_last:
            for item in around.items:
                if item.optional_vars is not None:
                    yield _Assigned(around, item.optional_vars, item.context_expr, is_next)


class _ScopeIndex(NamedTuple):
    """What a function or module binds.

    :ivar places: by name where it is bound, in whatever way.
    :ivar loops: its loops; ``shared``: names that it, or a function inside it, shares with others.
    """

    places: Mapping[str, Sequence[tuple[int, int]]]
    loops: Sequence[ast.For | ast.AsyncFor | ast.While]
    shared: frozenset[str]


@lru_cache(maxsize=64)
def _index_of(scope: ast.AST) -> _ScopeIndex:
    places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    loops = []
    for node in own_nodes(scope):
        for name in bound_names(node):
            places[name].append(_begin(node))
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            loops.append(node)
    declared = (node.names for node in ast.walk(scope) if isinstance(node, ast.Global | ast.Nonlocal))
    return _ScopeIndex(places, loops, frozenset(chain.from_iterable(declared)))


def _is_changed(scope: _ScopeIndex, name: str, maker: ast.stmt, statement: ast.stmt) -> bool:
    """Whether anything may bind a name after one statement ran and before, or in, the other."""
    if name in scope.shared:
        return True
    block: list[ast.stmt] = getattr(maker, "body", [])
    after = _begin(block[0]) if block else _end(maker)
    loops = [each for each in scope.loops if _is_in(statement, each) and not _is_in(maker, each)]
    return any(
        after <= at <= _end(statement) or any(_begin(loop) <= at <= _end(loop) for loop in loops)
        for at in (*scope.places.get(name, ()), *scope.places.get("*", ()))
    )


def _is_in(statement: ast.stmt, loop: ast.stmt) -> bool:
    return _begin(loop) <= _begin(statement) <= _end(loop)


def _begin(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
