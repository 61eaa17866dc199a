"""The project's files from run to run, the baseline of its tests, and what its tests called."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from loop_close.conventions import is_of_tests
from loop_close.store import Changes, Entries, KeptCalls, NewBaseline, NewCalls, checksum
from loop_close.store.records import (
    RecordError,
    from_content,
    from_json,
    from_text,
    json_text,
    packed,
    to_content,
    to_json,
    to_optional_text,
    to_text,
    to_whole,
)

if TYPE_CHECKING:
    from loop_close.calls import Called


# Some builds of SQLite take no more than 999 parameters.
_MOST_PARAMETERS = 500
_LAST_NS = (1 << 63) - 1


def known_files(connection: sqlite3.Connection) -> dict[str, tuple[int, int, str]]:
    """The files as last recorded."""
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

    The first state of all is a change of every file, which is not needed.
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
    rows = rows_among(connection, "SELECT digest FROM blobs WHERE digest IN", [*map(from_text, contents)])
    kept = {to_text(digest) for (digest,) in rows}
    connection.executemany(
        "INSERT INTO blobs(digest, size, data) VALUES(?, ?, ?)",
        (
            (from_text(digest), len(content), from_content(content))
            for digest, content in contents.items()
            if digest not in kept
        ),
    )


def rows_among(connection: sqlite3.Connection, query: str, values: Sequence[Any]) -> Iterator[Any]:
    """The rows of a query that ends in ``IN``, for any number of values."""
    for start in range(0, len(values), _MOST_PARAMETERS):
        some = values[start : start + _MOST_PARAMETERS]
        yield from connection.execute(f"{query} ({','.join('?' * len(some))})", some)


def content(connection: sqlite3.Connection, digest: str) -> bytes | None:
    """The content with that digest, None if it is not kept."""
    row = connection.execute("SELECT data, size FROM blobs WHERE digest = ?", (from_text(digest),)).fetchone()
    return to_content(*row) if row else None


def is_code_changed(changes: Changes | None) -> bool:
    """Whether code under test is among what changed; False if that is unknown."""
    if not changes:
        return False
    from loop_close.conventions import is_under_test  # late: most often nothing changed

    return any(is_under_test(path) for path, _, _ in changes)


def difference(connection: sqlite3.Connection, one: int | None, other: int | None) -> Changes | None:
    """How the files of two states differ, whichever is the older one; None if what changed is not kept."""
    if one is None or other is None:
        return None
    return changes_between(connection, min(one, other), max(one, other))


def changes_between(connection: sqlite3.Connection, before: int | None, after: int | None) -> Changes | None:
    """How the files of two states differ, by path; None if what changed is not kept."""
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


# --- the tests as they were when a source's loop began, and the changes of them that a person accepted

#: Accepted changes that are kept: the last ones.
_MOST_ACCEPTED = 1_000
# The row without a path says which state of the project's files the baseline is, or was last found to equal.
_STATE = ""


def changes_since_baseline(
    connection: sqlite3.Connection, source: str, entries: Entries | None, snapshot: int | None
) -> Changes | None:
    """The tests' files that differ from the source's baseline: path, content before, digest now.

    :param entries: all files, None if they are not known: then nothing differs.
    :param snapshot: the state of the project's files that they are.
    :returns: None if there is no baseline.
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
    """Digest and content by path; nothing if there is no baseline."""
    rows = connection.execute(
        "SELECT path, digest, content FROM baselines WHERE source = ?", (from_text(source),)
    )
    found = {to_text(path): (to_text(digest), to_text(content)) for path, digest, content in rows}
    if found and _STATE not in found:
        raise RecordError("a baseline without its state")
    return found


def baseline_contents(connection: sqlite3.Connection, source: str) -> dict[str, str]:
    """The digest of what each of the baseline's files held, by path."""
    return {path: content for path, (_, content) in _rows(connection, source).items() if path != _STATE}


def keep_baseline(connection: sqlite3.Connection, source: str, new: NewBaseline) -> None:
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


def accepted_changes(connection: sqlite3.Connection) -> dict[str, Any]:
    """What a person accepted, by fingerprint."""
    rows = connection.execute("SELECT fingerprint, data FROM accepted")
    return {to_text(name): to_json(data) for name, data in rows}


def accept_changes(
    connection: sqlite3.Connection, changes: Mapping[str, Mapping[str, Any]], now: float
) -> None:
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


# --- what the tests of each source's last fuller run called: one row a source

#: What is longer in JSON is not kept. 3,000 functions of 15 lines have half a million characters.
MAX_TEXT = 8_000_000
# Of tests and of lines: what counts more is damaged.
_MOST = 10**8
# SQLite holds any value in any column, and refuses to give a text that is not UTF-8.
_PASSED = f"CASE WHEN typeof(passed) = 'integer' AND passed < {_MOST} THEN passed END"
_DATA = "typeof(data), CAST(data AS BLOB)"


def keep_calls(connection: sqlite3.Connection, source: str, new: NewCalls) -> None:
    """Make it what is kept for the source, unless that counts more or is the same, or this is too large."""
    name, passed = from_text(source), new.calls.passed
    kept = connection.execute(f"SELECT {_PASSED} FROM calls WHERE source = ?", (name,)).fetchone()
    if kept is not None and kept[0] is not None and new.most is not None and kept[0] > new.most:
        return
    text = json_text(_plain(new))
    if len(text) > MAX_TEXT:
        return
    digest = _checksum(text)
    is_same = "SELECT 1 FROM calls WHERE source = ? AND passed = ? AND digest = ?"
    if kept is None or not connection.execute(is_same, (name, passed, digest)).fetchone():
        connection.execute(
            "INSERT INTO calls(source, passed, digest, data) VALUES(?, ?, ?, ?) ON CONFLICT(source)"
            " DO UPDATE SET passed = excluded.passed, digest = excluded.digest, data = excluded.data",
            (name, passed, digest, packed(text)),
        )


def _checksum(text: str) -> bytes:
    from hashlib import blake2b  # late, as in other modules: it loads OpenSSL

    return blake2b(text.encode(), digest_size=16).digest()


def calls_of(connection: sqlite3.Connection, source: str) -> KeptCalls | None:
    """What is kept for the source.

    :raises RecordError: when it is damaged.
    """
    statement = f"SELECT {_PASSED}, {_DATA} FROM calls WHERE source = ?"
    row = connection.execute(statement, (from_text(source),)).fetchone()
    if row is None:
        return None
    passed, kind, data = row
    found = _record(_json(kind, data))
    if passed != found.calls.passed:
        raise RecordError("the number of passing tests does not match")
    return found


def remove_damaged(connection: sqlite3.Connection, source: str) -> None:
    """Remove what is kept for the source, unless another process has put something sound in its place."""
    try:
        calls_of(connection, source)
    except RecordError:
        connection.execute("DELETE FROM calls WHERE source = ?", (from_text(source),))


def _json(kind: str, data: bytes) -> Any:
    if kind != "text":
        return to_json(data)
    try:
        return to_json(data.decode())
    except UnicodeDecodeError as error:
        raise RecordError("no text") from error


def remove_free_calls(connection: sqlite3.Connection) -> None:
    """Remove those of sources of which no run is left."""
    connection.execute("DELETE FROM calls WHERE source NOT IN (SELECT source FROM runs)")


def _plain(new: NewCalls) -> dict[str, Any]:
    """As plain JSON values, the same wherever in their files the functions are."""
    calls, tests = new.calls, sorted(map(checksum, new.tests))
    files: dict[str, list[list[Any]]] = {}
    for each in calls.functions:
        if each.passed and each.digest:
            files.setdefault(each.file, []).append(_row(each))
    for rows in files.values():
        rows.sort(key=lambda row: row[:2])
    return {"passed": calls.passed, "failed": sorted(calls.failed), "tests": tests, "files": files}


def _row(each: Called) -> list[Any]:
    first = each.line
    lines = [number for line, passed in each.lines.items() for number in (line - first, passed)]
    more = [each.returned_none] if each.returned_none else []
    return [each.function, each.digest, max(each.end_line - first, 0), each.passed, lines, *more]


def _record(plain: Any) -> KeptCalls:
    from loop_close.calls import Calls

    try:
        passed, failed, tests, files = (plain[name] for name in ("passed", "failed", "tests", "files"))
        functions = tuple(_called(file, *row) for file, rows in files.items() for row in rows)
        _check(int, [passed, *tests])
        _check_bounds(0, _MOST, [passed])
        _check_bounds(0, passed, (each.passed for each in functions))
        _check(str, failed)
    except (AttributeError, KeyError, TypeError) as error:
        raise RecordError(f"invalid call data: {error}") from error
    calls = Calls(passed=passed, functions=functions)
    return KeptCalls(calls=calls, failed=frozenset(failed), tests=frozenset(tests))


def _called(
    file: str,
    function: str,
    digest: str,
    span: int,
    passed: int,
    lines: list[int],
    returned_none: int = 0,
) -> Called:
    from loop_close.calls import Called

    _check(str, (function, digest))
    _check(int, chain((span, passed, returned_none), lines))
    if len(lines) % 2:
        raise RecordError("a line without its count")
    _check_bounds(0, _MOST, [span])
    _check_bounds(-_MOST, _MOST, lines[::2])
    _check_bounds(0, passed, chain(lines[1::2], [returned_none]))
    return Called(
        file=file,
        line=0,
        function=function,
        end_line=span,
        digest=digest,
        passed=passed,
        lines=dict(zip(lines[::2], lines[1::2], strict=True)),
        returned_none=returned_none,
    )


def _check(kind: type, values: Iterable[Any]) -> None:
    if not set(map(type, values)) <= {kind}:
        raise RecordError(f"expected {kind.__name__}")


def _check_bounds(least: int, most: int, values: Iterable[int]) -> None:
    if any(not least <= value <= most for value in values):
        raise RecordError("invalid counts")
