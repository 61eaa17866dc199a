"""What a name stands for, read statically: no code of the program is run."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping
from typing import Any

#: Stands for "not known".
MISSING: Any = object()


class Namespaces:
    """The names that a piece of code sees, inner ones first."""

    def __init__(self, inner: Mapping[str, Any], outer: Mapping[str, Any]) -> None:
        self._namespaces = (inner, outer, vars(builtins))

    def value(self, node: ast.expr) -> Any:
        """The object that a name or a chain of attributes stands for, or :data:`MISSING`."""
        match node:
            case ast.Name(id=name):
                return next((names[name] for names in self._namespaces if name in names), MISSING)
            case ast.Attribute(value=value, attr=attr):
                owner = self.value(value)
                if owner is MISSING:
                    owner = self.class_of(value)
                return MISSING if owner is MISSING else _static(owner, attr)
            case _:
                return MISSING

    def class_of(self, node: ast.expr) -> Any:
        """The class of ``Class(...)``: its instances have the class's methods."""
        if isinstance(node, ast.Call):
            called = self.value(node.func)
            if issubclass(type(called), type):  # not isinstance, which may run a property of the program
                return called
        return MISSING


def _static(owner: Any, attr: str) -> Any:
    try:
        return inspect.getattr_static(owner, attr, MISSING)
    except Exception:  # a hostile __dict__ or __class__ must not cost the run
        return MISSING
