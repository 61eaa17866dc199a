"""What test modules ran while they were imported: their tests may fail by what was made then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from loop_close.monitor.ran import NOTHING, Function, Line, Ran, joined


class Bodies:
    """Takes down what was run to collect each test module, and how many of its tests pass.

    :param functions: what the numbers stand for; more may come.
    """

    def __init__(self, functions: Mapping[int, Function]) -> None:
        self._functions = functions
        self._ran: dict[str, Ran] = {}
        self._passed: Counter[str] = Counter()

    @property
    def are_any(self) -> bool:
        """Whether any module ran anything."""
        return bool(self._ran)

    def add(self, nodeid: str, ran: Ran) -> None:
        """Something ran to collect a module, or a class in it."""
        file = file_of(nodeid)
        whole = joined((self._ran.get(file, ran), ran), in_order=False)
        if whole.masks:
            self._ran[file] = whole

    def passed(self, nodeid: str) -> None:
        """A test passed."""
        self._passed[file_of(nodeid)] += 1

    def by_function(self) -> dict[int, dict[int, int]]:
        """By number, how many passing tests are of modules that ran each line; in the place of line 0 any."""
        masks: Counter[tuple[int, int]] = Counter()
        for file, passed in self._passed.items():  # modules run most functions alike
            masks.update(dict.fromkeys(self._of(file).items(), passed))
        found: dict[int, Counter[int]] = {}
        for (number, mask), passed in masks.items():
            counts = found.setdefault(number, Counter())
            counts.update(dict.fromkeys((0, *self._lines(number, mask)), passed))
        return {number: dict(sorted(counts.items())) for number, counts in found.items()}

    def of_tests(self, nodeids: Iterable[str]) -> dict[str, list[Line]]:
        """The lines that the modules of these tests ran, by what the node ids begin with."""
        files = sorted({file_of(nodeid) for nodeid in nodeids} & self._ran.keys())
        return {
            file: [
                (number, line)
                for number, mask in self._of(file).items()
                for line in self._lines(number, mask)
            ]
            for file in files
        }

    def _of(self, file: str) -> Mapping[int, int]:
        return self._ran[file].masks if file in self._ran else {}

    def _lines(self, number: int, mask: int) -> Iterable[int]:
        return (line for line in self._functions[number].lines(mask) if line != NOTHING)


def file_of(nodeid: str) -> str:
    """What the node ids of a module's tests begin with."""
    return nodeid.partition("::")[0]
