"""What is asked and told of what ran at import: light, as green runs load it as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from loop_close.calls import Making


class CodeOfTest(NamedTuple):
    """What a test is made of.

    :ivar file: of the test; its code may stand elsewhere.
    :ivar codes: of the test, its fixtures, and what sets up its class.
    """

    file: str
    codes: tuple[CodeType, ...]


#: Gives the code of a test by its node id, None for a module that cannot be collected.
CodeOf = Callable[[str], CodeOfTest | None]


class Made(NamedTuple):
    """What ran at import, and what uses what it made.

    :ivar makings: see :class:`loop_close.calls.Calls`.
    :ivar named: how many passing tests name what a function made, by its number.
    :ivar by_function: positions of what the code of a function names, by its number.
    :ivar by_failed: those of what the code of a failing test names, by its node id.
    """

    makings: tuple[Making, ...] = ()
    named: Mapping[int, int] = {}
    by_function: Mapping[int, frozenset[int]] = {}
    by_failed: Mapping[str, frozenset[int]] = {}
