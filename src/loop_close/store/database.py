"""One connection to the history file: transactions, and what to do when it is busy, unsafe, full or broken."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from time import monotonic  # by name: a program under test may patch the module
from typing import TypeVar

from loop_close.lazy import NamedTuple
from loop_close.process import locked
from loop_close.store import HistoryError
from loop_close.store.schema import APPLICATION_ID, ForeignError, prepare

# --- how long to wait, for other processes and for SQLite itself, so that Ctrl-C works meanwhile

T = TypeVar("T")

#: Seconds for which SQLite waits for a lock at a time: no signal is handled meanwhile.
STEP = 1.0
#: What one piece of work may take, in seconds, without the waiting for others.
LONGEST = 20.0
_OFTEN = 20_000
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def is_busy(error: sqlite3.Error) -> bool:
    """Whether others have the file locked."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


def retry_while_busy(action: Callable[[], T], timeout: float) -> T:
    """What the action returns; it is tried until other processes have released the file.

    :raises sqlite3.Error: its last one, when the seconds are over.
    """
    until = monotonic() + timeout
    while True:
        try:
            return action()
        except sqlite3.Error as error:
            if not is_busy(error) or monotonic() >= until:
                raise


class QueryTimeout:
    """Stops what a connection does when it takes too long, or when a signal asks for it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._raised: BaseException | None = None
        self.start()
        connection.set_progress_handler(self._is_over, _OFTEN)

    def start(self) -> None:
        """Give the next piece of work all of its time."""
        self._until = monotonic() + LONGEST

    def reason(self) -> BaseException | None:
        """What a signal handler raised when it stopped SQLite; None if the time was over."""
        raised, self._raised = self._raised, None
        if raised is None and monotonic() < self._until:
            return KeyboardInterrupt()  # it was raised before the method could take it
        return raised

    def _is_over(self) -> bool:
        try:
            return monotonic() >= self._until
        except BaseException as error:  # SQLite's callbacks lose it
            self._raised = error
            return True


Work = Callable[[sqlite3.Connection], T]

_TRIES = 3
_ROOT = "SELECT root FROM project"
_SMALLEST = 512


class Database:
    """The open file; a broken one is quarantined, and a new one is begun.

    It belongs to one thread. Locks are those of SQLite's rollback journal: WAL would save 0.7 ms a run, but fails
    on network folders and leaves two files beside this one. ``synchronous = NORMAL`` survives any kill; the power
    failing in the wrong millisecond may break the file, which is then quarantined.

    :ivar notes: what happened to the file, in a line each.
    :raises HistoryError: when it cannot be opened.
    """

    def __init__(self, path: Path, *, timeout: float, notes: list[str], project: str = "") -> None:
        self.path = path
        self.notes = notes
        self._timeout = timeout
        # What lies in our folder goes where the folder goes.
        self._project = "" if path.parent.name == OUR_FOLDER else project
        self._held: tuple[int, int] | None = None
        self.connection = self._opened()

    def read(self, work: Work[T]) -> T:
        """What ``work`` returns; it must not write."""
        return self._attempt(lambda connection: retry_while_busy(lambda: work(connection), self._timeout))

    def write(self, work: Work[T]) -> T:
        """What ``work`` returns; what it wrote stays, all or nothing."""

        def written(connection: sqlite3.Connection) -> T:
            self._begin()
            result = work(connection)
            self._execute("COMMIT")
            return result

        return self._attempt(written)

    def hold(self, work: Work[T]) -> T:
        """As :meth:`write`, in the transaction that is open or in a new one, which stays open."""

        def held(connection: sqlite3.Connection) -> T:
            if not connection.in_transaction:
                self._begin()
            return work(connection)

        return self._attempt(held)

    def commit(self) -> None:
        """End the transaction that is open, for good."""
        self._attempt(lambda connection: self._execute("COMMIT"), tries=1)

    def rollback(self) -> None:
        """End the transaction that may be open, as if it had not been."""
        # What cannot be undone now is when the file is next opened.
        with contextlib.suppress(sqlite3.Error):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the file; more than once is fine."""
        if self._held is not None:
            self.rollback()
            self.connection.close()
            with opening:
                in_use[self._held] -= 1
            self._held = None

    def _execute(self, statement: str) -> None:
        retry_while_busy(lambda: self.connection.execute(statement), self._timeout)
        self._watch.start()

    def _begin(self) -> None:
        self._execute("BEGIN IMMEDIATE")
        # Journals go by name: one of the old file would be taken for one of the new file. There is none yet.
        if identity(self.path) != self._file:
            raise ReplacedError

    def _attempt(self, work: Work[T], tries: int = _TRIES) -> T:
        """What ``work`` returns, on a new file when this one turns out to be broken."""
        has_renewed = False
        for _ in range(tries):
            try:
                return self._translated(work)
            except ReplacedError:
                self.close()
            except BrokenError as broken:
                if has_renewed:
                    break
                has_renewed = True
                self._quarantine(f"was damaged ({broken})", isinstance(broken, UnsafeError))
            self.connection = self._opened()
        raise HistoryError(f"{self.path.name} keeps being damaged, or is replaced while in use")

    def _translated(self, work: Work[T]) -> T:
        try:
            if not self.connection.in_transaction:
                self._check_beside()
            self._watch.start()
            return work(self.connection)
        except (ValueError, TypeError, OverflowError) as error:  # what is in the columns is not what we wrote
            self.rollback()
            raise BrokenError(str(error)) from error
        except sqlite3.Error as error:
            self.rollback()
            raise self._meaning(error) from error
        except BaseException:
            self.rollback()
            raise

    def _check_beside(self) -> None:
        """SQLite looks for a journal whenever it begins to read: one may have been put there since the last time."""
        try:
            fault = fault_beside(self.path)
        except OSError as error:
            raise HistoryError(f"cannot read {self.path.name}: {error.strerror or error}") from error
        if fault:
            raise UnsafeError(fault)

    def _meaning(self, error: sqlite3.Error) -> BaseException:
        """The error as one of ours. What SQLite calls operational, but for missing tables, is not the file's fault."""
        name, code = self.path.name, getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_READONLY_DBMOVED:
            return ReplacedError()
        if code == sqlite3.SQLITE_INTERRUPT:
            return self._watch.reason() or HistoryError(
                f"{name}: reading or writing took longer than {LONGEST:g} seconds"
            )
        if is_busy(error):
            return HistoryError(
                f"{name} is busy: another process has locked it for {self._timeout:g} seconds"
            )
        has_no_table = isinstance(error, sqlite3.OperationalError) and str(error).startswith(_BROKEN_WORDS)
        if code & 0xFF in _BROKEN or has_no_table:
            return BrokenError(str(error))
        return HistoryError(f"cannot write {name}: {error}")

    def _opened(self) -> sqlite3.Connection:
        for _ in range(_TRIES):
            try:
                with opening:
                    self._look()
                    self._connect()
                self._translated(lambda c: retry_while_busy(lambda: self._prepare(c), self._timeout))
                if identity(self.path) == self._file:
                    self._is_ours = True
                    return self.connection
                self.close()
            except ReplacedError:
                self.close()
            except ForeignError:
                self._quarantine("was not a loop-close history")
            except UnsafeError as unsafe:
                self._quarantine(f"was damaged ({unsafe})", is_unsafe=True)
            except BrokenError as broken:
                self._quarantine(f"was not a loop-close history ({broken})")
            except BaseException:
                self.close()
                raise
        raise HistoryError(f"{self.path.name} keeps being damaged, or is replaced while in use")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        # To SQLite a file of a few bytes is an empty database.
        with contextlib.suppress(OSError):  # when it has gone since, the caller sees it
            if 0 < os.stat(self.path).st_size < _SMALLEST:
                raise BrokenError("file is not a database")
        prepare(connection, self.path.name)
        self._claim(connection)

    def _claim(self, connection: sqlite3.Connection) -> None:
        """Make sure that the file is this project's; it becomes so if it has no project yet."""
        (root,) = connection.execute(_ROOT).fetchone()
        if not root and self._project:
            connection.execute("UPDATE project SET root = ? WHERE root = ''", (self._project,))
            (root,) = connection.execute(_ROOT).fetchone()  # another one may have been quicker
        if self._project not in ("", root):
            raise HistoryError(f"{self.path.name} belongs to another project; name another file")

    def _look(self) -> None:
        """Find out whether the file is ours, and whether it is safe to open it."""
        name = self.path.name
        try:
            check_place(self.path)
            seen = file_state(self.path)
        except OSError as error:
            raise HistoryError(f"cannot open {name}: {error.strerror or error}") from error
        self._file, self._is_ours = seen.file, seen.is_ours
        if not seen.is_history:  # to open it could play back the journal of one that takes its place
            raise ForeignError
        if seen.fault and not seen.is_ours:
            raise HistoryError(f"cannot open {name}: {seen.fault}")
        if seen.fault:
            raise UnsafeError(seen.fault)

    def _made(self) -> tuple[int, int]:
        """Which file it is; made when there is none. Nobody else may read it: sources are in it."""
        try:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            found = identity(self.path)
        except OSError as error:
            raise HistoryError(f"cannot open {self.path.name}: {error.strerror or error}") from error
        if found is None:
            raise HistoryError(f"cannot open {self.path.name}: another process keeps removing it")
        return found

    def _connect(self) -> None:
        self._file = self._made()
        try:
            wait = min(STEP, self._timeout)
            self.connection = sqlite3.connect(self.path, timeout=wait, isolation_level=None)
        except sqlite3.Error as error:
            raise HistoryError(f"cannot open {self.path.name}: {error}") from error
        self._held = self._file
        in_use[self._file] += 1
        self._watch = QueryTimeout(self.connection)

    def _quarantine(self, why: str, is_unsafe: bool = False) -> None:
        """Close the file and set it aside, unless another process has done it already."""
        name = self.path.name
        try:
            if not self._is_ours:
                raise HistoryError(f"{name} exists and is not a loop-close history; name another file")
            with locked(self.path.parent, math.inf, is_folder=True):  # no other process quarantines meanwhile
                self._lock_out(is_unsafe)
                if identity(self.path) == self._file:
                    aside = quarantine(self.path).name
                    self.notes.append(f"{name} {why}; it was renamed to {aside} and a new one started")
        except OSError as error:
            raise HistoryError(f"{name} {why} and cannot be renamed: {error.strerror or error}") from error
        finally:
            self.close()

    def _lock_out(self, is_unsafe: bool) -> None:
        """Wait for those who write to the file, unless its state forbids writing."""
        if is_unsafe or self._held is None or os.name == "nt":  # an open file cannot be renamed there
            self.close()
            return
        try:
            self._execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            meaning = self._meaning(error)
            if not isinstance(meaning, (BrokenError, ReplacedError)):
                raise meaning from error


# --- what can be wrong with the history file, and which of it an error of SQLite means

_BROKEN = {
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT),
    *(sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG),
}
_BROKEN_WORDS = ("no such ", "Could not decode to UTF-8", "malformed")


class BrokenError(Exception):
    """The file is broken; the text says why."""


class UnsafeError(BrokenError):
    """SQLite must not so much as look at the file, nor at what lies beside it."""


class ReplacedError(Exception):
    """The file was quarantined by another process, or removed, since it was opened."""


# --- a look at the history's place before SQLite opens it: SQLite trusts whatever lies there and beside it

#: The state folder: whatever lies in the history's place there may be quarantined.
OUR_FOLDER = ".loop-close"
#: When a file is made or looked at, its descriptor is closed again, and by POSIX that ends all locks that the
#: process has on it: no other thread may open it meanwhile, and those that are in use are not looked at.
opening = threading.Lock()
in_use: Counter[tuple[int, int]] = Counter()
_HEADER = 100
_SQLITE = b"SQLite format 3\0"
_WAL = 2
# A journal that ends in these bytes has SQLite remove a file that it names before them. Ours never do: only a
# transaction over several databases writes such a one.
_MAGIC = bytes.fromhex("d9d505f920a163d7")
_JOURNAL = "-journal"


def check_place(path: Path) -> None:
    """Make sure that nothing else is in the file's place.

    :raises HistoryError: when it is a folder or the like, or a symbolic link leads to it: what that leads to is
        not ours to write.
    """
    for each in (path.parent, path):
        if each.is_symlink():
            raise HistoryError(f"{each.name} is a symbolic link")
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise HistoryError(f"{path.name} is not a regular file")


def identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, which distinguish the file from another one of its name; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class FileState(NamedTuple):
    """What there is to be seen of a file without SQLite.

    :ivar file: which one it is; None if there is none.
    :ivar is_ours: it has the mark of a history, or is in the state folder: it may be quarantined.
    :ivar is_history: it says that it is a history, or nothing is kept in it yet.
    :ivar fault: why SQLite must not open it.
    """

    file: tuple[int, int] | None
    is_ours: bool
    is_history: bool
    fault: str | None


def file_state(path: Path) -> FileState:
    """What lies there.

    :raises OSError: when that cannot be found out.
    """
    file = identity(path)
    is_known = file is not None and in_use[file] > 0  # it was looked at before
    header = b"" if is_known else _bytes_of(path, 0, _HEADER)
    has_log = header.startswith(_SQLITE) and _WAL in header[18:20]
    is_marked = is_known or _carries_our_mark(header)
    return FileState(
        file=file,
        is_ours=is_marked or path.parent.name == OUR_FOLDER,
        is_history=is_marked or _is_unused(header),
        fault="it has a write-ahead log" if has_log else fault_beside(path),
    )


def _carries_our_mark(header: bytes) -> bool:
    return header.startswith(_SQLITE) and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _is_unused(header: bytes) -> bool:
    """Whether the file is empty, or a database of a single page: a table would have its own.

    The latter is what another process has made in the moment before it is a history.
    """
    is_single = header[18:20] == b"\1\1" and header[28:32] == b"\0\0\0\1" and header[24:28] == header[92:96]
    return not header or (header.startswith(_SQLITE) and is_single and not any(header[60:64] + header[68:72]))


def fault_beside(path: Path) -> str | None:
    """Why SQLite must not look at what lies beside the file.

    :raises OSError: when that cannot be found out.
    """
    return next(filter(None, (_fault_of(f"{path}{end}", end) for end in BESIDE)), None)


def _fault_of(name: str, end: str) -> str | None:
    try:
        found = os.lstat(name)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return f"its {end} is not a regular file"
    if end != _JOURNAL:  # they belong to a log that ours never have
        return f"it has a {end}"
    is_chained = found.st_size > 0 and _bytes_of(name, found.st_size - len(_MAGIC), len(_MAGIC)) == _MAGIC
    return f"its {end} names another file" if is_chained else None


def _bytes_of(path: str | Path, start: int, count: int) -> bytes:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):  # to open a pipe may take for ever
            return b""
        with open(path, "rb", buffering=0) as file:
            file.seek(max(start, 0))
            return file.read(count)
    except FileNotFoundError:  # others come and go
        return b""


# --- put a file that cannot be used out of the way, with what belongs to it, and overwrite nothing

#: What SQLite writes beside a database. They go first: one that stayed would be taken for the next file's own.
BESIDE = ("-journal", "-wal", "-shm")


def quarantine(path: Path) -> Path:
    """Rename the file and what SQLite left beside it; the new name.

    :raises OSError: when it cannot be renamed.
    """
    target = next(name for name in _names(path) if not any(map(os.path.lexists, _family(name))))
    for old, new in zip(_family(path), _family(target), strict=True):
        with contextlib.suppress(FileNotFoundError):
            os.rename(old, new)
    return target


def _names(path: Path) -> Iterator[Path]:
    return (path.with_name(f"{path.name}.broken-{number}") for number in count(1))


def _family(path: Path) -> list[str]:
    return [*(f"{path}{end}" for end in BESIDE), str(path)]
