"""The reader of pytest's terminal output: the failures of its reports, as far as the text has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from loop_close.facts import failure_order
from loop_close.model import Counts, Failure, Warned
from loop_close.readers.contract import Read, Reading, is_at_end, is_quoted_until, merged, sum_of
from loop_close.readers.pytest_output.failures import (
    MAX_WARNINGS,
    NOT_STARTED,
    broken_conftests,
    failures_from,
    internal_errors,
    timed_out,
    usage_errors,
    warned_in,
    without_echoes,
)
from loop_close.readers.pytest_output.pairs import BLOCKS, PASSED, counts_in, is_red
from loop_close.readers.pytest_output.runs import (
    Parts,
    PytestRun,
    is_quoted,
    parts_of,
    runs,
    summary_of,
)
from loop_close.readers.pytest_output.summary import (
    NodeIds,
    SummaryEntry,
    counts_of,
    end_of_entries,
    entries,
    incomplete,
    is_more_than_collected,
    progress,
)

_MAX_FAILURES = 20_000
_MAX_RUNS = 1_000
_MARKS = (
    *("= test session starts =", "= FAILURES =", "= ERRORS =", "= short test summary info ="),
    *("\nINTERNALERROR>", "ImportError while loading conftest '", "\nERROR: "),
)
_BARE = re.compile(
    r"\n(?:\d{1,7} (?:failed|passed|skipped|deselected|xfailed|xpassed|warning|error)|no tests ran)[^\n]{0,300}? in \d"
)
_ROOT = re.compile(r"\nrootdir: (?P<root>[^\n,]{1,1000})")


def read_pytest(text: str, root: str = "") -> Reading:
    """Read every run of pytest in a text."""
    text = f"\n{text}"
    if not any(mark in text for mark in _MARKS) and _BARE.search(text) is None:
        return Reading()
    found = _RunsFound(text, root)
    quoted = _RunsFound(text, root)
    every = runs(text)[-_MAX_RUNS:]
    for index, run in enumerate(every):
        limit = every[index + 1].start if index + 1 < len(every) else len(text)
        (quoted if run.is_quoted else found).take_run(run, limit)
    found.take_early(quoted)
    return found.reading(quoted)


@dataclass(slots=True)
class _RunsFound:
    """What was read so far.

    :ivar closed: offsets of what a run prints about its failures, where nothing else is looked for.
    :ivar is_certain: some run has its whole form, and counts no more tests than it collected.
    """

    text: str
    root: str
    failures: list[Failure] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    closed: list[tuple[int, int]] = field(default_factory=list)
    incomplete: str = ""
    is_certain: bool = False

    def take_run(self, run: PytestRun, limit: int) -> None:
        root = self._root_of(run)
        names, run = _names(self.text, run)
        parts = parts_of(self.text, run, names.knows)
        if not names.is_complete:
            names.entries += _from_progress(self.text, run, parts, names.entries)
        failures = failures_from(parts.blocks, names, root)
        self.failures += without_echoes(failures)
        for warnings in parts.warnings:
            self.warnings += warned_in(f"\n{warnings}", root)
        counts = counts_of(self.text, run, failures)
        self.counts += [counts] if counts is not None else []
        self.incomplete = self.incomplete or incomplete(self.text, run, parts.stops, counts)
        self._close(run, parts, root, limit, is_doubtful=is_more_than_collected(self.text, run, counts))

    def _root_of(self, run: PytestRun) -> str:
        found = _ROOT.search(self.text, run.start, min(run.end, run.start + 5_000)) if run.has_start else None
        return found["root"].strip() if found else self.root

    def _close(self, run: PytestRun, parts: Parts, root: str, limit: int, *, is_doubtful: bool) -> None:
        """Where a run is, and what pytest-timeout says where it ended the run."""
        end = run.end
        dump = timed_out(self.text, run.start, limit, root) if run.final is None else None
        if dump is not None and run.has_start:
            self.failures.append(dump[0])
            end = max(end, dump[1])
        is_whole = run.final is not None and (bool(run.rulers) or run.start < run.final.start)
        if run.final is not None:
            is_cut = is_at_end(self.text, end) and is_red(run.final)
        else:
            is_cut = bool(run.has_start or self.incomplete) and not is_quoted_until(self.text[end:])
        self.is_certain = self.is_certain or ((is_whole or is_cut) and not is_doubtful)
        self.spans += _without(run.start, end, parts.foreign)
        first = next((r for r in run.rulers if r.title in (*BLOCKS, *PASSED)), None)
        self.closed += [(first.start, end)] if first is not None else []

    def take_early(self, quoted: _RunsFound) -> None:
        for failure, start, end in internal_errors(self.text, self.root):
            found = self._take(failure, start, end, quoted)
            if found is not None:
                found.incomplete, found.is_certain = found.incomplete or "an internal error ended it", True
        for failure, start, end in broken_conftests(self.text, self.root):
            found = self._take(failure, start, end, quoted)
            if found is not None:
                found._not_started()
        for failure, start, end in usage_errors(self.text, self.root):
            found = self._take(failure, start, end, quoted)
            if found is not None and failure.phase == "collect":
                found._not_started()

    def _not_started(self) -> None:
        self.counts.append(Counts(errors=1))
        self.incomplete, self.is_certain = self.incomplete or NOT_STARTED, True

    def _take(self, failure: Failure, start: int, end: int, quoted: _RunsFound) -> _RunsFound | None:
        """Keep a failure from outside of the runs' own failures, with what is quoted if Markdown quotes it."""
        if any(a < end and start < b for a, b in (*self.closed, *quoted.closed)):
            return None
        found = quoted if is_quoted(self.text, start) else self
        found.failures.append(failure)
        found.spans.append((start, end))
        return found

    def reading(self, quoted: _RunsFound) -> Reading:
        """What is quoted is told only where there is nothing else, or where it fails."""
        if not self.spans:
            return replace(quoted.whole(), is_certain=False)
        if not quoted.failures:
            return self.whole()
        is_green = not self.failures and not self.is_failing()
        self.failures += quoted.failures
        self.warnings += quoted.warnings
        self.counts += quoted.counts
        self.spans += quoted.spans
        self.incomplete = self.incomplete or quoted.incomplete
        self.is_certain = self.is_certain and not is_green
        return self.whole()

    def is_failing(self) -> bool:
        """Whether the numbers include failures."""
        return bool(self.incomplete) or any(c.failed or c.errors for c in self.counts)

    def whole(self) -> Reading:
        failures: dict[tuple[str, ...], Failure] = {}
        for failure in self.failures:
            failures.setdefault(failure_order(failure), failure)
        return Reading(
            failures=tuple(failures.values())[:_MAX_FAILURES],
            warnings=tuple(dict.fromkeys(self.warnings))[:MAX_WARNINGS],
            counts=sum_of(self.counts) if self.counts else None,
            # as offsets of the text without the line break put in front of it
            spans=merged((max(s - 1, 0), min(e - 1, len(self.text) - 1)) for s, e in self.spans),
            is_certain=self.is_certain,
            incomplete=self.incomplete,
        )


def _names(text: str, run: PytestRun) -> tuple[NodeIds, PytestRun]:
    """The lines of the summary; the run ends with them where nothing follows."""
    place = summary_of(text, run)
    if place is None:
        return NodeIds([]), run
    found = entries(text, *place, has_end=run.final is not None)
    if run.final is None and place[1] == run.end:
        run = replace(run, end=end_of_entries(text, *place))
    numbers = (counts_in(run.final.title) if run.final is not None else None) or {}
    failed = numbers.get("failed", 0) + numbers.get("error", 0) + numbers.get("errors", 0)
    return NodeIds(found, is_complete=bool(found) and len(found) >= failed > 0), run


def _from_progress(text: str, run: PytestRun, parts: Parts, known: list[SummaryEntry]) -> list[SummaryEntry]:
    """The failures that only the lines of ``-v`` name."""
    counts = counts_in(run.final.title) if run.final is not None else None
    if counts is not None and not is_red(run.final):
        return []  # with ``-s`` the output of tests is on these lines, too
    named = {entry.split()[0] for entry in known}
    shown = progress(text, *parts.progress)
    return [entry for entry in shown if entry.rest not in named]


def _without(start: int, end: int, holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for first, last in sorted(holes):
        if start < first:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


READERS: dict[str, Read] = {"pytest": read_pytest}
