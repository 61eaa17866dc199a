"""The tables of the history file, and how the file is recognized."""

from __future__ import annotations

import sqlite3

from loop_close.store import HistoryError
from loop_close.store.records import RecordError

APPLICATION_ID = 0x6C6F6F70  # "loop"
FORMAT = 4
_OLDEST = 1

# marks: a failure is kept once, however many runs have it; last: a run that had it, at most STAMP runs ago.
# runs.snapshot: the state of the project's files, counted by project.snapshot; NULL: it was not known.
# sources.keeps: the number of the first run that the current episode still needs.
# project.root: which project the file belongs to; empty: any.
# project.floor: what changed up to this snapshot is not kept; one that is still to come: nothing is known;
# project.pruned: the id of the run after which it was last done.
# calls.passed: how many passing tests are counted in the data.
# outbox: runs that the shared history does not have yet.
# baselines.content: the digest of a blob; accepted.accepted: when, in seconds since 1970.
_FIRST = (
    "CREATE TABLE project(snapshot INTEGER NOT NULL, floor INTEGER NOT NULL, pruned INTEGER NOT NULL,"
    " root TEXT NOT NULL)",
    "INSERT INTO project VALUES(0, 1, 0, '')",
    "CREATE TABLE files(path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,"
    " digest TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE changes(snapshot INTEGER NOT NULL, path TEXT NOT NULL, before TEXT, after TEXT,"
    " PRIMARY KEY(snapshot, path)) WITHOUT ROWID",
    "CREATE TABLE blobs(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " data BLOB NOT NULL)",
    "CREATE TABLE sources(source TEXT PRIMARY KEY, last INTEGER NOT NULL, keeps INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE runs(id INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, number INTEGER NOT NULL,"
    " state TEXT NOT NULL, is_told INTEGER NOT NULL DEFAULT 0, started REAL NOT NULL, ended REAL,"
    " exit_code INTEGER, passed INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0,"
    " failures INTEGER NOT NULL DEFAULT 0, pid INTEGER NOT NULL, birth TEXT NOT NULL, host TEXT NOT NULL,"
    " snapshot INTEGER, summary TEXT, record TEXT, UNIQUE(source, number))",
    "CREATE INDEX runs_running ON runs(id) WHERE state = 'running'",
    "CREATE INDEX runs_untold ON runs(source, number) WHERE state = 'killed' AND is_told = 0",
    "CREATE TABLE marks(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, last INTEGER NOT NULL,"
    " data TEXT NOT NULL)",
    "CREATE INDEX marks_last ON marks(last)",
    "CREATE TABLE failures(run INTEGER NOT NULL, position INTEGER NOT NULL, mark INTEGER NOT NULL,"
    " PRIMARY KEY(run, position)) WITHOUT ROWID",
    "CREATE TABLE episodes(source TEXT PRIMARY KEY, watched TEXT NOT NULL, data TEXT NOT NULL) WITHOUT ROWID",
)
#: What each later format added to the one before it.
_ADDED = {
    2: (
        "CREATE TABLE calls(id INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, passed INTEGER NOT NULL,"
        " digest BLOB NOT NULL, data TEXT NOT NULL)",
    ),
    3: (
        "CREATE TABLE baselines(source TEXT NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL,"
        " content TEXT NOT NULL, PRIMARY KEY(source, path)) WITHOUT ROWID",
        "CREATE TABLE accepted(fingerprint TEXT PRIMARY KEY, accepted REAL NOT NULL, data TEXT NOT NULL)"
        " WITHOUT ROWID",
    ),
    4: ("CREATE TABLE outbox(id TEXT PRIMARY KEY, source TEXT NOT NULL, data TEXT NOT NULL)",),
}
_LOOK = (
    "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
    " FROM pragma_application_id, pragma_user_version"
)
# Of the names that SQLite keeps for itself, those of things that do nothing: a trigger may have such a name, too.
_INTERNAL = ("sqlite_sequence", "sqlite_stat1", "sqlite_stat4")
_OBJECTS = "SELECT type, name, sql FROM sqlite_master LIMIT 100"
# No row of ours is longer, though it were not compressed.
_LONGEST_VALUE = 1 << 25


class ForeignError(Exception):
    """The database is not a history."""


def prepare(connection: sqlite3.Connection, name: str) -> None:
    """Make sure that the database is ours; an empty one is made so, one of an older format is brought up to ours.

    :raises ForeignError: when it is another program's.
    :raises HistoryError: when a newer version of loop-close wrote it.
    """
    connection.execute("PRAGMA synchronous = NORMAL")  # Database says why
    connection.execute("PRAGMA cache_spill = OFF")  # it would have to wait for readers in mid-transaction
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    version = _format_of(connection, name)
    if version != FORMAT:
        _bring_up(connection, name, is_new=not version)
    check_objects(connection)


def _bring_up(connection: sqlite3.Connection, name: str, *, is_new: bool) -> None:
    """Make the tables, or those that an older format lacks; all of it or nothing, whatever ends the process."""
    if is_new:
        # So that the file can shrink. It works only before there are tables, and only outside of a transaction.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _format_of(connection, name)  # another process may have been quicker
        if version:
            check_objects(connection)
        for statement in _statements(FORMAT)[len(_statements(version)) :]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(version: int) -> tuple[str, ...]:
    """What makes a database of that format; nothing for 0."""
    added = (each for number, statements in _ADDED.items() if number <= version for each in statements)
    return (*_FIRST, *added) if version else ()


def check_objects(connection: sqlite3.Connection) -> None:
    """Make sure that there are the tables and indexes of the file's format and nothing else, such as a trigger.

    :raises RecordError: when it is not so.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    found = [row for row in connection.execute(_OBJECTS) if not _is_internal(*row)]
    if sorted(map(str, found)) != sorted(map(str, _expected(version))):
        raise RecordError("its tables are not from loop-close")


def _is_internal(kind: str, name: str, sql: str | None) -> bool:
    return (kind == "index" and sql is None) or (kind == "table" and name in _INTERNAL)


def _expected(version: int) -> list[tuple[str, str, str]]:
    made = ((*statement.split(maxsplit=3)[:3], statement) for statement in _statements(version))
    return [
        (kind.lower(), name.partition("(")[0], statement)
        for create, kind, name, statement in made
        if create == "CREATE" and kind in ("TABLE", "INDEX")
    ]


def _format_of(connection: sqlite3.Connection, name: str) -> int:
    """The format of the tables; 0 if there are none at all."""
    application, version, tables = connection.execute(_LOOK).fetchone()
    if tables == 0 and application in (0, APPLICATION_ID) and 0 <= version <= FORMAT:
        return 0
    if application != APPLICATION_ID or version < _OLDEST:
        raise ForeignError
    if version > FORMAT:
        raise HistoryError(
            f"{name} was written by a newer loop-close (format {version}; this one reads {FORMAT})"
            " and is left unchanged"
        )
    return int(version)
