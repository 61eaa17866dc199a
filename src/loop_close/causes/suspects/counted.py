"""What each test ran, with what ran while modules were imported and made something that it uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import cached_property
from math import sqrt
from typing import NamedTuple

from loop_close.calls import Calls, bits_of, reach

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
        used = self._reached(self.calls.uses.get(test, ()))
        for index in {index for index, _ in self.calls.failed[test]}:
            used |= self._reached(self.calls.functions[index].uses)
        for index in bits_of(used):
            yield from ((index, line) for line in self.calls.functions[index].at_import)

    def _reached(self, makings: Iterable[int]) -> int:
        """The functions that made what these bind, or what that needs: a bit each, by index."""
        bits = 0
        for number in makings:
            bits |= self._reach[number]
        return bits

    @cached_property
    def _reach(self) -> list[int]:
        makings = self.calls.makings
        own = [sum(1 << index for index in each.ran) for each in makings]
        return reach([each.needs for each in makings], own)

    def _told_by_import(self, traces: Collection[Trace]) -> frozenset[int]:
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
        used, at_import = self._counted.used(index), self.calls.functions[index].at_import
        return {**own, **{line: max(own.get(line, 0), used) for line in at_import}}

    def passed_line(self, hit: Hit) -> int:
        """How many passing tests ran a line."""
        index, line = hit
        called = self.calls.functions[index]
        own = called.lines.get(line, 0)
        is_used = index in self._told and line in called.at_import
        return max(own, self._counted.used(index)) if is_used else own
