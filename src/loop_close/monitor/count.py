"""Add up what tests ran: of passing tests counts alone, of failing ones the lines."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from loop_close.calls import sample, sample_key
from loop_close.monitor.handled import Handled, Note
from loop_close.monitor.passing import Passing
from loop_close.monitor.ran import Function, Line, Ran

if TYPE_CHECKING:
    from loop_close.calls import Swallowed

#: How many failing tests are kept; of the others, nothing is.
MAX_FAILED = 300
#: How many exceptions that were swallowed are counted; of others that come later, nothing is kept.
MAX_SWALLOWED = 10_000
# Of those that failing tests swallowed, these many are reported.
_MOST_SWALLOWED = 1_000


class Count:
    """What the tests of this process ran.

    :param functions: what the numbers stand for; more may come.
    :ivar passed: how many tests passed; ``passed_tests`` are their node ids, ``passing`` what they ran.
    :ivar outside: functions that ran outside of any test, or in one that neither passed nor failed;
        ``nothing_before``: those that gave None before the first one where a value was wanted.
    :ivar failed: of each failing test the lines that it ran, in order, as numbers in the order of ``failed_lines``;
        ``nothing``: the functions that gave it None where a value was wanted; ``swallowed``: exceptions that were
        handled and did not reach it.
    :ivar swallowing: how many passing tests swallowed each exception, those of failing tests as well.
    :ivar cut: in how many tests there were more of them than are looked at.
    :ivar passed_over: how many tests that passed or failed were not tracked; ``over`` functions that they ran.
    """

    def __init__(self, functions: Mapping[int, Function]) -> None:
        self.functions = functions
        self.passed = 0
        self.passed_tests: list[str] = []
        self.passing = Passing(functions)
        self.outside: set[int] = set()
        self.nothing_before: set[int] = set()
        self.failed: dict[str, array[int]] = {}
        self.failed_lines: dict[Line, int] = {}
        self.nothing: dict[str, Set[int]] = {}
        self.swallowed: dict[str, Mapping[Handled, Note]] = {}
        self.swallowing: dict[Handled, int] = {}
        self.cut = 0
        self.passed_over = 0
        self.over: set[int] = set()
        self._omitted: set[str] = set()
        self._last = ""  # of those that are kept the next to go

    @property
    def omitted(self) -> int:
        """How many failing tests were not kept."""
        return len(self._omitted)

    def add(self, nodeid: str, ran: Ran, outcome: str, *, is_cut: bool = False) -> None:
        """Count a test; one that was skipped or expected to fail says nothing but that it ran these functions.

        :param ran: in order if it failed.
        :param is_cut: not all exceptions that it handled were looked at.
        """
        if (is_cut or ran.swallowed) and outcome in ("passed", "failed"):
            self._count_swallowed(nodeid, ran.swallowed, is_failed=outcome == "failed", is_cut=is_cut)
        if outcome == "passed":
            self.passed += 1
            self.passed_tests.append(nodeid)
            if ran.masks:
                self.passing.add(ran.masks)
        elif outcome == "failed" and (nodeid in self.failed or self._is_chosen(nodeid)):
            # Thousands of lines in hundreds of tests: small numbers take a tenth of the room.
            numbers = self.failed_lines
            self.failed[nodeid] = array("I", [numbers.setdefault(line, len(numbers)) for line in ran.lines])
            self.nothing[nodeid] = ran.nothing
        elif outcome != "failed":
            self.add_outside(ran)

    def pass_over(self, nodeid: str, ran: Ran, outcome: str) -> None:
        """Take down a test that was not tracked.

        :param ran: what no test ran before it.
        """
        self.over |= ran.masks.keys()
        self.passed_over += outcome in ("passed", "failed")
        if outcome == "failed":
            self._omitted.add(nodeid)

    def _count_swallowed(
        self, nodeid: str, swallowed: Mapping[Handled, Note], *, is_failed: bool, is_cut: bool
    ) -> None:
        known = self.swallowing
        kept = {each: note for each, note in swallowed.items() if each in known or len(known) < MAX_SWALLOWED}
        for each in kept:
            known[each] = known.get(each, 0) + (not is_failed)
        if is_failed and kept:
            self.swallowed[nodeid] = kept
        self.cut += is_cut or len(kept) < len(swallowed)

    def _is_chosen(self, nodeid: str) -> bool:
        """Whether to keep one more failing test; where that is one too many, the last one goes."""
        if len(self.failed) < MAX_FAILED:
            return True
        last = self._last or max(self.failed, key=sample_key)
        goes = max(last, nodeid, key=sample_key)
        self._omitted.add(goes)
        self.failed.pop(goes, None)
        self.nothing.pop(goes, None)
        self.swallowed.pop(goes, None)
        self._last = last if goes == nodeid else ""
        return goes != nodeid

    def ran_in_failed(self) -> set[int]:
        """The functions that failing tests ran, of those that are kept."""
        kept = set().union(*self.failed.values()) if self._omitted else None
        lines = enumerate(self.failed_lines)
        ran = {number for place, (number, _) in lines if kept is None or place in kept}
        return ran.union(
            *self.nothing.values()
        )  # of one that ran before the test, only the end may be the test's

    def add_before(self, ran: Ran) -> None:
        """Take down what ran before the first test."""
        self.add_outside(ran)
        self.nothing_before |= ran.nothing

    def add_outside(self, ran: Ran) -> None:
        """Take down what ran between tests."""
        self.outside |= ran.masks.keys()


def chosen(failed: Iterable[str]) -> list[str]:
    """The failing tests to keep, sorted: the same ones whichever comes first and whichever process runs them."""
    return sorted(sample(failed, MAX_FAILED))


def traces(failed: Mapping[str, Iterable[int]], lines: Sequence[Line]) -> dict[str, tuple[Line, ...]]:
    """The lines that each failing test ran, from their places; tests share the pairs, for there may be millions."""
    return {nodeid: tuple(map(lines.__getitem__, places)) for nodeid, places in sorted(failed.items())}


def most_raised(found: Iterable[Swallowed]) -> tuple[Swallowed, ...]:
    """Those that failing tests swallowed, in the order given. Of too many the ones that most such tests raised."""
    some = [each for each in found if each.failed]
    likely = sorted(range(len(some)), key=lambda n: (-len(some[n].failed), some[n].passed, n))
    return tuple(some[n] for n in sorted(likely[:_MOST_SWALLOWED]))
