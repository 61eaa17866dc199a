"""What the tests of each source's last fuller run called: one row a source."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from loop_close.store.columns import from_text, json_text, packed, to_json, to_whole
from loop_close.store.contract import KeptCalls, NewCalls, checksum
from loop_close.store.records import RecordError

if TYPE_CHECKING:
    from loop_close.calls import Called

#: What is longer in JSON is not kept. 3,000 functions of 15 lines come to half a million characters.
MAX_TEXT = 8_000_000
_MOST_TESTS = 10**8


def keep_calls(connection: sqlite3.Connection, source: str, new: NewCalls) -> None:
    """Make it what is kept for the source, unless that counts more or is the same, or this is too large."""
    name = from_text(source)
    kept = connection.execute("SELECT passed, digest FROM calls WHERE source = ?", (name,)).fetchone()
    if kept is not None and new.most is not None and to_whole(kept[0]) > new.most:
        return
    text = json_text(_plain(new))
    if len(text) > MAX_TEXT:
        return
    digest = _digest(text)
    if kept is None or tuple(kept) != (new.calls.passed, digest):
        connection.execute(
            "INSERT INTO calls(source, passed, digest, data) VALUES(?, ?, ?, ?) ON CONFLICT(source)"
            " DO UPDATE SET passed = excluded.passed, digest = excluded.digest, data = excluded.data",
            (name, new.calls.passed, digest, packed(text)),
        )


def _digest(text: str) -> bytes:
    from hashlib import blake2b  # late, as in other modules: it loads OpenSSL

    return blake2b(text.encode(), digest_size=16).digest()


def calls_of(connection: sqlite3.Connection, source: str) -> KeptCalls | None:
    """What is kept for the source."""
    row = connection.execute("SELECT data FROM calls WHERE source = ?", (from_text(source),)).fetchone()
    return _record(to_json(row[0])) if row else None


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
    return [each.function, each.digest, max(each.end_line - first, 0), each.passed, lines]


def _record(plain: Any) -> KeptCalls:
    from loop_close.calls import Calls

    try:
        passed, failed, tests, files = (plain[name] for name in ("passed", "failed", "tests", "files"))
        functions = tuple(_called(file, *row) for file, rows in files.items() for row in rows)
        _check(int, [passed, *tests])
        if not 0 <= passed < _MOST_TESTS or any(not 0 <= each.passed <= passed for each in functions):
            raise RecordError("more passing tests than there are")
        _check(str, failed)
    except (AttributeError, KeyError, TypeError) as error:
        raise RecordError(f"no counts of calls: {error}") from error
    calls = Calls(passed=passed, functions=functions)
    return KeptCalls(calls=calls, failed=frozenset(failed), tests=frozenset(tests))


def _called(file: str, function: str, digest: str, span: int, passed: int, lines: list[int]) -> Called:
    from loop_close.calls import Called

    _check(str, (function, digest))
    _check(int, chain((span, passed), lines))
    if len(lines) % 2:
        raise RecordError("a line without its count")
    counts = dict(zip(lines[::2], lines[1::2], strict=True))
    return Called(
        file=file, line=0, function=function, end_line=span, digest=digest, passed=passed, lines=counts
    )


def _check(kind: type, values: Iterable[Any]) -> None:
    if not set(map(type, values)) <= {kind}:
        raise RecordError(f"something else where {kind.__name__} belongs")
