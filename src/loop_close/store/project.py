"""The project's files from run to run: what they are now, what changed when, and what was in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from loop_close.store.columns import from_content, from_text, to_content, to_optional_text, to_text, to_whole
from loop_close.store.contract import Changes, Entries

# Some builds of SQLite take no more than 999 parameters.
MOST_PARAMETERS = 500
_LAST_NS = (1 << 63) - 1


def known_files(connection: sqlite3.Connection) -> dict[str, tuple[int, int, str]]:
    """The files as they were last taken down."""
    rows = connection.execute("SELECT path, size, mtime_ns, digest FROM files")
    return {to_text(row[0]): (to_whole(row[1]), int(row[2]), to_text(row[3])) for row in rows}


def take_down(connection: sqlite3.Connection, entries: Entries, contents: Mapping[str, bytes]) -> int:
    """Make the files those that are known; the number of the state that they are in."""
    known = known_files(connection)
    touched = [path for path, entry in entries.items() if known.get(path) != entry]
    gone = known.keys() - entries.keys()
    store_contents(connection, contents)
    connection.executemany("DELETE FROM files WHERE path = ?", [(from_text(path),) for path in gone])
    connection.executemany(
        "REPLACE INTO files(path, size, mtime_ns, digest) VALUES(?, ?, ?, ?)",
        [_file_row(path, *entries[path]) for path in touched],
    )
    changes = [(path, _digest(known, path), _digest(entries, path)) for path in (*touched, *gone)]
    return _snapshot(connection, [each for each in changes if each[1] != each[2]])


def _file_row(path: str, size: int, mtime_ns: int, digest: str) -> tuple[str | bytes, int, int, str | bytes]:
    # SQLite has no room for times from the year 2262 on.
    return from_text(path), size, max(min(mtime_ns, _LAST_NS), -_LAST_NS), from_text(digest)


def _digest(entries: Entries, path: str) -> str | None:
    entry = entries.get(path)
    return entry[2] if entry else None


def _snapshot(connection: sqlite3.Connection, changes: list[tuple[str, str | None, str | None]]) -> int:
    """The number of the state after the changes: a new one when there are any.

    The first state of all is a change of every file, which nobody asks for.
    """
    current, floor = connection.execute("SELECT snapshot, floor FROM project").fetchone()
    if not changes:
        return int(current)
    current += 1
    connection.execute("UPDATE project SET snapshot = ?", (current,))
    if current <= floor:
        return int(current)
    connection.executemany(
        "INSERT INTO changes(snapshot, path, before, after) VALUES(?, ?, ?, ?)",
        [(current, *(part and from_text(part) for part in change)) for change in changes],
    )
    return int(current)


def store_contents(connection: sqlite3.Connection, contents: Mapping[str, bytes]) -> None:
    """Keep contents by digest; those that are there already are not written again."""
    kept = _kept(connection, list(contents))
    connection.executemany(
        "INSERT INTO blobs(digest, size, data) VALUES(?, ?, ?)",
        (
            (from_text(digest), len(content), from_content(content))
            for digest, content in contents.items()
            if digest not in kept
        ),
    )


def _kept(connection: sqlite3.Connection, digests: list[str]) -> set[str]:
    rows: Iterable[tuple[object]] = [
        row
        for start in range(0, len(digests), MOST_PARAMETERS)
        for row in _rows_of(connection, digests[start : start + MOST_PARAMETERS])
    ]
    return {to_text(digest) for (digest,) in rows}


def _rows_of(connection: sqlite3.Connection, digests: list[str]) -> sqlite3.Cursor:
    marks = ",".join("?" * len(digests))
    return connection.execute(
        f"SELECT digest FROM blobs WHERE digest IN ({marks})", [*map(from_text, digests)]
    )


def content(connection: sqlite3.Connection, digest: str) -> bytes | None:
    """The content with that digest, None where it is not kept."""
    row = connection.execute("SELECT data, size FROM blobs WHERE digest = ?", (from_text(digest),)).fetchone()
    return to_content(*row) if row else None


def is_code_changed(changes: Changes | None) -> bool:
    """Whether code under test is among what changed; False where that is not known."""
    if not changes:
        return False
    from loop_close.conventions import is_under_test  # late: most often nothing changed

    return any(is_under_test(path) for path, _, _ in changes)


def difference(connection: sqlite3.Connection, one: int | None, other: int | None) -> Changes | None:
    """How the files of two states differ, whichever is the older one; None where what changed is not kept."""
    if one is None or other is None:
        return None
    return changes_between(connection, min(one, other), max(one, other))


def changes_between(connection: sqlite3.Connection, before: int | None, after: int | None) -> Changes | None:
    """How the files of two states differ, by path; None where what changed is not kept."""
    (floor,) = connection.execute("SELECT floor FROM project").fetchone()
    if before is None or after is None or before < floor:
        return None
    rows = connection.execute(
        "SELECT path, before, after FROM changes WHERE snapshot > ? AND snapshot <= ? ORDER BY snapshot",
        (before, after),
    )
    ends: dict[str, tuple[str | None, str | None]] = {}
    for path, old, new in rows:
        name = to_text(path)
        first = ends[name][0] if name in ends else to_optional_text(old)
        ends[name] = (first, to_optional_text(new))
    return tuple((path, *pair) for path, pair in sorted(ends.items()) if pair[0] != pair[1])
