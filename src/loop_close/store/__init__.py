"""The store: runs, their reports, the files that they ran on, and what tests called. One SQLite file a project.

It keeps what happened and derives nothing. Text in it is redacted by those who make the records.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, get_args
from zlib import crc32

import msgspec

from loop_close.calls import Calls
from loop_close.conventions import PYTHON
from loop_close.records import Outcome, Run
from loop_close.store.database import (
    ColumnError,
    Database,
    FileState,
    StoreError,
    encode,
    pack,
    plain,
    unpack,
)
from loop_close.tree import Tree, content_digest

__all__ = ["KEPT_RUNS", "FileState", "KeptCalls", "Store", "StoreError", "is_private"]

#: So many runs are kept: the last ones, with the newest that was done and the newest of each check.
KEPT_RUNS = 200
_PRUNE_EVERY = 16
_MOST_CALLS = 8_000_000  # in bytes; 3,000 functions of 15 lines have a tenth of a million


class KeptCalls(NamedTuple):
    """What the tests of an earlier run called.

    :ivar calls: without failing tests; every function begins in line 0.
    :ivar tests: checksums of the node ids of its tests that did not fail.
    """

    calls: Calls
    tests: frozenset[int]

    def has_passed(self, nodeid: str) -> bool:
        """Whether the test passed in it; one that was skipped is taken for passed."""
        return _checksum(nodeid) in self.tests


class Store(Database):
    """The runs of a project. Each method is one transaction; use it in a ``with`` statement."""

    # --- runs

    def begin(self, run: Run) -> int:
        """Add a run that is under way; its number."""
        return self._write(lambda connection: _put(connection, run))

    def finish(self, run: Run) -> None:
        """Write down what came of a run, by its id; again if more is known of it.

        If its row is gone, as in a file begun since, it is added.
        """
        self._write(lambda connection: _finish(connection, run))

    def abandon(self, number: int) -> None:
        """Remove a run that was begun and is not going to be one. The next run has its number."""
        query = "DELETE FROM runs WHERE number = ? AND NOT is_finished"
        self._write(lambda connection: connection.execute(query, (number,)))

    def runs(self, last: int | None = None) -> list[Run]:
        """The last runs, or all that are kept, oldest first."""
        return self._runs("ORDER BY number DESC LIMIT ?", -1 if last is None else max(last, 0))

    def loop_runs(self) -> list[Run]:
        """The newest run that was done, if any, and those after it, oldest first; the last 200."""
        newest = "(SELECT coalesce(max(number), 0) FROM runs WHERE is_done)"
        return self._runs(f"WHERE number >= {newest} ORDER BY number DESC LIMIT ?", KEPT_RUNS)

    def results(self, tree: str) -> list[Run]:
        """The runs of checks that began on this tree, and the last one of each check, oldest first."""
        last = "SELECT max(number) FROM runs GROUP BY check_name"
        where = f"WHERE check_name <> '' AND (tree = ? OR number IN ({last}))"
        return self._runs(f"{where} ORDER BY number DESC", plain(tree))

    def _runs(self, condition: str, *values: Any) -> list[Run]:
        def work(connection: sqlite3.Connection) -> list[Run]:
            rows = connection.execute(f"SELECT number, record FROM runs {condition}", values).fetchall()
            names: dict[bytes, list[str]] = {}  # most runs have the same tests
            return [_run(connection, number, record, names) for number, record in reversed(rows)]

        return self._read(work)

    # --- files

    def keep_files(self, root: Path, tree: Tree) -> None:
        """Keep the listing of the tree, and the contents of its Python and small text files that are not kept yet.

        A file that changed since the tree was taken is left out, as is one that may hold credentials.
        """

        def work(connection: sqlite3.Connection) -> None:
            if _listing(connection, tree.digest) is not None:
                return
            kept = connection.execute("SELECT digest FROM trees ORDER BY number DESC LIMIT 1").fetchone()
            former = (_listing(connection, *kept) if kept else None) or {}
            wanted = {path: digest for path, digest in tree.files.items() if former.get(path) != digest}
            _add_tree(connection, tree)
            connection.executemany(
                "INSERT INTO contents(digest, data) VALUES(?, ?) ON CONFLICT DO NOTHING",
                _contents(root, wanted),
            )

        self._write(work)

    def files(self, tree: str) -> Mapping[str, str] | None:
        """The digest of each file of a tree, by path; None if the tree is not kept."""
        return self._read(lambda connection: _listing(connection, tree))

    def content(self, digest: str) -> bytes | None:
        """The content with that digest; None if it is not kept."""
        query = "SELECT data FROM contents WHERE digest = ?"

        def work(connection: sqlite3.Connection) -> bytes | None:
            row = connection.execute(query, (_content_key(digest),)).fetchone()
            return None if row is None else unpack(row[0])

        return self._read(work)

    # --- what tests called

    def keep_calls(self, source: str, calls: Calls, tests: Collection[str], *, is_whole: bool = True) -> None:
        """Keep what the passing tests of a run called, unless what is kept for the source is fuller.

        A run of all tests is fuller than any, but a red one only while most tests pass: what broke them all must not
        cost the counts to compare them with.

        :param tests: node ids of all its tests.
        :param is_whole: all tests were meant to run.
        """
        data = encode(KeptCalls(_reduced(calls), frozenset(map(_checksum, {*tests} - {*calls.failed}))))
        if len(data) > _MOST_CALLS:
            return
        most = calls.passed * (2 if is_whole else 1)
        condition = "" if is_whole and not calls.failed else f" WHERE calls.passed <= {most}"
        values = (plain(source), calls.passed, pack(data))
        self._write(
            lambda connection: connection.execute(
                "INSERT INTO calls(source, passed, data) VALUES(?, ?, ?) ON CONFLICT(source)"
                f" DO UPDATE SET passed = excluded.passed, data = excluded.data{condition}",
                values,
            )
        )

    def calls(self, source: str) -> KeptCalls | None:
        """What is kept of the last fuller run of the source; None for nothing."""

        def work(connection: sqlite3.Connection) -> KeptCalls | None:
            row = connection.execute("SELECT data FROM calls WHERE source = ?", (plain(source),)).fetchone()
            return None if row is None else msgspec.msgpack.decode(unpack(row[0]), type=KeptCalls)

        return self._read(work)

    def reset(self) -> int:
        """Remove all that is in the store.

        :returns: how many runs there were.
        """

        def work(connection: sqlite3.Connection) -> int:
            gone = connection.execute("DELETE FROM runs").rowcount
            for table in ("outcomes", "tests", "trees", "contents", "calls"):
                connection.execute(f"DELETE FROM {table}")
            return gone

        number = self._write(work)
        self._vacuum()
        return number


# --- runs as rows

_RUN = msgspec.msgpack.Decoder(Run)
_NAMES = msgspec.msgpack.Decoder(list[str])
# An outcome by its letter, and the other way round.
_OUTCOMES: dict[int, Outcome] = dict(zip(b"pfsxX", get_args(Outcome), strict=True))
_NOT_PASSED = re.compile(rb"[^p]")
_CODES = {outcome: code for code, outcome in _OUTCOMES.items()}


def _put(connection: sqlite3.Connection, run: Run) -> int:
    """Write the row of the run, in place of the one with its id; its number."""
    texts = [plain(each) for each in (run.id, run.check, run.tree, run.tree_after)]
    record = encode(msgspec.structs.replace(run, number=0, outcomes={}))
    former = connection.execute("SELECT number FROM runs WHERE id = ?", texts[:1]).fetchone() or (None,)
    return (
        connection.execute(
            "REPLACE INTO runs(number, id, check_name, tree, tree_after, began, is_finished, is_done, record)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*former, *texts, run.began, run.is_finished, run.is_done, pack(record)),
        ).lastrowid
        or 0
    )


def _run(connection: sqlite3.Connection, number: int, record: bytes, names: dict[bytes, list[str]]) -> Run:
    """The run of a row.

    :param names: those of tests by their digest, as far as they are read.
    """
    outcomes = {}
    rows = connection.execute("SELECT source, tests, codes FROM outcomes WHERE run = ?", (number,))
    for source, tests, codes in rows:
        if tests not in names:
            row = connection.execute("SELECT names FROM tests WHERE digest = ?", (tests,)).fetchone()
            names[tests] = _NAMES.decode(unpack(row[0] if row else None))
        outcomes[source] = _outcomes(names[tests], unpack(codes))
    return msgspec.structs.replace(_RUN.decode(unpack(record)), number=number, outcomes=outcomes)


def _outcomes(names: Sequence[str], codes: bytes) -> dict[str, Outcome]:
    if len(names) != len(codes) or codes.translate(None, bytes(_OUTCOMES)):
        raise ColumnError("outcomes do not match their tests")
    found: dict[str, Outcome] = dict.fromkeys(names, "passed")  # most are, in 200 runs of 10,000 tests
    for other in _NOT_PASSED.finditer(codes):
        found[names[other.start()]] = _OUTCOMES[codes[other.start()]]
    return found


def _finish(connection: sqlite3.Connection, run: Run) -> None:
    number = _put(connection, msgspec.structs.replace(run, is_finished=True))
    connection.execute("DELETE FROM outcomes WHERE run = ?", (number,))
    for source, outcomes in run.outcomes.items():
        _add_outcomes(connection, number, source, outcomes)
    if number % _PRUNE_EVERY == 0:
        _prune(connection)


def _add_outcomes(
    connection: sqlite3.Connection, run: int, source: str, outcomes: Mapping[str, Outcome]
) -> None:
    names = sorted(outcomes)
    packed = encode(names)
    digest = blake2b(packed, digest_size=16).digest()
    codes = bytes(_CODES[outcomes[name]] for name in names)
    connection.execute(
        "INSERT INTO tests(digest, names) VALUES(?, ?) ON CONFLICT DO NOTHING", (digest, pack(packed))
    )
    connection.execute(
        "REPLACE INTO outcomes(run, source, tests, codes) VALUES(?, ?, ?, ?)",
        (run, plain(source), digest, pack(codes)),
    )


# --- the files of trees

#: Contents of text files up to this size are kept.
MAX_CONTENT = 256 * 1024
_MOST_AT_ONCE = 32 * 1024 * 1024
_START = 8192
_PRIVATE = re.compile(
    r"(?:^|/)\.(?:ssh|aws|gnupg|kube)/"
    r"|(?:^|/)(?:\.env|\.netrc|\.pypirc|\.npmrc|\.htpasswd|id_rsa|id_ed25519|id_ecdsa|id_dsa)[^/]*$"
    r"|(?:credential|secret|password)[^/]*$"
    r"|\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|gpg|asc)$"
)
_PRIVATE_KEY = b"PRIVATE KEY-----"


def is_private(path: str) -> bool:
    """Whether a file may hold credentials, by its name: its content is neither kept nor shown."""
    return not path.endswith(PYTHON) and _PRIVATE.search(path.lower()) is not None


def _contents(root: Path, wanted: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """The digest and packed content of the files that are to be kept, Python first; bounded."""
    left = _MOST_AT_ONCE
    for path in sorted(wanted, key=lambda path: (not path.endswith(PYTHON), path)):
        content = None if is_private(path) else _read(root / path)
        digest = _content_key(wanted[path])
        if content is None or content_digest(content) != digest:
            continue
        left -= len(content)
        if left < 0:
            return
        yield digest, pack(content)


def _content_key(digest: str) -> str:
    """The digest of the content alone, as :class:`~loop_close.tree.Tree` makes it: without the mark of a program."""
    return plain(digest.removesuffix("+x"))


def _read(path: Path) -> bytes | None:
    """The content of a small text file; None for another one."""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_CONTENT:
            return None
        with open(path, "rb") as file:
            content = file.read(MAX_CONTENT + 1)
    except (OSError, ValueError):
        return None
    is_text = b"\0" not in content[:_START] and _PRIVATE_KEY not in content
    return content if is_text and len(content) <= MAX_CONTENT else None


def _add_tree(connection: sqlite3.Connection, tree: Tree) -> None:
    """Add the listing: only what differs from the last whole one, if that is little."""
    row = connection.execute(
        "SELECT digest, listing FROM trees WHERE base IS NULL ORDER BY number DESC LIMIT 1"
    ).fetchone()
    base, listing = None, dict(tree.files)
    if row is not None:
        whole = _unlisted(row[1])
        difference = {path: digest for path, digest in listing.items() if whole.get(path) != digest}
        difference.update((path, "") for path in whole if path not in listing)
        if len(difference) * 4 < len(listing):
            base, listing = row[0], difference
    pieces = "\0".join(piece for item in sorted(listing.items()) for piece in item)
    data = pack(pieces.encode("utf-8", "surrogatepass"))
    values = (plain(tree.digest), base, data)
    connection.execute("INSERT INTO trees(digest, base, listing) VALUES(?, ?, ?)", values)


def _listing(connection: sqlite3.Connection, digest: str) -> dict[str, str] | None:
    row = connection.execute("SELECT base, listing FROM trees WHERE digest = ?", (plain(digest),)).fetchone()
    if row is None:
        return None
    base, listing = row[0], _unlisted(row[1])
    if base is None:
        return listing
    whole = connection.execute("SELECT listing FROM trees WHERE digest = ?", (base,)).fetchone()
    if whole is None:
        raise ColumnError("a listing without its base")
    return {path: value for path, value in (_unlisted(whole[0]) | listing).items() if value}


def _unlisted(data: object) -> dict[str, str]:
    try:
        pieces = unpack(data).decode("utf-8", "surrogatepass").split("\0")
        return dict(zip(pieces[::2], pieces[1::2], strict=True)) if pieces != [""] else {}
    except ValueError as error:
        raise ColumnError("a listing is damaged") from error


# --- what the tests of each source's last fuller run called


def _reduced(calls: Calls) -> Calls:
    """The calls without what holds only for one run, the same wherever in their files the functions are."""
    functions = tuple(
        each._replace(
            line=0,
            end_line=max(each.end_line - each.line, 0),
            lines={line - each.line: passed for line, passed in each.lines.items()},
            in_import=False,
            is_changed=False,
        )
        for each in calls.functions
        if each.passed and each.digest
    )
    return Calls(passed=calls.passed, functions=functions)


def _checksum(nodeid: str) -> int:
    """A checksum that distinguishes a test from others in a few bytes."""
    return crc32(nodeid.encode("utf-8", "surrogatepass"))


# --- bounds


def _prune(connection: sqlite3.Connection) -> None:
    """Remove what is too much, and what nothing refers to any more."""
    connection.execute(
        "DELETE FROM runs WHERE number NOT IN (SELECT number FROM runs ORDER BY number DESC LIMIT ?)"
        " AND number NOT IN (SELECT max(number) FROM runs WHERE is_finished GROUP BY check_name)"
        " AND number NOT IN (SELECT coalesce(max(number), 0) FROM runs WHERE is_done)",
        (KEPT_RUNS,),
    )
    connection.execute("DELETE FROM outcomes WHERE run NOT IN (SELECT number FROM runs)")
    connection.execute("DELETE FROM tests WHERE digest NOT IN (SELECT tests FROM outcomes)")
    used = (
        "SELECT digest, base FROM trees WHERE number = (SELECT max(number) FROM trees)"
        " OR digest IN (SELECT tree FROM runs UNION SELECT tree_after FROM runs)"
    )
    connection.execute(
        f"DELETE FROM trees WHERE digest NOT IN (SELECT digest FROM ({used}))"
        f" AND digest NOT IN (SELECT base FROM ({used}) WHERE base IS NOT NULL)"
    )
    kept: set[str] = set()
    for (listing,) in connection.execute("SELECT listing FROM trees"):
        kept.update(map(_content_key, _unlisted(listing).values()))
    free = [row for row in connection.execute("SELECT digest FROM contents") if row[0] not in kept]
    connection.executemany("DELETE FROM contents WHERE digest = ?", free)
