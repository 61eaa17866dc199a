"""The fixed part of a raised message, as the ``raise`` statement spells it."""

from __future__ import annotations

import ast
import re

from loop_close.syntax.bindings import values_before

#: Stands for a value inside a template.
VALUE = "{}"

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


def matches(template: str, message: str) -> bool:
    """Whether ``message`` can have come from ``template``: its fixed parts stand in it, in order."""
    position = 0
    for part in template.split(VALUE):
        found = message.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True
