"""What ran while modules were imported, as records, and what uses what it made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from loop_close.calls import Making
from loop_close.monitor.code_of_test import CodeOfTest
from loop_close.monitor.count import Count
from loop_close.monitor.ownership import Ownership
from loop_close.monitor.ran import NOTHING
from loop_close.monitor.statements import Statements

#: Gives the code of a test by its node id, None for a module that cannot be collected.
CodeOf = Callable[[str], CodeOfTest | None]


class Makings:
    """Makes the records of one run.

    :param order: the index of each function in the records, by its number.
    """

    def __init__(self, known: Statements, count: Count, order: Mapping[int, int]) -> None:
        self._known, self._count, self._order = known, count, order
        self._numbers = known.telling()
        self._places = {number: place for place, number in enumerate(self._numbers)}

    def all(self, ownership: Ownership, code_of: CodeOf) -> tuple[Making, ...]:
        """A record for each statement, sorted by file and line."""
        named = self._named(code_of)
        return tuple(
            Making(
                file=ownership.shown(self._known.places[number][0]),
                line=self._known.places[number][1],
                ran=tuple(sorted(self._ran(number))),
                needs=self._placed(self._known.needs[number]),
                named=named[number],
            )
            for number in self._numbers
        )

    def _placed(self, numbers: Iterable[int]) -> frozenset[int]:
        return frozenset(self._places[number] for number in numbers if number in self._places)

    def _ran(self, number: int) -> Iterator[tuple[int, int]]:
        for function, mask in self._known.masks[number].items():
            for line in self._count.functions[function].lines(mask):
                if line != NOTHING:
                    yield self._order[function], line

    def _named(self, code_of: CodeOf) -> Counter[int]:
        """How many passing tests name what each statement made."""
        found: Counter[int] = Counter()
        for code, tests in _by_code(map(code_of, self._count.passed_tests)):
            found.update(dict.fromkeys(self._known.of_test(code), tests))
        return found

    def by_function(self) -> dict[int, frozenset[int]]:
        """What the code of each function names, by its number."""
        return {number: self._placed(self._known.of_function(number)) for number in self._order}

    def by_failed(self, code_of: CodeOf) -> dict[str, frozenset[int]]:
        """What the code of each failing test names; of a module that cannot be collected that is not known."""
        return {nodeid: self._of_test(code_of(nodeid)) for nodeid in sorted(self._count.failed)}

    def _of_test(self, code: CodeOfTest | None) -> frozenset[int]:
        return self._placed(self._known.of_test(code)) if code is not None else frozenset()


def _by_code(codes: Iterable[CodeOfTest | None]) -> Iterable[tuple[CodeOfTest, int]]:
    """Each with the number of its tests: by identity, as the hash of code is that of all it holds."""
    found: dict[int, tuple[CodeOfTest, int]] = {}
    for code in codes:
        if code is not None:
            found[id(code)] = code, found.get(id(code), (code, 0))[1] + 1
    return found.values()
