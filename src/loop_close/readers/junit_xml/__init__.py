"""JUnit XML, as pytest and many other runners write it, to failures and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from loop_close.model import Counts, Failure
from loop_close.readers.junit_xml.case import CaseResult, read_case
from loop_close.readers.junit_xml.parse import CaseParser, read_cases, utf8
from loop_close.text.normalize import stabilize

__all__ = ["JunitReading", "merge_junit", "read_junit"]


_MAX_FAILURES = 20_000
_MAX_CASES = 100_000
_MAX_CHARACTERS = 32_000_000
_SHORT = 1_000
_SUBTESTS = (
    "pytest counts more tests than it lists: subtests that passed, or it is not whole; the exit code tells"
)
# Of two outcomes of a test the first of these counts.
_BOTH = ("failed", "errors", "collected")
_RANKS = ("failed", "errors", "xpassed", "passed", "xfailed", "skipped")


@dataclass(frozen=True, kw_only=True, slots=True)
class JunitReading:
    """What one file says, or several together.

    :ivar failures: in the order of the file, none twice.
    :ivar problems: what is wrong with the file, each beginning with its name and, where known, line and column.
    :ivar incomplete: the problem that ended the reading before the end of the file, or a suite that counts failures and
        lists none; empty when there is neither.
    :ivar counts_subtests: pytest counts more tests than it lists: they may be subtests that passed.
    :ivar cases: the outcomes of each test, by a key that is equal for a test in any file; at most 100,000 tests
        that did not fail.
    :ivar is_pytest: every case was written by pytest, so that the node ids can be given to it as arguments.
    """

    failures: tuple[Failure, ...] = ()
    counts: Counts = field(default_factory=Counts)
    problems: tuple[str, ...] = ()
    incomplete: str = ""
    cases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_pytest: bool = False
    counts_subtests: bool = False


def read_junit(name: str, chunks: Iterable[bytes], root: str = "") -> JunitReading:
    """Read one file.

    A test that is several times in one ``testsuite`` was run again (pytest-rerunfailures, gotestsum, Gradle):
    when it has passed at last, it has passed. Where it failed again, what failed before is kept with it: pytest
    writes the error of a teardown as an element of its own when the test itself has failed, and some runners
    have tests of one name. In another suite of the file it is another test.

    :param name: what to call the file in problems.
    :param chunks: its bytes, in pieces of any size; what they raise is passed on.
    :param root: the project's root, empty when it is not known.
    """
    notes: list[str] = []
    parser = CaseParser()
    fold = _Fold()
    number = 0
    for suite, element in read_cases(utf8(chunks, notes), parser):
        number += 1
        case = read_case(element, suite, root)
        if case.failures:
            suite.saw_failing()
        fold.add(case)
    fault = _fault(name, parser, number)
    unlisted = [] if fault else parser.unlisted()
    notes += unlisted
    counts_subtests = not fault and parser.counts_subtests
    notes += [_SUBTESTS] if counts_subtests else []
    notes += [f"{fold.left_out} more failures are not kept"] if fold.left_out else []
    problems = (*(f"{name}: {note}" for note in notes), *([fault] if fault else []))
    reading = fold.reading(problems, fault or (f"{name}: {unlisted[0]}" if unlisted else ""))
    return replace(reading, counts_subtests=counts_subtests)


def _fault(name: str, parser: CaseParser, number: int) -> str:
    if parser.fault is None:
        return ""
    line, column, words = parser.fault
    if not parser.is_open:
        return f"{name}: {words}" if words == "empty" else f"{name}:{line}:{column}: {words}"
    read = "1 case before it was read" if number == 1 else f"{number} cases before it were read"
    return f"{name}:{line}:{column}: {words}; {read}"


class _Fold:
    """Cases put together as they come, in bounded memory.

    :ivar left_out: how many failures were not kept.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._counts: Counter[str] = Counter()
        self._cases: dict[str, tuple[str, ...]] = {}
        self._latest: dict[str, tuple[int, str]] = {}
        self._failures: dict[str, tuple[Failure, ...]] = {}
        self._kept = 0
        self._characters = 0
        self._is_pytest = True
        self._nameless = 0

    def add(self, case: CaseResult) -> None:
        """Take a case in; what was said of the same test before gives way to it."""
        self._is_pytest = self._is_pytest and case.is_pytest
        key = self._key(case)
        failures, outcomes = tuple(self._bounded(case.failures)), case.outcomes
        before = self._cases.pop(key, ())
        if before:
            self._counts.subtract(before)
        if failures and key in self._failures:
            failures = (*self._failures[key], *failures)
            outcomes = tuple(name for name in _BOTH if name in before or name in outcomes)
        self._keep(key, failures)
        self._counts.update(outcomes)
        if failures or len(self._cases) < _MAX_CASES:
            self._cases[key] = outcomes

    def reading(self, problems: tuple[str, ...], incomplete: str) -> JunitReading:
        """All that was taken in."""
        failures = (failure for found in self._failures.values() for failure in found)
        return JunitReading(
            failures=_unlike(failures),
            counts=_counts(self._counts),
            problems=problems,
            incomplete=incomplete,
            cases=self._cases,
            is_pytest=self._is_pytest and bool(self._counts),
        )

    def _key(self, case: CaseResult) -> str:
        """The case's own, or a numbered one when the same is known from another suite, or when it has no name."""
        if not case.key.strip("\0"):
            self._nameless += 1
            return f"\0\0{case.suite}\0{self._nameless}"
        suite, key = self._latest.get(case.key, (case.suite, case.key))
        if suite != case.suite:
            key = f"{case.key}\0{case.suite}"
        if case.key in self._latest or len(self._latest) < _MAX_CASES * (1 + bool(case.failures)):
            self._latest[case.key] = (case.suite, key)
        return key

    def _keep(self, key: str, failures: tuple[Failure, ...]) -> None:
        self._kept += len(failures) - len(self._failures.pop(key, ()))
        if failures:
            self._failures[key] = failures

    def _bounded(self, failures: tuple[Failure, ...]) -> Iterator[Failure]:
        for failure in failures:
            if self._kept >= _MAX_FAILURES:
                self.left_out += 1
                continue
            self._characters += len(failure.message) + sum(len(text) for _, text in failure.sections)
            is_much = self._characters > _MAX_CHARACTERS
            yield _shortened(failure) if is_much else failure


def merge_junit(readings: Iterable[JunitReading]) -> JunitReading:
    """Several files as one, such as the shards of one run.

    A test that failed in any of them has failed, whatever it did in the others: shards are runs of their own, and
    which was later is not known. Its failures are kept once where they are alike (same test, phase, exception
    type and message but for addresses, times and temporary paths), else all. Counts have each test once.
    """
    readings = list(readings)
    cases: dict[str, tuple[str, ...]] = {}
    counts: Counter[str] = Counter()
    for reading in readings:
        counts.update(asdict(reading.counts))
        for key, outcomes in reading.cases.items():
            known = cases.get(key)
            if known is not None:
                better, worse = sorted((known, outcomes), key=_rank)
                counts.subtract(worse)
                outcomes = better
            cases[key] = outcomes
    return JunitReading(
        failures=_unlike(failure for reading in readings for failure in reading.failures),
        counts=_counts(counts),
        problems=tuple(problem for reading in readings for problem in reading.problems),
        incomplete="; ".join(reading.incomplete for reading in readings if reading.incomplete),
        cases=cases,
        counts_subtests=any(r.counts_subtests for r in readings),
        is_pytest=any(r.cases for r in readings) and all(r.is_pytest for r in readings if r.cases),
    )


def _rank(outcomes: tuple[str, ...]) -> int:
    return min((_RANKS.index(name) for name in outcomes if name in _RANKS), default=len(_RANKS))


def _counts(counts: Counter[str]) -> Counts:
    return Counts(**{name: max(number, 0) for name, number in counts.items()})


def _unlike(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """The first of each of those that are alike, as many as are kept of one file."""
    found: dict[tuple[str, ...], Failure] = {}
    for failure in failures:
        kind = failure.raised.type if failure.raised is not None else ""
        alike = (failure.nodeid, failure.phase, failure.subtest, kind, stabilize(failure.message))
        if len(found) < _MAX_FAILURES:
            found.setdefault(alike, failure)
    return tuple(found.values())


def _shortened(failure: Failure) -> Failure:
    message = failure.message[:_SHORT]
    raised = failure.raised and replace(
        failure.raised,
        message=failure.raised.message[:_SHORT],
        frames=(),
        site=None,
        cause=None,
        context=None,
        members=(),
    )
    return replace(failure, message=message, raised=raised, sections=())
