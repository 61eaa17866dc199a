"""Tests and root causes over recorded runs, as the page shows them: pure functions from rows of the store.

The texts of failures were sanitized and redacted when they entered the store.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from loop_close.emit.formats import cause_lines
from loop_close.emit.report import Cause, Place, Suspect
from loop_close.prompt import safe
from loop_close.records import Edit, FailureRecord, Record, Run, Signal, State
from loop_close.syntax.meaning import MODULE
from loop_close.text import code, one_line

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
#: The result of a run: glyph for a lane of one character.
VERDICTS: Mapping[str, str] = {"done": "★", "green": "✓", "red": "×", "void": "∅", "unfinished": "†"}
MAX_TESTS, MAX_CAUSES, MAX_RUNS = 5_000, 300, 2_000
_MAX_NAME, _MAX_EDITS, _MAX_LINE = 300, 12, 300
_FAILED_PHASES = ("call", "check", "process", "")
_LETTERS = {"passed": "P", "xpassed": "P", "skipped": "S", "xfailed": "X", "failed": "F"}
#: A test: what ran it, and its name.
_Test = tuple[str, str]
_Key = TypeVar("_Key", str, _Test)


class _Shown(Record, frozen=True, omit_defaults=False, rename="camel"):
    """A part of the page's data: its script reads these names."""


class ShownRun(_Shown, frozen=True):
    """One column.

    :ivar source: the index of its source: the check, or what made the run.
    :ivar failing: how many tests failed in it.
    :ivar edit: how the files differ from the run before, as in :class:`~loop_close.records.Edits`.
    :ivar edits: what was edited before it, in words; ``signals``: those that end in it.
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
    signals: tuple[str, ...] = ()


class ShownTest(_Shown, frozen=True):
    """One row: a test that failed at least once.

    :ivar cells: a letter of :data:`OUTCOMES` for each run.
    :ivar causes: the index of the root cause of each failing cell, in order; -1 for one that is left out.
    """

    name: str
    cells: str
    causes: tuple[int, ...] = ()


class ShownCause(_Shown, frozen=True):
    """One band: a root cause.

    :ivar runs: how many tests it broke, by the index of the run.
    :ivar tests: the indexes of its tests; ``count`` also counts those that are left out.
    :ivar is_current: the last run of a source has it. ``is_check``: a checker found it: its tests are findings.
    :ivar prompt: a prompt about this cause alone.
    """

    title: str
    exception: str
    message: str
    where: str
    function: str
    suspects: tuple[Suspect, ...]
    runs: Mapping[int, int]
    tests: tuple[int, ...]
    count: int
    is_current: bool
    is_check: bool
    prompt: str


class Timeline(_Shown, frozen=True):
    """Tests over runs, the oldest run first, the tests that fail now first.

    :ivar state: whether the work is done, in words; empty if nothing asked.
    :ivar left_out: how many runs, tests and causes the bounds leave out.
    """

    project: str = ""
    state: str = ""
    sources: tuple[str, ...] = ()
    runs: tuple[ShownRun, ...] = ()
    tests: tuple[ShownTest, ...] = ()
    causes: tuple[ShownCause, ...] = ()
    left_out: tuple[int, int, int] = (0, 0, 0)


@dataclass
class _Seen:
    """A test or a root cause: how many failures by the run, all its tests, and its last failure."""

    last: FailureRecord
    runs: Counter[int] = field(default_factory=Counter)
    tests: set[_Test] = field(default_factory=set)


def timeline(
    runs: Sequence[Run],
    project: str = "",
    *,
    state: State | None = None,
    signals: Sequence[Signal] = (),
    latest: Iterable[Cause] = (),
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
    sources = [*dict.fromkeys(map(source_of, runs))]
    current = {source_of(run): number for number, run in enumerate(runs) if run.is_finished}.values()
    tests: dict[_Test, _Seen] = {}
    causes: dict[str, _Seen] = {}
    made: defaultdict[str, set[str]] = defaultdict(set)
    for number, run in enumerate(runs):
        made[source_of(run)] |= {*run.outcomes, *(each.source for each in run.failures)}
        for each in run.failures:
            test = each.source, each.test
            for seen in (
                tests.setdefault(test, _Seen(each)),
                causes.setdefault(_cause_of(each), _Seen(each)),
            ):
                seen.last = each
                seen.runs[number] += 1
                seen.tests.add(test)
    rows = {key: at for at, key in enumerate(_ordered(tests, current)[:MAX_TESTS])}
    bands = {key: at for at, key in enumerate(_ordered(causes, current)[:MAX_CAUSES])}
    named = Counter(test for _, test in rows)
    known = [*latest]
    failed = [{(each.source, each.test): each for each in run.failures} for run in runs]
    whole = [made[source_of(run)] if _is_whole(run) else frozenset() for run in runs]
    return Timeline(
        project=_line(project, 80),
        state=_line(f"{state.verdict}: {state.reason}").removesuffix(":") if state is not None else "",
        sources=tuple(_line(source, 80) for source in sources),
        runs=tuple(_run(run, sources.index(source_of(run)), signals) for run in runs),
        tests=tuple(_row(key, runs, failed, whole, bands, is_alone=named[key[1]] == 1) for key in rows),
        causes=tuple(_band(causes[key], rows, current, known) for key in bands),
        left_out=(omitted, len(tests) - len(rows), len(causes) - len(bands)),
    )


def _ordered(seen: Mapping[_Key, _Seen], current: Collection[int]) -> list[_Key]:
    """What fails now first, then what failed last, then what failed most."""
    return sorted(
        seen,
        key=lambda key: (
            seen[key].runs.keys().isdisjoint(current),
            -max(seen[key].runs),
            -max(len(seen[key].runs), len(seen[key].tests)),
            key,
        ),
    )


def source_of(run: Run) -> str:
    """The check of a run, or what made it."""
    made = sorted({*run.outcomes, *(each.source for each in run.failures)})
    return run.check or (made[0] if made else " ".join(run.command[:1]))


def _run(run: Run, source: int, signals: Iterable[Signal]) -> ShownRun:
    more = max(0, len(run.edits.edits) - _MAX_EDITS) + run.edits.omitted
    verdict = "done" if run.is_done else "green" if run.is_green else "red"
    return ShownRun(
        source=source,
        number=run.number,
        started=int(run.began),
        seconds=round(run.seconds, 1),
        verdict="unfinished" if not run.is_finished else "void" if run.changed else verdict,
        failing=len({(each.source, each.test) for each in run.failures}) + run.omitted,
        passed=run.counts.passed,
        skipped=run.counts.skipped,
        edit=run.edits.kind,
        edits=(*map(edit_words, run.edits.edits[:_MAX_EDITS]), *([f"and {more} more"] if more else [])),
        signals=tuple(
            _line(f"{each.kind}: {each.explanation}")
            for each in signals
            if max(each.runs, default=0) == run.number
        ),
    )


def edit_words(edit: Edit) -> str:
    """``edited total() in src/cart.py``, as plain text of one line."""
    what = f"{edit.function}() in " if edit.function not in ("", MODULE) else ""
    change = edit.change if edit.is_effective else "comments or formatting of"
    return _line(f"{change} {what}{edit.file}", 160)


def _line(text: str, limit: int = _MAX_LINE) -> str:
    """A text that no record cleaned, such as the name of a file, on one line."""
    return one_line(safe(text, 4 * limit), limit)


def _is_whole(run: Run) -> bool:
    return run.is_finished and not (run.incomplete or run.omitted or run.scope)


def _row(
    key: _Test,
    runs: Sequence[Run],
    failed: Sequence[Mapping[_Test, FailureRecord]],
    whole: Sequence[Collection[str]],
    bands: Mapping[str, int],
    *,
    is_alone: bool,
) -> ShownTest:
    """A test.

    :param failed: the failures of each run; ``whole`` the sources of which it lists all failures.
    :param bands: the indexes of root causes by their keys.
    :param is_alone: no other source has a test of this name.
    """
    source, test = key
    cells, causes = "", []
    for run, failures, sources in zip(runs, failed, whole, strict=True):
        if failure := failures.get(key):
            cells += "F" if failure.phase in _FAILED_PHASES else "E"
            causes.append(bands.get(_cause_of(failure), -1))
        elif source in run.outcomes:
            cells += _LETTERS.get(run.outcomes[source].get(test, ""), "N")
        else:
            cells += "Q" if source in sources else "."
    name = one_line(test if is_alone else f"{test} ({source})", _MAX_NAME)
    return ShownTest(name=name, cells=cells, causes=tuple(causes))


def _cause_of(failure: FailureRecord) -> str:
    return failure.cause or failure.shape or failure.exact


def _band(
    seen: _Seen, rows: Mapping[_Test, int], current: Collection[int], latest: Sequence[Cause]
) -> ShownCause:
    """A root cause: what the report of the last run says of it if it is of now, else what its last row says."""
    file, _, function = seen.last.where.partition(":")
    tests = {test for _, test in seen.tests}
    cause = Cause(
        id="",
        kind=seen.last.exception or "failure",
        exception=seen.last.exception,
        message=seen.last.message,
        location=Place(file=file, line=seen.last.line, function=function),
        tests=tuple(sorted(tests)),
        suspects=(),
    )
    is_current = not seen.runs.keys().isdisjoint(current)
    for known in [each for each in latest if is_current and not tests.isdisjoint(each.tests)][:1]:
        cause = replace(cause, message=known.message, location=known.location, suspects=known.suspects)
    prompt = (f"# {cause.heading(code)}", "", *cause_lines(cause), "", "Rerun: `loop-close check`", "")
    return ShownCause(
        title=cause.heading(),
        exception=cause.exception or cause.kind,
        message=cause.message[:1_000],
        where=cause.location.where,
        function=cause.location.function,
        suspects=cause.suspects[:5],
        runs=seen.runs,
        tests=tuple(sorted(rows[key] for key in seen.tests if key in rows)),
        count=len(tests),
        is_current=is_current,
        is_check=seen.last.phase == "check",
        prompt="\n".join(prompt),
    )
