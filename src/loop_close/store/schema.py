"""The tables of the store, with a comment on each column."""

from __future__ import annotations

#: In the header of the file: whose it is.
APPLICATION_ID = 0x6C6F6F70  # "loop"
#: In the header too: the version of the tables. A file of an earlier one is set aside, as nothing reads it.
FORMAT = 7

#: "Packed" is a byte that says how, then the bytes: see :func:`loop_close.store.database.pack`.
TABLES = (
    """
CREATE TABLE runs(
    number INTEGER PRIMARY KEY,   -- from 1, in the order in which runs began
    id TEXT NOT NULL UNIQUE,      -- of the run among all machines
    check_name TEXT NOT NULL,     -- the check whose result it is; empty for a plain run
    tree TEXT NOT NULL,           -- digest of the files before the run
    tree_after TEXT NOT NULL,     -- digest of the files after it
    began REAL NOT NULL,          -- seconds since 1970
    is_finished INTEGER NOT NULL, -- 0 while it is under way, and for ever if it was killed
    is_done INTEGER NOT NULL,     -- 1 if every check was green on its tree and nothing was objected
    record BLOB NOT NULL          -- the Run in MessagePack without its number and outcomes, packed
)""",
    """
CREATE TABLE outcomes(
    run INTEGER NOT NULL,  -- the number of the run
    source TEXT NOT NULL,  -- what ran the tests
    tests BLOB NOT NULL,   -- digest of their names, see the table tests
    codes BLOB NOT NULL,   -- their outcomes in the order of the names, a letter each, packed
    PRIMARY KEY(run, source)
) WITHOUT ROWID""",
    """
CREATE TABLE tests(
    digest BLOB PRIMARY KEY, -- of the names: most runs of a source have the same tests
    names BLOB NOT NULL      -- node ids in MessagePack, sorted, packed
)""",
    """
CREATE TABLE trees(
    number INTEGER PRIMARY KEY, -- in the order in which they were first seen
    digest TEXT NOT NULL UNIQUE,
    base TEXT,                  -- digest of the tree that this one is the difference to; NULL if it is whole
    listing BLOB NOT NULL       -- path and digest of each file, NUL between; no digest: not in this tree. Packed
)""",
    """
CREATE TABLE contents(
    digest TEXT PRIMARY KEY, -- as in the listings
    data BLOB NOT NULL       -- the content, packed
)""",
    """
CREATE TABLE calls(
    source TEXT PRIMARY KEY, -- whose tests
    passed INTEGER NOT NULL, -- how many passing tests were counted
    data BLOB NOT NULL       -- what they called, see KeptCalls: in MessagePack, packed
)""",
    """
CREATE TABLE outbox(
    number INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they are to be sent
    id TEXT NOT NULL UNIQUE,                  -- of the run
    data BLOB NOT NULL                        -- what is to be sent of it to the shared history, packed
)""",
)
