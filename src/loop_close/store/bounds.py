"""How large the history may grow, and whether it has; what is loaded for every run."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

_EVERY = 64


class Bounds(NamedTuple):
    """How large the history may grow.

    :ivar runs: how many are kept; up to 64 more until the next pruning.
    :ivar bytes: the size of the file; as long as it is above, every run prunes.
    """

    runs: int
    bytes: int


def is_due(connection: sqlite3.Connection, bounds: Bounds) -> bool:
    """Whether to prune now; takes no time."""
    newest, pruned = connection.execute(
        "SELECT (SELECT coalesce(max(id), 0) FROM runs), pruned FROM project"
    ).fetchone()
    size = pages(connection, "page_count") * page_size(connection)
    return bool(newest >= pruned + _EVERY) or size > bounds.bytes


def page_size(connection: sqlite3.Connection) -> int:
    """Bytes of a page of the file."""
    return pages(connection, "page_size")


def pages(connection: sqlite3.Connection, what: str) -> int:
    """A number that SQLite gives of the file by name, such as ``page_count``."""
    (number,) = connection.execute(f"PRAGMA {what}").fetchone()
    return int(number)
