"""What a ``raise`` statement says: the fixed part of its message, or that the exception was made elsewhere."""

from __future__ import annotations

import ast
import re

from loop_close.syntax.bindings import values_before
from loop_close.syntax.index import Function
from loop_close.syntax.uses import parameter_names

#: Stands for a value inside a template.
VALUE = "{}"
_MAX_DEPTH = 4

_PERCENT = re.compile(r"%(?:\(\w*\))?[#0\- +]{0,5}[\d*]{0,5}(?:\.[\d*]{0,5})?[a-zA-Z]")
_BRACES = re.compile(r"\{[^{}]{0,80}\}")


def raise_template(statement: ast.stmt, scope: ast.AST | None) -> str | None:
    """The message of ``raise Error(message)`` with each value as ``{}``.

    :param scope: the function around it, where a message kept in a variable is looked up.
    :returns: None when the statement raises no new exception or gives it no text.
    """
    if not isinstance(statement, ast.Raise) or not isinstance(statement.exc, ast.Call):
        return None
    if not statement.exc.args:
        return None
    try:
        return _text(statement.exc.args[0], scope, statement.lineno, depth=0)
    except RecursionError:  # a sum of a thousand strings
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


def only_raises_again(statement: ast.stmt, function: Function) -> bool:
    """Whether the statement raises an exception that the function was given, keeps or caught.

    ``raise``, ``raise error`` of a parameter or an ``except`` clause, ``raise self._error``, each also with
    ``.with_traceback(...)``. What a call makes, or the class that is named, is a new exception.
    """
    if not isinstance(statement, ast.Raise):
        return False
    match statement.exc:
        case None:
            return True
        case ast.Call(func=ast.Attribute(value=raised, attr="with_traceback")):
            return _is_given(raised, function, statement.lineno)
        case raised:
            return _is_given(raised, function, statement.lineno)


def _is_given(node: ast.expr, function: Function, line: int, depth: int = 0) -> bool:
    """Whether the value comes from a parameter, from ``self``, or from an ``except`` clause."""
    match node:
        case ast.Name(id=name):
            values = values_before(function, name, line) if depth < _MAX_DEPTH else []
            if name in parameter_names(
                function
            ):  # ``value = tp()`` in ``reraise(tp, value)`` is given as well
                values = [each.func for each in values if isinstance(each, ast.Call)]
                return all(_is_given(each, function, line, depth + 1) for each in values)
            if values:
                return _is_given(values[0], function, values[0].lineno, depth + 1)
            return name in ("self", "cls") or name in _caught_in(function)
        case ast.Attribute(value=owner, attr=attr) if not attr[
            :1
        ].isupper():  # not ``raise self.DoesNotExist``
            return _is_given(owner, function, line, depth + 1)
        case ast.Subscript(value=owner):
            return _is_given(owner, function, line, depth + 1)
        case _:
            return False


def _caught_in(function: Function) -> set[str | None]:
    return {node.name for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)}


def matches(template: str, message: str) -> bool:
    """Whether ``message`` can have come from ``template``: its fixed parts stand in it, in order."""
    position = 0
    for part in template.split(VALUE):
        found = message.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True
