"""What ran as single numbers, which are cheaper to keep and to add up than pairs: a line of a function, or a mark."""

from __future__ import annotations

from collections.abc import Iterable

#: A function by its number, and a line of it or one of the marks below.
Hit = int
#: Marks stand in the place of a line's number, as lines begin at 1: the function ran at all.
CALLED = 0
#: The function gave None where a value was wanted.
NOTHING = -1

_BITS = 32  # numbers of lines take 31
_LINE = (1 << _BITS) - 1


def called(number: int) -> Hit:
    """That a function ran. With the number of a line, or with a mark, added to it: that this line ran."""
    return (number << _BITS) - NOTHING


def function_of(hit: Hit) -> int:
    """The number of the function."""
    return hit >> _BITS


def line_of(hit: Hit) -> int:
    """The line, or the mark in its place."""
    return (hit & _LINE) + NOTHING


def functions_of(hits: Iterable[Hit]) -> set[int]:
    """The numbers of the functions, each once."""
    return {hit >> _BITS for hit in hits}
