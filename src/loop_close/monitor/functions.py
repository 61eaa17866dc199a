"""From code objects and counts to records that mean the same in every process."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from types import CodeType

from loop_close.calls import Called, Calls, Swallowed
from loop_close.monitor.codes import codes_in, lines_of
from loop_close.monitor.count import Count, most_raised, traces
from loop_close.monitor.handled import Handled, Note
from loop_close.monitor.imports import Imports
from loop_close.monitor.made import CodeOf, Made
from loop_close.monitor.ownership import Ownership
from loop_close.monitor.passing import Passed
from loop_close.monitor.ran import NOTHING, Function

#: What tells a function from others: file, first line, qualified name.
Place = tuple[str, int, str]


def calls_of(
    count: Count,
    ownership: Ownership,
    imports: Imports | None = None,
    code_of: CodeOf | None = None,
    *,
    is_part: bool = False,
) -> Calls:
    """What was counted, as a record.

    :param count: no two of its functions are at the same place.
    :param imports: what ran while modules were imported.
    :param code_of: gives the code of a test by its node id, None for a module that cannot be collected; without it
        nothing is told of what ran at import.
    :param is_part: other processes run other tests, which may fail.
    """
    imports = imports or Imports()
    nothing = count.nothing_before | imports.nothing
    passed, failed = count.passing.by_function(), count.ran_in_failed()
    outside = count.outside | imports.functions | (count.over - passed.keys() - failed)
    ran = {*passed, *outside, *failed}
    places = sorted((_place(count.functions[number].code, ownership), number) for number in ran)
    order = {number: index for index, (_, number) in enumerate(places)}
    is_green = count.passed and not count.failed  # then sources need not be read
    before = () if is_green else nothing
    owing, meant = _by_source({*before}.union(*count.nothing.values()), before, count.functions)
    made = _made(count, ownership, imports, order, code_of if count.failed or is_part else None)
    return Calls(
        passed=count.passed,
        functions=tuple(
            _called(
                place,
                count.functions[number],
                passed.get(number, Passed()),
                in_import=number in outside,
                owes=number in owing,
                none_before=number in nothing and number not in meant,
                at_import=imports.lines.get(number, 0) if made.makings else 0,
                named=made.named.get(number, 0),
                uses=made.by_function.get(number, frozenset()),
            )
            for place, number in places
        ),
        failed=_failed(count, order),
        omitted=count.omitted,
        modules=frozenset(imports.modules) | {file for (file, _, _), _ in places},
        gave_none=_gave_none(count, order),
        makings=made.makings,
        uses=made.by_failed,
        swallowed=_swallowed(count, is_part=is_part),
        cut=count.cut,
        passed_over=count.passed_over,
    )


def _swallowed(count: Count, *, is_part: bool) -> tuple[Swallowed, ...]:
    """Those of failing tests; of a part of the run all, as other processes may have failing tests with the same."""
    failed: dict[Handled, list[str]] = {}
    for nodeid, each in sorted(count.swallowed.items()):
        for handled in each:
            failed.setdefault(handled, []).append(nodeid)
    found = []
    for handled in sorted(count.swallowing if is_part else failed):
        tests = failed.get(handled, [])
        note = count.swallowed[tests[0]][handled] if tests else Note("", "")
        passed = count.swallowing[handled]
        found.append(Swallowed(**handled._asdict(), **note._asdict(), failed=frozenset(tests), passed=passed))
    return tuple(found) if is_part else most_raised(found)


def _failed(count: Count, order: Mapping[int, int]) -> dict[str, tuple[tuple[int, int], ...]]:
    """The lines of failing tests by the indexes of functions; -1 is in none that is kept."""
    lines = [(order.get(number, -1), line) for number, line in count.failed_lines]
    return traces(count.failed, lines)


def _gave_none(count: Count, order: Mapping[int, int]) -> dict[str, frozenset[int]]:
    return {nodeid: frozenset(order[n] for n in each) for nodeid, each in count.nothing.items() if each}


def _made(
    count: Count, ownership: Ownership, imports: Imports, order: Mapping[int, int], code_of: CodeOf | None
) -> Made:
    if code_of is None or not imports.statements:
        return Made()
    from loop_close.monitor.makings import Makings  # late: it parses source
    from loop_close.monitor.statements import Statements

    with warnings.catch_warnings(action="ignore"):  # the parser's, of odd escapes
        known = Statements(imports, count.functions)
    return Makings(known, count, order).made(ownership, code_of)


def _by_source(
    numbers: Collection[int], before: Iterable[int], functions: Mapping[int, Function]
) -> tuple[frozenset[int], frozenset[int]]:
    """Those that are to give a value; of those before the tests, the ones that are annotated to give None as well."""
    if not numbers:
        return frozenset(), frozenset()
    from loop_close.monitor.owed import Owed  # late: it parses source, for which a green run has no use

    owed = Owed()
    with warnings.catch_warnings(action="ignore"):  # the parser's, of odd escapes
        owing = frozenset(number for number in numbers if owed.is_owed(functions[number].code))
        return owing, frozenset(number for number in before if owed.is_meant(functions[number].code))


def _place(function: CodeType, ownership: Ownership) -> Place:
    return ownership.file_of(function.co_filename) or "", function.co_firstlineno, function.co_qualname


def _called(
    place: Place,
    function: Function,
    passed: Passed,
    *,
    in_import: bool,
    owes: bool,
    none_before: bool,
    at_import: int,
    named: int,
    uses: frozenset[int],
) -> Called:
    file, line, name = place
    return Called(
        file=file,
        line=line,
        function=name,
        end_line=_last_line(function.code),
        digest=digest_of(function.code),
        passed=passed.tests,
        lines={line: tests for line, tests in sorted(passed.lines.items()) if line != NOTHING},
        in_import=in_import,
        gave_none=passed.lines[NOTHING],
        owes=owes,
        none_before=none_before,
        at_import=tuple(sorted(line for line in function.lines(at_import) if line != NOTHING)),
        named=named,
        uses=uses,
    )


def _last_line(code: CodeType) -> int:
    return max([code.co_firstlineno, *(line for inner, _ in codes_in(code) for line in lines_of(inner))])


def digest_of(code: CodeType) -> str:
    """Equal while the function does the same: neither its name nor where it stands counts, nor which file it is in."""
    made = blake2b(digest_size=8)
    left: list[object] = [code]
    places: dict[int, int] = {}  # of code objects: made by hand, one may be in many
    while left:
        each = left.pop()
        if not isinstance(each, CodeType):
            text = _constant(each)
        elif id(each) in places:
            text = f"code {places[id(each)]}"
        else:
            places[id(each)] = len(places)
            made.update(each.co_code)
            text = repr((each.co_names, each.co_varnames, each.co_freevars, each.co_flags))
            left += reversed(each.co_consts)
        made.update(text.encode("utf-8", "replace"))
    return made.hexdigest()


def _constant(value: object) -> str:
    """Its literal; the order of a frozenset is that of the run's hash seed."""
    if type(value) is int:
        return hex(value)  # a long one has no decimal literal
    if isinstance(value, frozenset):
        return repr(sorted(map(_constant, value)))
    return repr(list(map(_constant, value))) if isinstance(value, tuple) else repr(value)
