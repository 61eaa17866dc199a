"""One connection to the history file: its transactions, and what to do when the file is busy, full or broken."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from loop_close.store.aside import alone, set_aside
from loop_close.store.contract import HistoryError
from loop_close.store.records import RecordError
from loop_close.store.schema import ForeignError, prepare

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

# When a file is made, its descriptor is closed again, and by POSIX that ends all locks that the process has on
# it: no other thread may have opened it by then.
_opening = threading.Lock()
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_BROKEN = {
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT),
    *(sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH),
}
_BROKEN_WORDS = ("no such ", "Could not decode to UTF-8", "malformed")
_TRIES = 3
_SMALLEST = 512


class BrokenError(Exception):
    """The file is no history; the text says what is wrong with it."""


class _ReplacedError(Exception):
    """Another process has set the file aside, or somebody removed it, since it was opened."""


class Database:
    """The file, opened; broken ones are set aside, and a new one is begun.

    It belongs to one thread. Locks are those of SQLite's rollback journal: WAL would save 0.7 ms a run, but fails
    on network folders and leaves two files beside this one. ``synchronous = NORMAL`` survives any kill; the power
    failing in the wrong millisecond may break the file, which is then set aside.

    :ivar notes: what befell the file, in a line each.
    :raises HistoryError: when it cannot be opened.
    """

    def __init__(self, path: Path, *, timeout: float, notes: list[str]) -> None:
        self.path = path
        self.notes = notes
        self._timeout = timeout
        self.connection = self._opened()

    def read(self, work: Work[T]) -> T:
        """What ``work`` returns; it must not write."""
        return self._attempt(work)

    def write(self, work: Work[T]) -> T:
        """What ``work`` returns; what it wrote stays, all or nothing."""

        def written(connection: sqlite3.Connection) -> T:
            self._begin()
            result = work(connection)
            connection.execute("COMMIT")
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
        self._attempt(lambda connection: connection.execute("COMMIT"), tries=1)

    def rollback(self) -> None:
        """End the transaction that may be open, as if it had not been."""
        # What cannot be undone now is when the file is next opened.
        with contextlib.suppress(sqlite3.Error):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the file; more than once is fine."""
        self.rollback()
        self.connection.close()

    def _begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        # Journals go by name: one of the old file would be taken for one of the new file. There is none yet.
        if _identity(self.path) != self._file:
            raise _ReplacedError

    def _attempt(self, work: Work[T], tries: int = _TRIES) -> T:
        """What ``work`` returns, on a new file when this one turns out to be broken."""
        has_renewed = False
        for _ in range(tries):
            try:
                return self._translated(work)
            except _ReplacedError:
                self.close()
            except BrokenError as broken:
                if has_renewed:
                    break
                has_renewed = True
                self._put_away(f"was damaged ({broken})")
            self.connection = self._opened()
        raise HistoryError(f"{self.path.name} is damaged time and again, or replaced while it is used")

    def _translated(self, work: Work[T]) -> T:
        try:
            return work(self.connection)
        except RecordError as error:
            self.rollback()
            raise BrokenError(str(error)) from error
        except sqlite3.Error as error:
            self.rollback()
            raise self._meaning(error) from error
        except BaseException:
            self.rollback()
            raise

    def _meaning(self, error: sqlite3.Error) -> Exception:
        """The error as one of ours. What SQLite calls operational, but for missing tables, is no fault of the file."""
        code = getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_READONLY_DBMOVED:
            return _ReplacedError()
        code &= 0xFF
        if code in _BUSY:
            return HistoryError(
                f"{self.path.name} is busy: others have held it for {self._timeout:g} seconds"
            )
        if code in _BROKEN or (
            isinstance(error, sqlite3.OperationalError) and str(error).startswith(_BROKEN_WORDS)
        ):
            return BrokenError(str(error))
        return HistoryError(f"cannot write {self.path.name}: {error}")

    def _opened(self) -> sqlite3.Connection:
        for _ in range(_TRIES):
            with _opening:
                self._file = self._made()
                self.connection = self._connected()
            try:
                self._translated(self._prepare)
                if _identity(self.path) == self._file:
                    return self.connection
                self.close()
            except _ReplacedError:
                self.close()
            except ForeignError:
                self._put_away("was no history of loop-close")
            except BrokenError as broken:
                self._put_away(f"was no history of loop-close ({broken})")
            except BaseException:
                self.close()
                raise
        raise HistoryError(f"{self.path.name} is damaged time and again, or replaced while it is used")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        # To SQLite a file of a few bytes is an empty database.
        with contextlib.suppress(OSError):  # when it has gone since, the caller sees it
            if 0 < os.stat(self.path).st_size < _SMALLEST:
                raise BrokenError("file is not a database")
        prepare(connection, self.path.name)

    def _made(self) -> tuple[int, int]:
        """Which file it is; made when there is none, with the permissions that any new file gets."""
        try:
            _check(self.path)
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
            found = _identity(self.path)
        except OSError as error:
            raise HistoryError(f"cannot open {self.path.name}: {error.strerror or error}") from error
        if found is None:
            raise HistoryError(f"cannot open {self.path.name}: somebody removes it")
        return found

    def _connected(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(self.path, timeout=self._timeout, isolation_level=None)
        except sqlite3.Error as error:
            raise HistoryError(f"cannot open {self.path.name}: {error}") from error

    def _put_away(self, why: str) -> None:
        """Close the file and set it aside, unless another process has done it already."""
        name = self.path.name
        try:
            with alone(self.path.parent):
                self._lock_out()
                if _identity(self.path) == self._file:
                    aside = set_aside(self.path).name
                    self.notes.append(f"{name} {why}; it was set aside as {aside} and a new one begun")
        except OSError as error:
            raise HistoryError(f"{name} {why} and cannot be set aside: {error.strerror or error}") from error
        finally:
            self.close()

    def _lock_out(self) -> None:
        """Wait for those who write to the file, where its state lets anybody write at all."""
        if os.name == "nt":  # an open file cannot be renamed there
            self.close()
            return
        try:
            self.connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            meaning = self._meaning(error)
            if isinstance(meaning, HistoryError):
                raise meaning from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check(path: Path) -> None:
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
        raise HistoryError(f"{path.name} is no regular file")
