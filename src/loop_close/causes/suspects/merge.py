"""Join root causes whose failing tests have one line in common that hardly any passing test ran.

Two faults rarely share such a line; one fault that shows in several ways nearly always does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loop_close.calls import Called, Calls
from loop_close.causes.keys import missing_thing
from loop_close.causes.suspects.spectrum import Hit, ochiai, passed_of
from loop_close.model import RootCause

#: Ochiai's measure that the common line has to reach over all tests of both. With less, two faults come to one cause
#: too often; with more, one fault to several (`python -m benchmarks.localize --pairs`).
LEAST = 0.85
#: The line has to be one of a function that so many passing tests call: what none calls is odd in all that fails there.
CONTRAST = 5
# It has to be run by no larger share of the passing tests, however many fail.
_RARE = 0.1
# With more, all pairs of them are too many; the largest count.
MOST = 40


_Pair = tuple[int, int]


@dataclass(slots=True)
class _Group:
    """Root causes that were joined, by position, with the lines that their failing tests ran."""

    members: list[int]
    tests: int
    lines: Counter[Hit]


def merged(causes: Sequence[RootCause], calls: Calls | None) -> list[list[int]]:
    """Positions of the causes that are one, each list in order; most lists hold one."""
    groups = _groups(causes, calls) if calls is not None else []
    kinds = {i: cause.kind for i, cause in enumerate(causes)}
    scores: dict[_Pair, float] = {}
    while calls is not None:
        pair = _nearest(groups, calls, kinds, scores)
        if pair is None:
            break
        _join(groups, *pair, scores)
    found = {min(group.members): sorted(group.members) for group in groups}
    taken = {i for members in found.values() for i in members}
    return [found.get(i, [i]) for i in range(len(causes)) if i in found or i not in taken]


def _groups(causes: Sequence[RootCause], calls: Calls) -> list[_Group]:
    """A group for each cause of which it is known what its tests ran, with only the lines that can decide.

    What is missing is named by its failures: two such things are two.
    """
    traces = {i: _traces(cause, calls) for i, cause in enumerate(causes) if not is_missing_thing(cause)}
    known = sorted((i for i in traces if traces[i]), key=lambda i: (-len(traces[i]), i))[:MOST]
    counts = {i: Counter(hit for trace in traces[i] for hit in trace) for i in known}
    odd = _odd(sum(counts.values(), Counter()), calls)
    return [
        _Group(
            [i],
            len(traces[i]),
            Counter({hit: n for hit, n in counts[i].items() if hit in odd}),
        )
        for i in sorted(known)
    ]


def _traces(cause: RootCause, calls: Calls) -> list[Sequence[Hit]]:
    tests = {e.failure.nodeid for e in cause.evidence if e.failure is not None}
    return [calls.failed[test] for test in sorted(tests) if test in calls.failed]


def is_missing_thing(cause: RootCause) -> bool:
    """Whether it is told by the name of what is missing, or by no exception at all."""
    failure = cause.evidence[0].failure
    return failure is None or failure.raised is None or missing_thing(failure.raised) is not None


def _is_rare(called: Called, line: int, passed: int) -> bool:
    """Whether hardly any passing test ran the line, though some call its function; else all that fails has it."""
    return called.passed >= CONTRAST and called.lines.get(line, 0) <= _RARE * passed


def _odd(lines: Mapping[Hit, int], calls: Calls) -> set[Hit]:
    """Lines that reach the measure at all, if only failing tests that ran them are asked."""
    functions = calls.functions
    return {
        (index, line)
        for (index, line), failed in lines.items()
        if ochiai(failed, passed_of(calls, (index, line)), failed) >= LEAST
        and _is_rare(functions[index], line, calls.passed)
        and not functions[index].function.endswith("__repr__")  # run by the failing assertion, to be shown
    }


def _nearest(
    groups: Sequence[_Group], calls: Calls, kinds: Mapping[int, str], scores: dict[_Pair, float]
) -> _Pair | None:
    """The two groups with the oddest line in common; None when no line is odd enough.

    :param scores: of pairs, by the first member of each: those that are known, and those that come to be.
    """
    best, found = 0.0, None
    for j, other in enumerate(groups):
        for i, group in enumerate(groups[:j]):
            pair = group.members[0], other.members[0]
            if kinds[pair[0]] != kinds[pair[1]]:
                continue
            if pair not in scores:
                scores[pair] = _common(group, other, calls)
            if scores[pair] >= LEAST and scores[pair] > best:
                best, found = scores[pair], (i, j)
    return found


def _common(one: _Group, other: _Group, calls: Calls) -> float:
    small, large = sorted((one.lines, other.lines), key=len)
    tests = one.tests + other.tests
    shared = small.keys() & large.keys()
    return max((ochiai(small[hit] + large[hit], passed_of(calls, hit), tests) for hit in shared), default=0.0)


def _join(groups: list[_Group], i: int, j: int, scores: dict[_Pair, float]) -> None:
    other = groups.pop(j)
    for pair in [pair for pair in scores if {groups[i].members[0], other.members[0]} & {*pair}]:
        del scores[pair]
    groups[i].members += other.members
    groups[i].tests += other.tests
    groups[i].lines += other.lines
