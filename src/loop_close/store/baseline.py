"""The tests as they were when a source's loop began, and the changes of them that a person accepted."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from loop_close.conventions import is_of_tests
from loop_close.store.columns import from_json, from_text, to_json, to_text
from loop_close.store.contract import Changes, Entries, NewBaseline
from loop_close.store.project import store_contents
from loop_close.store.records import RecordError

#: Accepted changes that are kept: the last ones.
_MOST_ACCEPTED = 1_000
# The row without a path says which state of the project's files the baseline is, or was last found to equal.
_STATE = ""


def changes_since(
    connection: sqlite3.Connection, source: str, entries: Entries | None, snapshot: int | None
) -> Changes | None:
    """The tests' files that differ from the source's baseline: path, content before, digest now.

    :param entries: all files, None where they are not known: then nothing differs.
    :param snapshot: the state of the project's files that they are.
    :returns: None where there is no baseline.
    """
    rows = _rows(connection, source)
    if not rows:
        return None
    if entries is None or rows[_STATE][0] == str(snapshot):
        return ()
    now = {path: entry[2] for path, entry in entries.items() if path in rows or is_of_tests(path)}
    paths = sorted((now.keys() | rows.keys()) - {_STATE})
    pairs = ((path, rows.get(path, ("", None)), now.get(path)) for path in paths)
    found = tuple((path, before[1], after) for path, before, after in pairs if before[0] != (after or ""))
    if not found:
        connection.execute(
            "UPDATE baselines SET digest = ? WHERE source = ? AND path = ''",
            (str(snapshot), from_text(source)),
        )
    return found


def _rows(connection: sqlite3.Connection, source: str) -> dict[str, tuple[str, str]]:
    """Digest and content by path; nothing where there is no baseline."""
    rows = connection.execute(
        "SELECT path, digest, content FROM baselines WHERE source = ?", (from_text(source),)
    )
    found = {to_text(path): (to_text(digest), to_text(content)) for path, digest, content in rows}
    if found and _STATE not in found:
        raise RecordError("a baseline without its state")
    return found


def contents_of(connection: sqlite3.Connection, source: str) -> dict[str, str]:
    """The digest of what each of the baseline's files held, by path."""
    return {path: content for path, (_, content) in _rows(connection, source).items() if path != _STATE}


def keep(connection: sqlite3.Connection, source: str, new: NewBaseline) -> None:
    """Make these files the source's baseline."""
    store_contents(connection, new.contents)
    name = from_text(source)
    connection.execute("DELETE FROM baselines WHERE source = ?", (name,))
    (snapshot,) = connection.execute("SELECT snapshot FROM project").fetchone()
    rows = [(_STATE, str(snapshot), ""), *((path, *digests) for path, digests in new.files.items())]
    connection.executemany(
        "INSERT INTO baselines(source, path, digest, content) VALUES(?, ?, ?, ?)",
        [(name, *map(from_text, row)) for row in rows],
    )


def accepted(connection: sqlite3.Connection) -> dict[str, Any]:
    """What a person accepted, by fingerprint."""
    rows = connection.execute("SELECT fingerprint, data FROM accepted")
    return {to_text(name): to_json(data) for name, data in rows}


def accept(connection: sqlite3.Connection, changes: Mapping[str, Mapping[str, Any]], now: float) -> None:
    """Write down that a person accepted these changes, by fingerprint."""
    connection.executemany(
        "REPLACE INTO accepted(fingerprint, accepted, data) VALUES(?, ?, ?)",
        [(from_text(name), now, from_json(dict(data))) for name, data in changes.items()],
    )
    connection.execute(
        "DELETE FROM accepted WHERE fingerprint NOT IN"
        " (SELECT fingerprint FROM accepted ORDER BY accepted DESC, fingerprint LIMIT ?)",
        (_MOST_ACCEPTED,),
    )
