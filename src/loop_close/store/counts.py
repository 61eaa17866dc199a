"""What the tests of each source's last fuller run called: one row a source."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from loop_close.store.columns import from_text, json_text, packed, to_json
from loop_close.store.contract import KeptCalls, NewCalls, checksum
from loop_close.store.records import RecordError

if TYPE_CHECKING:
    from loop_close.calls import Called

#: What is longer in JSON is not kept. 3,000 functions of 15 lines come to half a million characters.
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
    digest = _digest(text)
    is_same = "SELECT 1 FROM calls WHERE source = ? AND passed = ? AND digest = ?"
    if kept is None or not connection.execute(is_same, (name, passed, digest)).fetchone():
        connection.execute(
            "INSERT INTO calls(source, passed, digest, data) VALUES(?, ?, ?, ?) ON CONFLICT(source)"
            " DO UPDATE SET passed = excluded.passed, digest = excluded.digest, data = excluded.data",
            (name, passed, digest, packed(text)),
        )


def _digest(text: str) -> bytes:
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
    """As plain JSON values, the same wherever in their files the functions stand."""
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
    gave_none = [each.gave_none] if each.gave_none else []
    return [each.function, each.digest, max(each.end_line - first, 0), each.passed, lines, *gave_none]


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
    file: str, function: str, digest: str, span: int, passed: int, lines: list[int], gave_none: int = 0
) -> Called:
    from loop_close.calls import Called

    _check(str, (function, digest))
    _check(int, chain((span, passed, gave_none), lines))
    if len(lines) % 2:
        raise RecordError("a line without its count")
    _check_bounds(0, _MOST, [span])
    _check_bounds(-_MOST, _MOST, lines[::2])
    _check_bounds(0, passed, chain(lines[1::2], [gave_none]))
    return Called(
        file=file,
        line=0,
        function=function,
        end_line=span,
        digest=digest,
        passed=passed,
        lines=dict(zip(lines[::2], lines[1::2], strict=True)),
        gave_none=gave_none,
    )


def _check(kind: type, values: Iterable[Any]) -> None:
    if not set(map(type, values)) <= {kind}:
        raise RecordError(f"expected {kind.__name__}")


def _check_bounds(least: int, most: int, values: Iterable[int]) -> None:
    if any(not least <= value <= most for value in values):
        raise RecordError("invalid counts")
