"""Names that statements bind and read: origins of values, templates of raised messages."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol

from loop_close.model import Origin
from loop_close.syntax import Function


class Lookup(Protocol):
    """Looks up expressions in the running program; returns None for objects outside the project."""

    def origin(self, node: ast.expr) -> Origin | None:
        """The function, property or class that ``node`` names."""

    def attribute(self, node: ast.Attribute) -> Origin | None:
        """The plain attribute of a project class that ``node`` reads."""


_MAX_DEPTH = 6


class Tracer:
    """Finds the origins of expressions at one point of a function.

    :param scope: the function (or module) that contains the statement.
    :param line: the statement's first line: only assignments before it count.
    :param lookup: finds project objects by expression.
    :param opaque: names that are not bound in the scope (the parameters of a lambda).
    :param in_test: the scope is test code: its helpers and attributes are followed into the code under test.
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
        self._known: dict[tuple[str, int, int], tuple[Origin, ...]] = {}

    def origins(self, expressions: Iterable[ast.expr]) -> tuple[Origin, ...]:
        """The origins of the expressions, each once; test helpers only if nothing else is known."""
        found = list(dict.fromkeys(o for e in expressions for o in self._walk(e, self._line, 0)))
        code = [o for o in found if not o.is_test] if self._in_test else found
        return tuple(code or found)

    def _walk(self, node: ast.expr, line: int, depth: int) -> Iterator[Origin]:
        """The origins of an expression on ``line``."""
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
        arguments = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            arguments.insert(0, node.func.value)
        elif called is None:
            arguments.insert(0, node.func)
        from_arguments = (o for argument in arguments for o in self._walk(argument, line, depth + 1))
        if called is None or (called.is_test and self._in_test):
            yield from [called] if called else []
            yield from from_arguments
        else:
            yield called

    def _attribute(self, node: ast.Attribute, line: int, depth: int) -> Iterator[Origin]:
        """For ``price.tax`` the origins of ``price``, or the attribute itself if these are only the class."""
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
        """The origins of the name's value, cached by name, line and depth."""
        if node.id in self._opaque:
            return ()
        key = node.id, line, depth
        if key not in self._known:
            values = values_before(self._scope, node.id, line)
            traced = [o for value in values for o in self._walk(value, value.lineno, depth + 1)]
            own = self._lookup.origin(node) if not values else None
            self._known[key] = tuple(dict.fromkeys([own] if own else traced))
        return self._known[key]


def _is_constructor(maker: Origin, field: Origin) -> bool:
    """Whether ``maker`` is the class whose ``field`` is read: it made the object, but not the field's value."""
    return field.function.startswith(maker.function.removesuffix("__init__").rstrip(".") + ".")


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.comprehension):
            yield child.iter


def checked_expressions(statement: ast.stmt) -> list[ast.expr]:
    """The expressions that a failing statement tests; for a ``with`` block also those in its body.

    ``with pytest.raises(E): f(x)`` fails when ``f`` does not raise, so that the test is of ``f``.
    """
    match statement:
        case ast.Assert():
            return [statement.test]
        case ast.With() | ast.AsyncWith():
            inner = [e for s in statement.body for e in checked_expressions(s)]
            return inner + [item.context_expr for item in statement.items]
        case ast.For() | ast.AsyncFor():
            return [statement.iter]
        case ast.If() | ast.While():
            return [statement.test]
        case ast.Assign(value=value) | ast.AugAssign(value=value):
            return [value]
        case ast.Raise():
            return []  # the exception is the failure itself, not a value with an origin
        case _:
            return [n for n in ast.iter_child_nodes(statement) if isinstance(n, ast.expr)]


def earlier_calls(scope: ast.AST, statement: ast.stmt) -> list[ast.expr]:
    """Call statements before ``statement`` that touch a name it uses, the nearest first.

    ``process(order)`` may change ``order`` in place, which no assignment shows.
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
    """Whether the failing statement depends on arguments, so that the failure is about the call."""
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
    """The names of the parameters without ``self`` and ``cls``, which the caller does not choose."""
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


# --- bindings of names within a function

NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MAX_VALUES = 20


class _Binding(NamedTuple):
    """A value bound to a name.

    :ivar is_whole: the binding replaces the previous value, unlike ``x += 1``, ``x.a = 1`` and ``x[0] = 1``.
    """

    value: ast.expr
    is_whole: bool


def values_before(scope: ast.AST, name: str, line: int) -> list[ast.expr]:
    """The values that ``name`` consists of at ``line``: the last assignment before it, and later changes.

    :returns: the latest first; empty if the scope does not bind the name. Functions and classes inside the scope
        have their own names and do not count.
    """
    found: list[ast.expr] = []
    for value, is_whole in reversed(_bindings(scope).get(name, ())):
        if value.lineno < line:
            found.append(value)
            if is_whole or len(found) == _MAX_VALUES:
                break
    return found


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function or module, without those of the functions and classes inside it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, NESTED):
            yield from own_nodes(child)


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a node binds, in whatever way; those of nodes below it do not count."""
    match node:
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.alias(name=path, asname=asname):
            yield asname or path.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name


@lru_cache(maxsize=64)
def _bindings(scope: ast.AST) -> dict[str, list[_Binding]]:
    """The bindings of each name, in the order of their lines."""
    found: defaultdict[str, list[_Binding]] = defaultdict(list)
    for node in own_nodes(scope):
        for target, value in _assigned(node):
            for name, is_whole in target_names(target):
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


def target_names(target: ast.expr) -> Iterator[tuple[str, bool]]:
    """The names that a target binds (True), and those of objects that it changes (False)."""
    match target:
        case ast.Name(id=name):
            yield name, True
        case ast.Tuple() | ast.List():
            for element in target.elts:
                yield from target_names(element)
        case ast.Starred():
            yield from target_names(target.value)
        case ast.Attribute() | ast.Subscript():
            yield from ((name, False) for name, _ in target_names(target.value))


# --- messages of ``raise`` statements

#: The placeholder of a value in a template.
VALUE = "{}"
_MAX_RAISE_DEPTH = 4

_PERCENT = re.compile(r"%(?:\(\w*\))?[#0\- +]{0,5}[\d*]{0,5}(?:\.[\d*]{0,5})?[a-zA-Z]")
_BRACES = re.compile(r"\{[^{}]{0,80}\}")


def raise_template(statement: ast.stmt, scope: ast.AST | None) -> str | None:
    """The message of ``raise Error(message)`` with each value as ``{}``.

    :param scope: the function around it, in which variables with messages are looked up.
    :returns: None if the statement does not raise a new exception with a message.
    """
    if not isinstance(statement, ast.Raise) or not isinstance(statement.exc, ast.Call):
        return None
    if not statement.exc.args:
        return None
    try:
        return _text(statement.exc.args[0], scope, statement.lineno, depth=0)
    except RecursionError:  # such as a sum of a thousand strings
        return None


def _text(node: ast.expr, scope: ast.AST | None, line: int, depth: int) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr():
            return "".join(_text(part, scope, line, depth) for part in node.values)
        case ast.BinOp(op=ast.Add()):
            return _text(node.left, scope, line, depth) + _text(node.right, scope, line, depth)
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str(text))):
            return _PERCENT.sub(VALUE, text)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            return _BRACES.sub(VALUE, text)
        case ast.Name(id=name) if scope is not None and depth < 3:
            values = values_before(scope, name, line)
            return _text(values[0], scope, values[0].lineno, depth + 1) if values else VALUE
        case _:
            return VALUE


def is_reraise(statement: ast.stmt, function: Function) -> bool:
    """Whether the statement raises an exception that the function was passed, stores or caught.

    These are ``raise error`` with a parameter or the name of an ``except`` clause, and ``raise self._error``, also
    with ``.with_traceback(...)``. The result of a call or a named class is a new exception. So is that of a bare
    ``raise`` on a traceback: Python adds no frame for one that raises an exception again.
    """
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    match statement.exc:
        case ast.Call(func=ast.Attribute(value=raised, attr="with_traceback")):
            return _is_passed_in(raised, function, statement.lineno)
        case raised:
            return _is_passed_in(raised, function, statement.lineno)


def _is_passed_in(node: ast.expr, function: Function, line: int, depth: int = 0) -> bool:
    """Whether the value comes from a parameter, from ``self``, or from an ``except`` clause."""
    match node:
        case ast.Name(id=name):
            values = values_before(function, name, line) if depth < _MAX_RAISE_DEPTH else []
            if name in parameter_names(function):  # also for ``value = tp()`` in ``reraise(tp, value)``
                values = [each.func for each in values if isinstance(each, ast.Call)]
                return all(_is_passed_in(each, function, line, depth + 1) for each in values)
            if values:
                return _is_passed_in(values[0], function, values[0].lineno, depth + 1)
            return name in ("self", "cls") or name in _caught_in(function)
        case ast.Attribute(value=owner, attr=attr) if not attr[
            :1
        ].isupper():  # not ``raise self.DoesNotExist``
            return _is_passed_in(owner, function, line, depth + 1)
        case ast.Subscript(value=owner):
            return _is_passed_in(owner, function, line, depth + 1)
        case _:
            return False


def _caught_in(function: Function) -> set[str | None]:
    return {node.name for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)}


def matches(template: str, message: str) -> bool:
    """Whether ``message`` may be an instance of ``template``: it contains the literal parts in order."""
    position = 0
    for part in template.split(VALUE):
        found = message.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True
