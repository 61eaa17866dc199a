"""Analysis of Python source: pure functions over syntax trees.

The index of a module finds functions and statements by line; then what statements bind, read and raise.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from loop_close.records import Record

Function = ast.FunctionDef | ast.AsyncFunctionDef


class SourceIndex(Record, frozen=True):
    """A parsed module.

    :ivar functions: each function by its first line, decorators included (``co_firstlineno``).
    """

    tree: ast.Module
    functions: dict[int, Function]


def index_source(text: str) -> SourceIndex | None:
    """Parse ``text``; None if it is not valid for this Python version."""
    try:
        tree = ast.parse(text)
        nodes = (node for node, _ in definitions(tree))
        functions = {first_line(node): node for node in nodes if isinstance(node, Function)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return SourceIndex(tree=tree, functions=functions)


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


def last_line(node: ast.stmt | ast.expr | ast.ExceptHandler) -> int:
    """The last line of a statement or expression, which the parser always knows."""
    return node.end_lineno or node.lineno


def enclosing_function(index: SourceIndex, line: int) -> Function | None:
    """The innermost function that contains a line; None if there is none."""
    around = [f for f in index.functions.values() if f.lineno <= line <= last_line(f)]
    return max(around, key=lambda f: f.lineno, default=None)


def _parts(owner: ast.AST) -> Iterator[ast.stmt | ast.ExceptHandler | ast.match_case]:
    """The statements directly below ``owner``, and the handlers and cases that contain further statements."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        yield from getattr(owner, name, ())


def lines_of(index: SourceIndex, name: str, line: int = 0) -> tuple[int, int]:
    """First and last line of the definition with the qualified name, decorators included; zeros if there is none.

    :param line: one of its lines, or 0 if unknown. Then the last of several definitions is taken, because the earlier
        ones are overloads or the getters of properties.
    """
    nodes = [node for node, qualname in definitions(index.tree) if qualname == name]
    spans = [(first_line(node), last_line(node)) for node in nodes]
    return next((span for span in reversed(spans) if not line or span[0] <= line <= span[1]), (0, 0))


def statement_at(owner: ast.AST, line: int) -> ast.stmt | None:
    """The innermost statement below ``owner`` that covers ``line``; a compound statement if it is in its header."""
    for node in _parts(owner):
        if isinstance(node, ast.match_case) or first_line(node) <= line <= last_line(node):
            inner = statement_at(node, line)
            if inner is not None:
                return inner
            if isinstance(node, ast.stmt):
                return node
    return None


_ON_PURPOSE = re.compile("abstract|overload")


def is_placeholder_body(function: Function) -> bool:
    """Whether the body is a placeholder: only ``...``, ``pass`` or a docstring, and no decorator requires that.

    ``@overload``, ``@abstractmethod`` and the methods of a ``Protocol`` are left empty on purpose.
    """
    if _ON_PURPOSE.search(" ".join(map(ast.unparse, function.decorator_list))):
        return False
    return all(
        isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in function.body
    )


# --- what statements test, and where it came from


def checked_expressions(statement: ast.stmt) -> list[ast.expr]:
    """The expressions that a failing statement tests; for a ``with`` block also those in its body.

    ``with pytest.raises(E): f(x)`` fails when ``f`` does not raise, so that the test is of ``f``.
    """
    match statement:
        case ast.With() | ast.AsyncWith():
            inner = [e for s in statement.body for e in checked_expressions(s)]
            return inner + [item.context_expr for item in statement.items]
        case (
            ast.Assert(test=checked)
            | ast.If(test=checked)
            | ast.While(test=checked)
            | ast.For(iter=checked)
            | ast.AsyncFor(iter=checked)
            | ast.Assign(value=checked)
            | ast.AugAssign(value=checked)
        ):
            return [checked]
        case ast.Raise():
            return []  # the exception is the failure itself, not a value with an origin
    return [n for n in ast.iter_child_nodes(statement) if isinstance(n, ast.expr)]


def value_before(scope: ast.AST, name: str, line: int) -> ast.expr | None:
    """The value that was assigned to ``name`` last above ``line``; None if the scope does not assign it.

    Functions and classes inside the scope have their own names and do not count.
    """
    values = (value for value in reversed(_values(scope).get(name, ())) if value.lineno < line)
    return next(values, None)


@lru_cache(maxsize=64)
def _values(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """By name the values that are assigned to it, in the order of their lines."""
    found: dict[str, list[ast.expr]] = {}
    for node in _own_nodes(scope):
        match node:
            case ast.Assign(targets=targets, value=value):
                names = [*targets]
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.AsyncFor(target=target, iter=value)
                | ast.withitem(context_expr=value, optional_vars=ast.expr() as target)
            ):
                names = [target]
            case _:
                continue
        for each in (each for target in names for each in ast.walk(target)):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                found.setdefault(each.id, []).append(value)
    return found


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function or module, without those of the functions and classes inside it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _own_nodes(child)


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
            names = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
            return name in names - {"self", "cls"}
    return False
