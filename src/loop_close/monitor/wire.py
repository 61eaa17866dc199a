"""Calls as plain values, as workers send them."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

from loop_close.calls import Called, Calls, Making, Swallowed
from loop_close.monitor.count import traces

_Line = tuple[int, int]  # the position of a function, and the line's number
_FIELDS = Called._fields
_SWALLOWED_FIELDS = Swallowed._fields


def to_wire(calls: Calls) -> dict[str, Any]:
    """The record as dictionaries, lists, strings and numbers.

    The lines of failing tests may be millions, which execnet would write one by one: they go as one string each.
    """
    numbers: dict[_Line, int] = {}
    failed = {
        nodeid: _packed(numbers.setdefault(hit, len(numbers)) for hit in ran)
        for nodeid, ran in calls.failed.items()
    }
    return {
        "passed": calls.passed,
        "omitted": calls.omitted,
        "functions": [_row(each, _FIELDS) for each in calls.functions],
        "modules": sorted(calls.modules),
        "gave_none": {nodeid: sorted(each) for nodeid, each in calls.gave_none.items()},
        "hits": _packed(number for hit in numbers for number in hit),
        "failed": failed,
        "makings": [_making_row(each) for each in calls.makings],
        "uses": {nodeid: sorted(each) for nodeid, each in calls.uses.items()},
        "swallowed": [_row(each, _SWALLOWED_FIELDS) for each in calls.swallowed],
        "cut": calls.cut,
        "passed_over": calls.passed_over,
    }


def _packed(numbers: Iterable[int]) -> str:
    return _little(array("I", numbers)).tobytes().hex()


def _numbers(sent: str) -> array[int]:
    return _little(array("I", bytes.fromhex(sent)))


def _little(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _row(each: Called | Swallowed, names: Iterable[str]) -> list[Any]:
    values = [getattr(each, name) for name in names]
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return dict(value) if isinstance(value, Mapping) else value


def _making_row(each: Making) -> list[Any]:
    return [each.file, each.line, each.column, _packed(sorted(each.ran)), _packed(sorted(each.needs))]


def _making(row: Iterable[Any]) -> Making:
    file, line, column, ran, needs = row
    ran, needs = frozenset(_numbers(ran)), frozenset(_numbers(needs))
    return Making(file=file, line=line, column=column, ran=ran, needs=needs)


def _called(row: Iterable[Any]) -> Called:
    values = dict(zip(_FIELDS, row, strict=True))
    return Called(**{**values, "uses": frozenset(values["uses"]), "at_import": tuple(values["at_import"])})


def _swallowed(row: Iterable[Any]) -> Swallowed:
    values = dict(zip(_SWALLOWED_FIELDS, row, strict=True))
    return Swallowed(**{**values, "failed": frozenset(values["failed"])})


def from_wire(plain: Mapping[str, Any]) -> Calls:
    """The record again."""
    flat = _numbers(plain["hits"])
    hits = list(zip(flat[::2], flat[1::2], strict=True))
    return Calls(
        passed=plain["passed"],
        omitted=plain["omitted"],
        modules=frozenset(plain["modules"]),
        functions=tuple(map(_called, plain["functions"])),
        failed=traces({nodeid: _numbers(sent) for nodeid, sent in plain["failed"].items()}, hits),
        gave_none={nodeid: frozenset(each) for nodeid, each in plain["gave_none"].items()},
        makings=tuple(map(_making, plain["makings"])),
        uses={nodeid: frozenset(each) for nodeid, each in plain["uses"].items()},
        swallowed=tuple(map(_swallowed, plain["swallowed"])),
        cut=plain["cut"],
        passed_over=plain["passed_over"],
    )
