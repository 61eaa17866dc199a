"""The moment from which on a failing test runs code only to tell how it failed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import CodeType, FunctionType

#: Among the lines that ran, where telling began: a ``__repr__`` that runs from here on is none that was tested.
MARK = (0, 0)
# What turns an exception and the operands of an assertion into words. Where one is gone, such reprs just count.
_TELLING = (
    ("pytest", "ExceptionInfo.getrepr"),
    ("_pytest.assertion.rewrite", "_saferepr"),
    ("_pytest.assertion.rewrite", "_call_reprcompare"),
    ("unittest.util", "safe_repr"),
)


def telling_codes() -> dict[int, CodeType]:
    """The code objects of those functions that are there, by id."""
    found = (_attribute(sys.modules.get(module), name) for module, name in _TELLING)
    return {id(f.__code__): f.__code__ for f in found if isinstance(f, FunctionType)}


def _attribute(owner: object, path: str) -> object:
    for name in path.split("."):
        owner = getattr(owner, name, None)
    return owner


def until_told(ran: Mapping[tuple[int, int], None]) -> Sequence[tuple[int, int]]:
    """The lines up to where it was told how the test failed; all where it never was."""
    hits = list(ran)
    return hits[: hits.index(MARK)] if MARK in ran else hits


def without_marks(ran: Mapping[tuple[int, int], None]) -> Sequence[tuple[int, int]]:
    """The lines alone."""
    return [hit for hit in ran if hit != MARK] if MARK in ran else list(ran)
