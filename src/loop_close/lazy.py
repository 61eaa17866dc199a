"""Classes and patterns that are completed when they are first used.

A run imports modules with many records and regular expressions, and uses few of them. For each frozen dataclass the
standard library generates and compiles six methods, for a named tuple it compiles every annotation. That was a third of
what a small run cost. The tools here are used like the originals, and type checkers see the originals.
"""

from __future__ import annotations

import dataclasses
import re
from collections import namedtuple
from collections.abc import Callable, Iterable
from functools import partial
from inspect import Signature, signature
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, AnyStr, cast

# Programs under test replace functions while we run.
_compile_pattern, _set = re.compile, object.__setattr__
_execute = exec
_fields: Callable[[Any], tuple[dataclasses.Field[Any], ...]] = dataclasses.fields


def pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled when one of its methods is first used.

    :param source: as for :func:`re.compile`, like ``flags``; an error in it shows at the first use.
    """
    return cast("re.Pattern[AnyStr]", _Uncompiled(source, flags))


class _Uncompiled:
    """The attributes of a compiled pattern, each looked up there once."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self.pattern = source
        self._flags = flags

    def __reduce__(self) -> tuple[Any, ...]:
        return _Uncompiled, (self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(_compile_pattern(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from typing import NamedTuple as NamedTuple
else:

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool = False) -> Callable[[type], type]:
        """As :func:`dataclasses.dataclass`, for frozen classes with slots.

        ``__init__`` is generated when it is first called; all classes share their other methods.

        Users may derive classes from it; lazy ones derive from none.

        :raises TypeError: for other classes.
        """
        if not (frozen and slots):
            raise TypeError("a lazy dataclass is frozen and has slots")
        return partial(_completed_later, kw_only=kw_only)

    class _NamedTupleType(type):
        """Makes each subclass of :class:`NamedTuple`."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            names = tuple(body["__annotations__"])
            defaults = {each: body.pop(each) for each in names if each in body}
            common = {"__slots__": (), "_fields": names, "_field_defaults": defaults, "__match_args__": names}
            return type(name, (tuple,), {**body, **common, **_UNTIL_FIRST_USE})

    class NamedTuple(metaclass=_NamedTupleType):
        """As :class:`typing.NamedTuple`; annotations stay as they are written."""


def _new_first(cls: Any, *values: Any, **given: Any) -> Any:
    """Make the first instance of a named tuple."""
    _complete(cls)
    return cls(*values, **given)


def _make_first(cls: Any, values: Iterable[Any]) -> Any:
    """Make the first instance of a named tuple by its ``_make``."""
    _complete(cls)
    return cls._make(values)


_UNTIL_FIRST_USE = {"__new__": _new_first, "_make": classmethod(_make_first)}


def complete(*classes: Any) -> None:
    """Complete named tuples for code that makes instances without calling the class, as msgspec does."""
    for cls in classes:
        if cls.__new__ is _new_first:
            _complete(cls)


def _complete(cls: Any) -> None:
    """Give a class its fields and methods, as the standard library generates them."""
    owner = next(each for each in cls.__mro__ if "_field_defaults" in vars(each))
    make: Any = namedtuple
    made = make(owner.__name__, owner._fields, defaults=owner._field_defaults.values())
    for name, value in vars(made).items():
        if name not in vars(owner):
            setattr(owner, name, value)
    for name in _UNTIL_FIRST_USE:  # last: then another thread may make instances, which need the rest
        setattr(owner, name, vars(made)[name])


def _completed_later(cls: Any, kw_only: bool) -> Any:
    """The class as a dataclass without an ``__init__`` of its own."""
    if cls.__bases__ != (object,):
        raise TypeError(f"{cls.__qualname__} has base classes, which a lazy dataclass cannot have")
    cls.__doc__ = cls.__doc__ or cls.__name__  # without one, the signature would be made for it
    make = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=True)
    made: Any = make(cls)
    for name, method in vars(_Methods).items():
        if isinstance(method, FunctionType):
            setattr(made, name, method)
    made._values = attrgetter(*made.__slots__)
    made.__init__ = _first_init(made)
    made.__signature__ = _LazySignature(made)
    params = made.__dataclass_params__  # what the standard library and others go by
    params.init = params.repr = params.eq = params.frozen = True
    return made


def _first_init(cls: Any) -> Callable[..., None]:
    """What is ``__init__`` of the class, also for classes derived from it, until it is called."""

    def complete(self: Any, *values: Any, **given: Any) -> None:
        cls.__init__ = init = _init_of(cls)
        init(self, *values, **given)

    return complete


class _Methods:
    """The methods of all lazy dataclasses."""

    __slots__: tuple[str, ...] = ()
    _values: Callable[[Any], Any]

    @recursive_repr()
    def __repr__(self) -> str:
        pairs = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in _fields(self))
        return f"{type(self).__qualname__}({pairs})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._values(self) == self._values(other))

    def __hash__(self) -> int:
        return hash(self._values(self))

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self) -> list[Any]:
        return [getattr(self, each.name) for each in _fields(self)]

    def __setstate__(self, state: list[Any]) -> None:
        for each, value in zip(_fields(self), state, strict=True):
            _set(self, each.name, value)


class _LazySignature:
    """The signature of a class, for :func:`inspect.signature`."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, record: object, cls: Any) -> Signature:
        if cls.__init__ is not self._cls.__init__:
            raise AttributeError("__signature__")  # a derived class with an __init__ of its own
        made = signature(_init_of(cls))
        return made.replace(parameters=list(made.parameters.values())[1:])


def _init_of(cls: Any) -> Callable[..., None]:
    """The ``__init__`` of a dataclass, as the standard library generates it."""
    scope: dict[str, Any] = {"_set": _set, "_missing": dataclasses.MISSING}
    parameters, lines = ["self"], []
    for number, each in enumerate(_fields(cls)):
        name, value = each.name, each.name
        if each.kw_only and "*" not in parameters:
            parameters.append("*")
        if each.default_factory is not dataclasses.MISSING:
            scope[f"_{number}"] = each.default_factory
            parameters.append(f"{name}=_missing")
            value = f"_{number}() if {name} is _missing else {name}"
        elif each.default is not dataclasses.MISSING:
            scope[f"_{number}"] = each.default
            parameters.append(f"{name}=_{number}")
        else:
            parameters.append(name)
        lines.append(f"    _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    _execute("\n".join((f"def __init__({', '.join(parameters)}):", *lines)), scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {each.name: each.type for each in _fields(cls)} | {"return": None}
    return made
