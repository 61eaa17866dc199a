"""What failing tests saw to give None, taken out of the lines that they ran."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CodeType

from loop_close.monitor.count import Count
from loop_close.monitor.hits import NOTHING, function_of, line_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Nothing:
    """Functions by number.

    :ivar failed: of failing tests, those out of which None came.
    :ivar owing: those of them that are to give a value.
    :ivar marks: the functions, by the places that stand for it in what failing tests ran.
    """

    failed: Mapping[str, frozenset[int]]
    owing: frozenset[int]
    marks: Mapping[int, int]

    def without(self, failed: Mapping[str, array[int]]) -> Mapping[str, array[int]]:
        """What failing tests ran, lines alone."""
        if not self.marks:
            return failed
        return {
            nodeid: array("I", [number for number in numbers if number not in self.marks])
            for nodeid, numbers in failed.items()
        }


def nothing_in(count: Count, functions: Mapping[int, CodeType]) -> Nothing:
    """Look through what was counted.

    :param functions: what the numbers stand for.
    """
    marks = {
        place: function_of(hit) for place, hit in enumerate(count.failed_lines) if line_of(hit) == NOTHING
    }
    if not marks:
        return Nothing(failed={}, owing=frozenset(), marks=marks)
    found = {
        nodeid: frozenset(marks[place] for place in marks.keys() & numbers)
        for nodeid, numbers in count.failed.items()
    }
    return Nothing(
        failed={nodeid: each for nodeid, each in found.items() if each},
        owing=_owing({*marks.values()}, functions),
        marks=marks,
    )


def _owing(numbers: Iterable[int], functions: Mapping[int, CodeType]) -> frozenset[int]:
    from loop_close.monitor.owed import Owed  # late: it parses source, for which a green run has no use

    owed = Owed()
    return frozenset(number for number in numbers if owed.is_owed(functions[number]))
