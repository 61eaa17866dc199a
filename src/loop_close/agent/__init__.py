"""Judging the loop of an agent. Here: reading a saved state field by field, and checking settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

# A count beyond it was not counted by us, and not every JSON reader keeps it.
_UNCOUNTED = 1 << 53


class StateError(ValueError):
    """A saved state that cannot be gone on from; the text names the field."""


class StateReader:
    """One object of a saved state.

    :param value: decoded JSON.
    :param path: its place in the state, for the message.
    """

    def __init__(self, value: object, path: str = "state") -> None:
        if not isinstance(value, Mapping):
            raise StateError(f"{path} is {_kind(value)}, expected an object")
        self._fields = value
        self.path = path

    def check_version(self, version: int) -> None:
        """Raise unless the state is of this version.

        :raises StateError: for another, or none.
        """
        found = self._get("version")
        if isinstance(found, bool) or found != version:
            raise StateError(f"{self.path}.version is {_shown(found)}; this release reads version {version}")

    def whole(self, name: str) -> int:
        """A whole number, not below 0.

        :raises StateError: when it is something else or missing; so the others.
        """
        value = self._get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _UNCOUNTED:
            raise self._error(name, value, "a whole number of at least 0")
        return value

    def whole_or(self, name: str, other: int) -> int:
        """A whole number, not below 0, or that other one."""
        return other if self._get(name) == other else self.whole(name)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._get(name)
        if not isinstance(value, bool):
            raise self._error(name, value, "true or false")
        return value

    def names(self) -> list[str]:
        """The names of its fields."""
        return [str(name) for name in self._fields]

    def amount(self, name: str) -> float:
        """A finite number, not below 0."""
        value = self._get(name)
        if not is_finite(value) or value < 0:
            raise self._error(name, value, "a finite number of at least 0")
        return float(value)

    def text(self, name: str, among: Sequence[str] = ()) -> str:
        """A text; if ``among`` is not empty, one of these."""
        value = self._get(name)
        if not isinstance(value, str) or (among and value not in among):
            wanted = f"one of {', '.join(among)}" if among else "a string"
            raise self._error(name, value, wanted)
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        values = self._list(name)
        for at, value in enumerate(values):
            if not isinstance(value, str):
                raise self._error(f"{name}[{at}]", value, "a string")
        return [str(value) for value in values]

    def wholes(self, name: str) -> list[int]:
        """A list of whole numbers, none below 0."""
        numbered = StateReader({str(at): v for at, v in enumerate(self._list(name))}, f"{self.path}.{name}")
        return [numbered.whole(at) for at in numbered._fields]

    def record(self, name: str) -> StateReader:
        """An object."""
        return StateReader(self._get(name), f"{self.path}.{name}")

    def plain(self, name: str) -> Mapping[str, Any]:
        """An object as it is, for another reader."""
        return self.record(name)._fields

    def records(self, name: str) -> list[StateReader]:
        """A list of objects."""
        return [StateReader(v, f"{self.path}.{name}[{at}]") for at, v in enumerate(self._list(name))]

    def named(self, name: str) -> dict[str, StateReader]:
        """Objects by their names."""
        inner = self.record(name)
        return {str(key): StateReader(v, f"{inner.path}[{_shown(key)}]") for key, v in inner._fields.items()}

    def optional(self, name: str) -> StateReader | None:
        """An object, or None if none was saved."""
        return None if self._get(name) is None else self.record(name)

    def _list(self, name: str) -> Sequence[object]:
        value = self._get(name)
        if not isinstance(value, list | tuple):
            raise self._error(name, value, "a list")
        return value

    def _get(self, name: str) -> object:
        if name not in self._fields:
            raise StateError(f"{self.path}.{name} is missing")
        value: object = self._fields[name]
        return value

    def _error(self, name: str, value: object, wanted: str) -> StateError:
        return StateError(f"{self.path}.{name} is {_shown(value)}, expected {wanted}")


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
