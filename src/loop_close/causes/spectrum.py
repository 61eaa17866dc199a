"""Which functions and lines failing and passing tests ran, and how far these set the failing ones apart.

The measure is Ochiai's, failed(x) / sqrt(all failed * (failed(x) + passed(x))), which ranks best among the plain
ones in studies of spectrum-based fault localization (Abreu, Zoeteweij and van Gemund, 2006 and 2009). x is that a
test ran a function, that it ran a line, or that it ran a function and left out one of its lines: a condition that
is wrong shows in what it skips as much as in what it runs instead.

"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

from loop_close.calls import Called, Calls, bits_of, reach
from loop_close.records import Record

#: A line that ran: index of the function, number of the line.
Hit = tuple[int, int]
# What more than this share of the passing tests (and one) may use does not set failing tests apart.
_COMMON = 0.25


def ochiai(failed: int, passed: int, all_failed: int) -> float:
    """The measure, from 0 to 1; 0 where no failing test ran it."""
    return failed / sqrt(all_failed * (failed + passed)) if failed else 0.0


class Trace(NamedTuple):
    """What a failing test ran.

    :ivar test: its node id.
    :ivar own: in the order in which it ran for the first time.
    :ivar before: what ran at import and made something that it uses, without what it ran itself.
    """

    test: str
    own: tuple[Hit, ...]
    before: tuple[Hit, ...]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """All of it."""
        return self.before + self.own


class Counted:
    """Calls, with what ran at import."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self._traces: dict[str, Trace] = {}

    def of(self, tests: Collection[str]) -> SpectrumCounts:
        """What is known of failing tests, given by node id."""
        names = [test for test in sorted(tests) if test in self.calls.failed]
        known = [self._trace(test) for test in names]
        return SpectrumCounts(self, known, self._with_import(known))

    def _trace(self, test: str) -> Trace:
        if test not in self._traces:
            own = self.calls.failed[test]
            before = dict.fromkeys(self._before(test))
            for hit in own:
                before.pop(hit, None)
            self._traces[test] = Trace(test, own, tuple(before))
        return self._traces[test]

    def _before(self, test: str) -> Iterator[Hit]:
        """What ran at import and made what the test uses: by its own names, and those in what it ran."""
        used = self._reached(self.calls.uses.get(test, ()))
        for index in {index for index, _ in self.calls.failed[test]}:
            used |= self._reached(self.calls.functions[index].uses)
        for index in bits_of(used):
            yield from ((index, line) for line in self.calls.functions[index].at_import)

    def _reached(self, import_effects: Iterable[int]) -> int:
        """The functions that made what these bind, or what that needs: a bit each, by index."""
        bits = 0
        for number in import_effects:
            bits |= self._reach[number]
        return bits

    @cached_property
    def _reach(self) -> list[int]:
        import_effects = self.calls.import_effects
        own = [sum(1 << index for index in each.ran) for each in import_effects]
        return reach([each.needs for each in import_effects], own)

    def _with_import(self, traces: Collection[Trace]) -> frozenset[int]:
        """The functions that failing and passing tests differ more by with import than without.

        What a test uses is found by names, which says that it may use it: what it runs is surer. Which passing tests do
        is known of this run alone.
        """
        if self.calls.remembered:
            return frozenset()
        own = _tests_of(trace.own for trace in traces)
        both = _tests_of(trace.hits for trace in traces)
        return frozenset(
            index
            for index, failed in both.items()
            if self.passed(index) <= _COMMON * self.calls.passed + 1
            and ochiai(failed, self.passed(index), len(traces))
            > ochiai(own[index], self.calls.functions[index].passed, len(traces))
        )

    def passed(self, index: int) -> int:
        """How many passing tests ran the function, or use what it made."""
        return max(self.calls.functions[index].passed, self.used(index))

    def used(self, index: int) -> int:
        """How many passing tests use what it made at import: by names of their own, or else by what they ran."""
        return max(self.calls.functions[index].named, self._by_functions.get(index, 0))

    @cached_property
    def _by_functions(self) -> Mapping[int, int]:
        """Of each function how many passing tests ran a function that uses what it made.

        That is estimated, as it is not kept which tests ran several: as if one function did not depend on the other.
        """
        most = max(1, self.calls.passed)
        without: dict[int, float] = {}
        for called in self.calls.functions:
            if called.passed and called.uses:
                part = 1 - min(1.0, called.passed / most)
                for index in bits_of(self._reached(called.uses)):
                    without[index] = part * without.get(index, 1.0)
        return {index: round(most * (1 - part)) for index, part in without.items()}


def _tests_of(traces: Iterable[Iterable[Hit]]) -> Counter[int]:
    return Counter(index for trace in traces for index in {index for index, _ in trace})


class SpectrumCounts:
    """What is known of some failing tests, and of the passing ones beside them.

    :param with_import: the functions that are counted for what they did at import as well.
    :ivar traces: what each test ran.
    :ivar failed: how many of them ran each function; ``made`` are those of them that only use what it made.
    """

    def __init__(self, counted: Counted, traces: Iterable[Trace], with_import: Set[int]) -> None:
        self.calls = counted.calls
        self.traces = [
            trace._replace(before=tuple(hit for hit in trace.before if hit[0] in with_import))
            for trace in traces
        ]
        self.failed = _tests_of(trace.hits for trace in self.traces)
        self.made = self.failed - _tests_of(trace.own for trace in self.traces)
        self._counted, self._with_import = counted, with_import

    def passed(self, index: int) -> int:
        """How many passing tests ran a function."""
        return (
            self._counted.passed(index) if index in self._with_import else self.calls.functions[index].passed
        )

    def lines(self, index: int) -> Mapping[int, int]:
        """How many passing tests ran each line of a function."""
        called = self.calls.functions[index]
        own = {line: called.line_passed(line) for line in called.lines}
        if index not in self._with_import:
            return own
        used = self._counted.used(index)
        return {**own, **{line: max(own.get(line, 0), used) for line in called.at_import}}

    def passed_line(self, hit: Hit) -> int:
        """How many passing tests ran a line."""
        index, line = hit
        called = self.calls.functions[index]
        own = called.line_passed(line)
        is_used = index in self._with_import and line in called.at_import
        return max(own, self._counted.used(index)) if is_used else own


# --- spectra

# A line is as odd as the oddest of a test when it comes this near to it.
_NEAR = 0.9


class Spectrum(Record, frozen=True, kw_only=True):
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
    :ivar calls_odd: the score of the oddest of its lines right after which another function's line ran for the first
        time that is about as odd: where it calls what the fault may be in.
    :ivar late: how near to the failure its last line came that ran for the first time, from 0 to 1: the mean over the
        failing tests that ran it of that line's place among all of them.
    :ivar returned_none: in how many of the failing tests it returned None.
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
    calls_odd: float
    late: float
    returned_none: int = 0


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
    calls_odd = _calls_odd([trace.own for trace in counts.traces], scores)
    places = _last_places(traces)
    returned_none = Counter(index for test in tests for index in calls.returned_none.get(test, ()))
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
                left_out_score=0.0 if is_unwound else _left_out_score(counts, index, lines, number),
                contrast=contrasts[index],
                calls_odd=calls_odd.get(index, 0.0),
                late=places[index] / count,
                returned_none=returned_none[index],
            )
        )
    return found


def passed_of(calls: Calls, hit: Hit) -> int:
    """How many passing tests ran the line."""
    index, line = hit
    return calls.functions[index].line_passed(line)


def _left_out_score(counts: SpectrumCounts, index: int, lines: Mapping[Hit, int], all_failed: int) -> float:
    """Of the lines that passing tests ran, the oddest for being left out by tests that ran the function."""
    all_passed, failed = counts.passed(index), counts.failed[index]
    return max(
        (
            ochiai(max(0, failed - lines.get((index, line), 0)), max(0, all_passed - passed), all_failed)
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


def _contrasts(lines: Mapping[Hit, int], counts: SpectrumCounts, all_failed: int) -> dict[int, float]:
    """Of each function. The square root, as the first few passing tests say more than as many beyond a hundred."""
    found: dict[int, float] = {}
    for hit, failed in lines.items():
        value = failed / all_failed - sqrt(counts.passed_line(hit) / (1 + counts.calls.passed))
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
    taken out again, with the lines that it runs now and the functions that return None in it: its earlier trace is not
    known.

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
    returned_none = Counter(index for nodeid in traces for index in now.returned_none.get(nodeid, ()))
    functions = list(now.functions)
    for index, each in enumerate(functions):
        key = _key(each)
        if key in own and key in then:
            functions[index] = _with_counts(
                each, then[key], less.get(index, {}), returned_none[index], passed
            )
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


def _with_counts(
    now: Called, before: Called, less: Mapping[int, int], returned_none: int, most: int
) -> Called:
    """The function with the earlier counts less those of tests that fail now, and no less than its own.

    :param returned_none: in how many of those tests it returned None.
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
    most = max(now.returned_none, min(before.returned_none - returned_none, passed))
    lines = dict(sorted(lines.items()))
    return now._replace(passed=passed, lines=lines, returned_none=most)
