"""Judging the loop of an agent. Here: checking saved states, and settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard, cast

from loop_close.records import Record

# A count beyond it was not counted by us, and not every JSON reader keeps it.
_UNCOUNTED = 1 << 53


class StateError(ValueError):
    """A saved state that cannot be gone on from; the text names the field."""


#: Shapes of numbers, in words.
WHOLE, AMOUNT = "a whole number of at least 0", "a finite number of at least 0"


class Or(Record, frozen=True):
    """A shape, or one value that may be in its place."""

    value: object
    shape: Any


class ByName(Record, frozen=True):
    """An object with any names, its values of one shape."""

    shape: Any


def checked_state(value: object, shape: Any, path: str = "state") -> Any:
    """What a shape has of a saved state, as it was decoded from JSON.

    :param shape: ``WHOLE``, ``AMOUNT``, ``str``, ``bool``, or ``dict`` for any object. A tuple has the texts that there
        are, a list the shape of its items, a mapping those of an object's fields: one with ``?`` behind its name may be
        missing. A number is the version that it has to be.
    :param path: its place in the state, for the message.
    :raises StateError: naming the field that is missing, or has another shape.
    """
    if isinstance(shape, Or):
        return value if value == shape.value else checked_state(value, shape.shape, path)
    is_object = isinstance(shape, Mapping | ByName)
    if (is_object or shape is dict) and not isinstance(value, Mapping):
        raise StateError(f"{path} is {_kind(value)}, expected an object")
    if is_object:
        return dict(_checked_fields(cast("Mapping[str, object]", value), shape, path))
    if isinstance(shape, list):
        if not isinstance(value, list | tuple):
            raise StateError(f"{path} is {_shown(value)}, expected a list")
        return [checked_state(each, shape[0], f"{path}[{at}]") for at, each in enumerate(value)]
    if isinstance(shape, int) and (isinstance(value, bool) or value != shape):
        raise StateError(f"{path} is {_shown(value)}; this release reads version {shape}")
    if not _has_shape(value, shape):
        wanted = {str: "a string", bool: "true or false"}.get(shape, shape)
        wanted = f"one of {', '.join(shape)}" if isinstance(shape, tuple) else wanted
        raise StateError(f"{path} is {_shown(value)}, expected {wanted}")
    return value


def _checked_fields(
    value: Mapping[str, object], shape: Mapping[str, Any] | ByName, path: str
) -> Iterator[tuple[str, Any]]:
    if isinstance(shape, ByName):
        for name, each in value.items():
            yield str(name), checked_state(each, shape.shape, f"{path}[{_shown(name)}]")
        return
    for key, inner in shape.items():
        name = key.removesuffix("?")
        if name in value:
            yield name, checked_state(value[name], inner, f"{path}.{name}")
        elif name == key:
            raise StateError(f"{path}.{name} is missing")


def _has_shape(value: object, shape: Any) -> bool:
    if shape == WHOLE:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _UNCOUNTED
    if shape == AMOUNT:
        return is_finite(value) and value >= 0
    if isinstance(shape, tuple):
        return isinstance(value, str) and value in shape
    return isinstance(shape, int) or isinstance(value, Mapping if shape is dict else shape)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return ascii(value[:40])
    return str(value) if value is None or isinstance(value, bool | float) else _kind(value)


def _kind(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _UNCOUNTED:
        return str(value)  # a longer one may have more digits than Python spells
    return f"of type {type(value).__name__}"


# --- what a setting may be, said by name when it is something else

# Whole numbers have no limit, but a float cannot hold larger ones.
_LARGEST = 1e300


def check_whole(name: str, value: object, least: int, *, is_endless: bool = False) -> None:
    """Raise unless the value is a whole number.

    :param is_endless: ``math.inf`` will do, too: no limit.
    :raises ValueError: naming the setting, its value and what it takes.
    """
    is_whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if is_whole or (is_endless and value == math.inf):
        return
    other = ", or math.inf for no limit" if is_endless else ""
    raise ValueError(f"{name} is {value!r}: it must be a whole number of at least {least}{other}")


def check_above_zero(name: str, value: object) -> None:
    """Raise unless the value is a number above 0, ``math.inf`` among them.

    :raises ValueError: as :func:`check_whole`.
    """
    if not (is_number(value) and value > 0):
        raise ValueError(f"{name} is {value!r}: it must be a number above 0, or math.inf for no limit")


def check_share(name: str, value: object) -> None:
    """Raise unless the value is a number from 0 to 1.

    :raises ValueError: as :func:`check_whole`.
    """
    if not (is_number(value) and 0 <= value <= 1):
        raise ValueError(f"{name} is {value!r}: it must be a number from 0 to 1")


def check_amount(name: str, value: object) -> None:
    """Raise unless the value is a finite number that is not below 0.

    :raises ValueError: as :func:`check_whole`.
    """
    if not (is_finite(value) and value >= 0):
        raise ValueError(f"{name} is {value!r}: it must be a finite number, at least 0")


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is an ``int`` or a ``float``; a ``bool`` is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: object) -> TypeGuard[int | float]:
    """Whether it is a number that can be reckoned with."""
    return is_number(value) and -_LARGEST < value < _LARGEST
