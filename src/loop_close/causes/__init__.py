"""Root causes, which one fix should clear each, and their suspects: functions that probably hold the fault.

Causes that share their suspects are one cause with several symptoms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from msgspec.structs import replace

from loop_close.calls import Calls
from loop_close.causes.grouping import chain_key, group, in_order, sets_of
from loop_close.causes.rank import Scored, candidates, scored, suspects_among
from loop_close.causes.spectrum import contrast, spectra, traces_of
from loop_close.facts import Name, base_name, every, origins
from loop_close.model import Failure, RootCause, Suspect
from loop_close.records import NO_LOOP, Loop

__all__ = ["group", "in_order", "joined", "located"]

#: Two causes are one if the sum of the products of the probabilities of their common functions is at least this, or if
#: one line sets the failing tests of both apart as well as any line does those of one. On the tuning mutations of
#: `benchmarks.localize` 95 % of single faults are then one cause, and 7 % of pairs are mixed.
_AGREED = 0.03
#: All pairs of more root causes are too many; those with most failures are compared.
_COMPARED = 40
#: Root causes beyond these get no suspects.
_LOCATED = 20


def joined(causes: Sequence[RootCause], calls: Calls, loop: Loop = NO_LOOP) -> list[RootCause]:
    """The causes, those that share their suspects as one, in the order of the first of each.

    Causes of different kinds are not joined, nor those whose exceptions came from different ones, nor those whose
    failures began after edits of different functions.
    """
    tests = [{failure.nodeid for failure in cause.failures} for cause in causes]
    able = [n for n, own in enumerate(tests) if not own.isdisjoint(calls.failed)]
    compared = sorted(able, key=lambda n: (-len(causes[n].evidence), causes[n].id))[:_COMPARED]
    scores = {n: scored(candidates(causes[n], calls, loop)) for n in compared}
    blame = {n: _blame(scores[n]) for n in compared}
    edited = {n: {(c.file, c.function) for _, c in scores[n] if c.features.get("edited")} for n in compared}
    came_from = {n: {chain_key(causes[n].failures[0].raised)} - {()} for n in compared}
    lines = {n: set.intersection(*traces_of(calls, tests[n])) for n in compared}
    apart = {n: max((each.contrast for each in spectra(calls, tests[n])), default=0.0) for n in compared}

    def is_one(one: int, other: int) -> bool:
        if edited[one] and edited[other] and edited[one].isdisjoint(edited[other]):
            return False
        if sum(share * blame[other].get(name, 0.0) for name, share in blame[one].items()) >= _AGREED:
            return True
        passed = [calls.functions[index].line_passed(line) for index, line in lines[one] & lines[other]]
        return bool(passed) and contrast(1, min(passed), calls.passed) >= min(apart[one], apart[other])

    pairs = [
        (one, other)
        for one, other in combinations(sorted(compared), 2)
        if causes[one].kind == causes[other].kind
        and len(came_from[one] | came_from[other]) < 2
        and is_one(one, other)
    ]
    return [_whole([causes[n] for n in part]) for part in sets_of(len(causes), pairs)]


def _blame(found: Scored) -> Mapping[Name, float]:
    """The shares of functions that ran, as if one of them were at fault."""
    counted = [(share, c) for share, c in found if c.spectrum is not None and c.loaded is None]
    total = sum(share for share, _ in counted)
    return {(c.file, c.function): share / total for share, c in counted}


def _whole(parts: Sequence[RootCause]) -> RootCause:
    if len(parts) == 1:
        return parts[0]
    evidence = tuple(each for part in parts for each in part.evidence)
    return replace(parts[0], id=min(part.id for part in parts), evidence=evidence)


def located(causes: Iterable[RootCause], calls: Calls, loop: Loop = NO_LOOP) -> tuple[RootCause, ...]:
    """The causes with their suspects; the failure that shows the first suspect is the first of its cause.

    :param calls: what the tests called; empty if unknown.
    :param loop: the runs since the project was last done, this run included.
    """
    found = []
    for number, cause in enumerate(causes):
        suspects = suspects_among(scored(candidates(cause, calls, loop))) if number < _LOCATED else ()
        evidence = cause.evidence
        if suspects:
            evidence = tuple(sorted(evidence, key=lambda each: not _shows(each.failure, suspects[0])))
        found.append(replace(cause, suspects=suspects, evidence=evidence))
    return tuple(found)


def _shows(failure: Failure | None, suspect: Suspect) -> bool:
    """Whether the failing statement uses a value of the function, or the traceback contains it."""
    if failure is None:
        return False
    named = {(o.file, base_name(o.function)) for o in origins(failure)}
    named |= {(f.file, base_name(f.function)) for each in every(failure.raised) for f in each.frames}
    return (suspect.file, suspect.function) in named
