"""Tests over runs: what the history page and the step summary show, from the rows of the store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from loop_close.emit.formats import cause_heading, cause_lines
from loop_close.emit.report import heading
from loop_close.prompt import line_of, safe
from loop_close.prompt.loop import place_of_edit
from loop_close.records import Edit, Edits, FailureRecord, Record, Run, Signal, State
from loop_close.syntax.meaning import MODULE
from loop_close.text import one_line

#: Outcomes of a test in a run, by letter: word and glyph. ``Q``: not among the failures of a complete run.
OUTCOMES: Mapping[str, tuple[str, str]] = {
    "F": ("failed", "×"),
    "E": ("error", "!"),
    "P": ("passed", "✓"),
    "Q": ("did not fail", "·"),
    "S": ("skipped", "s"),
    "X": ("expected failure", "x"),
    "N": ("not run", "–"),
    ".": ("not recorded", " "),
}
#: What a run came to: glyph for a lane of one character.
VERDICTS: Mapping[str, str] = {"done": "★", "green": "✓", "red": "×", "void": "∅", "unfinished": "†"}
FAILING = "FE"
MAX_TESTS, MAX_CAUSES, MAX_RUNS = 5_000, 300, 2_000
_MAX_NAME, _MAX_EDITS, _MAX_TRIED, _MAX_LINE, _MAX_LISTED = 300, 12, 5, 300, 20
_FAILED_PHASES = ("call", "check", "process", "")
_LETTERS = {"passed": "P", "xpassed": "P", "skipped": "S", "xfailed": "X", "failed": "F"}
#: What a report has in full, and the rows do not.
_IN_FULL = ("message", "location", "suspects")
#: A test: what ran it, and its name.
_Key = tuple[str, str]


class TimelineRun(Record, frozen=True):
    """One column.

    :ivar source: the index of its source: the check, or what made the run.
    :ivar failing: how many tests failed in it.
    :ivar edit: how the files differ from the run before, as in :class:`~loop_close.records.Edits`.
    :ivar edits: what was edited before it, in words. ``signals``: the signals that end in it, as (kind, explanation).
    """

    source: int
    number: int
    started: int
    seconds: float
    verdict: str
    failing: int
    passed: int
    skipped: int
    edit: str
    edits: tuple[str, ...] = ()
    signals: tuple[tuple[str, str], ...] = ()


class TimelineTest(Record, frozen=True):
    """One row: a test that failed at least once.

    :ivar cells: a letter of :data:`OUTCOMES` for each run.
    :ivar causes: the index of the root cause of each failing cell, in order; -1 for one that is left out.
    """

    name: str
    cells: str
    causes: tuple[int, ...] = ()


class TimelineCause(Record, frozen=True):
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


class Timeline(Record, frozen=True):
    """Tests over runs, the oldest run first, the tests that fail now first.

    :ivar state: whether the work is done, in words; empty if nothing asked.
    :ivar left_out: how many runs, tests and causes the bounds leave out.
    """

    project: str = ""
    state: str = ""
    sources: tuple[str, ...] = ()
    runs: tuple[TimelineRun, ...] = ()
    tests: tuple[TimelineTest, ...] = ()
    causes: tuple[TimelineCause, ...] = ()
    left_out: tuple[int, int, int] = (0, 0, 0)


class _Cause:
    """A root cause while it is put together: its last failure, its tests, and how many it broke by the run."""

    def __init__(self) -> None:
        self.last: FailureRecord
        self.runs: Counter[int] = Counter()
        self.tests: dict[_Key, None] = {}


def timeline(
    runs: Sequence[Run],
    project: str = "",
    *,
    state: State | None = None,
    signals: Sequence[Signal] = (),
    latest: Sequence[Mapping[str, Any]] = (),
    omitted: int = 0,
) -> Timeline:
    """What there is to show of recorded runs.

    :param runs: the oldest first; :data:`MAX_RUNS` of them at most are shown.
    :param state: what the gate says; ``signals`` those of the loop.
    :param latest: the root causes of the report of the last run, which knows more of them than its row.
    :param omitted: how many older runs were not read.
    """
    omitted += max(0, len(runs) - MAX_RUNS)
    runs = runs[-MAX_RUNS:]
    sources = tuple(dict.fromkeys(map(source_of, runs)))
    current = {source_of(run): number for number, run in enumerate(runs) if run.is_finished}.values()
    kept, tests_left_out = _kept_tests(runs)
    cells = _cells(runs, kept)
    causes = _causes(runs)
    found = [{(each.source, each.test): _cause_key(each) for each in run.failures} for run in runs]
    named = sorted(causes, key=lambda key: _cause_order(key, causes[key], [*current]))
    bands = {key: number for number, key in enumerate(named[:MAX_CAUSES])}
    tests = sorted(cells, key=lambda test: _test_order(test, cells[test], [*current]))
    rows = {test: number for number, test in enumerate(tests)}
    shared = {name for name, count in Counter(name for _, name in tests).items() if count > 1}
    ended: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for each in signals:
        ended[max(each.runs, default=0)].append((_line(each.kind, 40), _line(each.explanation)))
    return Timeline(
        project=_line(project, 80),
        state=_state_words(state),
        sources=tuple(_line(source, 80) for source in sources),
        runs=tuple(_column(run, sources.index(source_of(run)), ended[run.number]) for run in runs),
        tests=tuple(
            TimelineTest(
                name=_line(f"{key[1]} ({key[0]})" if key[1] in shared else key[1], _MAX_NAME),
                cells=cells[key],
                causes=tuple(_causes_of(key, cells[key], found, bands)),
            )
            for key in tests
        ),
        causes=tuple(_band(causes[key], runs, rows, [*current], latest) for key in bands),
        left_out=(omitted, tests_left_out, max(0, len(named) - MAX_CAUSES)),
    )


def source_of(run: Run) -> str:
    """The check of a run, or what made it."""
    made = sorted({*run.outcomes, *(each.source for each in run.failures)})
    return run.check or (made[0] if made else "pytest" if run.is_reported else " ".join(run.command[:1]))


def _state_words(state: State | None) -> str:
    return f"{state.verdict}: {_line(state.reason)}".removesuffix(": ") if state is not None else ""


def _test_order(test: _Key, cells: str, current: Sequence[int]) -> tuple[Any, ...]:
    """Failing now, then failing last, then failing most often."""
    failed = [number for number, letter in enumerate(cells) if letter in FAILING]
    is_current = any(cells[number] in FAILING for number in current)
    return not is_current, -max(failed, default=-1), -len(failed), test[1], test[0]


def _cause_order(key: str, cause: _Cause, current: Sequence[int]) -> tuple[Any, ...]:
    """Those of now, then the last seen, then those of most tests."""
    return cause.runs.keys().isdisjoint(current), -max(cause.runs), -len(cause.tests), key


def _column(run: Run, source: int, signals: Sequence[tuple[str, str]]) -> TimelineRun:
    return TimelineRun(
        source=source,
        number=run.number,
        started=int(run.began),
        seconds=round(run.seconds, 1),
        verdict=_verdict(run),
        failing=_failing(run),
        passed=run.counts.passed,
        skipped=run.counts.skipped,
        edit=run.edits.kind,
        edits=tuple(_edits(run.edits)),
        signals=tuple(signals),
    )


def _verdict(run: Run) -> str:
    if not run.is_finished:
        return "unfinished"
    if run.changed:
        return "void"
    return "done" if run.is_done else "green" if run.is_green else "red"


def _failing(run: Run) -> int:
    return len({(each.source, each.test) for each in run.failures}) + run.omitted


def _edits(edits: Edits) -> Iterator[str]:
    yield from map(edit_words, edits.edits[:_MAX_EDITS])
    more = max(0, len(edits.edits) - _MAX_EDITS) + edits.omitted
    yield from [f"and {more} more"] if more else []


def edit_words(edit: Edit) -> str:
    """``edited total() in src/cart.py``, as plain text of one line."""
    what = f"{edit.function}() in " if edit.function not in ("", MODULE) else ""
    change = edit.change if edit.is_effective else "comments or formatting of"
    to = f" to {edit.moved_to[1]}() in {edit.moved_to[0]}" if edit.change == "moved" else ""
    return _line(f"{change} {what}{edit.file}{to}", 160)


def _line(text: str, limit: int = _MAX_LINE) -> str:
    return one_line(safe(text, 4 * limit), limit)


# --- the cells


def _kept_tests(runs: Sequence[Run]) -> tuple[list[_Key], int]:
    """The tests that failed at least once, and how many are left out: those that failed long ago."""
    last = {(each.source, each.test): number for number, run in enumerate(runs) for each in run.failures}
    ordered = sorted(last, key=lambda key: (-last[key], key))
    return ordered[:MAX_TESTS], max(0, len(ordered) - MAX_TESTS)


def _cells(runs: Sequence[Run], kept: Sequence[_Key]) -> dict[_Key, str]:
    """The outcome of each of these tests, a letter for each run."""
    made: defaultdict[str, set[str]] = defaultdict(set)
    for run in runs:
        made[source_of(run)] |= {*run.outcomes, *(each.source for each in run.failures)}
    letters: dict[_Key, list[str]] = {key: [] for key in kept}
    for run in runs:
        failed = {
            (each.source, each.test): "F" if each.phase in _FAILED_PHASES else "E" for each in run.failures
        }
        is_whole = run.is_finished and not (run.incomplete or run.omitted or run.scope)
        silent = made[source_of(run)] if is_whole else ()
        for key, row in letters.items():
            row.append(failed.get(key) or _other_letter(run, key, silent))
    return {key: "".join(row) for key, row in letters.items()}


def _other_letter(run: Run, key: _Key, silent: Sequence[str] | set[str]) -> str:
    """The letter of a test without a failure; ``silent`` are the sources of which a complete run lists failures."""
    source, test = key
    if source in run.outcomes:
        return _LETTERS.get(run.outcomes[source].get(test, ""), "N")
    return "Q" if source in silent else "."


def _causes_of(
    key: _Key, cells: str, found: Sequence[Mapping[_Key, str]], bands: Mapping[str, int]
) -> Iterator[int]:
    """The band of each failing cell, from the keys of causes by run and test."""
    for letter, causes in zip(cells, found, strict=True):
        if letter in FAILING:
            yield bands.get(causes.get(key, ""), -1)


# --- the bands


def _cause_key(failure: FailureRecord) -> str:
    return failure.cause or failure.shape or failure.exact


def _causes(runs: Sequence[Run]) -> dict[str, _Cause]:
    causes: defaultdict[str, _Cause] = defaultdict(_Cause)
    for number, run in enumerate(runs):
        for each in run.failures:
            cause = causes[_cause_key(each)]
            cause.last = each
            cause.runs[number] += 1
            cause.tests[each.source, each.test] = None
    return dict(causes)


def _band(
    cause: _Cause,
    runs: Sequence[Run],
    rows: Mapping[_Key, int],
    current: Sequence[int],
    latest: Sequence[Mapping[str, Any]],
) -> TimelineCause:
    is_current = not cause.runs.keys().isdisjoint(current)
    facts = _facts(cause.last)
    if is_current:
        tests = {safe(test) for _, test in cause.tests}
        known = next((each for each in latest if not tests.isdisjoint(each["tests"])), {})
        facts |= {name: known[name] for name in _IN_FULL if name in known}
    facts["tests"] = sorted({_line(test, _MAX_NAME) for _, test in cause.tests})
    is_check = cause.last.phase == "check"
    return TimelineCause(
        title=heading(facts),
        facts=facts,
        runs=dict(cause.runs),
        tests=tuple(rows[key] for key in sorted(cause.tests) if key in rows),
        is_current=is_current,
        is_check=is_check,
        prompt="".join(
            f"{line}\n" for line in _prompt(facts, cause.runs, runs, is_current=is_current, is_check=is_check)
        ),
    )


def _facts(failure: FailureRecord) -> dict[str, Any]:
    """A root cause, as far as the row of a failure knows it."""
    file, _, function = failure.where.partition(":")
    return {
        "id": "",
        "kind": safe(failure.exception) or "failure",
        "exception": safe(failure.exception),
        "message": safe(failure.message),
        "location": {"file": safe(file), "line": failure.line, "function": safe(function)},
        "suspects": [],
    }


def _prompt(
    facts: Mapping[str, Any],
    counts: Mapping[int, int],
    runs: Sequence[Run],
    *,
    is_current: bool,
    is_check: bool,
) -> Iterator[str]:
    """The cause alone as a prompt: facts, what was tried while it was there, and the command."""
    tests = facts["tests"]
    yield f"# {cause_heading(facts)}"
    yield ""
    yield from cause_lines({**facts, "tests": []} if is_check else facts)
    if is_check:
        yield from ("", f"{len(tests):,} finding{'s' * (len(tests) != 1)}:", "")
        yield from (f"- {line_of(test, _MAX_NAME)}" for test in tests[:_MAX_LISTED])
        yield from [f"- … and {len(tests) - _MAX_LISTED:,} more"] if len(tests) > _MAX_LISTED else []
    first, last = (runs[number].number for number in (min(counts), max(counts)))
    gone = "" if is_current else " The last run does not have it."
    yield ""
    yield f"Seen in {len(counts)} run{'s' * (len(counts) != 1)}: first in run {first}, last in run {last}.{gone}"
    if tried := list(_tried(counts, runs))[-_MAX_TRIED:]:
        yield from ("", "Edited before runs in which it stayed:", *tried)
    if is_current:
        yield from ("", "Rerun: `loop-close check`" if is_check else "Rerun: `pytest --loop-close-failed`")


def _tried(counts: Mapping[int, int], runs: Sequence[Run]) -> Iterator[str]:
    """The edits before a run in which the cause stayed as it was in the run before of that source."""
    before: dict[str, int] = {}
    for number in sorted(counts):
        run = runs[number]
        was = before.get(source_of(run))
        before[source_of(run)] = number
        named = [place_of_edit(edit) for edit in run.edits.edits if edit.is_effective]
        if was is not None and counts[number] >= counts[was] and named:
            more = len(named) - 3 + run.edits.omitted
            yield f"- before run {run.number}: {', '.join(named[:3])}{f' and {more} more' if more > 0 else ''}"


def run_lengths(cells: str) -> str:
    """The letters with repeats counted: ``QQQF..`` is ``3QF2.``."""
    groups = ((letter, len(list(group))) for letter, group in groupby(cells))
    return "".join(f"{number if number > 1 else ''}{letter}" for letter, number in groups)
