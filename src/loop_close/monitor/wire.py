"""Calls of xdist workers: as plain values to send, and merged over several processes."""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from loop_close.calls import Called, Calls, ImportEffect, Swallowed
from loop_close.monitor.count import chosen, most_raised, traces

_Line = tuple[int, int]  # (index of the function, line)
_FIELDS = Called._fields
_SWALLOWED_FIELDS = Swallowed._fields


def to_wire(calls: Calls) -> dict[str, Any]:
    """The record as dictionaries, lists, strings and numbers.

    Failing tests may have millions of lines, which execnet would write one by one. They are packed into one
    hexadecimal string of 32-bit integers for each test.
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
        "returned_none": {nodeid: sorted(each) for nodeid, each in calls.returned_none.items()},
        "hits": _packed(number for hit in numbers for number in hit),
        "failed": failed,
        "import_effects": [_effect_row(each) for each in calls.import_effects],
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


def _effect_row(each: ImportEffect) -> list[Any]:
    return [each.file, each.line, each.column, _packed(sorted(each.ran)), _packed(sorted(each.needs))]


def _effect(row: Iterable[Any]) -> ImportEffect:
    file, line, column, ran, needs = row
    ran, needs = frozenset(_numbers(ran)), frozenset(_numbers(needs))
    return ImportEffect(file=file, line=line, column=column, ran=ran, needs=needs)


def _called(row: Iterable[Any]) -> Called:
    values = dict(zip(_FIELDS, row, strict=True))
    return Called(**{**values, "uses": frozenset(values["uses"]), "at_import": tuple(values["at_import"])})


def _swallowed_from(row: Iterable[Any]) -> Swallowed:
    values = dict(zip(_SWALLOWED_FIELDS, row, strict=True))
    return Swallowed(**{**values, "failed": frozenset(values["failed"])})


def from_wire(plain: Mapping[str, Any]) -> Calls:
    """The record that :func:`to_wire` converted."""
    flat = _numbers(plain["hits"])
    hits = list(zip(flat[::2], flat[1::2], strict=True))
    return Calls(
        passed=plain["passed"],
        omitted=plain["omitted"],
        modules=frozenset(plain["modules"]),
        functions=tuple(map(_called, plain["functions"])),
        failed=traces({nodeid: _numbers(sent) for nodeid, sent in plain["failed"].items()}, hits),
        returned_none={nodeid: frozenset(each) for nodeid, each in plain["returned_none"].items()},
        import_effects=tuple(map(_effect, plain["import_effects"])),
        uses={nodeid: frozenset(each) for nodeid, each in plain["uses"].items()},
        swallowed=tuple(map(_swallowed_from, plain["swallowed"])),
        cut=plain["cut"],
        passed_over=plain["passed_over"],
    )


# --- merging the records of several processes

_Place = tuple[str, int, str]
_Spot = tuple[str, int, int]


def merge_calls(parts: Iterable[Calls]) -> Calls:
    """Merge the records of several processes into that of a single one; independent of their order."""
    parts = list(parts)
    failed = {nodeid for part in parts for nodeid in part.failed}
    kept = chosen(failed)
    parts = [_only(part, set(kept)) for part in parts] if len(kept) < len(failed) else parts
    import_effects = sorted({_spot(each) for part in parts for each in part.import_effects}) if failed else []
    spots = {spot: position for position, spot in enumerate(import_effects)}
    functions: dict[_Place, list[Called]] = defaultdict(list)
    for part in parts:
        for each in _with_uses(part, spots):
            functions[each[:3]].append(each)
    order = {place: index for index, place in enumerate(sorted(functions))}
    traced: dict[str, tuple[_Line, ...]] = {}
    returned_none: dict[str, frozenset[int]] = {}
    like_tests: dict[str, tuple[tuple[int, float], ...]] = {}
    for part in parts:
        numbers = [order[_place(each)] for each in part.functions]
        traced |= _renumbered(part, numbers)
        for nodeid, indexes in part.returned_none.items():
            returned_none[nodeid] = frozenset(numbers[n] for n in indexes)
        for nodeid, like in part.like_tests.items():
            like_tests[nodeid] = tuple(sorted((numbers[n], score) for n, score in like))
    return Calls(
        passed=sum(part.passed for part in parts),
        functions=tuple(_sum(functions[place]) for place in order),
        failed={nodeid: traced[nodeid] for nodeid in kept},
        omitted=sum(part.omitted for part in parts) + len(failed) - len(kept),
        modules=frozenset().union(*(part.modules for part in parts)),
        returned_none={nodeid: returned_none[nodeid] for nodeid in kept if nodeid in returned_none},
        import_effects=_import_effects(parts, order, spots),
        uses=_uses(parts, kept, spots),
        swallowed=_swallowed(parts),
        cut=sum(part.cut for part in parts),
        passed_over=sum(part.passed_over for part in parts),
        constants=tuple(sorted({each for part in parts for each in part.constants})),
        like_tests=like_tests,
    )


def _swallowed(parts: Iterable[Calls]) -> tuple[Swallowed, ...]:
    """The exceptions of all processes; message and handler are those of the failing test with the first node id."""
    found: dict[tuple[str, int, str, str], Swallowed] = {}
    for part in parts:
        for each in part.swallowed:
            key = each.file, each.line, each.function, each.type
            known = found.setdefault(key, each)
            if known is not each:
                first, other = sorted(
                    (known, each), key=lambda one: (not one.failed, min(one.failed, default=""))
                )
                failed, passed = first.failed | other.failed, first.passed + other.passed
                found[key] = first._replace(failed=failed, passed=passed)
    return most_raised(found[key] for key in sorted(found))


def _spot(each: ImportEffect) -> _Spot:
    return each.file, each.line, each.column


def _moved(numbers: Iterable[int], part: Calls, spots: Mapping[_Spot, int]) -> frozenset[int]:
    """Convert positions in one part's import effects to positions in those of all parts."""
    return frozenset(spots[_spot(part.import_effects[n])] for n in numbers) if spots else frozenset()


def _with_uses(part: Calls, spots: Mapping[_Spot, int]) -> Iterable[Called]:
    return (
        each._replace(uses=_moved(each.uses, part, spots)) if each.uses else each for each in part.functions
    )


def _import_effects(
    parts: Iterable[Calls], order: Mapping[_Place, int], spots: Mapping[_Spot, int]
) -> tuple[ImportEffect, ...]:
    """The import effects of all processes, each with the union of what it ran and needed."""
    ran: dict[_Spot, set[int]] = {spot: set() for spot in spots}
    needs: dict[_Spot, set[int]] = {spot: set() for spot in spots}
    for part in parts:
        numbers = [order[_place(each)] for each in part.functions]
        for each in part.import_effects if spots else ():
            ran[_spot(each)].update(numbers[n] for n in each.ran)
            needs[_spot(each)] |= _moved(each.needs, part, spots)
    return tuple(
        ImportEffect(
            file=file, line=line, column=column, ran=frozenset(ran[spot]), needs=frozenset(needs[spot])
        )
        for spot in spots
        for file, line, column in [spot]
    )


def _uses(
    parts: Iterable[Calls], kept: Iterable[str], spots: Mapping[_Spot, int]
) -> dict[str, frozenset[int]]:
    found = {nodeid: _moved(each, part, spots) for part in parts for nodeid, each in part.uses.items()}
    return {nodeid: found[nodeid] for nodeid in kept if nodeid in found}


def _only(part: Calls, kept: Collection[str]) -> Calls:
    """The part without other failing tests and the functions that only they ran.

    :param kept: node ids of the failing tests to keep.
    """
    failed = {nodeid: ran for nodeid, ran in part.failed.items() if nodeid in kept}
    returned_none = {nodeid: each for nodeid, each in part.returned_none.items() if nodeid in kept}
    ran = {index for hits in failed.values() for index, _ in hits}.union(*returned_none.values())
    left = [n for n, each in enumerate(part.functions) if each.passed or each.in_import or n in ran]
    moved = {index: n for n, index in enumerate(left)}
    return part._replace(
        functions=tuple(part.functions[index] for index in left),
        failed={nodeid: tuple((moved[n], line) for n, line in hits) for nodeid, hits in failed.items()},
        returned_none={nodeid: frozenset(moved[n] for n in each) for nodeid, each in returned_none.items()},
        like_tests={
            nodeid: tuple((moved[n], score) for n, score in like if n in moved)
            for nodeid, like in part.like_tests.items()
            if nodeid in kept
        },
        import_effects=tuple(
            each._replace(ran=frozenset(moved[n] for n in each.ran)) for each in part.import_effects
        ),
        uses={nodeid: each for nodeid, each in part.uses.items() if nodeid in kept},
        swallowed=tuple(each._replace(failed=each.failed.intersection(kept)) for each in part.swallowed),
    )


def _place(each: Called) -> _Place:
    return each.file, each.line, each.function


def _sum(parts: Sequence[Called]) -> Called:
    """One function as all processes ran it."""
    if len(parts) == 1:
        return parts[0]
    return parts[0]._replace(
        passed=sum([each.passed for each in parts]),
        lines=_sum_of_lines([each.lines for each in parts]),
        in_import=any(each.in_import for each in parts),
        returned_none=sum([each.returned_none for each in parts]),
        returns_value=any(each.returns_value for each in parts),
        none_before=any(each.none_before for each in parts),
        at_import=tuple(sorted({line for each in parts for line in each.at_import})),
        named=sum([each.named for each in parts]),
        uses=frozenset().union(*[each.uses for each in parts]),
    )


def _sum_of_lines(parts: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """How many tests of all processes ran each line; most have run the same lines, which is faster to add up."""
    lines = [*parts[0]]
    if all([*each] == lines for each in parts):
        total = dict(zip(lines, map(sum, zip(*[each.values() for each in parts], strict=True)), strict=True))
    else:
        total = {}
        for part in parts:
            for line, passed in part.items():
                total[line] = total.get(line, 0) + passed
    return dict(sorted(total.items()))


def _renumbered(part: Calls, numbers: Sequence[int]) -> Iterator[tuple[str, tuple[_Line, ...]]]:
    moved: dict[_Line, _Line] = {}  # so that the tests share these tuples
    for nodeid, ran in part.failed.items():
        for hit in ran:
            if hit not in moved:
                moved[hit] = numbers[hit[0]], hit[1]
        yield nodeid, tuple(moved[hit] for hit in ran)
