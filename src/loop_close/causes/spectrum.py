"""Which functions and lines failing and passing tests ran, and how far these set the failing ones apart.

The measure is Ochiai's, failed(x) / sqrt(all failed * (failed(x) + passed(x))), which ranks best among the plain
ones in studies of spectrum-based fault localization (Abreu, Zoeteweij and van Gemund, 2006 and 2009). x is that a
test ran a function, that it ran a line, or that it ran a function and left out one of its lines: a condition that
is wrong shows in what it skips as much as in what it runs instead.

"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from math import sqrt

from loop_close.calls import Called, Calls
from loop_close.records import Record

#: A line that ran: index of the function, number of the line.
Hit = tuple[int, int]


def ochiai(failed: int, passed: int, all_failed: int) -> float:
    """The measure, from 0 to 1; 0 where no failing test ran it."""
    return failed / sqrt(all_failed * (failed + passed)) if failed else 0.0


# --- spectra

# A line is as odd as the oddest of a test when it comes this near to it.
_NEAR = 0.9


class Spectrum(Record, frozen=True, kw_only=True):
    """One function, seen by the tests that ran it.

    :ivar failed: how many failing tests of the cause ran it; ``of_failed``: of how many.
    :ivar passed: how many passing tests ran it; ``of_passed``: of how many.
    :ivar function_score: Ochiai's measure of the function as a whole, from 0 to 1.
    :ivar line_score: that of its oddest line; ``line`` is the first such line, ``line_failed`` and ``line_passed``
        say how many failing and passing tests ran it.
    :ivar left_out_score: that of the line whose absence is the oddest.
    :ivar contrast: the share of the failing tests that ran a line, less the square root of that of the passing tests
        (all passing tests counted as one more), from -1 to 1: of its lines the highest.
    :ivar calls_odd: the score of the oddest of its lines right after which another function's line ran for the first
        time that is about as odd: where it calls what the fault may be in.
    :ivar late: how near to the failure its last line came that ran for the first time, from 0 to 1: the mean over the
        failing tests that ran it of that line's place among all of them.
    """

    function: Called
    failed: int
    of_failed: int
    passed: int
    of_passed: int
    function_score: float
    line_score: float
    line: int
    line_failed: int
    line_passed: int
    left_out_score: float
    contrast: float
    calls_odd: float
    late: float


def spectra(
    calls: Calls, tests: Collection[str], unwound: Collection[tuple[str, str]] = ()
) -> list[Spectrum]:
    """The functions that at least one of the failing tests ran, in the order of the calls.

    :param tests: node ids of the failing tests of one cause. Those of other causes count neither way.
    :param unwound: file and name of functions that an exception ended: that they left lines out says nothing.
    """
    traces = traces_of(calls, tests)
    if not traces:
        return []
    number = len(traces)
    ran = Counter(index for trace in traces for index in {index for index, _ in trace})
    lines = Counter(hit for trace in traces for hit in trace)
    scores = {hit: ochiai(count, passed_of(calls, hit), number) for hit, count in lines.items()}
    oddest = _oddest(scores)
    contrasts = _contrasts(lines, calls, number)
    calls_odd = _calls_odd(traces, scores)
    places = _last_places(traces)
    found = []
    for index, count in sorted(ran.items()):
        called = calls.functions[index]
        score, line = oddest[index]
        is_unwound = (called.file, called.function) in unwound
        found.append(
            Spectrum(
                function=called,
                failed=count,
                of_failed=number,
                passed=called.passed,
                of_passed=calls.passed,
                function_score=ochiai(count, called.passed, number),
                line_score=score,
                line=line,
                line_failed=lines[index, line],
                line_passed=called.line_passed(line),
                left_out_score=0.0
                if is_unwound
                else _left_out_score(
                    called, count, [lines.get((index, each), 0) for each in called.lines], number
                ),
                contrast=contrasts[index],
                calls_odd=calls_odd.get(index, 0.0),
                late=places[index] / count,
            )
        )
    return found


def passed_of(calls: Calls, hit: Hit) -> int:
    """How many passing tests ran the line."""
    index, line = hit
    return calls.functions[index].line_passed(line)


def traces_of(calls: Calls, tests: Collection[str]) -> list[Sequence[Hit]]:
    """The lines of those of the failing tests that are known, in the order of their node ids."""
    return [calls.failed[test] for test in sorted(tests) if test in calls.failed]


def _left_out_score(called: Called, failed: int, ran: Iterable[int], all_failed: int) -> float:
    """Of the lines that passing tests ran, the oddest for being left out by tests that ran the function.

    :param failed: how many failing tests ran the function; ``ran``: how many ran each line.
    """
    passed = map(called.line_passed, called.lines)
    scores = (
        ochiai(max(0, failed - count), max(0, called.passed - each), all_failed)
        for count, each in zip(ran, passed, strict=True)
    )
    return max(scores, default=0.0)


def _oddest(scores: Mapping[Hit, float]) -> dict[int, tuple[float, int]]:
    """The highest score of each function's lines, and the first line that has it."""
    found: dict[int, tuple[float, int]] = {}
    for (index, line), score in scores.items():
        best = found.get(index)
        if best is None or (-score, line) < (-best[0], best[1]):
            found[index] = score, line
    return found


def _contrasts(lines: Mapping[Hit, int], calls: Calls, all_failed: int) -> dict[int, float]:
    """Of each function. The square root, as the first few passing tests say more than as many beyond a hundred."""
    found: dict[int, float] = {}
    for hit, failed in lines.items():
        value = failed / all_failed - sqrt(passed_of(calls, hit) / (1 + calls.passed))
        found[hit[0]] = max(value, found.get(hit[0], -1.0))
    return found


def _calls_odd(traces: Iterable[Sequence[Hit]], scores: Mapping[Hit, float]) -> dict[int, float]:
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
    """The sum over the traces of the position of each function's last line, as a share of the trace's length."""
    places: dict[int, float] = {}
    for trace in traces:
        last = {index: number for number, (index, _) in enumerate(trace, start=1)}
        for index, number in last.items():
            places[index] = places.get(index, 0.0) + number / len(trace)
    return places


# --- counts of an earlier run with more passing tests

#: The identity of a function wherever it moves: file, qualified name, digest, number of lines after the first.
Key = tuple[str, str, str, int]


def merge_baseline(now: Calls, before: Calls, not_passed: Collection[str]) -> Calls:
    """This run's calls with the passing counts of the earlier run, where that is the fuller one.

    They are taken for functions that did not change since. A test that passed then and fails now is in them. It is
    taken out again, with the lines that it runs now: its earlier trace is not known.

    :param not_passed: node ids of tests that fail now and did not pass then: they failed, or were not there.
    :returns: ``now`` as it is where it has at least as many passing tests.
    """
    traces = {nodeid: ran for nodeid, ran in now.failed.items() if nodeid not in not_passed}
    passed = before.passed - len(traces) - now.omitted
    if passed <= now.passed:
        return now
    then = _unambiguous(before.functions)
    own = _unambiguous(now.functions)
    names = {_name(each) for each in before.functions}
    less = _counted(traces.values())
    functions = list(now.functions)
    for index, each in enumerate(functions):
        key = _key(each)
        if key in own and key in then:
            more = _with_counts(each, then[key], less.get(index, {}), passed)
            guards = each.guards or tuple(test for test in then[key].guards if test not in now.failed)
            functions[index] = more._replace(guards=guards)
        elif _name(each) in names and not each.passed:
            functions[index] = each._replace(is_changed=True)
    return now._replace(passed=passed, functions=tuple(functions), remembered=passed)


def _counted(traces: Iterable[Iterable[tuple[int, int]]]) -> dict[int, Counter[int]]:
    """By function, how many of the tests ran each of its lines, and in the place of line 0 any of them."""
    found: dict[int, Counter[int]] = {}
    for ran in traces:
        for index, line in {*ran, *((index, 0) for index, _ in ran)}:
            found.setdefault(index, Counter())[line] += 1
    return found


def _key(function: Called) -> Key:
    return function.file, function.function, function.digest, function.end_line - function.line


def _name(function: Called) -> tuple[str, str]:
    return function.file, function.function


def _unambiguous(functions: Iterable[Called]) -> dict[Key, Called]:
    """By key; without those that share one, and those whose code is not known."""
    functions = list(functions)
    count = Counter(map(_key, functions))
    return {_key(each): each for each in functions if each.digest and count[_key(each)] == 1}


def _with_counts(now: Called, before: Called, less: Mapping[int, int], most: int) -> Called:
    """The function with the earlier counts less those of tests that fail now, and no less than its own.

    :param most: how many passing tests are counted in all.
    """
    moved = now.line - before.line
    passed = max(now.passed, min(before.passed - less.get(0, 0), most))
    lines = dict(now.lines)
    for line, then in before.lines.items():
        number = line + moved
        count = max(lines.get(number, 0), min(then - less.get(number, 0), passed))
        if count > 0:
            lines[number] = count
    return now._replace(passed=passed, lines=dict(sorted(lines.items())))
