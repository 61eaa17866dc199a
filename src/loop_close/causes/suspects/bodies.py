"""Functions that ran in the bodies of test modules: what they made then may be why the tests fail later.

A body counts for those of its tests that do not run the function themselves, as a fixture of module scope would.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from loop_close.calls import Called, Calls
from loop_close.causes.suspects.spectrum import Hit, Spectrum, spectra
from loop_close.facts import file_of


def with_bodies(
    ran: Collection[Spectrum], calls: Calls, tests: Collection[str], unwound: Collection[tuple[str, str]] = ()
) -> list[Spectrum]:
    """The functions of a cause, and what the bodies of modules add for those that not all of its tests ran.

    Where counts are of an earlier run it is not known whose they are: then no body counts.

    :param ran: what the failing tests ran themselves.
    :param unwound: see :func:`spectra`.
    """
    files = {file_of(test) for test in tests if test in calls.failed}
    if calls.remembered or files.isdisjoint(calls.bodies):
        return [*ran]
    found = {_place(each.function): each for each in ran}
    for each in spectra(_counted(calls, tests), tests, unwound):
        own = found.get(_place(each.function))
        if own is None or each.failed > own.failed:
            found[_place(each.function)] = replace(each, in_body=True)
    return [*found.values()]


def _place(function: Called) -> tuple[str, int, str]:
    return function.file, function.line, function.function


def _counted(calls: Calls, tests: Collection[str]) -> Calls:
    """With what the bodies ran, before what these tests ran, and as often as tests of the module passed."""
    failed = {test: tuple(_whole(calls, test)) for test in tests if test in calls.failed}
    return replace(calls, failed=failed, functions=tuple(_functions(calls)))


def _whole(calls: Calls, test: str) -> Iterator[Hit]:
    own = calls.failed[test]
    ran = {index for index, _ in own}
    body = calls.bodies.get(file_of(test))
    yield from (hit for hit in (body.lines if body else ()) if hit[0] not in ran)
    yield from own


def _functions(calls: Calls) -> Iterator[Called]:
    more = _passed_by_bodies(calls)
    for index, each in enumerate(calls.functions):
        yield _with(each, more[index], calls.passed) if index in more else each


def _passed_by_bodies(calls: Calls) -> dict[int, dict[int, int]]:
    """By function, how many passing tests are of modules whose bodies ran each line; in the place of line 0 any."""
    found: dict[int, dict[int, int]] = {}
    for body in calls.bodies.values():
        for index, line in {*body.lines, *((index, 0) for index, _ in body.lines)}:
            lines = found.setdefault(index, {})
            lines[line] = lines.get(line, 0) + body.passed
    return found


def _with(function: Called, more: Mapping[int, int], most: int) -> Called:
    """As if no test ran it itself that has it from a body: how many do both is not known."""
    lines = dict(function.lines)
    for line, passed in more.items():
        if line:
            lines[line] = min(most, lines.get(line, 0) + passed)
    return replace(function, passed=min(most, function.passed + more[0]), lines=lines)
