"""Where the instances of a class get an attribute: the assignment in a method, else the one in the class itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from loop_close.syntax.index import Function, SourceIndex, class_named

#: What sets up the instances of a class.
MAKERS = ("__init__", "__new__", "__post_init__", "__attrs_post_init__")


class Assignment(NamedTuple):
    """An assignment and the definition that it stands in, by line.

    :ivar line: of the assignment.
    :ivar first: the ``def``'s, ``last`` the end of the method; for one in the class itself its own lines.
    """

    line: int
    first: int
    last: int


def assignment(index: SourceIndex, cls: str, attribute: str) -> Assignment | None:
    """The first assignment of ``self.attribute``, in what makes the instances if there is one there.

    :param cls: the qualified name of the class; what it inherits is not looked at.
    """
    node = class_named(index, cls)
    if node is None:
        return None
    methods = [each for each in node.body if isinstance(each, Function)]
    for method in sorted(methods, key=lambda each: each.name not in MAKERS):
        if lines := list(_assigned(method, attribute)):
            return Assignment(min(lines), method.lineno, method.end_lineno or method.lineno)
    return next(_in_class(node, attribute), None)


def _assigned(method: Function, attribute: str) -> Iterator[int]:
    names = [each.arg for each in (*method.args.posonlyargs, *method.args.args)[:1]]
    for node in ast.walk(method):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Store()):
                if attr == attribute and name in names:
                    yield node.lineno


def _in_class(node: ast.ClassDef, attribute: str) -> Iterator[Assignment]:
    for each in node.body:
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == attribute for target in targets):
            yield Assignment(each.lineno, each.lineno, each.end_lineno or each.lineno)
