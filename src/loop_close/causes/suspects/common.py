"""How odd the lines are that the failing tests of two root causes have in common, and those that they do not.

One fault shows in a line that tests of both run and hardly any passing test does; two faults show in one of either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from loop_close.calls import Called, Calls
from loop_close.causes.suspects.clues import Name, base_name
from loop_close.causes.suspects.counted import Hit, ochiai
from loop_close.causes.suspects.spectrum import passed_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """The lines that failing tests ran, without those of each ``__repr__`` and of functions that only hand errors on.

    :ivar tests: node ids of the tests of which that is known.
    :ivar failed: by line how many of them ran it.
    :ivar passed: by line how many passing tests ran it.
    :ivar scores: of each line Ochiai's measure, the highest first.
    """

    tests: Set[str]
    failed: Mapping[Hit, int]
    passed: Mapping[Hit, int]
    scores: Sequence[tuple[float, Hit]]


def lines_of(tests: Collection[str], calls: Calls, handlers: Collection[Name] = ()) -> Lines:
    """What failing tests ran, given by node id.

    :param handlers: functions whose lines say nothing of the fault.
    """
    known = frozenset(test for test in tests if test in calls.failed)
    ran = Counter(hit for test in sorted(known) for hit in calls.failed[test])
    silent = {index for index in {index for index, _ in ran} if _is_silent(calls.functions[index], handlers)}
    failed = {hit: count for hit, count in ran.items() if hit[0] not in silent}
    passed = {hit: passed_of(calls, hit) for hit in failed}
    scores = ((ochiai(count, passed[hit], len(known)), hit) for hit, count in failed.items())
    return Lines(tests=known, failed=failed, passed=passed, scores=sorted(scores, reverse=True))


def _is_silent(called: Called, handlers: Collection[Name]) -> bool:
    """One of those, or what an assertion may run to show a value (a ``.coverage`` file names no caller)."""
    return called.function.endswith("__repr__") or (called.file, base_name(called.function)) in handlers


def joint_less_apart(one: Lines, other: Lines) -> float:
    """From -1 to 1; near 0 or above where one line explains the failures of both as well as two lines do.

    Ochiai's measure of the oddest line that tests of both ran, over the tests of both, less the mean of that of the
    oddest line of each, over its own tests, which counts the less the more of the other's tests ran it.
    """
    apart = _apart(one, other) + _apart(other, one)
    return max(_joint(one, other), default=0.0) - apart / 2


def _joint(one: Lines, other: Lines) -> Iterator[float]:
    small, large = sorted((one, other), key=lambda each: len(each.failed))
    tests = len(one.tests) + len(other.tests)
    for hit, count in small.failed.items():
        if hit in large.failed:
            yield ochiai(count + large.failed[hit], small.passed[hit], tests)


def _apart(lines: Lines, other: Lines) -> float:
    best = 0.0
    for score, hit in lines.scores:
        if score <= best:
            break
        best = max(best, score * (1 - other.failed.get(hit, 0) / max(1, len(other.tests))))
    return best
