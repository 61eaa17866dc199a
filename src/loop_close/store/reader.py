"""The history read without changing it, at one moment."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from loop_close.process import host, is_alive
from loop_close.store import Changes, HistoryError, RunRow, project, runs
from loop_close.store.database import LONGEST, STEP, QueryTimeout, file_state, is_busy, retry_while_busy
from loop_close.store.records import to_text, to_whole
from loop_close.store.schema import APPLICATION_ID, FORMAT, check_objects
from loop_close.store.sqlite import check_pid, lives

if TYPE_CHECKING:
    from loop_close.memory import Episode, Run


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


class EmptyHistoryError(HistoryError):
    """There is no run of what was asked for; the text is empty if there is none at all."""


class DamagedHistoryError(HistoryError):
    """The file is a history, and damaged."""


class HistoryReader:
    """The runs of a history at one moment.

    A run whose process is gone is shown as killed, although only the next run records that.
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

    def recorded(self, source: str, limit: int = ALL) -> tuple[Run, ...]:
        """The source's last runs that have ended, as they are remembered, the newest last."""
        self._watch.start()
        return runs.recorded(self._connection, source, limit)

    def count(self, source: str | None = None) -> int:
        """How many runs there are."""
        self._watch.start()
        return runs.count(self._connection, source)

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
        """The run with this name, as :func:`loop_close.store.runs.known_by` makes it; None if it is gone."""
        self._watch.start()
        return runs.recorded_as(self._connection, known)

    def files(self) -> dict[str, tuple[int, int, str]]:
        """The project's files as the last run of any source saw them: size, time and digest by path."""
        self._watch.start()
        return project.known_files(self._connection)

    def looks(self, limit: int, prefix: str = "") -> tuple[runs.RunWindow, ...]:
        """The last runs that ended by themselves, the newest first, with their files.

        :param prefix: how the names of their sources begin.
        """
        self._watch.start()
        return runs.run_windows(self._connection, limit, prefix)

    def changes_since(self, snapshot: int | None) -> Changes | None:
        """How the files as the last run saw them differ from that state; None if that is not kept."""
        self._watch.start()
        (now,) = self._connection.execute("SELECT snapshot FROM project").fetchone()
        return project.changes_between(self._connection, snapshot, now)

    def has_run(self, known: str) -> bool:
        """Whether there is a run with this name, as :func:`loop_close.store.runs.known_by` makes it."""
        self._watch.start()
        return runs.has_run(self._connection, known)

    def accepted(self) -> frozenset[str]:
        """Fingerprints of changes to tests that a person accepted."""
        self._watch.start()
        return frozenset(project.accepted_changes(self._connection)) if self._has_baselines() else frozenset()

    def content(self, digest: str) -> bytes | None:
        """A content of the project's files, by digest; None if it is not kept."""
        return project.content(self._connection, digest)

    def _as_it_is(self, row: RunRow) -> RunRow:
        return replace(row, state="killed") if (row.source, row.number) in self._dead else row


def read(path: Path, work: Callable[[HistoryReader], Result], source: str | None = None) -> Result:
    """The result of ``work``, which reads the history; the file is closed afterwards.

    :param source: one that there must be runs of.
    :raises EmptyHistoryError: when there is no run.
    :raises DamagedHistoryError: when the history is damaged.
    :raises HistoryError: when it cannot be read, or is not a history.
    """
    if not path.exists():
        raise EmptyHistoryError
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
        raise EmptyHistoryError
    if wanted is not None and wanted not in sources:
        raise EmptyHistoryError(f"no runs of source {wanted!r}; {named_sources(sources)}")


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
        raise watch.reason() or HistoryError(
            f"{path.name}: reading took longer than {LONGEST:g} seconds"
        ) from None
    finally:
        connection.close()


def _check_safe(path: Path) -> None:
    """Make sure that SQLite may look at the file, wherever links lead.

    :raises HistoryError: when it is not a history, or damaged.
    """
    real = path.resolve()
    if not (real.is_file() or real.is_dir()):
        raise HistoryError(f"{path.name} is not a regular file")
    seen = file_state(real)
    if not seen.is_history:
        raise HistoryError(f"{path.name} is not a loop-close history")
    if seen.fault:
        raise _damaged(path, seen.fault)


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    """Make sure that the database is a history that this version reads.

    :raises HistoryError: when it is none, or has nothing in it.
    """
    application, version, tables = connection.execute(_HEADER).fetchone()
    is_text = 0 < path.stat().st_size < _SMALLEST
    if not (tables or is_text) and application in (0, APPLICATION_ID) and version <= FORMAT:
        raise EmptyHistoryError
    if application != APPLICATION_ID or version < 1:
        raise HistoryError(f"{path.name} is not a loop-close history")
    if version > FORMAT:
        raise HistoryError(
            f"{path.name} was written by a newer loop-close (format {version}; this one reads {FORMAT})"
        )
    check_objects(connection)


def _meaning(path: Path, error: Exception) -> HistoryError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if path.is_dir():
        return HistoryError(f"{path} is a folder; name a file")
    if isinstance(error, sqlite3.Error) and is_busy(error):
        return HistoryError(f"{path.name} is busy: another process has locked it for {_TIMEOUT:g} seconds")
    if isinstance(error, OSError) or code in _UNREADABLE:
        return HistoryError(f"cannot read {path}: {error}")
    if code == sqlite3.SQLITE_NOTADB:
        return HistoryError(f"{path.name} is not a loop-close history ({error})")
    return _damaged(path, error)


def _damaged(path: Path, why: object) -> DamagedHistoryError:
    return DamagedHistoryError(f"{path.name} is damaged ({why})")


def _dead(connection: sqlite3.Connection) -> frozenset[tuple[str, int]]:
    """The runs that are down as under way and never will end."""
    rows = connection.execute(
        "SELECT source, number, pid, birth, host, started FROM runs WHERE state = 'running'"
    ).fetchall()
    return frozenset((to_text(row[0]), to_whole(row[1])) for row in rows if not _lives(*row[2:]))


def _lives(pid: Any, birth: Any, machine: Any, started: float) -> bool:
    check_pid(pid)
    other = (pid, to_text(birth), to_text(machine))
    return lives(other, (0, "", host()), time() - started, is_alive)
