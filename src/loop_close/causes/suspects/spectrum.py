"""What sets the failing tests of a root cause apart from the passing ones: functions and lines, run and left out.

The measure is Ochiai's, failed(x) / sqrt(all failed * (failed(x) + passed(x))), which ranks best among the plain
ones in studies of spectrum-based fault localization (Abreu, Zoeteweij and van Gemund, 2006 and 2009). x is that a
test ran a function, that it ran a line, or that it ran a function and left out one of its lines: a condition that
is wrong shows in what it skips as much as in what it runs instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

from loop_close.calls import Called, Calls
from loop_close.causes.suspects.counted import Counted, Counts, Hit, ochiai

# A line is as odd as the oddest of a test when it comes this near to it.
_NEAR = 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class Spectrum:
    """One function, seen by the tests that ran it.

    :ivar failed: how many failing tests of the cause ran it; ``of_failed``: of how many.
    :ivar made: how many of them did not run it themselves, but use what it made at import.
    :ivar passed: how many passing tests ran it; ``of_passed``: of how many.
    :ivar function_score: Ochiai's measure of the function as a whole, from 0 to 1.
    :ivar line_score: that of its oddest line; ``line`` is the first such line, ``line_failed`` and ``line_passed``
        say how many failing and passing tests ran it.
    :ivar left_out_score: that of the line whose absence is the oddest.
    :ivar contrast: the share of the failing tests that ran a line, less the square root of that of the passing tests
        (all passing tests counted as one more), from -1 to 1: of its lines the highest.
    :ivar onward: the score of the oddest of its lines right after which another function's line ran for the first
        time that is about as odd: where it calls what the fault may be in.
    :ivar late: how near to the failure its last line came that ran for the first time, from 0 to 1: the mean over the
        failing tests that ran it of that line's place among all of them.
    :ivar gave_none: in how many of the failing tests it gave None.
    """

    function: Called
    failed: int
    of_failed: int
    made: int
    passed: int
    of_passed: int
    function_score: float
    line_score: float
    line: int
    line_failed: int
    line_passed: int
    left_out_score: float
    contrast: float
    onward: float
    late: float
    gave_none: int = 0


def spectra(
    counted: Counted, tests: Collection[str], unwound: Collection[tuple[str, str]] = ()
) -> list[Spectrum]:
    """The functions that at least one of the failing tests ran, in the order of the calls.

    :param tests: node ids of the failing tests of one cause. Those of other causes count neither way.
    :param unwound: file and name of functions that an exception ended: that they left lines out says nothing.
    """
    counts, calls = counted.of(tests), counted.calls
    if not counts.traces:
        return []
    traces = [trace.hits for trace in counts.traces]
    number = len(traces)
    lines = Counter(hit for trace in traces for hit in trace)
    scores = {hit: ochiai(count, counts.passed_line(hit), number) for hit, count in lines.items()}
    oddest = _oddest(scores)
    contrasts = _contrasts(lines, counts, number)
    onward = _onward([trace.own for trace in counts.traces], scores)
    places = _last_places(traces)
    gave = Counter(index for test in tests for index in calls.gave_none.get(test, ()))
    found = []
    for index, count in sorted(counts.failed.items()):
        called = calls.functions[index]
        score, line = oddest[index]
        is_unwound = (called.file, called.function) in unwound
        found.append(
            Spectrum(
                function=called,
                failed=count,
                of_failed=number,
                made=counts.made[index],
                passed=counts.passed(index),
                of_passed=calls.passed,
                function_score=ochiai(count, counts.passed(index), number),
                line_score=score,
                line=line,
                line_failed=lines[index, line],
                line_passed=counts.passed_line((index, line)),
                left_out_score=0.0 if is_unwound else _left_out_score(counts, index, lines, count, number),
                contrast=contrasts[index],
                onward=onward.get(index, 0.0),
                late=places[index] / count,
                gave_none=gave[index],
            )
        )
    return found


def passed_of(calls: Calls, hit: Hit) -> int:
    """How many passing tests ran the line."""
    index, line = hit
    return calls.functions[index].lines.get(line, 0)


def _left_out_score(
    counts: Counts, index: int, lines: Mapping[Hit, int], failed: int, all_failed: int
) -> float:
    """Of the lines that passing tests ran, the oddest for being left out by tests that ran the function."""
    all_passed = counts.passed(index)
    return max(
        (
            ochiai(failed - lines.get((index, line), 0), max(0, all_passed - passed), all_failed)
            for line, passed in counts.lines(index).items()
        ),
        default=0.0,
    )


def _oddest(scores: Mapping[Hit, float]) -> dict[int, tuple[float, int]]:
    """The highest score of each function's lines, and the first line that has it."""
    found: dict[int, tuple[float, int]] = {}
    for (index, line), score in scores.items():
        best = found.get(index)
        if best is None or (-score, line) < (-best[0], best[1]):
            found[index] = score, line
    return found


def _contrasts(lines: Mapping[Hit, int], counts: Counts, all_failed: int) -> dict[int, float]:
    """Of each function. The root, as the first few passing tests tell more than as many beyond a hundred."""
    found: dict[int, float] = {}
    for hit, failed in lines.items():
        value = failed / all_failed - sqrt(counts.passed_line(hit) / (1 + counts.calls.passed))
        found[hit[0]] = max(value, found.get(hit[0], -1.0))
    return found


def _onward(traces: Iterable[Sequence[Hit]], scores: Mapping[Hit, float]) -> dict[int, float]:
    followers: defaultdict[Hit, Counter[Hit]] = defaultdict(Counter)
    for trace in traces:
        for hit, following in pairwise(trace):
            followers[hit][following] += 1
    found: dict[int, float] = {}
    for hit, counts in followers.items():
        [(following, _)] = counts.most_common(1)
        if following[0] != hit[0] and scores[following] >= _NEAR * scores[hit]:
            found[hit[0]] = max(found.get(hit[0], 0.0), scores[hit])
    return found


def _last_places(traces: Iterable[Sequence[Hit]]) -> dict[int, float]:
    """The sum over the traces of where each function's last line stands in it, as a share of its length."""
    places: dict[int, float] = {}
    for trace in traces:
        last = {index: number for number, (index, _) in enumerate(trace, start=1)}
        for index, number in last.items():
            places[index] = places.get(index, 0.0) + number / len(trace)
    return places
