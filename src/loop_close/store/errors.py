"""What can be wrong with the history file, and which of it an error of SQLite means."""

from __future__ import annotations

import sqlite3

from loop_close.store.contract import HistoryError
from loop_close.store.patience import LONGEST, Watch, is_busy

_BROKEN = {
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT),
    *(sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG),
}
_BROKEN_WORDS = ("no such ", "Could not decode to UTF-8", "malformed")


class BrokenError(Exception):
    """The file is no history; the text says what is wrong with it."""


class UnsafeError(BrokenError):
    """SQLite must not so much as look at the file, nor at what lies beside it."""


class ReplacedError(Exception):
    """Another process has set the file aside, or somebody removed it, since it was opened."""


def meaning_of(error: sqlite3.Error, name: str, timeout: float, watch: Watch) -> BaseException:
    """The error as one of ours. What SQLite calls operational, but for missing tables, is no fault of the file.

    :param name: of the file; ``timeout``: for how many seconds others were waited for.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return ReplacedError()
    if code == sqlite3.SQLITE_INTERRUPT:
        return watch.reason() or HistoryError(
            f"{name}: reading or writing took longer than {LONGEST:g} seconds"
        )
    if is_busy(error):
        return HistoryError(f"{name} is busy: another process has locked it for {timeout:g} seconds")
    if code & 0xFF in _BROKEN or _has_no_table(error):
        return BrokenError(str(error))
    return HistoryError(f"cannot write {name}: {error}")


def _has_no_table(error: sqlite3.Error) -> bool:
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith(_BROKEN_WORDS)
