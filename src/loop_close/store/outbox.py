"""The outbox: runs that were not sent to the shared history yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import Any

from loop_close.store.records import from_text, to_json, to_text

# In bytes: with more, the oldest are dropped.
_LARGEST_OUTBOX = 8_000_000
_FEW = 50
_LARGEST_BATCH = 200_000  # in bytes


def put_out(connection: sqlite3.Connection, source: str, name: str, data: str | bytes) -> None:
    """Keep a run, as :func:`loop_close.store.records.from_json` made it, until it is sent."""
    connection.execute(
        "REPLACE INTO outbox(id, source, data) VALUES(?, ?, ?)", (name, from_text(source), data)
    )
    (size,) = connection.execute("SELECT sum(length(data)) FROM outbox").fetchone()
    if size > _LARGEST_OUTBOX:
        connection.execute(
            "DELETE FROM outbox WHERE rowid IN (SELECT rowid FROM outbox ORDER BY rowid LIMIT ?)", (_FEW,)
        )


def unsent(connection: sqlite3.Connection, limit: int) -> list[tuple[str, Any]]:
    """The runs to be sent, the oldest first, each with its name in the outbox: few of large ones, for slow networks."""
    found: list[tuple[str, Any]] = []
    size = 0
    for name, data in connection.execute("SELECT id, data FROM outbox ORDER BY rowid LIMIT ?", (limit,)):
        size += len(data)
        if found and size > _LARGEST_BATCH:
            break
        found.append((to_text(name), to_json(data)))
    return found


def remove_sent(connection: sqlite3.Connection, names: Collection[str]) -> None:
    """Remove the runs that were sent."""
    connection.executemany("DELETE FROM outbox WHERE id = ?", [(name,) for name in names])
