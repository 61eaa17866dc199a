"""The runs that a history remembers, read without changing it, and what is shown of them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from loop_close.cli.project import NO_RUN
from loop_close.cli.streams import UsageError
from loop_close.memory import GROUPS, TAMPERING, Breaker, ChangedTest, Signal
from loop_close.process import host, is_alive
from loop_close.store import project, runs, sqlite
from loop_close.store.contract import Changes, RunRow
from loop_close.store.database import LONGEST, STEP, QueryTimeout, file_state, is_busy, retry_while_busy
from loop_close.store.records import RecordError, T, to_record, to_text, to_whole
from loop_close.store.schema import APPLICATION_ID, FORMAT, check_objects

if TYPE_CHECKING:
    from loop_close.memory import Episode, Run
    from loop_close.model import EditsRun


Result = TypeVar("Result")

#: For a limit: none.
ALL = -1
_TIMEOUT = 10.0
# The first format that knows of baselines and accepted changes.
_ACCEPTED = 3
_SMALLEST = 512  # to SQLite a file of a few bytes is an empty database
_UNREADABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}
_HEADER = (
    "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
    " FROM pragma_application_id, pragma_user_version"
)


class NoRunError(UsageError):
    """There is no run of what was asked for."""


class DamagedError(UsageError):
    """The file is a history, and broken."""


class HistoryReader:
    """The runs of a history at one moment.

    A run whose process is gone is told as killed, though only the next run takes it down as that.
    """

    def __init__(self, connection: sqlite3.Connection, watch: QueryTimeout) -> None:
        self._connection = connection
        self._watch = watch
        self._dead = _dead(connection)

    def sources(self) -> tuple[str, ...]:
        """What there are runs of, by name."""
        self._watch.start()
        return tuple(row.source for row in runs.shown_last(self._connection))

    def rows(self, source: str | None = None, limit: int = ALL) -> tuple[RunRow, ...]:
        """What is shown of the last runs, the newest last."""
        self._watch.start()
        return tuple(map(self._as_it_is, runs.shown(self._connection, source, limit)))

    def recorded(self, source: str) -> tuple[Run, ...]:
        """The source's runs that have ended, as they are remembered, the newest last."""
        self._watch.start()
        return runs.recorded(self._connection, source, ALL)

    def episode(self, source: str) -> Episode:
        """What is known last of the source's tests that failed since its last green run."""
        self._watch.start()
        return runs.episode_of(self._connection, source)

    def baseline(self, source: str) -> dict[str, str]:
        """The digest of what each file of the source's baseline held, by path; for :meth:`content`."""
        self._watch.start()
        return project.baseline_contents(self._connection, source) if self._has_baselines() else {}

    def _has_baselines(self) -> bool:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version) >= _ACCEPTED

    def recorded_as(self, known: str) -> Run | None:
        """The run that goes by this, as :func:`loop_close.store.runs.known_by` makes it; None where it is gone."""
        self._watch.start()
        return runs.recorded_as(self._connection, known)

    def files(self) -> dict[str, tuple[int, int, str]]:
        """The project's files as the last run of any source saw them: size, time and digest by path."""
        self._watch.start()
        return project.known_files(self._connection)

    def looks(self, limit: int) -> tuple[runs.RunWindow, ...]:
        """The last runs that came to their end, the newest first, with what they saw of the files."""
        self._watch.start()
        return runs.run_windows(self._connection, limit)

    def changes_since(self, snapshot: int | None) -> Changes | None:
        """How the files as they are known differ from that state of them; None where that is not kept."""
        self._watch.start()
        (now,) = self._connection.execute("SELECT snapshot FROM project").fetchone()
        return project.changes_between(self._connection, snapshot, now)

    def has_run(self, known: str) -> bool:
        """Whether there is the run that goes by this, as :func:`loop_close.store.runs.known_by` makes it."""
        self._watch.start()
        return runs.has_run(self._connection, known)

    def accepted(self) -> frozenset[str]:
        """Fingerprints of changes to tests that a person accepted."""
        self._watch.start()
        return frozenset(project.accepted_changes(self._connection)) if self._has_baselines() else frozenset()

    def content(self, digest: str) -> bytes | None:
        """A content of the project's files, by digest; None where it is not kept."""
        return project.content(self._connection, digest)

    def _as_it_is(self, row: RunRow) -> RunRow:
        return replace(row, state="killed") if (row.source, row.number) in self._dead else row


def read(path: Path, work: Callable[[HistoryReader], Result], source: str | None = None) -> Result:
    """What ``work`` makes of the history; nobody has to wait for us once it has returned.

    :param source: one that there must be runs of.
    :raises NoRunError: when there is no run.
    :raises DamagedError: when the history is broken; other :class:`UsageError` when it cannot be read, or is none.
    """
    if not path.exists():
        raise NoRunError(NO_RUN)
    try:
        with _opened(path) as remembered:
            _check_source(remembered.sources(), source)
            return work(remembered)
    except (sqlite3.Error, ValueError, TypeError, OverflowError, OSError) as error:
        raise _meaning(path, error) from None


def named_sources(sources: tuple[str, ...]) -> str:
    """Those that there are, for a message."""
    return f"known: {', '.join(sources)}"


def _check_source(sources: tuple[str, ...], wanted: str | None) -> None:
    if not sources:
        raise NoRunError(NO_RUN)
    if wanted is not None and wanted not in sources:
        raise NoRunError(f"no runs of source {wanted!r}; {named_sources(sources)}")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[HistoryReader]:
    _check_safe(path)
    # Not read-only: a writer that was killed may have left what has to be undone before anything can be read.
    uri = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=min(STEP, _TIMEOUT), isolation_level=None)
    watch = QueryTimeout(connection)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")  # all that is read is of one moment
        retry_while_busy(lambda: _check_kind(connection, path), _TIMEOUT)
        watch.start()
        yield HistoryReader(connection, watch)
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
            raise
        raise watch.reason() or UsageError(
            f"{path.name}: reading took longer than {LONGEST:g} seconds"
        ) from None
    finally:
        connection.close()


def _check_safe(path: Path) -> None:
    """Make sure that SQLite may look at the file, wherever links lead.

    :raises UsageError: when it is no history, or damaged.
    """
    real = path.resolve()
    if not (real.is_file() or real.is_dir()):
        raise UsageError(f"{path.name} is not a regular file")
    seen = file_state(real)
    if not seen.is_history:
        raise UsageError(f"{path.name} is not a loop-close history")
    if seen.fault:
        raise _damaged(path, seen.fault)


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    """Make sure that the database is a history that this version reads.

    :raises UsageError: when it is none, or has nothing in it.
    """
    application, version, tables = connection.execute(_HEADER).fetchone()
    is_text = 0 < path.stat().st_size < _SMALLEST
    if not (tables or is_text) and application in (0, APPLICATION_ID) and version <= FORMAT:
        raise NoRunError(NO_RUN)
    if application != APPLICATION_ID or version < 1:
        raise UsageError(f"{path.name} is not a loop-close history")
    if version > FORMAT:
        raise UsageError(
            f"{path.name} was written by a newer loop-close (format {version}; this one reads {FORMAT})"
        )
    check_objects(connection)


def _meaning(path: Path, error: Exception) -> UsageError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if path.is_dir():
        return UsageError(f"{path} is a folder; name a file")
    if isinstance(error, sqlite3.Error) and is_busy(error):
        return UsageError(f"{path.name} is busy: another process has locked it for {_TIMEOUT:g} seconds")
    if isinstance(error, OSError) or code in _UNREADABLE:
        return UsageError(f"cannot read {path}: {error}")
    if code == sqlite3.SQLITE_NOTADB:
        return UsageError(f"{path.name} is not a loop-close history ({error})")
    return _damaged(path, error)


def _damaged(path: Path, why: object) -> DamagedError:
    return DamagedError(f"{path.name} is damaged ({why}); run loop-close reset to start a new one")


def _dead(connection: sqlite3.Connection) -> frozenset[tuple[str, int]]:
    """The runs that are down as under way and never will end."""
    rows = connection.execute(
        "SELECT source, number, pid, birth, host, started FROM runs WHERE state = 'running'"
    ).fetchall()
    return frozenset((to_text(row[0]), to_whole(row[1])) for row in rows if not _lives(*row[2:]))


def _lives(pid: Any, birth: Any, machine: Any, started: float) -> bool:
    sqlite.check_pid(pid)
    other = (pid, to_text(birth), to_text(machine))
    return sqlite.lives(other, (0, "", host()), time() - started, is_alive)


# Summary of a remembered run, safe to show. Missing or invalid parts are skipped.

_VERDICTS = ("green", "first-failure", "progress", "no-progress", "stuck", "error")
_OWN_WORDS = ("", "running", "killed", "unknown", *_VERDICTS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What a run came to.

    :ivar verdict: that of the report; ``running``, ``killed`` and ``unknown`` where there is none.
    :ivar said: what the report said it is, as it stands in the history; ``reason`` the same, fit to be shown.
    :ivar failing: failing tests after it, with those that did not run; None where that is not known.
    :ivar counts: how many tests moved, by group; empty for a run that was compared with nothing.
    :ivar best: the fewest failures and the run that had them; zeros where that is not known.
    :ivar signals: all that were asked, fired or not.
    :ivar tests: what was done to tests since the loop began.
    :ivar edits_run: which edited functions the tests ran; None where none was edited, or it is not known.
    :ivar known: how many tests failed and do not count, as the setting ``known`` names them.
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
        """Whether a command that came to this ends with that exit code: with 1 where only known failures are left."""
        return exit_code == 0 or (self.verdict == "green" and self.known > 0 and exit_code == 1)

    @property
    def not_run(self) -> str:
        """Which edited functions no test ran, in words fit to be shown; empty for none."""
        if self.edits_run is None:
            return ""
        from loop_close.prompt.show import edits_not_run_words

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
    )


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
    from loop_close.prompt.show import safe
    from loop_close.text.sanitize import one_line

    return one_line(safe(value, 4 * limit), limit) if isinstance(value, str) else "unknown"


def signal_document(signal: Signal) -> dict[str, Any]:
    """A signal as plain values, fit to be shown."""
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
