"""Live objects, looked at without running code of the program: names, attributes, items, fields.

Objects are looked at by their exact type, never by ``isinstance`` or an attribute that their class may have changed:
a lazy proxy would create its object when asked for its class. pure-eval reads a class by way of its metaclass, whose
``__getattribute__`` then runs; so names are evaluated here.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import sys
from collections.abc import Mapping
from inspect import CO_OPTIMIZED
from itertools import islice
from types import (
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

#: Means "unknown".
MISSING: Any = object()
#: Of a class, whatever its metaclass says: its own namespace, itself with its bases, and its qualified name.
namespace_of = vars(type)["__dict__"].__get__
bases_of = vars(type)["__mro__"].__get__
qualname_of = vars(type)["__qualname__"].__get__
#: Of a module, its namespace.
variables_of = vars(ModuleType)["__dict__"].__get__
_Cached = type(functools.lru_cache(len))
_GETTER = vars(property)["fget"].__get__
_ATOMS = frozenset(map(id, (type(None), bool, int, float, complex, str, bytes)))
#: Items of larger containers are not looked up.
_MOST = 10_000


def is_atom(value: Any) -> bool:
    """Whether it can be hashed and compared without running code of the program."""
    return id(type(value)) in _ATOMS or (type(value) is tuple and all(map(is_atom, value[:_MOST])))


def class_attribute(cls: type, name: str) -> Any:
    """The value of a name in the class or its nearest base, or :data:`MISSING`."""
    return next((names[name] for names in map(namespace_of, bases_of(cls)) if name in names), MISSING)


def builtin_of(cls: type, method: str, *bases: type) -> Any:
    """The first of some builtin types whose method the class uses unchanged; None for none."""
    used = class_attribute(cls, method)
    return next((base for base in bases if used is namespace_of(base)[method]), None)


def fields_of(owner: Any) -> dict[str, Any]:
    """The attributes that an instance itself stores, those in slots first."""
    cls = type(owner)
    found = {
        name: _in_slot(slot, owner)
        for base in reversed(bases_of(cls))
        for name, slot in namespace_of(base).items()
        if type(slot) is MemberDescriptorType and not name.startswith("__")
    }
    where = class_attribute(cls, "__dict__")  # the program may define it
    is_builtin = type(where) is GetSetDescriptorType or type(where) is MemberDescriptorType
    own = where.__get__(owner) if is_builtin else None
    found |= own if type(own) is dict else {}
    return {name: value for name, value in found.items() if type(name) is str and value is not MISSING}


def _in_slot(slot: MemberDescriptorType, owner: Any) -> Any:
    try:
        return slot.__get__(owner)
    except AttributeError:
        return MISSING


def declared_fields(cls: type) -> dict[str, tuple[bool, bool]]:
    """The fields of a dataclass, each with whether it is shown and compared; else empty."""
    fields = class_attribute(cls, "__dataclass_fields__")
    plain = [*fields.values()] if type(fields) is dict else []
    return {each.name: (each.repr, each.compare) for each in plain if type(each) is dataclasses.Field}


def tuple_names(cls: type) -> tuple[str, ...]:
    """The names of a named tuple's items; empty for other classes."""
    names = class_attribute(cls, "_fields") if issubclass(cls, tuple) else ()
    return names if type(names) is tuple and all(type(name) is str for name in names) else ()


def attribute_of(owner: Any, name: str) -> Any:
    """What an object or its class stores by a name, or :data:`MISSING`. A property or a method is returned itself."""
    cls = type(owner)
    if issubclass(cls, ModuleType):
        return variables_of(owner).get(name, MISSING)
    if issubclass(cls, type):
        return class_attribute(owner, name)
    found = class_attribute(cls, name)
    if name in tuple_names(cls):
        return tuple.__getitem__(owner, tuple_names(cls).index(name))
    if type(class_attribute(cls, "__getattribute__")) is not WrapperDescriptorType:
        return MISSING
    if found is not MISSING and class_attribute(type(found), "__set__") is not MISSING:
        return _in_slot(found, owner) if type(found) is MemberDescriptorType else found
    return fields_of(owner).get(name, found)


def item_of(owner: Any, key: Any) -> Any:
    """The item of a list, a tuple or a dict, or :data:`MISSING`."""
    base = builtin_of(type(owner), "__getitem__", list, tuple, dict)
    if base is None or not is_atom(key):
        return MISSING
    if base is dict:  # not by its hash: one of the keys may be an object of the program
        pairs = islice(dict.items(owner), _MOST)
        return next((value for each, value in pairs if type(each) is type(key) and each == key), MISSING)
    is_there = type(key) is int and -base.__len__(owner) <= key < base.__len__(owner)
    return base.__getitem__(owner, key) if is_there else MISSING


def local_names(frame: FrameType) -> dict[str, Any]:
    """The local names; none for a class body with a namespace of its metaclass."""
    found = frame.f_locals
    return dict(found) if frame.f_code.co_flags & CO_OPTIMIZED or type(found) is dict else {}


def global_names(frame: FrameType) -> Mapping[str, Any]:
    """The global names; none for a custom mapping, as with ``exec``."""
    return frame.f_globals if type(frame.f_globals) is dict else {}


class Names:
    """The names that the code of a frame sees, and the values of expressions made of them."""

    def __init__(self, frame: FrameType) -> None:
        self._namespaces = (local_names(frame), global_names(frame), vars(builtins))

    def value(self, node: ast.expr) -> Any:
        """The object of a literal, a name, or a chain of attributes and items; or :data:`MISSING`."""
        match node:
            case ast.Name(id=name):
                return next((names[name] for names in self._namespaces if name in names), MISSING)
            case ast.Attribute(value=inner, attr=name):
                owner = self.value(inner)
                owner = self.class_of(inner) if owner is MISSING else owner
                return MISSING if owner is MISSING else attribute_of(owner, name)
            case ast.Subscript(value=inner, slice=index):
                return item_of(self.value(inner), self.value(index))
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return MISSING

    def class_of(self, node: ast.expr) -> Any:
        """The class of ``Class(...)``: its instances have the class's methods."""
        called = self.value(node.func) if isinstance(node, ast.Call) else MISSING
        return called if issubclass(type(called), type) else MISSING

    def data(self, node: ast.expr) -> Any:
        """As :meth:`value`, without functions and properties, which compute a value."""
        found = self.value(node)
        return found if class_attribute(type(found), "__get__") is MISSING else MISSING


def unwrap(found: Any) -> Any:
    """The plain function behind methods, properties, partials and decorators that keep ``__wrapped__``."""
    for _ in range(10):
        kind = type(found)
        if kind is staticmethod or kind is classmethod or kind is MethodType:
            found = found.__func__
        elif issubclass(kind, property):
            found = _GETTER(found)
        elif kind is functools.partial or kind is functools.cached_property:
            found = found.func
        elif kind is _Cached or (kind is FunctionType and "__wrapped__" in vars(found)):
            found = vars(found)["__wrapped__"]
        else:
            break
    return found


def file_of_class(cls: type) -> str:
    """The file of the loaded module that the class names as its own; empty if unknown."""
    name = namespace_of(cls).get("__module__")
    module = sys.modules.get(name) if type(name) is str else None
    filename = variables_of(module).get("__file__") if issubclass(type(module), ModuleType) else None
    return filename if type(filename) is str else ""
