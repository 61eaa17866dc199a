"""What a name stands for, read statically: no code of the program is run."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping
from types import GetSetDescriptorType, ModuleType
from typing import Any

#: Stands for "not known".
MISSING: Any = object()
#: What a class defines itself, by name, whatever its metaclass answers; the classes that it derives from, itself first.
namespace_of = vars(type)["__dict__"].__get__
mro_of = vars(type)["__mro__"].__get__
#: What a module holds, by name.
variables_of = vars(ModuleType)["__dict__"].__get__


def attributes_of(obj: Any) -> dict[str, Any]:
    """The ``__dict__`` of an instance; empty for one that has none, or whose class defines what that is."""
    own = next(
        (space["__dict__"] for c in mro_of(type(obj)) if "__dict__" in (space := namespace_of(c))), None
    )
    found = own.__get__(obj) if type(own) is GetSetDescriptorType else None
    return found if type(found) is dict else {}


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
