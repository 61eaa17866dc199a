"""What ran while modules were imported, as records, and what uses what it made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from loop_close.calls import Making, bits_of, reach
from loop_close.monitor.count import Count
from loop_close.monitor.made import CodeOf, CodeOfTest, Made
from loop_close.monitor.ownership import Ownership
from loop_close.monitor.statements import Statements

#: With more links than these, of statements with functions and with each other, nothing is told of imports.
MOST_LINKS = 200_000


class Makings:
    """Makes the records of one run.

    :param order: the index of each function in the records, by its number.
    """

    def __init__(self, known: Statements, count: Count, order: Mapping[int, int]) -> None:
        self._known, self._count, self._order = known, count, order
        numbers = _telling(known)
        is_all = sum(len(known.ran[n]) + len(known.needs[n]) for n in numbers) <= MOST_LINKS
        self._numbers = sorted(numbers, key=lambda n: known.spots[n]) if is_all else []
        self._places = {number: place for place, number in enumerate(self._numbers)}
        self._needs = [self._placed(known.needs[number]) for number in self._numbers]

    def made(self, ownership: Ownership, code_of: CodeOf) -> Made:
        """All of it."""
        return Made(self._all(ownership), self._named(code_of), self._by_function(), self._by_failed(code_of))

    def _all(self, ownership: Ownership) -> tuple[Making, ...]:
        """A record for each group of statements, sorted by place."""
        found = []
        for number, needs in zip(self._numbers, self._needs, strict=True):
            file, line, column = self._known.spots[number]
            ran = frozenset(self._order[function] for function in self._known.ran[number])
            found.append(Making(file=ownership.shown(file), line=line, column=column, ran=ran, needs=needs))
        return tuple(found)

    def _placed(self, numbers: Iterable[int]) -> frozenset[int]:
        return frozenset(self._places[number] for number in numbers if number in self._places)

    def _named(self, code_of: CodeOf) -> Counter[int]:
        """How many passing tests use what each function made, by the names in their own code; by its number."""
        by_bits: Counter[int] = Counter()
        bits = self._bits()
        for code, tests in _by_code(map(code_of, self._count.passed_tests)):
            used = 0
            for number in self._known.of_test(code):
                used |= bits.get(number, 0)
            by_bits[used] += tests
        found: Counter[int] = Counter()
        for used, tests in by_bits.items():
            found.update(dict.fromkeys(bits_of(used), tests))
        return found

    def _bits(self) -> dict[int, int]:
        """Of each group the functions that made what it uses, a bit each."""
        own = [sum(1 << function for function in self._known.ran[number]) for number in self._numbers]
        return dict(zip(self._numbers, reach(self._needs, own), strict=True))

    def _by_function(self) -> dict[int, frozenset[int]]:
        """What the code of each function names, by its number."""
        return {number: self._placed(self._known.of_function(number)) for number in self._order}

    def _by_failed(self, code_of: CodeOf) -> dict[str, frozenset[int]]:
        """What the code of each failing test names; of a module that cannot be collected that is not known."""
        codes = {nodeid: code_of(nodeid) for nodeid in sorted(self._count.failed)}
        return {
            nodeid: self._placed(self._known.of_test(code)) if code is not None else frozenset()
            for nodeid, code in codes.items()
        }


def _telling(known: Statements) -> set[int]:
    """Those that ran functions, and those that need such ones."""
    needed_by: list[list[int]] = [[] for _ in known.spots]
    for number, needs in enumerate(known.needs):
        for each in needs:
            needed_by[each].append(number)
    waiting, found = [number for number, ran in enumerate(known.ran) if ran], set[int]()
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += needed_by[number]
    return found


def _by_code(codes: Iterable[CodeOfTest | None]) -> Iterable[tuple[CodeOfTest, int]]:
    """Each with the number of its tests: by identity, as the hash of code is that of all it holds."""
    found: dict[int, tuple[CodeOfTest, int]] = {}
    for code in codes:
        if code is not None:
            found[id(code)] = code, found.get(id(code), (code, 0))[1] + 1
    return found.values()
