"""One connection to the history file: its transactions, and what to do when the file is busy, full or broken."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from loop_close.store.aside import alone, set_aside
from loop_close.store.contract import HistoryError
from loop_close.store.errors import BrokenError, ReplacedError, UnsafeError, meaning_of
from loop_close.store.guard import OUR_FOLDER, check_place, fault_beside, identity, in_use, opening, seen_at
from loop_close.store.patience import STEP, Watch, patient
from loop_close.store.schema import ForeignError, prepare

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_TRIES = 3
_ROOT = "SELECT root FROM project"
_SMALLEST = 512


class Database:
    """The file, opened; broken ones are set aside, and a new one is begun.

    It belongs to one thread. Locks are those of SQLite's rollback journal: WAL would save 0.7 ms a run, but fails
    on network folders and leaves two files beside this one. ``synchronous = NORMAL`` survives any kill; the power
    failing in the wrong millisecond may break the file, which is then set aside.

    :ivar notes: what befell the file, in a line each.
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
        return self._attempt(lambda connection: patient(lambda: work(connection), self._timeout))

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
        patient(lambda: self.connection.execute(statement), self._timeout)
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
                self._put_away(f"was damaged ({broken})", isinstance(broken, UnsafeError))
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
        return meaning_of(error, self.path.name, self._timeout, self._watch)

    def _opened(self) -> sqlite3.Connection:
        for _ in range(_TRIES):
            try:
                with opening:
                    self._look()
                    self._connect()
                self._translated(lambda c: patient(lambda: self._prepare(c), self._timeout))
                if identity(self.path) == self._file:
                    self._is_ours = True
                    return self.connection
                self.close()
            except ReplacedError:
                self.close()
            except ForeignError:
                self._put_away("was not a loop-close history")
            except UnsafeError as unsafe:
                self._put_away(f"was damaged ({unsafe})", is_unsafe=True)
            except BrokenError as broken:
                self._put_away(f"was not a loop-close history ({broken})")
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
        """Make sure that the file is this project's; it becomes so when it is nobody's."""
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
            seen = seen_at(self.path)
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
        self._watch = Watch(self.connection)

    def _put_away(self, why: str, is_unsafe: bool = False) -> None:
        """Close the file and set it aside, unless another process has done it already."""
        name = self.path.name
        try:
            if not self._is_ours:
                raise HistoryError(f"{name} exists and is not a loop-close history; name another file")
            with alone(self.path.parent):
                self._lock_out(is_unsafe)
                if identity(self.path) == self._file:
                    aside = set_aside(self.path).name
                    self.notes.append(f"{name} {why}; it was renamed to {aside} and a new one started")
        except OSError as error:
            raise HistoryError(f"{name} {why} and cannot be renamed: {error.strerror or error}") from error
        finally:
            self.close()

    def _lock_out(self, is_unsafe: bool) -> None:
        """Wait for those who write to the file, where its state lets anybody write at all."""
        if is_unsafe or self._held is None or os.name == "nt":  # an open file cannot be renamed there
            self.close()
            return
        try:
            self._execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            meaning = self._meaning(error)
            if not isinstance(meaning, (BrokenError, ReplacedError)):
                raise meaning from error
