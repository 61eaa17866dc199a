"""A look at the history's place before SQLite opens it: SQLite trusts whatever lies there and beside it."""

from __future__ import annotations

import os
import stat
import threading
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from loop_close.store.aside import BESIDE
from loop_close.store.contract import HistoryError
from loop_close.store.schema import APPLICATION_ID

#: The folder that is ours: what lies in the history's place there may be set aside, whatever it is.
OUR_FOLDER = ".loop-close"
#: When a file is made or looked at, its descriptor is closed again, and by POSIX that ends all locks that the
#: process has on it: no other thread may open it meanwhile, and those that are in use are not looked at.
opening = threading.Lock()
in_use: Counter[tuple[int, int]] = Counter()
_HEADER = 100
_SQLITE = b"SQLite format 3\0"
_WAL = 2
# A journal that ends in these bytes has SQLite remove a file that it names before them. Ours never do: only a
# transaction over several databases writes such a one.
_MAGIC = bytes.fromhex("d9d505f920a163d7")
_JOURNAL = "-journal"


def check_place(path: Path) -> None:
    """Make sure that nothing else is in the file's place.

    :raises HistoryError: when it is a folder or the like, or a symbolic link leads to it: what that leads to is
        not ours to write.
    """
    for each in (path.parent, path):
        if each.is_symlink():
            raise HistoryError(f"{each.name} is a symbolic link")
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise HistoryError(f"{path.name} is not a regular file")


def identity(path: Path) -> tuple[int, int] | None:
    """What tells the file from another one of its name; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Seen(NamedTuple):
    """What there is to be seen of a file without SQLite.

    :ivar file: which one it is; None where there is none.
    :ivar is_ours: it says that it is a history, or lies in our folder: it may be set aside.
    :ivar is_history: it says that it is a history, or nothing is kept in it yet.
    :ivar fault: why SQLite must not open it.
    """

    file: tuple[int, int] | None
    is_ours: bool
    is_history: bool
    fault: str | None


def seen_at(path: Path) -> Seen:
    """What lies there.

    :raises OSError: when that cannot be told.
    """
    file = identity(path)
    is_known = file is not None and in_use[file] > 0  # it was looked at before
    header = b"" if is_known else _bytes_of(path, 0, _HEADER)
    has_log = header.startswith(_SQLITE) and _WAL in header[18:20]
    is_marked = is_known or _carries_our_mark(header)
    return Seen(
        file=file,
        is_ours=is_marked or path.parent.name == OUR_FOLDER,
        is_history=is_marked or _is_unused(header),
        fault="it has a write-ahead log" if has_log else fault_beside(path),
    )


def _carries_our_mark(header: bytes) -> bool:
    return header.startswith(_SQLITE) and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _is_unused(header: bytes) -> bool:
    """Whether the file is empty, or a database of a single page: a table would have its own.

    The latter is what another process has made in the moment before it is a history.
    """
    is_single = header[18:20] == b"\1\1" and header[28:32] == b"\0\0\0\1" and header[24:28] == header[92:96]
    return not header or (header.startswith(_SQLITE) and is_single and not any(header[60:64] + header[68:72]))


def fault_beside(path: Path) -> str | None:
    """Why SQLite must not look at what lies beside the file.

    :raises OSError: when that cannot be told.
    """
    return next(filter(None, (_fault_of(f"{path}{end}", end) for end in BESIDE)), None)


def _fault_of(name: str, end: str) -> str | None:
    try:
        found = os.lstat(name)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return f"its {end} is not a regular file"
    if end != _JOURNAL:  # they belong to a log that ours never have
        return f"it has a {end}"
    is_chained = found.st_size > 0 and _bytes_of(name, found.st_size - len(_MAGIC), len(_MAGIC)) == _MAGIC
    return f"its {end} names another file" if is_chained else None


def _bytes_of(path: str | Path, start: int, count: int) -> bytes:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):  # to open a pipe may take for ever
            return b""
        with open(path, "rb", buffering=0) as file:
            file.seek(max(start, 0))
            return file.read(count)
    except FileNotFoundError:  # others come and go
        return b""
