"""What is shown of the recorded runs; ``loop-close report`` writes them as a page or a picture."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loop_close import files
from loop_close.cli import Streams, UsageError
from loop_close.cli.project import NO_RUN, Project, project_of
from loop_close.lazy import dataclass
from loop_close.memory import GROUPS, TAMPERING, Breaker, ChangedTest, Signal
from loop_close.store import HistoryError, RunRow, reader
from loop_close.store.reader import DamagedHistoryError, EmptyHistoryError, HistoryReader, Result
from loop_close.store.records import RecordError, T, to_record

if TYPE_CHECKING:
    import argparse

    from loop_close.emit.timeline import Timeline
    from loop_close.model import EditsRun


class NoRunError(UsageError):
    """There is no such run."""


class DamagedError(UsageError):
    """The history is damaged."""


def read(path: Path, work: Callable[[HistoryReader], Result], source: str | None = None) -> Result:
    """As :func:`loop_close.store.reader.read`, with errors for the user.

    :raises NoRunError: when there is no run.
    :raises DamagedError: when the history is damaged; another :class:`UsageError` when it cannot be read.
    """
    try:
        return reader.read(path, work, source)
    except EmptyHistoryError as error:
        raise NoRunError(str(error) or NO_RUN) from None
    except DamagedHistoryError as error:
        raise DamagedError(f"{error}; run loop-close reset to start a new one") from None
    except HistoryError as error:
        raise UsageError(str(error)) from None


# --- summary of a remembered run, safe to show; missing or invalid parts are skipped

_VERDICTS = ("green", "first-failure", "progress", "no-progress", "stuck", "error")
_BACK, _LOOKS = 4, 60
_OWN_WORDS = ("", "running", "killed", "unknown", *_VERDICTS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What is shown of a run.

    :ivar verdict: that of the report; without a report ``running``, ``killed`` or ``unknown``.
    :ivar said: the stall reason as the history has it; ``reason`` the same, safe to show.
    :ivar failing: failing tests after it, with those that did not run; None if that is unknown.
    :ivar counts: how many tests moved, by group; empty for a run that was compared with nothing.
    :ivar best: the fewest failures and the run that had them; zeros if that is unknown.
    :ivar signals: all that were asked, fired or not.
    :ivar tests: what was done to tests since the loop began.
    :ivar edits_run: which edited functions the tests ran; None if none was edited, or it is not known.
    :ivar known: how many tests failed and do not count, as the setting ``known`` names them.
    :ivar skipped: why the environment did not run; empty if it did.
    """

    verdict: str
    said: object
    failing: int | None
    counts: Mapping[str, int]
    best: tuple[int, int]
    breaker: Breaker
    signals: tuple[Signal, ...]
    tests: tuple[ChangedTest, ...] = ()
    edits_run: EditsRun | None = None
    known: int = 0
    skipped: str = ""

    def judged(self, accepted: Collection[str]) -> Summary:
        """The summary, what was done to tests judged by what a person has accepted since."""
        if not any(change.fingerprint in accepted for change in self.tests):
            return self
        tests = tuple(
            replace(each, state="accepted") if each.fingerprint in accepted else each for each in self.tests
        )
        is_open = any(each.is_open for each in tests)
        signals = tuple(s for s in self.signals if is_open or s.kind != TAMPERING)
        return replace(self, tests=tests, signals=signals)

    def explains(self, exit_code: int | None) -> bool:
        """Whether the verdict explains that exit code: with only known failures left, pytest exits with 1."""
        return exit_code == 0 or (self.verdict == "green" and self.known > 0 and exit_code == 1)

    @property
    def not_run(self) -> str:
        """Which edited functions no test ran, in words safe to show; empty for none."""
        if self.edits_run is None:
            return ""
        from loop_close.prompt import edits_not_run_words

        return edits_not_run_words(self.edits_run)

    @property
    def reason(self) -> str:
        """What the report said it is, such as ``2 test failures detected``."""
        return shown(self.said)

    @property
    def fired(self) -> tuple[Signal, ...]:
        """The signals that fired."""
        return tuple(signal for signal in self.signals if signal.is_on)


def summary_of(row: RunRow) -> Summary:
    """What there is to show of a run."""
    plain = row.summary
    verdict = plain.get("verdict", "unknown") if row.state == "done" else row.state
    counts = {name: plain[name] for name in GROUPS if _is_count(plain.get(name))}
    signals = plain.get("signals")
    found = [_record(Signal, each) for each in signals] if isinstance(signals, list) else []
    return Summary(
        verdict=shown(verdict),
        said=plain.get("stall_reason", ""),
        failing=_failing(row, verdict),
        counts=counts,
        best=_best(plain.get("best")),
        breaker=_record(Breaker, plain.get("breaker")) or Breaker(),
        signals=tuple(signal for signal in found if signal is not None),
        tests=_tests(plain.get("tests")),
        edits_run=_edits_run(plain.get("edits_run")),
        known=plain["known"] if _is_count(plain.get("known")) else 0,
        skipped=shown(plain["skipped"]) if plain.get("skipped") else "",
    )


def changed_before(history: HistoryReader, source: str) -> tuple[ChangedTest, ...]:
    """Changes to tests as the last green run that has some reports them, for where the last run reports none.

    What cannot be decided is reported by two green runs, and an agent may run the tests as often as it likes. What was
    undone since, so that the tests are as before these runs, is left out.
    """
    accepted = history.accepted()

    def newest(limit: int) -> Iterator[tuple[int, Summary]]:
        rows = (row for row in reversed(history.rows(source, limit)) if row.state == "done")
        return ((row.number, summary_of(row).judged(accepted)) for row in rows)

    found = ((n, s.tests) for n, s in newest(_BACK) if s.verdict == "green" and s.tests)
    number, tests = next(found, (0, ()))
    if not tests:
        return ()
    prints = {each.fingerprint for each in tests}
    older = (n for n, s in newest(_LOOKS) if n < number and prints.isdisjoint(t.fingerprint for t in s.tests))
    states = {each.number: each.snapshot for each in history.looks(_LOOKS, source) if each.source == source}
    since, then = (history.changes_since(states.get(n)) for n in (next(older, 0), number))
    if since is None or then is None:  # it is not known
        return tests
    from loop_close.baseline import undone  # late: most often no test was changed

    gone = undone(since, then, history.content)
    return tuple(each for each in tests if each.fingerprint not in gone)


def _tests(value: object) -> tuple[ChangedTest, ...]:
    found = (_record(ChangedTest, each) for each in value) if isinstance(value, list) else ()
    return tuple(change for change in found if change is not None)


def _edits_run(value: object) -> EditsRun | None:
    if value is None:
        return None
    from loop_close.model import EditsRun  # late: the records take a while to make

    return _record(EditsRun, value)


def _failing(row: RunRow, verdict: object) -> int | None:
    known = row.summary.get("failing")
    if _is_count(known):
        return int(known or 0)
    if row.state != "done":
        return None
    return 0 if verdict == "green" else row.failures


def _best(value: object) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(map(_is_count, value)):
        return value[0], value[1]
    return 0, 0


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _record(kind: type[T], value: object) -> T | None:
    try:
        return to_record(kind, value)
    except RecordError:
        return None


def shown(value: object, limit: int = 300) -> str:
    """A text from outside on one line, without what is not seen and without credentials."""
    if value in _OWN_WORDS:  # what makes others safe takes a while to load
        return str(value)
    from loop_close.prompt import safe
    from loop_close.text import one_line

    return one_line(safe(value, 4 * limit), limit) if isinstance(value, str) else "unknown"


def signal_document(signal: Signal) -> dict[str, Any]:
    """A signal as plain values, safe to show."""
    return {
        "kind": shown(signal.kind),
        "runs": list(signal.runs),
        "tests": [shown(test) for test in signal.tests],
        "explanation": shown(signal.explanation),
    }


def edits_document(summary: Summary) -> dict[str, Any]:
    """Which edited functions the tests ran, by the keys of the report."""
    ran = summary.edits_run
    named = ran.not_run if ran is not None else ()
    return {
        "edited_functions": ran.edited if ran is not None else None,
        "edits_not_run": [{"file": shown(file), "function": shown(function)} for file, function in named],
    }


def loop_words(breaker: Breaker) -> str:
    """What a state of the breaker means for the loop, such as ``stuck: no progress for 3 runs``."""
    words = {"open": "stuck", "half_open": "not stuck yet"}.get(breaker.state, "not stuck")
    return f"{words}: {shown(breaker.reason)}" if breaker.reason else words


def short_words(breaker: Breaker) -> str:
    """The same in one word, for a table."""
    return {"open": "yes", "half_open": "almost"}.get(breaker.state, "no")


# --- ``loop-close report``: the recorded runs as a page or a picture


def report(options: argparse.Namespace, streams: Streams) -> int:
    """Write what is asked for; always 0. Of a history without a run, a page that says so."""
    if options.html is None and options.svg is None:
        raise UsageError("name a file to write: --html PATH, --svg PATH, or both")
    asked = {"html": options.html, "svg": options.svg, "source": options.source, "limit": options.limit}
    write_report(project_of(options), streams=streams, **asked)
    for path in filter(None, (options.html, options.svg)):
        streams.say(f"written: {path} ({os.stat(path).st_size:,} bytes)")
    return 0


def write_report(
    project: Project,
    *,
    streams: Streams,
    html: str | None = None,
    svg: str | None = None,
    source: str | None = None,
    limit: int | None = None,
) -> None:
    """Write the page and the picture, each to a path or not at all.

    :param source: only runs of this source; ``limit``: only the last of them. None for all, and for the default.
    :raises UsageError: when a path is not ours to write, the history cannot be read, or has no run of the source.
    """
    from loop_close.emit.charts import svg as svg_of
    from loop_close.page import page_of

    makers: dict[str, tuple[str | None, Callable[[Timeline], str]]] = {
        "--html": (html, page_of),
        "--svg": (svg, svg_of),
    }
    chosen = [(option, path, make) for option, (path, make) in makers.items() if path is not None]
    for option, path, _ in chosen:
        check_target(option, path)
    if html is not None and svg is not None and os.path.realpath(html) == os.path.realpath(svg):
        raise UsageError(f"--html and --svg: {html} cannot be both; name two files")
    timeline = _timeline(project, source, limit, streams)
    for option, path, make in chosen:
        try:
            files.write(Path(path), [make(timeline)])
        except OSError as error:
            raise UsageError(f"{option}: cannot write {path}: {error.strerror or error}") from None


def check_target(option: str, path: str) -> None:
    """Make sure that a file of ours can be written there.

    :raises UsageError: when it cannot, or another program's file is there.
    """
    if path == "-":
        raise UsageError(f"{option}: name a file; this is not written to standard output")
    from loop_close.emit.charts import SVG_BEGINNING
    from loop_close.page import BEGINNING

    try:
        files.check_writable(Path(path), lambda each: files.begins_with(each, (BEGINNING, SVG_BEGINNING)))
    except files.UnusablePathError as error:
        raise UsageError(f"{option}: {error}") from None


def _timeline(project: Project, source: str | None, limit: int | None, streams: Streams) -> Timeline:
    from loop_close.emit.timeline import timeline_of
    from loop_close.page import RUNS, read_timeline

    try:
        return read_timeline(project.history, project.root, source, limit or RUNS, read)
    except NoRunError as error:
        if str(error) != NO_RUN:  # there are runs, of other sources
            raise
        streams.complain(str(error))
        return timeline_of((), project.root.name)
