"""Tests over runs: what the history page, the chart and the step summary show, from recorded runs."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from loop_close.emit.formats import cause_heading, cause_lines
from loop_close.emit.report import ReportError, checked_cause, heading
from loop_close.lazy import NamedTuple
from loop_close.memory import Edit, FailureRecord, Run
from loop_close.prompt import line_of, safe
from loop_close.prompt.loop import place_of_edit
from loop_close.syntax.meaning import MODULE
from loop_close.text import fence, one_line

#: Outcomes of a test in a run, by letter: word and glyph. ``Q``: not among the failures of a complete run.
OUTCOMES: Mapping[str, tuple[str, str]] = {
    "F": ("failed", "×"),
    "E": ("error", "!"),
    "K": ("known failure", "k"),
    "P": ("passed", "✓"),
    "Q": ("did not fail", "·"),
    "S": ("skipped", "s"),
    "X": ("expected failure", "x"),
    "N": ("not run", "–"),
    ".": ("not recorded", " "),
}
#: Verdicts and states of a run: glyph for a lane of one character.
VERDICTS: Mapping[str, str] = {
    "green": "✓",
    "progress": "↑",
    "first-failure": "○",
    "no-progress": "→",
    "stuck": "■",
    "error": "!",
    "killed": "†",
    "running": "…",
    "unknown": "?",
}
FAILING = "FE"
MAX_TESTS, MAX_CAUSES, MAX_RUNS = 5_000, 300, 2_000
_MAX_NAME, _MAX_EDITS, _MAX_TRIED, _MAX_LINE = 300, 12, 5, 300
_LAST_TIME = 253_402_214_400.0  # in the year 9999
_FAILED_PHASES = ("call", "check", "process", "")
_LETTERS = {"passed": "P", "skipped": "S", "xfailed": "X"}
#: What a report has in full, and the history cut.
_IN_FULL = ("message", "suspects")
#: A command names at most so many tests.
_MAX_RERUN = 20


class RunEntry(NamedTuple):
    """One recorded run.

    :ivar summary: as :func:`loop_close.progress.advance.summary_of` made it; it may be damaged.
    :ivar run: None for a run that has not ended.
    """

    source: str
    number: int
    state: str
    started: float
    ended: float | None
    passed: int
    skipped: int
    failures: int
    summary: Mapping[str, Any]
    run: Run | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineRun:
    """One column.

    :ivar source: the index of its source.
    :ivar failing: how many tests failed after it, None if that is unknown.
    :ivar edit: how the files differ from the run before: a kind of :class:`~loop_close.memory.Edits`.
    :ivar edits: what was edited before it, in words. ``signals``: the signals that fired, as (kind, explanation).
    """

    source: int
    number: int
    started: int
    seconds: float
    verdict: str
    failing: int | None
    passed: int
    skipped: int
    edit: str
    edits: tuple[str, ...] = ()
    signals: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineTest:
    """One row: a test that failed at least once.

    :ivar cells: a letter of :data:`OUTCOMES` for each run.
    :ivar causes: the index of the root cause of each failing cell, in order; -1 for one that is left out.
    """

    name: str
    cells: str
    causes: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineCause:
    """One band: a root cause.

    :ivar facts: the cause as a report has it, safe to show.
    :ivar runs: how many tests it broke, by the index of the run.
    :ivar tests: the indexes of its tests. ``is_current``: the last run of a source has it.
    :ivar is_check: a checker found it: its tests are findings.
    :ivar prompt: a prompt about this cause alone.
    """

    title: str
    facts: Mapping[str, Any]
    runs: Mapping[int, int]
    tests: tuple[int, ...]
    is_current: bool
    is_check: bool
    prompt: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """Tests over runs, the oldest run first, the tests that fail now first.

    :ivar left_out: how many runs, tests and causes the bounds leave out.
    """

    project: str = ""
    sources: tuple[str, ...] = ()
    runs: tuple[TimelineRun, ...] = ()
    tests: tuple[TimelineTest, ...] = ()
    causes: tuple[TimelineCause, ...] = ()
    left_out: tuple[int, int, int] = (0, 0, 0)


@dataclass(slots=True)
class _Cause:
    """A root cause while it is put together.

    :ivar position: its place among those of its last run; ``is_check``: a checker found it.
    """

    plain: dict[str, Any]
    position: int = 0
    is_check: bool = False
    runs: Counter[int] = field(default_factory=Counter)
    tests: dict[str, None] = field(default_factory=dict)


def timeline_of(
    entries: Sequence[RunEntry], project: str = "", latest: Mapping[str, Any] | None = None, omitted: int = 0
) -> Timeline:
    """What there is to show of recorded runs.

    :param entries: the runs, the oldest first; :data:`MAX_RUNS` of them at most are shown.
    :param latest: root causes by id, as the report of the last run has them: it knows more than the history.
    :param omitted: how many older runs were not read.
    """
    omitted += max(0, len(entries) - MAX_RUNS)
    entries = entries[-MAX_RUNS:]
    sources = tuple(dict.fromkeys(entry.source for entry in entries))
    causes, of_mark = _causes(entries, latest or {})
    kept, tests_left_out = _kept_tests(entries)
    cells = _cells(entries, kept)
    current = _last_runs(entries)
    tests = sorted(cells, key=lambda test: _test_order(test, cells[test], current))
    named = sorted(causes, key=lambda name: _cause_order(name, causes[name], current))
    rows = {test: number for number, test in enumerate(tests)}
    bands = {name: number for number, name in enumerate(named[:MAX_CAUSES])}
    return Timeline(
        project=one_line(safe(project, 200), 80),
        sources=tuple(one_line(safe(source, 400), 80) for source in sources),
        runs=tuple(_run(entry, sources.index(entry.source)) for entry in entries),
        tests=tuple(_row(test, cells[test], of_mark, bands) for test in rows),
        causes=tuple(_band(causes[name], entries, rows, current) for name in bands),
        left_out=(omitted, tests_left_out, max(0, len(named) - MAX_CAUSES)),
    )


def _last_runs(entries: Sequence[RunEntry]) -> set[int]:
    """The index of the last run of each source that has ended."""
    found = {entry.source: number for number, entry in enumerate(entries) if entry.run is not None}
    return set(found.values())


def _test_order(test: str, cells: str, current: set[int]) -> tuple[Any, ...]:
    """Failing now, then failing last, then failing most often."""
    failed = [number for number, letter in enumerate(cells) if letter in FAILING]
    is_current = any(cells[number] in FAILING for number in current)
    return not is_current, -max(failed, default=-1), -len(failed), test


def _cause_order(name: str, cause: _Cause, current: set[int]) -> tuple[Any, ...]:
    """Those of now, then the last seen; in a run as its report ordered them."""
    return not cause.runs.keys() & current, -max(cause.runs), cause.position, -len(cause.tests), name


def _run(entry: RunEntry, source: int) -> TimelineRun:
    plain, run = entry.summary, entry.run
    verdict = plain.get("verdict") if entry.state == "done" else entry.state
    failing = plain.get("failing")
    if type(failing) is not int:
        failing = None if entry.state != "done" else 0 if verdict == "green" else entry.failures
    edits = run.edits if run is not None else None
    words = [edit_words(each) for each in edits.edits[:_MAX_EDITS]] if edits is not None else []
    more = max(0, len(edits.edits) - _MAX_EDITS) + edits.omitted if edits is not None else 0
    if more:
        words.append(f"and {more} more")
    return TimelineRun(
        source=source,
        number=entry.number,
        started=int(_time(entry.started)),
        seconds=round(max(0.0, _time(entry.ended) - _time(entry.started)), 1)
        if entry.ended is not None
        else 0.0,
        verdict=verdict if isinstance(verdict, str) and verdict in VERDICTS else "unknown",
        failing=failing,
        passed=entry.passed,
        skipped=entry.skipped,
        edit=edits.kind if edits is not None else "unknown",
        edits=tuple(words),
        signals=tuple(_signals(plain.get("signals"))),
    )


def _time(value: float) -> float:
    """The time, in the years that a calendar shows: the history may be damaged."""
    return min(max(value, 0.0), _LAST_TIME)


def _signals(value: object) -> Iterator[tuple[str, str]]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, Mapping) and each.get("is_on") is True:
            kind, said = each.get("kind"), each.get("explanation")
            if isinstance(kind, str) and isinstance(said, str):
                yield _line(kind, 40), _line(said)


def edit_words(edit: Edit) -> str:
    """``edited total() in src/cart.py``, as plain text of one line."""
    what = f"{edit.function}() in " if edit.function and edit.function != MODULE else ""
    change = edit.change if edit.is_effective else "comments or formatting of"
    to = f" to {edit.moved_to[1]}() in {edit.moved_to[0]}" if edit.change == "moved" else ""
    return _line(f"{change} {what}{edit.file}{to}", 160)


def _line(text: str, limit: int = _MAX_LINE) -> str:
    return one_line(safe(text, 4 * limit), limit)


# --- the cells


def _kept_tests(entries: Sequence[RunEntry]) -> tuple[dict[str, set[str]], int]:
    """The tests that failed at least once, by what runs them, and how many are left out: those that failed long ago."""
    last: dict[tuple[str, str], int] = {}
    for number, entry in enumerate(entries):
        if entry.run is not None:
            kind = _kind(entry.source)
            last |= {(kind, mark.test): number for mark in entry.run.marks}
    ordered = sorted(last, key=lambda key: (-last[key], key))
    kept: dict[str, set[str]] = {}
    for kind, test in ordered[:MAX_TESTS]:
        kept.setdefault(kind, set()).add(test)
    return kept, max(0, len(ordered) - MAX_TESTS)


def _cells(entries: Sequence[RunEntry], kept: Mapping[str, set[str]]) -> dict[str, str]:
    """The outcome of each of these tests, a letter for each run."""
    letters = {test: ["."] * len(entries) for tests in kept.values() for test in tests}
    watched: defaultdict[str, set[str]] = defaultdict(set)
    for number, entry in enumerate(entries):
        if entry.run is None or entry.run.is_killed:
            continue
        found = _outcomes(entry.run, watched[entry.source])
        for test in kept.get(_kind(entry.source), ()):
            letters[test][number] = found.get(test, found[""])
        if entry.run.is_good and entry.run.is_full:
            watched[entry.source].clear()
        watched[entry.source] |= {mark.test for mark in entry.run.marks}
    return {test: "".join(row) for test, row in letters.items()}


def _kind(source: str) -> str:
    """What makes the runs, without its environment: ``pytest`` for ``pytest:py312``."""
    return source.partition(":")[0]


def _outcomes(run: Run, watched: set[str]) -> dict[str, str]:
    """The letters of tests in the run; of all others under the empty name."""
    is_whole = run.is_full and not run.incomplete and not run.omitted_marks
    found = {"": "Q" if is_whole else "."}
    if run.tells_outcomes:  # of these a run records the outcome, if they ran
        found |= dict.fromkeys(watched, "N")
    found |= {test: _LETTERS[outcome] for test, outcome in run.outcomes.items()}
    found |= dict.fromkeys(run.known, "K")
    return found | {mark.test: "F" if mark.phase in _FAILED_PHASES else "E" for mark in run.marks}


def _row(
    test: str, cells: str, of_mark: Mapping[tuple[int, str], str], bands: Mapping[str, int]
) -> TimelineTest:
    failed = (number for number, letter in enumerate(cells) if letter in FAILING)
    return TimelineTest(
        name=_line(test, _MAX_NAME),
        cells=cells,
        causes=tuple(bands.get(of_mark.get((number, test), ""), -1) for number in failed),
    )


# --- the bands


def _causes(
    entries: Sequence[RunEntry], latest: Mapping[str, Any]
) -> tuple[dict[str, _Cause], dict[tuple[int, str], str]]:
    """The root causes by id, and which of them each failure belongs to, by (run, test)."""
    causes: dict[str, _Cause] = {}
    known: dict[str, str] = {}
    own = [dict(_recorded(entry)) for entry in entries]
    for found in own:
        for position, (name, plain) in enumerate(found.items()):
            better = {key: value for key, value in latest.get(name, {}).items() if key in _IN_FULL}
            causes[name] = _Cause(plain={**plain, **better}, position=position)
            known |= dict.fromkeys(_keys(plain), name)
    of_mark: dict[tuple[int, str], str] = {}
    for number, (entry, found) in enumerate(zip(entries, own, strict=True)):
        here = known | {key: name for name, plain in found.items() for key in _keys(plain)}
        for mark in entry.run.marks if entry.run is not None else ():
            key = mark.cause or mark.shape or mark.exact
            name = here.get(key) or f"mark {key}"
            cause = causes.setdefault(name, _Cause(plain=_of_mark(mark)))
            cause.runs[number] += 1
            cause.tests[mark.test] = None
            cause.is_check = mark.phase == "check"
            of_mark[number, mark.test] = name
    return {name: cause for name, cause in causes.items() if cause.runs}, of_mark


def _recorded(entry: RunEntry) -> Iterator[tuple[str, dict[str, Any]]]:
    """The root causes that the run's summary holds; damaged ones are left out."""
    value = entry.summary.get("causes")
    for each in value if isinstance(value, list) else ():
        try:
            plain = {**checked_cause(each), "keys": each.get("keys")}
        except ReportError:
            continue
        yield plain["id"], plain


def _keys(plain: Mapping[str, Any]) -> list[str]:
    keys = plain["keys"]
    return [key for key in keys if isinstance(key, str)] if isinstance(keys, list) else []


def _of_mark(mark: FailureRecord) -> dict[str, Any]:
    """A root cause of which only a failure is recorded."""
    file, _, function = mark.where.partition(":")
    return {
        "id": "",
        "kind": safe(mark.exception) or "failure",
        "exception": safe(mark.exception),
        "message": safe(mark.message),
        "location": {"file": safe(file), "line": mark.line, "function": safe(function)},
        "suspects": [],
    }


def _band(
    cause: _Cause, entries: Sequence[RunEntry], rows: Mapping[str, int], current: set[int]
) -> TimelineCause:
    names = sorted(cause.tests)
    facts = {**cause.plain, "tests": [_line(name, _MAX_NAME) for name in names]}
    is_current = bool(cause.runs.keys() & current)
    return TimelineCause(
        title=heading(facts),
        facts=facts,
        runs=dict(cause.runs),
        tests=tuple(rows[name] for name in names if name in rows),
        is_current=is_current,
        is_check=cause.is_check,
        prompt="".join(f"{line}\n" for line in _prompt(facts, cause, entries, is_current)),
    )


def _prompt(
    facts: Mapping[str, Any], cause: _Cause, entries: Sequence[RunEntry], is_current: bool
) -> Iterator[str]:
    """The cause alone as a prompt: facts, what was tried while it was there, and how to run its tests."""
    runs, tests = cause.runs, sorted(cause.tests)
    yield f"# {cause_heading(facts)}"
    yield ""
    yield from cause_lines({**facts, "tests": []} if cause.is_check else facts)
    if cause.is_check:
        yield from ("", f"{len(tests):,} finding{'s' * (len(tests) != 1)}:", "")
        yield from (f"- {line_of(test, _MAX_NAME)}" for test in tests[:_MAX_RERUN])
        if len(tests) > _MAX_RERUN:
            yield f"- … and {len(tests) - _MAX_RERUN:,} more"
    first, last = min(runs), max(runs)
    yield ""
    yield (
        f"Seen in {len(runs)} run{'s' * (len(runs) != 1)}: first in {_named(entries[first])}, last in"
        f" {_named(entries[last])}.{'' if is_current else ' The last run does not have it.'}"
    )
    tried = list(_tried(runs, entries))[-_MAX_TRIED:]
    if tried:
        yield from ("", "Edited before runs in which it stayed:", *tried)
    shown = [safe(test) for test in tests]
    # A name that is shown otherwise than it is would run nothing.
    is_runnable = all(
        "::" in test and test.isprintable() and test == words
        for test, words in zip(tests, shown, strict=True)
    )
    if is_current and 0 < len(tests) <= _MAX_RERUN and is_runnable:
        words = " ".join(map(shlex.quote, shown))
        yield from ("", "Rerun its tests:", "", *fence(f"python -m pytest --loop-close {words}", "sh"))


def _named(entry: RunEntry) -> str:
    return f"run {entry.number} of {_line(entry.source, 80)}"


def _tried(runs: Mapping[int, int], entries: Sequence[RunEntry]) -> Iterator[str]:
    """The edits before a run in which the cause stayed as it was in the run before of that source."""
    before: dict[str, int] = {}
    for number in sorted(runs):
        entry = entries[number]
        run = entry.run
        was = before.get(entry.source)
        before[entry.source] = number
        if was is None or runs[number] < runs[was] or run is None or run.edits.kind != "effective":
            continue
        named = [place_of_edit(edit) for edit in run.edits.edits if edit.is_effective]
        if named:
            more = len(named) - 3 + run.edits.omitted
            yield f"- before run {entry.number}: {', '.join(named[:3])}{f' and {more} more' if more > 0 else ''}"


def run_lengths(cells: str) -> str:
    """The letters with repeats counted: ``QQQF..`` is ``3QF2.``."""
    groups = ((letter, len(list(group))) for letter, group in groupby(cells))
    return "".join(f"{number if number > 1 else ''}{letter}" for letter, number in groups)
