"""What each test ran, with what ran while modules were imported and made something that it uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import cached_property
from math import sqrt
from typing import NamedTuple

from loop_close.calls import Calls

#: A line that ran: index of the function, number of the line.
Hit = tuple[int, int]
# What this share of the passing tests, and one more, may use as well tells nothing.
_COMMON = 0.25


def ochiai(failed: int, passed: int, all_failed: int) -> float:
    """The measure, from 0 to 1; 0 where no failing test ran it."""
    return failed / sqrt(all_failed * (failed + passed)) if failed else 0.0


class Trace(NamedTuple):
    """What a failing test ran.

    :ivar own: in the order in which it ran for the first time.
    :ivar before: what ran at import and made something that it uses, without what it ran itself.
    """

    own: tuple[Hit, ...]
    before: tuple[Hit, ...] = ()

    @property
    def hits(self) -> tuple[Hit, ...]:
        """All of it."""
        return self.before + self.own


class Counted:
    """Calls, with what ran at import."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self._traces: dict[str, Trace] = {}

    def of(self, tests: Collection[str]) -> Counts:
        """What is known of failing tests, given by node id."""
        known = [self._trace(test) for test in sorted(tests) if test in self.calls.failed]
        return Counts(self, known, self._told_by_import(known))

    def _trace(self, test: str) -> Trace:
        if test not in self._traces:
            own = self.calls.failed[test]
            before = dict.fromkeys(self._before(test))
            for hit in own:
                before.pop(hit, None)
            self._traces[test] = Trace(own, tuple(before))
        return self._traces[test]

    def _before(self, test: str) -> Iterator[Hit]:
        """What ran at import and made what the test uses: by its own names, and those in what it ran."""
        ran = {index for index, _ in self.calls.failed[test]}
        named = self.calls.uses.get(test, frozenset())
        first = named.union(*(self.calls.functions[index].uses for index in ran))
        for number in sorted(self._with_needs(first, set())):
            yield from self.calls.makings[number].ran

    def _with_needs(self, first: Iterable[int], done: set[int]) -> Iterator[int]:
        """These makings with all that they need, without those that are done; all of them are done then."""
        waiting = list(first)
        while waiting:
            number = waiting.pop()
            if number not in done:
                done.add(number)
                yield number
                waiting += self.calls.makings[number].needs - done

    def _told_by_import(self, traces: Collection[Trace]) -> frozenset[int]:
        """The functions that failing and passing tests differ more by with import than without.

        What a test uses is found by names, which says that it may use it: what it runs is surer.
        """
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
        return max(self.calls.functions[index].passed, self._functions.get(index, 0))

    def at_import(self, index: int) -> Mapping[int, int]:
        """Of each line of the function that ran at import how many passing tests use what it made."""
        return {line: self._lines[index, line] for line in self._by_function.get(index, ())}

    @cached_property
    def _passed(self) -> Mapping[int, int]:
        """How many passing tests use what each of them made, at least: as many as of what needs it."""
        direct = Counter({number: making.named for number, making in enumerate(self.calls.makings)})
        for called in self.calls.functions:
            for number in called.uses:
                direct[number] = max(direct[number], called.passed)
        done: set[int] = set()
        largest = sorted(direct.items(), key=lambda each: -each[1])
        return {n: tests for number, tests in largest for n in self._with_needs([number], done)}

    @cached_property
    def _lines(self) -> Mapping[Hit, int]:
        found: dict[Hit, int] = {}
        for number, making in enumerate(self.calls.makings):
            for hit in making.ran:
                found[hit] = max(self._passed[number], found.get(hit, 0))
        return found

    @cached_property
    def _by_function(self) -> Mapping[int, Set[int]]:
        found: dict[int, set[int]] = {}
        for index, line in self._lines:
            found.setdefault(index, set()).add(line)
        return found

    @cached_property
    def _functions(self) -> Mapping[int, int]:
        lines = self._by_function.items()
        return {index: max(self._lines[index, line] for line in each) for index, each in lines}


def _tests_of(traces: Iterable[Iterable[Hit]]) -> Counter[int]:
    return Counter(index for trace in traces for index in {index for index, _ in trace})


class Counts:
    """What is known of some failing tests, and of the passing ones beside them.

    :param told: the functions that are counted for what they did at import as well.
    :ivar traces: what each test ran.
    :ivar failed: how many of them ran each function; ``made`` are those of them that only use what it made.
    """

    def __init__(self, counted: Counted, traces: Iterable[Trace], told: Set[int]) -> None:
        self.calls = counted.calls
        self.traces = [
            Trace(trace.own, tuple(hit for hit in trace.before if hit[0] in told)) for trace in traces
        ]
        self.failed = _tests_of(trace.hits for trace in self.traces)
        self.made = self.failed - _tests_of(trace.own for trace in self.traces)
        self._counted, self._told = counted, told

    def passed(self, index: int) -> int:
        """How many passing tests ran a function."""
        return self._counted.passed(index) if index in self._told else self.calls.functions[index].passed

    def lines(self, index: int) -> Mapping[int, int]:
        """How many passing tests ran each line of a function."""
        own = self.calls.functions[index].lines
        if index not in self._told:
            return own
        at_import = self._counted.at_import(index)
        return {line: max(own.get(line, 0), at_import.get(line, 0)) for line in {*own, *at_import}}

    def passed_line(self, hit: Hit) -> int:
        """How many passing tests ran a line."""
        index, line = hit
        own = self.calls.functions[index].lines.get(line, 0)
        return max(own, self._counted.at_import(index).get(line, 0)) if index in self._told else own
