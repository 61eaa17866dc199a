"""Names that statements bind and read: origins of values, what ``raise`` raises."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from loop_close.model import Frame
from loop_close.syntax import Function


def origins_in(
    nodes: Sequence[ast.AST], scope: ast.AST, line: int, find: Callable[[ast.expr], Frame | None], steps: int
) -> list[Frame]:
    """What expressions call or read, and what made the values of their names, so many assignments back; each once.

    Behind a function of the code under test its arguments do not count; behind a helper of the tests they do.

    :param scope: the function or module around it; only assignments above ``line`` count.
    :param find: the definition in the project that an expression names.
    """
    found: dict[Frame, None] = {}
    seen: set[int] = set()
    stack = [(node, line, steps) for node in reversed(nodes)]
    while stack:
        node, line, left = stack.pop()
        named = node.func if isinstance(node, ast.Call) else node
        origin = find(named) if isinstance(named, ast.Name | ast.Attribute | ast.Subscript) else None
        if origin is not None:
            found[origin] = None
        if origin is None or origin.is_test:
            inner = [(child, line, left) for child in ast.iter_child_nodes(node)]
            value = value_before(scope, node.id, line) if left and isinstance(node, ast.Name) else None
            if value is not None and id(value) not in seen:
                seen.add(id(value))
                inner.append((value, value.lineno, left - 1))
            stack += reversed(inner)
    return list(found)


def checked_expressions(statement: ast.stmt) -> list[ast.expr]:
    """The expressions that a failing statement tests; for a ``with`` block also those in its body.

    ``with pytest.raises(E): f(x)`` fails when ``f`` does not raise, so that the test is of ``f``.
    """
    match statement:
        case ast.With() | ast.AsyncWith():
            inner = [e for s in statement.body for e in checked_expressions(s)]
            return inner + [item.context_expr for item in statement.items]
        case ast.Assert(test=checked) | ast.If(test=checked) | ast.While(test=checked):
            return [checked]
        case ast.For(iter=checked) | ast.AsyncFor(iter=checked):
            return [checked]
        case ast.Assign(value=checked) | ast.AugAssign(value=checked):
            return [checked]
        case ast.Raise():
            return []  # the exception is the failure itself, not a value with an origin
    return [n for n in ast.iter_child_nodes(statement) if isinstance(n, ast.expr)]


def earlier_calls(scope: ast.AST, statement: ast.stmt) -> list[ast.Call]:
    """Call statements above ``statement`` that mention a name it uses, the nearest first.

    ``process(order)`` may change ``order`` in place, which no assignment shows.
    """
    names = _names(statement)
    calls = (node.value for node in own_nodes(scope) if isinstance(node, ast.Expr))
    above = [
        call
        for call in calls
        if isinstance(call, ast.Call) and call.lineno < statement.lineno and names & _names(call)
    ]
    return above[::-1]


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def parameter_names(function: Function) -> set[str]:
    """The names of the parameters without ``self`` and ``cls``, which the caller does not choose."""
    a = function.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]
    return {p.arg for p in every} - {"self", "cls"}


# --- bindings of names within a function

NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def value_before(scope: ast.AST, name: str, line: int) -> ast.expr | None:
    """The value that was assigned to ``name`` last above ``line``; None if the scope does not assign it.

    Functions and classes inside the scope have their own names and do not count.
    """
    values = (value for value in reversed(_values(scope).get(name, ())) if value.lineno < line)
    return next(values, None)


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function or module, without those of the functions and classes inside it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, NESTED):
            yield from own_nodes(child)


@lru_cache(maxsize=64)
def _values(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """By name the values that are assigned to it, in the order of their lines."""
    found: dict[str, list[ast.expr]] = {}
    for node in own_nodes(scope):
        match node:
            case ast.Assign(targets=targets, value=value):
                names = [*targets]
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
            ):
                names = [target]
            case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
                names = [target]
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                names = [target]
            case _:
                continue
        for each in (each for target in names for each in ast.walk(target)):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                found.setdefault(each.id, []).append(value)
    return found


# --- ``raise`` statements


def is_reraise(statement: ast.stmt, function: Function) -> bool:
    """Whether the statement raises an exception that the function was passed, stores or caught.

    These are ``raise error`` and ``raise self._error``, also with ``.with_traceback(...)``. A bare ``raise`` adds no
    frame to a traceback.
    """
    raised = statement.exc if isinstance(statement, ast.Raise) else None
    match raised:
        case ast.Call(func=ast.Attribute(value=value, attr="with_traceback")):
            raised = value
        case ast.Attribute(attr=name) if name[:1].isupper():  # a class, such as self.DoesNotExist
            return False
    while isinstance(raised, ast.Attribute | ast.Subscript):
        raised = raised.value
    if not isinstance(raised, ast.Name):
        return False
    assigned = value_before(function, raised.id, statement.lineno)
    if assigned is not None:
        return not isinstance(assigned, ast.Call)
    nodes = [*ast.walk(function)]
    caught = {node.name for node in nodes if isinstance(node, ast.ExceptHandler)}
    return raised.id in caught | {node.arg for node in nodes if isinstance(node, ast.arg)}


def raises_parameter(statement: ast.stmt, function: Function) -> bool:
    """Whether it is ``raise Error(message)`` with a parameter: the caller chose the message."""
    match statement:
        case ast.Raise(exc=ast.Call(args=[ast.Name(id=name), *_])):
            return name in parameter_names(function)
    return False
