"""What a setting may be, said by name when it is something else."""

from __future__ import annotations

import math
from typing import TypeGuard

# Whole numbers have no end, but far enough on they are no float.
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
