"""The statements of a module's body: the names that each binds, and those that it reads at import."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loop_close.syntax.index import Function, first_line

_CONDITIONAL = ast.If | ast.Try | ast.TryStar
_MAKING = ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; those under a condition are statements of their own, a loop is one with its body.

    :ivar first: its first line, decorators included; ``last`` the last one.
    :ivar column: where it begins, in bytes from 0.
    :ivar binds: global names that it binds, or whose objects it changes.
    :ivar reads: names and attributes that it reads; bodies of functions are not read by then.
    """

    first: int
    last: int
    column: int
    binds: frozenset[str]
    reads: frozenset[str]


def statements_of(text: str) -> list[Statement]:
    """The statements of a module in their order, imports left out; none of what is not Python (of this version)."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [_statement(node) for node in _flat(body) if not isinstance(node, ast.Import | ast.ImportFrom)]


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, _CONDITIONAL):
            handlers = getattr(node, "handlers", [])
            parts = [
                node.body,
                *(each.body for each in handlers),
                node.orelse,
                getattr(node, "finalbody", []),
            ]
            for part in parts:
                yield from _flat(part)
        else:
            yield node


def _statement(node: ast.stmt) -> Statement:
    binds, reads = {getattr(node, "name", "")} - {""}, set()
    for each in _run_by(node):
        match each:
            case ast.Name(id=name, ctx=ast.Load()):
                reads.add(name)
            case ast.Name(id=name):
                binds.add(name)
            case ast.Attribute(value=value, attr=attr):
                reads.add(attr)
                binds |= _changed(each, value)
            case ast.Subscript(value=value):
                binds |= _changed(each, value)
    local = {*_local(node)}
    binds, reads = binds - local, reads - local
    first = first_line(node)
    own = _called_on(node) if isinstance(node, ast.Expr) else set()
    return Statement(
        first, node.end_lineno or first, node.col_offset, frozenset(binds | own), frozenset(reads)
    )


def _local(node: ast.stmt) -> Iterator[str]:
    """The names of comprehensions and lambdas in it, which are no global ones."""
    for each in _run_by(node):
        match each:
            case ast.comprehension(target=target):
                yield from (x.id for x in ast.walk(target) if isinstance(x, ast.Name))
            case ast.arg(arg=name):
                yield name


def _run_by(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below it that run with it: of functions no bodies, of a class what its body reads."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, Function):
            waiting += _head(each)
        elif isinstance(each, ast.ClassDef) and each is node:
            waiting += [*each.decorator_list, *each.bases, *each.keywords]
            waiting += [inner for part in each.body for inner in _read_in_class(part)]
        else:
            waiting += (x for x in ast.iter_child_nodes(each) if not isinstance(x, _MAKING))


def _head(node: Function) -> list[ast.AST]:
    """What runs of a function where it is defined."""
    return [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]


def _read_in_class(part: ast.stmt) -> list[ast.AST]:
    """What a statement of a class reads: what it binds are attributes, and no global names."""
    if isinstance(part, Function):
        return _head(part)
    if isinstance(part, ast.ClassDef):
        return [*part.decorator_list, *part.bases, *(x for inner in part.body for x in _read_in_class(inner))]
    value = getattr(part, "value", None)
    return [value] if isinstance(value, ast.AST) else []


def _changed(node: ast.Attribute | ast.Subscript, value: ast.expr) -> set[str]:
    is_stored = isinstance(node.ctx, ast.Store)
    return {value.id} if is_stored and isinstance(value, ast.Name) else set()


def _called_on(node: ast.Expr) -> set[str]:
    """The name in ``NAME.method(...)`` alone on a line: what it does is done to that object."""
    match node.value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return {name}
    return set()
