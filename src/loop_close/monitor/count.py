"""Add up what tests ran: of passing tests counts alone, of failing ones the lines."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from zlib import crc32

from loop_close.monitor.hits import CALLED, Hit, functions_of, line_of

_Line = tuple[int, int]  # the position of a function, and the line's number
#: How many failing tests are kept; of the others, nothing is.
MAX_FAILED = 300


class Count:
    """What the tests of this process ran.

    :ivar passed: how many tests passed; ``hits`` in how many of them each function and each line ran.
    :ivar outside: functions that ran outside of any test.
    :ivar failed: of each failing test the lines that it ran, in order, as numbers in the order of ``failed_lines``.
    """

    def __init__(self) -> None:
        self.passed = 0
        self.hits: Counter[Hit] = Counter()
        self.outside: set[int] = set()
        self.failed: dict[str, array[int]] = {}
        self.failed_lines: dict[Hit, int] = {}
        self._omitted: set[str] = set()
        self._last = ""  # of those that are kept the next to go

    @property
    def omitted(self) -> int:
        """How many failing tests were not kept."""
        return len(self._omitted)

    def add(self, nodeid: str, hits: Collection[Hit], outcome: str) -> None:
        """Count a test; one that was skipped or expected to fail says nothing.

        :param hits: each once, in the order in which they ran; of each function also that it was called.
        """
        if outcome == "passed":
            self.passed += 1
            self.hits.update(iter(hits))  # not as a mapping of counts
        elif outcome == "failed":
            self._add_failed(nodeid, hits)

    def _add_failed(self, nodeid: str, hits: Iterable[Hit]) -> None:
        if nodeid not in self.failed and not self._is_chosen(nodeid):
            return
        # Thousands of lines in hundreds of tests: small numbers take a tenth of the room.
        numbers, lines = self.failed_lines, (hit for hit in hits if line_of(hit) != CALLED)
        self.failed[nodeid] = array("I", [numbers.setdefault(hit, len(numbers)) for hit in lines])

    def _is_chosen(self, nodeid: str) -> bool:
        """Whether to keep one more failing test; where that is one too many, the last one goes."""
        if len(self.failed) < MAX_FAILED:
            return True
        last = self._last or max(self.failed, key=_turn)
        goes = max(last, nodeid, key=_turn)
        self._omitted.add(goes)
        self.failed.pop(goes, None)
        self._last = last if goes == nodeid else ""
        return goes != nodeid

    def ran_in_failed(self) -> set[int]:
        """The functions that failing tests ran, of those that are kept."""
        kept = set().union(*self.failed.values()) if self._omitted else None
        lines = enumerate(self.failed_lines)
        return functions_of(hit for place, hit in lines if kept is None or place in kept)

    def add_outside(self, hits: Iterable[Hit]) -> None:
        """Take down what ran between tests."""
        self.outside |= functions_of(hits)


def chosen(failed: Iterable[str]) -> list[str]:
    """The failing tests to keep, sorted: the same ones whichever comes first and whichever process runs them."""
    return sorted(sorted(failed, key=_turn)[:MAX_FAILED])


def _turn(nodeid: str) -> tuple[int, str]:
    """By chance, as tests that stand together fail alike, but always the same."""
    return crc32(nodeid.encode("utf-8", "backslashreplace")), nodeid


def traces(failed: Mapping[str, Iterable[int]], lines: Sequence[_Line]) -> dict[str, tuple[_Line, ...]]:
    """The lines that each failing test ran, from their places; tests share the pairs, for there may be millions."""
    return {nodeid: tuple(map(lines.__getitem__, places)) for nodeid, places in sorted(failed.items())}
