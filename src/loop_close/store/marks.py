"""Failures: each is kept once, however many runs have it."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from loop_close.store.columns import json_text, packed, to_json
from loop_close.store.project import MOST_PARAMETERS
from loop_close.store.records import to_record

if TYPE_CHECKING:
    from loop_close.memory import Mark

#: A mark says to within so many runs when it was last seen: to say it after each would cost a write for every one.
STAMP = 16


def keep_marks(connection: sqlite3.Connection, run: int, marks: list[dict[str, Any]]) -> None:
    """Note that these are the failures of the run, in this order."""
    from hashlib import blake2b  # late, as in other modules: it loads OpenSSL

    texts = [json_text(mark) for mark in marks]
    digests = [blake2b(text.encode(), digest_size=16).digest() for text in texts]
    known = _known(connection, list(dict.fromkeys(digests)))
    stale = [(run, number) for number, last in known.values() if last + STAMP < run]
    connection.executemany("UPDATE marks SET last = ? WHERE id = ?", stale)
    numbers = {digest: number for digest, (number, _) in known.items()}
    numbers |= _added(connection, run, {d: m for d, m in zip(digests, texts, strict=True) if d not in known})
    connection.execute("DELETE FROM failures WHERE run = ?", (run,))
    connection.executemany(
        "INSERT INTO failures(run, position, mark) VALUES(?, ?, ?)",
        [(run, position, numbers[digest]) for position, digest in enumerate(digests)],
    )


def _known(connection: sqlite3.Connection, digests: list[bytes]) -> dict[bytes, tuple[int, int]]:
    found = {}
    for start in range(0, len(digests), MOST_PARAMETERS):
        some = digests[start : start + MOST_PARAMETERS]
        places = ",".join("?" * len(some))
        query = f"SELECT digest, id, last FROM marks WHERE digest IN ({places})"
        found.update({digest: (number, last) for digest, number, last in connection.execute(query, some)})
    return found


def _added(connection: sqlite3.Connection, run: int, marks: dict[bytes, str]) -> dict[bytes, int]:
    """The new marks, with the ids they got; nobody else writes meanwhile."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM marks").fetchone()
    numbers = {digest: last + index for index, digest in enumerate(marks, 1)}
    connection.executemany(
        "INSERT INTO marks(id, digest, last, data) VALUES(?, ?, ?, ?)",
        [(numbers[digest], digest, run, packed(text)) for digest, text in marks.items()],
    )
    return numbers


def marks_of(connection: sqlite3.Connection, runs: list[int]) -> dict[int, tuple[Mark, ...]]:
    """The failures of the runs, by run."""
    from loop_close.memory import Mark

    read: dict[int, Mark] = {}
    found: dict[int, list[Mark]] = {}
    for run in runs:
        rows = connection.execute(
            "SELECT mark, data FROM failures JOIN marks ON id = mark WHERE run = ? ORDER BY position", (run,)
        )
        for number, data in rows:
            if number not in read:
                read[number] = to_record(Mark, to_json(data))
            found.setdefault(run, []).append(read[number])
    return {run: tuple(marks) for run, marks in found.items()}
