"""Functions that ran in the bodies of test modules: what they made then may be why the tests fail later.

A body counts for those of its tests that do not run the function themselves, as a fixture of module scope would.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
    ran = {index for hits in failed.values() for index, _ in hits}
    functions = [
        _with_body(each, calls.passed) if n in ran else each for n, each in enumerate(calls.functions)
    ]
    return replace(calls, failed=failed, functions=tuple(functions))


def _whole(calls: Calls, test: str) -> Iterator[Hit]:
    own = calls.failed[test]
    ran = {index for index, _ in own}
    yield from (hit for hit in calls.bodies.get(file_of(test), ()) if hit[0] not in ran)
    yield from own


def _with_body(function: Called, most: int) -> Called:
    """As if no test ran it itself that has it from a body: how many do both is not known."""
    body = function.passed_by_body
    lines = {
        line: min(most, function.lines.get(line, 0) + body.get(line, 0)) for line in {*function.lines, *body}
    }
    lines.pop(0, None)
    return replace(
        function, passed=min(most, function.passed + body.get(0, 0)), lines=dict(sorted(lines.items()))
    )
