"""From code objects and counts to records that mean the same in every process."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from types import CodeType

from loop_close.calls import Called, Calls
from loop_close.monitor.count import Count, traces
from loop_close.monitor.hits import CALLED, NOTHING, Hit, function_of, line_of
from loop_close.monitor.nothing import nothing_in
from loop_close.monitor.ownership import Ownership

#: What tells a function from others: file, first line, qualified name.
Place = tuple[str, int, str]


def calls_of(
    count: Count,
    functions: Mapping[int, CodeType],
    ownership: Ownership,
    imported: Collection[int] = (),
    modules: Collection[str] = (),
) -> Calls:
    """What was counted, as a record.

    :param functions: what the numbers in ``count`` stand for; no two at the same place.
    :param imported: functions that ran while modules were imported.
    :param modules: files whose modules ran.
    """
    outside = {*count.outside, *imported}
    passed = _by_function(count.hits)
    ran = {*passed, *outside, *count.ran_in_failed()}
    places = sorted((_place(functions[number], ownership), number) for number in ran)
    order = {number: index for index, (_, number) in enumerate(places)}
    lines = [  # -1: in no test that is kept
        (order.get(function_of(hit), -1), line_of(hit)) for hit in count.failed_lines
    ]
    nothing = nothing_in(count, functions)
    return Calls(
        passed=count.passed,
        functions=tuple(
            _called(
                place,
                functions[number],
                passed.get(number, {}),
                in_import=number in outside,
                owes=number in nothing.owing,
            )
            for place, number in places
        ),
        failed=traces(nothing.without(count.failed), lines),
        omitted=count.omitted,
        modules=frozenset(modules) | {file for (file, _, _), _ in places},
        gave_none={
            nodeid: frozenset(order[number] for number in numbers)
            for nodeid, numbers in nothing.failed.items()
        },
    )


def _place(function: CodeType, ownership: Ownership) -> Place:
    return ownership.file_of(function.co_filename) or "", function.co_firstlineno, function.co_qualname


def _by_function(hits: Mapping[Hit, int]) -> dict[int, dict[int, int]]:
    found: dict[int, dict[int, int]] = {}
    for hit, passed in hits.items():
        found.setdefault(function_of(hit), {})[line_of(hit)] = passed
    return found


def _called(
    place: Place,
    code: CodeType,
    passed: Mapping[int, int],
    *,
    in_import: bool,
    owes: bool,
) -> Called:
    file, line, name = place
    return Called(
        file=file,
        line=line,
        function=name,
        end_line=_last_line(code),
        digest=digest_of(code),
        passed=passed.get(CALLED, 0),
        lines={line: passed[line] for line in sorted(passed) if line not in (CALLED, NOTHING)},
        in_import=in_import,
        gave_none=passed.get(NOTHING, 0),
        owes=owes,
    )


def _last_line(code: CodeType) -> int:
    own = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    return max([own, *(_last_line(each) for each in _inner(code.co_consts))])


def _inner(constants: Iterable[object]) -> Iterable[CodeType]:
    return (each for each in constants if isinstance(each, CodeType))


def digest_of(code: CodeType) -> str:
    """Equal while the function does the same: neither its name nor where it stands counts, nor which file it is in."""
    made = blake2b(digest_size=8)
    _feed(made, code)
    return made.hexdigest()


def _feed(made: blake2b, code: CodeType) -> None:
    made.update(code.co_code)
    made.update(
        repr((code.co_names, code.co_varnames, code.co_freevars, code.co_flags)).encode("utf-8", "replace")
    )
    for each in code.co_consts:
        if isinstance(each, CodeType):
            _feed(made, each)
        else:
            made.update(_constant(each).encode("utf-8", "replace"))


def _constant(value: object) -> str:
    """Its literal; the order of a frozenset is that of the run's hash seed."""
    if type(value) is int:
        return hex(value)  # a long one has no decimal literal
    if isinstance(value, frozenset):
        return repr(sorted(map(_constant, value)))
    return repr(list(map(_constant, value))) if isinstance(value, tuple) else repr(value)
