"""Calls as plain values, as workers send them, and the sum of those of several workers."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from loop_close.calls import Called, Calls
from loop_close.monitor.count import chosen, traces

_Place = tuple[str, int, str]
_Line = tuple[int, int]  # the position of a function, and the line's number
_FIELDS = tuple(each.name for each in fields(Called))


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
        "functions": [_row(each) for each in calls.functions],
        "modules": sorted(calls.modules),
        "gave_none": {nodeid: sorted(each) for nodeid, each in calls.gave_none.items()},
        "hits": _packed(number for hit in numbers for number in hit),
        "failed": failed,
    }


def _packed(numbers: Iterable[int]) -> str:
    return _little(array("I", numbers)).tobytes().hex()


def _numbers(sent: str) -> array[int]:
    return _little(array("I", bytes.fromhex(sent)))


def _little(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _row(each: Called) -> list[Any]:
    values = [getattr(each, name) for name in _FIELDS]
    return [dict(value) if isinstance(value, Mapping) else value for value in values]


def from_wire(plain: Mapping[str, Any]) -> Calls:
    """The record again."""
    flat = _numbers(plain["hits"])
    hits = list(zip(flat[::2], flat[1::2], strict=True))
    return Calls(
        passed=plain["passed"],
        omitted=plain["omitted"],
        modules=frozenset(plain["modules"]),
        functions=tuple(Called(**dict(zip(_FIELDS, row, strict=True))) for row in plain["functions"]),
        failed=traces({nodeid: _numbers(sent) for nodeid, sent in plain["failed"].items()}, hits),
        gave_none={nodeid: frozenset(each) for nodeid, each in plain["gave_none"].items()},
    )


def added(parts: Iterable[Calls]) -> Calls:
    """What several processes counted, as if one had; the order of the parts does not matter."""
    parts = list(parts)
    failed = {nodeid for part in parts for nodeid in part.failed}
    kept = chosen(failed)
    parts = [_only(part, set(kept)) for part in parts] if len(kept) < len(failed) else parts
    functions: dict[_Place, Called] = {}
    for part in parts:
        for each in part.functions:
            place = _place(each)
            functions[place] = _sum(functions[place], each) if place in functions else each
    order = {place: index for index, place in enumerate(sorted(functions))}
    traced = {nodeid: ran for part in parts for nodeid, ran in _renumbered(part, order)}
    gave = {nodeid: each for part in parts for nodeid, each in _gave_renumbered(part, order)}
    return Calls(
        passed=sum(part.passed for part in parts),
        functions=tuple(functions[place] for place in order),
        failed={nodeid: traced[nodeid] for nodeid in kept},
        omitted=sum(part.omitted for part in parts) + len(failed) - len(kept),
        modules=frozenset().union(*(part.modules for part in parts)),
        gave_none={nodeid: gave[nodeid] for nodeid in kept if nodeid in gave},
    )


def _only(part: Calls, kept: Collection[str]) -> Calls:
    """Without what only other failing tests ran."""
    failed = {nodeid: ran for nodeid, ran in part.failed.items() if nodeid in kept}
    gave_none = {nodeid: each for nodeid, each in part.gave_none.items() if nodeid in kept}
    ran = {index for hits in failed.values() for index, _ in hits}.union(*gave_none.values())
    left = [n for n, each in enumerate(part.functions) if each.passed or each.in_import or n in ran]
    moved = {index: n for n, index in enumerate(left)}
    return replace(
        part,
        functions=tuple(part.functions[index] for index in left),
        failed={nodeid: tuple((moved[n], line) for n, line in hits) for nodeid, hits in failed.items()},
        gave_none={nodeid: frozenset(moved[n] for n in each) for nodeid, each in gave_none.items()},
    )


def _place(each: Called) -> _Place:
    return each.file, each.line, each.function


def _sum(one: Called, other: Called) -> Called:
    lines = dict(one.lines)
    for line, passed in other.lines.items():
        lines[line] = lines.get(line, 0) + passed
    return replace(
        one,
        passed=one.passed + other.passed,
        lines=dict(sorted(lines.items())),
        in_import=one.in_import or other.in_import,
        gave_none=one.gave_none + other.gave_none,
        owes=one.owes or other.owes,
        none_before=one.none_before or other.none_before,
    )


def _renumbered(part: Calls, order: Mapping[_Place, int]) -> Iterable[tuple[str, tuple[_Line, ...]]]:
    numbers = [order[_place(each)] for each in part.functions]
    moved: dict[_Line, _Line] = {}  # each once, for all tests to share
    for nodeid, ran in part.failed.items():
        for hit in ran:
            if hit not in moved:
                moved[hit] = numbers[hit[0]], hit[1]
        yield nodeid, tuple(moved[hit] for hit in ran)


def _gave_renumbered(part: Calls, order: Mapping[_Place, int]) -> Iterable[tuple[str, frozenset[int]]]:
    numbers = [order[_place(each)] for each in part.functions]
    return ((nodeid, frozenset(numbers[n] for n in each)) for nodeid, each in part.gave_none.items())
