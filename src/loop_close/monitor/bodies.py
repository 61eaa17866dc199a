"""What test modules ran while they were imported: their tests may fail by what was made then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from loop_close.calls import Body
from loop_close.monitor.ran import NOT_ANY, Line, Ran, joined


class Bodies:
    """Takes down what was run to collect each test module, and how many of its tests pass.

    :ivar ran: by what the node ids of the module's tests begin with; modules that ran nothing left out.
    """

    def __init__(self) -> None:
        self.ran: dict[str, Ran] = {}
        self._passed: Counter[str] = Counter()

    def add(self, nodeid: str, ran: Ran) -> None:
        """Something ran to collect a module, or a class in it.

        :param ran: in order.
        """
        if ran.lines:
            file = file_of(nodeid)
            self.ran[file] = joined((self.ran.get(file, NOT_ANY), ran))

    def passed(self, nodeid: str) -> None:
        """A test passed."""
        self._passed[file_of(nodeid)] += 1

    def counted(self, order: Mapping[int, int]) -> dict[str, Body]:
        """All of it, as a record.

        :param order: of each function that ran, by its number, the index that it has in the record.
        """
        return {
            file: Body(lines=tuple(_ordered(ran.lines, order)), passed=self._passed[file])
            for file, ran in sorted(self.ran.items())
        }


def file_of(nodeid: str) -> str:
    """What the node ids of a module's tests begin with."""
    return nodeid.partition("::")[0]


def _ordered(lines: Iterable[Line], order: Mapping[int, int]) -> Iterable[Line]:
    return ((order[number], line) for number, line in lines if number in order)
