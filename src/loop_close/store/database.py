"""The store's file: opened safely, changed in transactions, and set aside when it cannot be used."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import stat
import zlib
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import msgspec

from loop_close.process import locked
from loop_close.text import reason_of, with_texts

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
FileState = Literal["ok", "missing", "damaged"]

#: In the header of the file: whose it is.
APPLICATION_ID = 0x6C6F6F70  # "loop"
#: In the header too: the version of the tables. A file of an earlier one is set aside, as nothing reads it.
FORMAT = 9

#: The state folder: whatever lies in the store's place there may be set aside.
OUR_FOLDER = ".loop-close"
_TRIES = 3
_MAGIC = b"SQLite format 3\0"  # "Database File Format", sqlite.org/fileformat2.html, as are the places of both numbers
_BESIDE = ("-journal", "-wal", "-shm")
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH}
_DAMAGE_WORDS = ("no such ", "Could not decode to UTF-8", "malformed")
# A journal that ends so has SQLite remove a file that it names. Only transactions over several databases write such.
_CHAINED = bytes.fromhex("d9d505f920a163d7")
_MOST_UNPACKED = 1 << 28


class StoreError(Exception):
    """The store cannot be used; the text says why, in one line for a user."""


class ColumnError(ValueError):
    """A column does not hold what we wrote."""


class _DamagedError(Exception):
    """The file is damaged, or of another version; the text says why."""


class _ReplacedError(Exception):
    """The file was set aside or removed by another process since it was opened."""


class Database:
    """A connection to the file; a new file is begun in place of one that is damaged or of another version.

    The journal is SQLite's rollback journal: a write-ahead log fails on network disks, which agents have.
    ``synchronous = NORMAL`` survives every kill; a power failure may damage the file, which is then set aside.

    :param readonly: nothing is made, renamed or written: what is missing or damaged reads as empty.
    :param timeout: seconds to wait for other processes, in each transaction.
    :ivar state: ``missing`` or ``damaged`` if the file was so and is only read, so that nothing is known; else ``ok``.
    :ivar notes: what happened to the file, in a line each.
    :raises StoreError: if it cannot be opened; all methods raise it if the file cannot be read or written.
    """

    def __init__(self, path: Path, *, readonly: bool = False, timeout: float = 5.0) -> None:
        self.path = Path(os.path.abspath(path))
        self.state: FileState = "ok"
        self.notes: list[str] = []
        self._readonly = readonly
        self._timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._is_ours = self.path.parent.name == OUR_FOLDER
        try:
            self._read(lambda _: None)
        except StoreError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; more than once is fine."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self, work: Work[T]) -> T:
        """What ``work`` returns, which sees one state of the file."""
        return self._repeated(work, "BEGIN")

    def _write(self, work: Work[T]) -> T:
        """What ``work`` returns; all that it wrote stays, or nothing. It may be repeated on a new file."""
        if self._readonly:
            raise StoreError(f"{self.path.name} was opened for reading")
        return self._repeated(work, "BEGIN IMMEDIATE")

    def _vacuum(self) -> None:
        """Give free pages back to the disk."""
        with contextlib.suppress(sqlite3.Error):  # another process reads: the pages are used again later
            if self._connection is not None:
                self._connection.execute("VACUUM")

    def _repeated(self, work: Work[T], begin: str) -> T:
        for _ in range(_TRIES):
            try:
                return self._attempt(work, begin)
            except _ReplacedError:
                self.close()
            except _DamagedError as damage:
                self._give_up(damage)
        raise StoreError(f"{self.path.name} keeps being damaged, or is replaced while in use")

    def _attempt(self, work: Work[T], begin: str) -> T:
        try:
            connection = self._connection or self._open()
            connection.execute(begin)
            # Journals go by the file's name: one of the old file would be taken for one of the new file.
            if begin != "BEGIN" and _identity(self.path) != self._file:
                raise _ReplacedError
            result = work(connection)
            connection.execute("COMMIT")
            return result
        except sqlite3.Error as error:
            raise self._meaning(error) from error
        except (ColumnError, msgspec.DecodeError) as error:
            raise _DamagedError(str(error)) from error
        except OSError as error:
            raise StoreError(f"cannot open {self.path.name}: {reason_of(error)}") from error
        finally:
            if self._connection is not None and self._connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")

    def _meaning(self, error: sqlite3.Error) -> Exception:
        name, code = self.path.name, getattr(error, "sqlite_errorcode", 0)
        if _identity(self.path) != self._file:  # whatever SQLite says of a file that is renamed under it
            return _ReplacedError()
        if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreError(f"{name} is busy: another process has locked it for {self._timeout:g} seconds")
        if code & 0xFF in _DAMAGE or str(error).startswith(_DAMAGE_WORDS):
            return _DamagedError(str(error))
        return StoreError(f"cannot {'read' if self._readonly else 'write'} {name}: {error}")

    def _open(self) -> sqlite3.Connection:
        for each in (self.path.parent, self.path):
            if each.is_symlink():  # what it leads to is not ours to write
                raise StoreError(f"{each.name} is a symbolic link")
        found = _found(self.path)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise StoreError(f"{self.path.name} is not a regular file")
        if self._readonly and (found is None or not found.st_size):
            self.state = "missing"
            return self._empty()
        if found is None:
            self._make()
        elif not self._readonly:
            with contextlib.suppress(OSError):  # it is another user's; sources are in it
                os.chmod(self.path, 0o600)
        self._file = _identity(self.path)
        # Before SQLite looks, which takes the journal of a new file for one of a file that is being set aside.
        application, version = _written(self.path)
        self._is_ours |= application == APPLICATION_ID
        if (application, version) not in ((0, 0), (APPLICATION_ID, FORMAT)):
            raise _DamagedError(f"it is not a store of loop-close in format {FORMAT}")
        if fault := _fault_beside(self.path):
            raise _DamagedError(fault)
        # For reading too: after a kill the journal has to be played back. SQLite itself falls back to reading.
        connection = self._connected(f"file:%{os.fsencode(self.path).hex('%')}?mode=rw")  # as_uri: 2.5 ms
        try:
            self._check(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _make(self) -> None:
        """Make an empty file that nobody else may read."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

    def _connected(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(uri, uri=True, timeout=self._timeout, isolation_level=None)

    def _empty(self) -> sqlite3.Connection:
        self._connection = self._connected(":memory:")
        _create(self._connection)
        return self._connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Make sure that the file has our tables, which are made if it is empty."""
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = NORMAL")
        if _has_tables(connection):
            return
        if self._readonly:
            raise _DamagedError("it has no tables")
        connection.execute("BEGIN IMMEDIATE")
        if not _has_tables(connection):  # another process may have been quicker
            _create(connection)
        connection.execute("COMMIT")
        self._is_ours = True

    def _give_up(self, damage: _DamagedError) -> None:
        """Set the file aside; if it is only read, go on with an empty one."""
        name, target = self.path.name, ""
        self.close()
        if self._readonly:
            self.state = "damaged"
            self.notes.append(f"{name} cannot be read: {damage}")
            self._empty()
            return
        if not self._is_ours:
            raise StoreError(f"{name} exists and is not a store of loop-close; name another file")
        try:
            with locked(self.path.parent, math.inf, is_folder=True):  # nobody else sets it aside meanwhile
                if _identity(self.path) == self._file:
                    target = _set_aside(self.path)
        except OSError as error:
            raise StoreError(f"{name} is damaged and cannot be renamed: {reason_of(error)}") from error
        if target:
            self.notes.append(
                f"{name} cannot be read: {damage}; it was renamed to {target} and a new one begun"
            )


def _written(path: Path) -> tuple[int, int]:
    """Whose the file says it is, and the version of its tables; zeros if it says neither, -1 for no database."""
    with path.open("rb") as file:
        head = file.read(72)
    if head and not head.startswith(_MAGIC):
        return -1, -1
    return int.from_bytes(head[68:72]), int.from_bytes(head[60:64])


def _has_tables(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if tables and application != APPLICATION_ID:
        raise _DamagedError("it is not a store of loop-close")
    return bool(tables)


def _create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _found(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, which distinguish the file from another one of its name; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _fault_beside(path: Path) -> str:
    """Why SQLite must not look at what lies beside the file, which it trusts; empty if it may."""
    for end in _BESIDE:
        beside = Path(f"{path}{end}")
        found = _found(beside)
        if found is not None and (end != "-journal" or not stat.S_ISREG(found.st_mode)):
            return f"there is a {end} beside it that is not ours"
        with contextlib.suppress(FileNotFoundError):
            if beside.read_bytes().endswith(_CHAINED):
                return "its journal names another file"
    return ""


def _set_aside(path: Path) -> str:
    """Rename the file and what SQLite left beside it; overwrite nothing. Returns the new name."""
    names = (path.with_name(f"{path.name}.damaged-{number}") for number in count(1))
    target = next(name for name in names if not os.path.lexists(name))
    # The journal goes first: one that stayed would be taken for the next file's own.
    for end in (*_BESIDE, ""):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{end}", f"{target}{end}")
    return target.name


# --- the tables, and values in their columns

#: "Packed" is a byte that says how, then the bytes: see :func:`pack`.
_TABLES = (
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
)


def pack(data: bytes) -> bytes:
    """The bytes behind one that says how they are kept; compressed if that makes them shorter."""
    if len(data) > 200:
        packed = zlib.compress(data, 3)
        if len(packed) < len(data):
            return b"z" + packed
    return b"=" + data


def unpack(data: object) -> bytes:
    """What :func:`pack` was given.

    :raises ColumnError: if it was not made by it, or is too long.
    """
    if isinstance(data, bytes) and data[:1] == b"=":
        return data[1:]
    if not isinstance(data, bytes) or data[:1] != b"z":
        raise ColumnError("a column holds what is not ours")
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(data[1:], _MOST_UNPACKED)
    except zlib.error as error:
        raise ColumnError(str(error)) from error
    if not unpacker.eof:
        raise ColumnError("a column is cut off or too long")
    return found


def encode(value: Any) -> bytes:
    """The value in MessagePack, whatever its texts are."""
    try:
        return msgspec.msgpack.encode(value, enc_hook=dict)  # for read-only mappings
    except UnicodeEncodeError:  # lone surrogates, as in names of files that are not UTF-8
        spelled = with_texts(msgspec.to_builtins(value, enc_hook=dict), lambda text, field: plain(text))
        return msgspec.msgpack.encode(spelled)


def plain(text: str) -> str:
    """The text as a column takes it: names of files may hold bytes that are not UTF-8, as lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
