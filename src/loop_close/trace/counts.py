"""Counts of the tests that ran each function and line, and the :class:`loop_close.calls.Calls` made from them."""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from types import CodeType

import msgspec

from loop_close.calls import Called, Calls, sample
from loop_close.trace.code import Ownership, Place, digest_of, last_line
from loop_close.trace.lines import Ran, lines_in

#: Limit of failing tests whose lines are recorded.
MOST_FAILED = 300
# So many of the passing tests that ran a function are named.
_MOST_GUARDS = 3
# Most functions run in few ways, each of many lines: equal masks are counted first, and lines when there are so many.
_MOST_MASKS = 50_000


class Counts:
    """What the tests of this process ran.

    :param functions: the first code object of each function, by its ``id``; some may be added to it later.
    :ivar outside: functions that ran outside of any test, or in one that neither passed nor failed or was not tracked.
    """

    def __init__(self, functions: Mapping[int, CodeType]) -> None:
        self.outside: set[int] = set()
        self._functions = functions
        self._passed = 0
        self._by_function: Counter[int] = Counter()
        self._masks: Counter[tuple[int, int]] = Counter()
        self._lines: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self._guards: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        self._failed: dict[str, Ran] = {}
        self._dropped: set[str] = set()

    def add(self, nodeid: str, ran: Ran, outcome: str) -> None:
        """Count a test.

        :param ran: what it ran.
        :param outcome: as pytest names it.
        """
        if outcome == "passed":
            self._passed += 1
            self._by_function.update(ran.keys())
            self._masks.update(iter(ran.items()))
            self._guard(ran, (len(ran), nodeid))
            if len(self._masks) > _MOST_MASKS:
                self._add_up()
        elif outcome == "failed":
            self._failed[nodeid] = ran
            if len(self._failed) >= 2 * MOST_FAILED:
                self._drop()
        else:
            self.outside |= ran.keys()

    def _guard(self, functions: Iterable[int], guard: tuple[int, str]) -> None:
        """Of the passing tests that ran a function, keep those that ran the fewest functions."""
        for function in functions:
            kept = self._guards[function]
            if len(kept) < _MOST_GUARDS or guard < kept[-1]:
                insort(kept, guard)
                del kept[_MOST_GUARDS:]

    def _add_up(self) -> None:
        for (function, mask), tests in self._masks.items():
            lines = self._lines[function]
            for line in lines_in(mask, self._functions[function].co_firstlineno):
                lines[line] += tests
        self._masks.clear()

    def _drop(self) -> None:
        """Drop failing tests beyond the limit: the same ones in whatever order they came."""
        kept = kept_of(self._failed)
        self._dropped |= self._failed.keys() - set(kept)
        self._failed = {nodeid: self._failed[nodeid] for nodeid in kept}

    def calls(self, ownership: Ownership, modules: Iterable[str] = ()) -> Calls:
        """The counts as a record that does not depend on the process.

        :param modules: files whose modules ran.
        """
        self._drop()
        self._add_up()
        ran = self.outside.union(self._by_function, *self._failed.values())
        places = sorted((ownership.place_of(self._functions[number]), number) for number in ran)
        order = {number: index for index, (_, number) in enumerate(places)}
        shared: dict[tuple[int, int], tuple[int, int]] = {}  # failing tests may have millions of lines
        return Calls(
            passed=self._passed,
            functions=tuple(self._called(place, number) for place, number in places),
            failed={
                nodeid: tuple(shared.setdefault(line, line) for line in self._numbered(own, order))
                for nodeid, own in self._failed.items()
            },
            omitted=len(self._dropped),
            modules=frozenset([*modules, *(file for (file, _, _), _ in places)]),
            guards=dict(sorted((nodeid, size) for kept in self._guards.values() for size, nodeid in kept)),
        )

    def _numbered(self, ran: Ran, order: Mapping[int, int]) -> list[tuple[int, int]]:
        """The lines that a test ran, each with the index of its function, sorted."""
        return sorted(
            (order[function], line)
            for function, mask in ran.items()
            for line in lines_in(mask, self._functions[function].co_firstlineno)
        )

    def _called(self, place: Place, number: int) -> Called:
        file, line, name = place
        code = self._functions[number]
        return Called(
            file=file,
            line=line,
            function=name,
            end_line=last_line(code),
            digest=digest_of(code),
            passed=self._by_function[number],
            lines=dict(sorted(self._lines[number].items())),
            in_import=number in self.outside,
            guards=tuple(nodeid for _, nodeid in self._guards.get(number, ())),
        )


def kept_of(failed: Iterable[str]) -> list[str]:
    """The failing tests to keep, sorted; independent of their order and of the distribution over processes."""
    return sorted(sample(failed, MOST_FAILED))


# --- the records of several processes


def encode(calls: Calls) -> bytes:
    """The record as a worker of xdist sends it."""
    return msgspec.msgpack.encode(calls)


def decode(data: bytes) -> Calls:
    """The record that :func:`encode` made."""
    return msgspec.msgpack.decode(data, type=Calls)


def merge_calls(parts: Iterable[Calls]) -> Calls:
    """Merge the records of several processes into that of a single one; independent of their order."""
    parts = list(parts)
    failed = {nodeid for part in parts for nodeid in part.failed}
    kept = kept_of(failed)
    guards = {nodeid: size for part in parts for nodeid, size in part.guards.items()}
    functions: defaultdict[Place, list[Called]] = defaultdict(list)
    for part in parts:
        ran = {index for nodeid in kept for index, _ in part.failed.get(nodeid, ())}
        for index, each in enumerate(part.functions):
            if each.passed or each.in_import or index in ran:
                functions[_place(each)].append(each)
    order = {place: index for index, place in enumerate(sorted(functions))}
    merged = tuple(_sum(functions[place], guards) for place in order)
    named = {nodeid for each in merged for nodeid in each.guards}
    traces: dict[str, tuple[tuple[int, int], ...]] = {}
    for part in parts:
        numbers = [order.get(_place(each), -1) for each in part.functions]
        hits = {hit for ran in part.failed.values() for hit in ran}
        moved = {hit: (numbers[hit[0]], hit[1]) for hit in hits}  # the tests share these
        traces |= {nodeid: tuple(sorted(map(moved.__getitem__, ran))) for nodeid, ran in part.failed.items()}
    return Calls(
        passed=sum(part.passed for part in parts),
        functions=merged,
        failed={nodeid: traces[nodeid] for nodeid in kept},
        omitted=sum(part.omitted for part in parts) + len(failed) - len(kept),
        modules=frozenset().union(*(part.modules for part in parts)),
        constants=tuple(sorted({each for part in parts for each in part.constants})),
        guards={nodeid: size for nodeid, size in sorted(guards.items()) if nodeid in named},
    )


def _place(each: Called) -> Place:
    return each.file, each.line, each.function


def _sum(parts: list[Called], guards: Mapping[str, int]) -> Called:
    """One function as all processes ran it."""
    lines: Counter[int] = Counter()
    for each in parts:
        lines.update(each.lines)
    named = sorted({(guards[nodeid], nodeid) for each in parts for nodeid in each.guards})
    return parts[0]._replace(
        passed=sum(each.passed for each in parts),
        lines=dict(sorted(lines.items())),
        in_import=any(each.in_import for each in parts),
        guards=tuple(nodeid for _, nodeid in named[:_MOST_GUARDS]),
    )
