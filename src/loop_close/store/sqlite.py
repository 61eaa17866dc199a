"""The history of test runs in one SQLite file, shared by processes that know nothing of each other."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from time import time  # by name: a program under test may patch the module
from types import TracebackType
from typing import TYPE_CHECKING, Any

from loop_close.process import is_pid
from loop_close.store import (
    Changes,
    Entries,
    HistoryError,
    KeptCalls,
    LastRun,
    NewBaseline,
    NewCalls,
    RunHandle,
    RunRow,
    SinceGreen,
    project,
    runs,
)
from loop_close.store.database import Database
from loop_close.store.prune import Bounds, is_due, prune, remove_all
from loop_close.store.records import RecordError, from_json, from_text, moment_of, to_json, to_text, to_whole

if TYPE_CHECKING:
    from loop_close.memory import Episode, Run


#: The name of a run in the outbox, and its content, which JSON can hold.
ToShare = tuple[str, Mapping[str, Any]]
MAX_RUNS = 2_000
MAX_BYTES = 64 * 1024 * 1024
DAMAGED_CALLS = (
    "the call data of earlier tests was damaged and has been deleted; the next full run collects it again"
)


def open_history(
    path: Path,
    *,
    max_runs: int = MAX_RUNS,
    max_bytes: int = MAX_BYTES,
    timeout: float = 10.0,
    project: str = "",
) -> SqliteHistory:
    """The history in the file, which is made when there is none, with the folder it lies in.

    :param max_runs: how many runs are kept, about; ``max_bytes``: how large the file may be, about.
    :param timeout: for how many seconds to wait for others who write to it.
    :param project: what identifies the project, such as a digest of its root: no project may use the file of
        another one. In its place in ``.loop-close`` the file goes with its project, which may have been moved.
    :raises HistoryError: when it cannot be used. One that is broken is quarantined; what is not a history at all only
        where it lies in the history's own place in ``.loop-close``: elsewhere it is another user's.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise HistoryError(f"cannot open {path.name}: {path.parent.name} is not a folder") from error
    except OSError as error:
        raise HistoryError(f"cannot open {path.name}: {error.strerror or error}") from error
    return SqliteHistory(path, Bounds(runs=max_runs, bytes=max_bytes), timeout, project)


class SqliteHistory:
    """A history in a file; it belongs to the thread that opened it.

    Nothing else in the process may open the file: closing it again would end SQLite's locks.
    """

    def __init__(self, path: Path, bounds: Bounds, timeout: float, project: str = "") -> None:
        self.notes: list[str] = []
        self._bounds = bounds
        self.database = Database(path, timeout=timeout, notes=self.notes, project=project)

    def __enter__(self) -> SqliteHistory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; more than once is fine."""
        self.database.close()

    def files(self) -> dict[str, tuple[int, int, str]]:
        """The project's files as the last run of any source saw them."""
        return self.database.read(project.known_files)

    def begin(
        self,
        source: str,
        entries: Entries | None,
        contents: Mapping[str, bytes],
        *,
        pid: int,
        birth: str,
        host: str,
        now: float,
        is_alive: Callable[[int, str], bool],
        selection: str = "",
    ) -> RunHandle:
        """Give a run its number and take down the project's files.

        :param source: what the run is of; each has its own numbers and its own episode.
        :param entries: all files; None if they are not known, which makes the changes unknown, too.
        :param contents: by digest, what :meth:`content` is to return later; those it has it does not need.
        :param pid: this process; ``birth`` distinguishes it from an earlier one of that number; ``host``.
        :param is_alive: whether the process of that number and birth still runs on this host.
        :param selection: how its tests are chosen, empty for all.
        """
        process = pid, birth, host
        moment = moment_of(now)

        def work(connection: sqlite3.Connection) -> RunHandle:
            running = end_killed(connection, process, moment, is_alive)
            snapshot = None if entries is None else project.take_down(connection, entries, contents)
            number = runs.next_number(connection, source)
            begun = RunHandle(id=0, number=number, source=source, started=moment, running=running)
            begun = begun._replace(id=runs.add_row(connection, begun, snapshot, process))
            watched = runs.watched_by(connection, source)
            return begun._replace(
                is_edited=not watched and _is_edited(connection, begun),
                is_as_green=not watched and _is_as_green(connection, begun, selection),
                watched=watched,
                merged=runs.failed_in_merge(connection, source),
                killed=runs.killed_before(connection, source, number),
                has_others=runs.has_others(connection, source),
                tests=project.changes_since_baseline(connection, source, entries, snapshot),
            )

        return self.database.write(work)

    def changes_since_last(self, begun: RunHandle) -> Changes | None:
        """How the files differ from those of the source's previous run that has ended, by path.

        :returns: None if there is none, or where it is too long ago.
        """
        return self.database.read(
            lambda connection: project.changes_between(connection, *runs.snapshots(connection, begun))
        )

    def since_green(self, begun: RunHandle, before: int, selections: Collection[str]) -> SinceGreen | None:
        """How the files differ from those of the source's last green run that chose its tests in one of these ways.

        :param before: its number is less than this; ``""`` in ``selections`` stands for all tests.
        :returns: None if there was none.
        """

        def work(connection: sqlite3.Connection) -> SinceGreen | None:
            green = runs.last_green(connection, begun.source, before, selections)
            if green is None:
                return None
            now = runs.snapshots(connection, begun)[1]
            return SinceGreen(
                run=green.number,
                changes=project.changes_between(connection, green.snapshot, now),
                windows=runs.windows(connection, green.id, begun.id),
                not_run_since=green.not_run_since,
            )

        return self.database.read(work)

    def others(self, begun: RunHandle) -> tuple[LastRun, ...]:
        """The last run of each other source, by name."""

        def work(connection: sqlite3.Connection) -> tuple[LastRun, ...]:
            now = runs.snapshots(connection, begun)[1]
            return tuple(
                LastRun(
                    source=last.source,
                    number=last.number,
                    verdict=last.verdict,
                    changes=project.difference(connection, last.snapshot, now),
                    windows=runs.windows(connection, last.id),
                )
                for last in runs.last_of_others(connection, begun.source)
            )

        return self.database.read(work)

    def looks(self, limit: int) -> tuple[runs.RunWindow, ...]:
        """The last runs that ended by themselves, the newest first, with their files."""
        return self.database.read(lambda connection: runs.run_windows(connection, limit))

    def advanced_since(self, begun: RunHandle) -> tuple[str, str]:
        """The other source that advanced last since the source's previous run.

        :returns: one that saw the code as it is now, and one that saw it as that run did; empty if none did.
        """

        def work(connection: sqlite3.Connection) -> tuple[str, str]:
            found = ["", ""]
            before, now = runs.snapshots(connection, begun)
            for source, snapshot in runs.advanced_since(connection, begun):
                for place, own in enumerate((now, before)):
                    changes = project.difference(connection, snapshot, own)
                    if changes is not None and not project.is_code_changed(changes):
                        found[place] = found[place] or source
            return found[0], found[1]

        return self.database.read(work)

    def changes_of_loop(self, begun: RunHandle) -> Changes | None:
        """How the files differ from those of the first run of the source's episode; None if that is unknown."""

        def work(connection: sqlite3.Connection) -> Changes | None:
            first = runs.first_snapshot(connection, begun.source)
            return project.changes_between(connection, first, runs.snapshots(connection, begun)[1])

        return self.database.read(work)

    def window_before(self, begun: RunHandle) -> tuple[float, float]:
        """From when to when the run before went on, whatever its source, in seconds since 1970; zeros for none."""
        return self.database.read(lambda connection: runs.window_before(connection, begun))

    def source_of(self, source: str, interpreter: str) -> str:
        """The name of a source whose tests are run by that interpreter: with it where another has the plain name.

        That may be one of a merged report: what failed there is not fixed by a run of another interpreter.

        :param interpreter: empty when not known: then the plain name is the source.
        """
        if not interpreter:
            return source
        last = self.database.read(lambda connection: runs.last_interpreter(connection, source))
        return f"{source}:{interpreter}" if last not in ("", interpreter) else source

    def keep_green(
        self,
        begun: RunHandle,
        *,
        calls: NewCalls | None = None,
        baseline: NewBaseline | None = None,
        to_share: ToShare | None = None,
        **fields: Any,
    ) -> bool:
        """Remember a green run with nothing failing before it, and begin a new episode after it.

        :param fields: of :class:`loop_close.memory.Run`, plain: ``passed``, ``skipped``, ``selection``.
        :param calls: what its tests called.
        :param baseline: what later runs are compared with from now on.
        :param to_share: what is to be sent to the shared history.
        :returns: False, and nothing is recorded, if something fails since the run began.
        """
        plain: dict[str, Any] = {"exit_code": 0, "is_good": True, **fields}

        def work(connection: sqlite3.Connection) -> bool:
            if runs.watched_by(connection, begun.source):
                return False
            runs.finish_plain(connection, begun, plain, {"verdict": "green"}, moment_of(time()))
            runs.keep_green_episode(connection, begun.source, begun.number)
            _keep_tests(connection, begun.source, calls, baseline)
            _put_out(connection, begun.source, to_share)
            return True

        is_kept = self.database.write(work)
        self._prune()
        return is_kept

    def content(self, digest: str) -> bytes | None:
        """A content that was recorded and is still kept."""
        return self.database.read(lambda connection: project.content(connection, digest))

    def baseline(self, source: str) -> dict[str, str]:
        """The digest of what each file of the source's baseline held, by path; for :meth:`content`."""
        return self.database.read(lambda connection: project.baseline_contents(connection, source))

    def accepted(self) -> dict[str, Any]:
        """The changes to tests that a person accepted, by fingerprint."""
        return self.database.read(project.accepted_changes)

    def accept(self, changes: Mapping[str, Mapping[str, Any]], now: float) -> None:
        """Write down that a person accepted these changes to tests, by fingerprint."""
        self.database.write(lambda connection: project.accept_changes(connection, changes, now))

    def calls(self, source: str) -> KeptCalls | None:
        """What the tests of the source's last fuller run called; None if that is not kept, or damaged."""

        def work(connection: sqlite3.Connection) -> tuple[KeptCalls | None, bool]:
            try:
                return project.calls_of(connection, source), False
            except RecordError:
                return None, True

        found, is_damaged = self.database.read(work)
        if is_damaged:  # remove the calls alone: all else in the file is worth more
            self.notes.append(DAMAGED_CALLS)
            with contextlib.suppress(HistoryError):  # a file that cannot be written: reported again next time
                self.database.write(lambda connection: project.remove_damaged(connection, source))
        return found

    @contextlib.contextmanager
    def transaction(self, begun: RunHandle) -> Iterator[RunTransaction]:
        """Add the run to its episode. All other processes wait until it ends, so be quick.

        What was saved is committed when it ends without an exception.
        """
        transaction = RunTransaction(self.database, begun)
        try:
            yield transaction
        except BaseException:
            self.database.rollback()
            raise
        if not transaction.is_saved:
            self.database.rollback()
            return
        self.database.commit()
        self._prune()

    def _prune(self) -> None:
        """Keep to the bounds. The run is recorded by now, so an error here is only a note."""
        try:
            if self.database.read(lambda connection: is_due(connection, self._bounds)):
                self.database.write(lambda connection: prune(connection, self._bounds))
        except HistoryError as error:
            self.notes.append(f"old runs could not be removed: {error}")

    def unsent(self, limit: int) -> list[tuple[str, Any]]:
        """Runs that the shared history does not have yet, the oldest first: name and content, as they were given."""
        return self.database.read(lambda connection: _unsent(connection, limit))

    def remove_sent(self, names: Collection[str]) -> None:
        """Note that the shared history has these runs."""
        self.database.write(lambda connection: _remove_sent(connection, names))

    def abandon(self, begun: RunHandle) -> None:
        """Forget a run that is under way; its number goes to the next one unless there was one since."""
        self.database.write(lambda connection: runs.take_back(connection, begun))

    def latest(self, source: str | None = None) -> tuple[RunRow, ...]:
        """The last run of every source, or of the one."""
        if source is not None:
            return self.runs(source, 1)
        return self.database.read(runs.shown_last)

    def runs(self, source: str | None = None, limit: int = 50) -> tuple[RunRow, ...]:
        """The last runs, newest last."""
        return self.database.read(lambda connection: runs.shown(connection, source, limit))

    def recorded(self, source: str, limit: int) -> tuple[Run, ...]:
        """The last runs as they are remembered, newest last, without those under way."""
        return self.database.read(lambda connection: runs.recorded(connection, source, limit))

    def reset(self, source: str | None = None) -> int:
        """Forget the source's runs, or everything; the number of runs that were forgotten.

        Numbers begin at 1 again. A run under way is added when it ends, unless its number is taken by then.
        """
        if source is None:
            return self.database.write(remove_all)
        return self.database.write(lambda connection: runs.forget(connection, source))


def _keep_tests(
    connection: sqlite3.Connection, source: str, calls: NewCalls | None, baseline: NewBaseline | None
) -> None:
    if calls is not None:
        project.keep_calls(connection, source, calls)
    if baseline is not None:
        project.keep_baseline(connection, source, baseline)


def _put_out(connection: sqlite3.Connection, source: str, to_share: ToShare | None) -> None:
    if to_share is not None:
        _keep_unsent(connection, source, to_share[0], from_json(to_share[1]))


def _is_edited(connection: sqlite3.Connection, begun: RunHandle) -> bool:
    """Whether code under test differs from that of the last green run of all tests, else of the previous run."""
    green = runs.last_green(connection, begun.source, begun.number, ("",))
    if green is not None and green.not_run_since:
        return True
    before, now = runs.snapshots(connection, begun)
    return project.is_code_changed(
        project.changes_between(connection, before if green is None else green.snapshot, now)
    )


def _is_as_green(connection: sqlite3.Connection, begun: RunHandle, selection: str) -> bool:
    """Whether no file differs from the last green run of these tests, or of all."""
    green = runs.last_green(connection, begun.source, begun.number, ("", selection))
    _, now = runs.snapshots(connection, begun)
    return green is not None and project.changes_between(connection, green.snapshot, now) == ()


class RunTransaction:
    """The transaction that adds a run to its episode; no other process can add one meanwhile.

    :ivar episode: the source's episode so far; ``killed`` the runs that are not in it and never will end.
    """

    episode: Episode
    killed: tuple[int, ...]

    def __init__(self, database: Database, begun: RunHandle) -> None:
        self.is_saved = False
        self._database = database
        self._begun = begun
        self.episode, self.killed = database.hold(
            lambda connection: (
                runs.episode_of(connection, begun.source),
                runs.killed_before(connection, begun.source, begun.number),
            )
        )

    def save(
        self,
        run: Run,
        episode: Episode,
        summary: Mapping[str, Any],
        *,
        calls: NewCalls | None = None,
        baseline: NewBaseline | None = None,
        to_share: ToShare | None = None,
        now: float | None = None,
    ) -> None:
        """Record the run and the episode after it.

        :param summary: a plain JSON value, given back in :class:`~loop_close.store.RunRow`.
        :param calls: what its tests called.
        :param baseline: what later runs are compared with from now on.
        :param to_share: what is to be sent to the shared history.
        :param now: when the run ended; this moment by default.
        :raises HistoryError: when it cannot be written; the transaction is rolled back.
        """
        ended = moment_of(time() if now is None else now)

        def work(connection: sqlite3.Connection) -> None:
            runs.finish(connection, self._begun, run, summary, ended)
            runs.keep_episode(connection, self._begun.source, self._begun.number, episode)
            _keep_tests(connection, self._begun.source, calls, baseline)
            _put_out(connection, self._begun.source, to_share)

        self._database.hold(work)
        self.is_saved = True


# Seconds after which a run on another machine counts as gone: its process cannot be looked up.
_LONGEST = 24 * 3600.0


def end_killed(
    connection: sqlite3.Connection,
    process: tuple[int, str, str],
    now: float,
    is_alive: Callable[[int, str], bool],
) -> tuple[int, ...]:
    """Record runs whose process is gone as killed; the numbers of the runs that other processes have under way."""
    rows = connection.execute(
        "SELECT id, number, pid, birth, host, started FROM runs WHERE state = 'running' ORDER BY id"
    ).fetchall()
    dead, running = [], []
    for row, number, pid, birth, host, started in rows:
        check_pid(pid)
        other = (pid, to_text(birth), to_text(host))
        if not lives(other, process, now - started, is_alive):
            dead.append((now, row))
        elif other != process:
            running.append(to_whole(number))
    connection.executemany("UPDATE runs SET state = 'killed', ended = ? WHERE id = ?", dead)
    return tuple(running)


def check_pid(value: object) -> None:
    """Make sure that it is a process id: it becomes part of a path.

    :raises RecordError: when it is not.
    """
    if not is_pid(value):
        raise RecordError("no number of a process")


def lives(
    other: tuple[int, str, str],
    process: tuple[int, str, str],
    age: float,
    is_alive: Callable[[int, str], bool],
) -> bool:
    """Whether a run may still end.

    :param other: its process: number, birth and host; ``process``: our own.
    :param age: for how many seconds it has been under way.
    """
    pid, birth, host = other
    if host != process[2]:
        return abs(age) < _LONGEST
    if pid == process[0]:  # the id may have been reused
        return birth == process[1]
    return is_alive(pid, birth)


# --- the outbox: runs that were not sent to the shared history yet

# In bytes: with more, the oldest are dropped.
_LARGEST_OUTBOX = 8_000_000
_FEW = 50
_LARGEST_BATCH = 200_000  # in bytes


def _keep_unsent(connection: sqlite3.Connection, source: str, name: str, data: str | bytes) -> None:
    """Keep a run, as :func:`loop_close.store.records.from_json` made it, until it is sent."""
    connection.execute(
        "REPLACE INTO outbox(id, source, data) VALUES(?, ?, ?)", (name, from_text(source), data)
    )
    (size,) = connection.execute("SELECT sum(length(data)) FROM outbox").fetchone()
    if size > _LARGEST_OUTBOX:
        connection.execute(
            "DELETE FROM outbox WHERE rowid IN (SELECT rowid FROM outbox ORDER BY rowid LIMIT ?)", (_FEW,)
        )


def _unsent(connection: sqlite3.Connection, limit: int) -> list[tuple[str, Any]]:
    """The runs to be sent, the oldest first, each with its name in the outbox: few of large ones, for slow networks."""
    found: list[tuple[str, Any]] = []
    size = 0
    for name, data in connection.execute("SELECT id, data FROM outbox ORDER BY rowid LIMIT ?", (limit,)):
        size += len(data)
        if found and size > _LARGEST_BATCH:
            break
        found.append((to_text(name), to_json(data)))
    return found


def _remove_sent(connection: sqlite3.Connection, names: Collection[str]) -> None:
    """Remove the runs that were sent."""
    connection.executemany("DELETE FROM outbox WHERE id = ?", [(name,) for name in names])
