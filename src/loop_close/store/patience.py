"""How long to wait, for others and for SQLite itself, so that Ctrl-C is heard meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from time import monotonic  # here: a program under test may put another one in its place
from typing import TypeVar

T = TypeVar("T")

#: SQLite hears nothing while it waits for a lock: it does so for so many seconds at a time.
STEP = 1.0
#: What one piece of work may take, in seconds, without the waiting for others.
LONGEST = 20.0
_OFTEN = 20_000
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def is_busy(error: sqlite3.Error) -> bool:
    """Whether others have the file locked."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


def patient(action: Callable[[], T], timeout: float) -> T:
    """What the action returns, which is tried until others have let go of the file.

    :raises sqlite3.Error: its last one, when the seconds are over.
    """
    until = monotonic() + timeout
    while True:
        try:
            return action()
        except sqlite3.Error as error:
            if not is_busy(error) or monotonic() >= until:
                raise


class Watch:
    """Stops what a connection does when it takes too long, or when a signal asks for it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._raised: BaseException | None = None
        self.start()
        connection.set_progress_handler(self._is_over, _OFTEN)

    def start(self) -> None:
        """Give the next piece of work all of its time."""
        self._until = monotonic() + LONGEST

    def reason(self) -> BaseException | None:
        """What a signal handler raised when it stopped SQLite; None where the time was over."""
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
