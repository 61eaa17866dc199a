"""What a name stands for, read statically: no code of the program is run."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Mapping
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

#: Stands for "not known".
MISSING: Any = object()
#: Of a class, whatever its metaclass says: its own namespace, itself with its bases, and its qualified name.
namespace_of = vars(type)["__dict__"].__get__
bases_of = vars(type)["__mro__"].__get__
qualname_of = vars(type)["__qualname__"].__get__
#: Of a module, its namespace.
variables_of = vars(ModuleType)["__dict__"].__get__
_BUILTIN = GetSetDescriptorType, MemberDescriptorType


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


def class_attribute(cls: type, name: str) -> Any:
    """What the class or the nearest of its bases binds the name to, or :data:`MISSING`."""
    return next((names[name] for names in map(namespace_of, bases_of(cls)) if name in names), MISSING)


class Layout(NamedTuple):
    """Where the instances of a class hold their attributes.

    :ivar slots: by name, those of the last base first.
    :ivar namespace: gets the ``__dict__`` of an instance; None where there is none, or the program's own.
    """

    slots: Mapping[str, MemberDescriptorType]
    namespace: Any


def layout_of(cls: type) -> Layout:
    """Where the instances of a class hold their attributes."""
    slots = {
        name: slot
        for base in reversed(bases_of(cls))
        for name, slot in namespace_of(base).items()
        if type(slot) is MemberDescriptorType and type(name) is str and not name.startswith("__")
    }
    where = class_attribute(cls, "__dict__")
    return Layout(slots, where.__get__ if type(where) in _BUILTIN else None)


def instance_fields(owner: Any, layout: Layout | None = None) -> dict[str, Any]:
    """The attributes that an instance itself holds, those in slots first.

    :param layout: that of its class, where it is known.
    """
    layout = layout or layout_of(type(owner))
    held = {name: slot_value(slot, owner) for name, slot in layout.slots.items()}
    own = layout.namespace(owner) if layout.namespace is not None else None
    if type(own) is dict:
        held |= {name: value for name, value in own.items() if type(name) is str}
    return {name: value for name, value in held.items() if value is not MISSING}


def slot_value(slot: MemberDescriptorType, owner: Any) -> Any:
    """The value in a slot, or :data:`MISSING` where it is empty."""
    try:
        return slot.__get__(owner)
    except AttributeError:
        return MISSING


def file_of_class(cls: type) -> str:
    """The file of the module that the class names as its own; empty where that is not known."""
    return file_of_module(namespace_of(cls).get("__module__"))


def file_of_module(name: Any) -> str:
    """The file that the module of a name was loaded from; empty where that is not known."""
    module = sys.modules.get(name) if type(name) is str else None
    filename = variables_of(module).get("__file__") if issubclass(type(module), ModuleType) else None
    return filename if type(filename) is str else ""
