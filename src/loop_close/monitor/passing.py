"""How many passing tests ran each function and each of its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from loop_close.monitor.ran import Function

# With more different masks than this they are added up line by line, to keep the room that they take bounded.
_MOST = 50_000


class Passed:
    """Numbers of passing tests.

    :ivar tests: those that ran the function.
    :ivar lines: those that ran each line, and for which it gave None where a value was wanted.
    """

    __slots__ = ("lines", "tests")

    def __init__(self) -> None:
        self.tests = 0
        self.lines: Counter[int] = Counter()


class Passing:
    """Adds up masks as they are: tests run most functions in few ways, each of many lines.

    :param functions: what the numbers stand for; more may come.
    """

    def __init__(self, functions: Mapping[int, Function]) -> None:
        self._functions = functions
        self._masks: Counter[tuple[int, int]] = Counter()
        self._found: dict[int, Passed] = {}

    def add(self, masks: Mapping[int, int]) -> None:
        """Count a test."""
        self._masks.update(iter(masks.items()))
        if len(self._masks) > _MOST:
            self._add_up()

    def _add_up(self) -> None:
        for (number, mask), tests in self._masks.items():
            passed = self._found.setdefault(number, Passed())
            passed.tests += tests
            for line in self._functions[number].lines(mask):
                passed.lines[line] += tests
        self._masks.clear()

    def by_function(self) -> Mapping[int, Passed]:
        """The functions that passing tests ran, by their numbers."""
        self._add_up()
        return self._found
