"""Trace the values that a statement used back to the calls that produced them.

A plain reading of one function from the statement upwards: a name stands for what was assigned to it last on
the lines above. It is enough for tests, which are straight lines of code more often than not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Protocol

from loop_close.model import Origin
from loop_close.syntax.bindings import own_nodes, values_before
from loop_close.syntax.index import Function


class Lookup(Protocol):
    """Looks expressions up where the program ran; None for what is not the project's own."""

    def origin(self, node: ast.expr) -> Origin | None:
        """The function, property or class that ``node`` names."""

    def attribute(self, node: ast.Attribute) -> Origin | None:
        """The plain attribute of a project class that ``node`` reads."""


_MAX_DEPTH = 6


class Tracer:
    """Finds the origins of expressions in one function, for the values of one moment.

    :param scope: the function (or module) the statement stands in.
    :param line: the statement's first line: only assignments before it count.
    :param opaque: names that nothing in the scope explains (the parameters of a lambda).
    :param in_test: the scope is test code: its helpers and attributes are looked through to the code under test.
    """

    def __init__(
        self,
        scope: ast.AST,
        line: int,
        lookup: Lookup,
        opaque: frozenset[str] = frozenset(),
        *,
        in_test: bool = True,
    ) -> None:
        self._in_test = in_test
        self._opaque = opaque
        self._lookup = lookup
        self._line = line
        self._scope = scope
        self._inner: list[Origin] = []
        self._known: dict[tuple[str, int, int], tuple[Origin, ...]] = {}

    def origins(self, expressions: Iterable[ast.expr]) -> tuple[Origin, ...]:
        """What produced the expressions, each once; test helpers only where nothing else is known."""
        found = list(dict.fromkeys(o for e in expressions for o in self._walk(e, self._line, 0)))
        code = [o for o in found if not o.is_test] if self._in_test else found
        return tuple(code or found)

    def inner(self) -> tuple[str, ...]:
        """Functions whose results went into the calls found so far; not the classes of mere arguments."""
        names = {f"{o.file}:{o.function}" for o in self._inner if not o.is_test and not _is_class(o)}
        return tuple(sorted(names))

    def _walk(self, node: ast.expr, line: int, depth: int) -> Iterator[Origin]:
        """The origins of an expression that stands on ``line``."""
        if depth > _MAX_DEPTH:
            return
        match node:
            case ast.Call():
                yield from self._call(node, line, depth)
            case ast.Attribute():
                yield from self._attribute(node, line, depth)
            case ast.Name():
                yield from self._name(node, line, depth)
            case _:
                for child in _operands(node):
                    yield from self._walk(child, line, depth + 1)

    def _call(self, node: ast.Call, line: int, depth: int) -> Iterator[Origin]:
        called = self._lookup.origin(node.func)
        given = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            given.insert(0, node.func.value)
        elif called is None:
            given.insert(0, node.func)
        handed = (o for argument in given for o in self._walk(argument, line, depth + 1))
        if called is None or (called.is_test and self._in_test):
            yield from [called] if called else []
            yield from handed
        else:
            self._inner.extend(handed)
            yield called

    def _attribute(self, node: ast.Attribute, line: int, depth: int) -> Iterator[Origin]:
        """Of ``price.tax`` what made ``price``, or the attribute itself where that was only the class."""
        own = self._lookup.origin(node)
        if own is not None:
            yield own
            return
        makers = list(self._walk(node.value, line, depth + 1))
        field = self._lookup.attribute(node) if self._in_test else None
        if field is not None and all(_is_constructor(m, field) for m in makers):
            yield field
        else:
            yield from makers

    def _name(self, node: ast.Name, line: int, depth: int) -> tuple[Origin, ...]:
        """What the name's value was made of; the same name again is not traced again."""
        if node.id in self._opaque:
            return ()
        key = node.id, line, depth
        if key not in self._known:
            values = values_before(self._scope, node.id, line)
            made = [o for value in values for o in self._walk(value, value.lineno, depth + 1)]
            own = self._lookup.origin(node) if not values else None
            self._known[key] = tuple(dict.fromkeys([own] if own else made))
        return self._known[key]


def _is_constructor(maker: Origin, field: Origin) -> bool:
    """Whether ``maker`` is the very class whose ``field`` is read: it made the object, not the value."""
    return field.function.startswith(maker.function.removesuffix("__init__").rstrip(".") + ".")


def _is_class(origin: Origin) -> bool:
    name = origin.function.rpartition(".")[2]
    return name == "__init__" or name[:1].isupper()


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.comprehension):
            yield child.iter


def judged(statement: ast.stmt) -> list[ast.expr]:
    """The expressions a failing statement is about; of a ``with`` block also the calls in its body.

    ``with pytest.raises(E): f(x)`` fails when ``f`` does not raise, so it is ``f`` that is judged.
    """
    match statement:
        case ast.Assert():
            return [statement.test]
        case ast.With() | ast.AsyncWith():
            inner = [e for s in statement.body for e in judged(s)]
            return inner + [item.context_expr for item in statement.items]
        case ast.For() | ast.AsyncFor():
            return [statement.iter]
        case ast.If() | ast.While():
            return [statement.test]
        case ast.Assign(value=value) | ast.AugAssign(value=value):
            return [value]
        case ast.Raise():
            return []  # what it raises is the failure itself, not a value that came from somewhere
        case _:
            return [n for n in ast.iter_child_nodes(statement) if isinstance(n, ast.expr)]


def earlier_calls(scope: ast.AST, statement: ast.stmt) -> list[ast.expr]:
    """Calls standing alone before ``statement`` that touch a name it uses, the nearest first.

    ``process(order)`` changes ``order`` in place: no assignment shows it.
    """
    names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    calls = [
        node.value
        for node in own_nodes(scope)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.lineno < statement.lineno
    ]
    touching = [c for c in calls if names & {n.id for n in ast.walk(c) if isinstance(n, ast.Name)}]
    return sorted(touching, key=lambda c: -c.lineno)


def depends_on_parameters(function: Function, statement: ast.stmt) -> bool:
    """Whether what fails here was handed in by the caller, so that the call is what the failure is about."""
    parameters = parameter_names(function)
    names = _names([statement, *_guards(function, statement)])
    for _ in range(_MAX_DEPTH):
        wider = names.union(
            *(_names(values_before(function, name, statement.lineno)) for name in names - parameters)
        )
        if wider == names:
            break
        names = wider
    return bool(names & parameters)


def parameter_names(function: Function) -> set[str]:
    """The names of the parameters, ``self`` and ``cls`` left out: they are not the caller's choice."""
    a = function.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]
    return {p.arg for p in every} - {"self", "cls"}


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def _guards(function: Function, statement: ast.stmt) -> list[ast.expr]:
    """The conditions of the ``if`` statements around ``statement``."""
    return [
        node.test
        for node in ast.walk(function)
        if isinstance(node, ast.If) and any(child is statement for child in ast.walk(node))
    ]
