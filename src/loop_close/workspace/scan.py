"""The content of a project's files by digest; what has not changed since the last time is not read again."""

from __future__ import annotations

import io
import os
import stat
import time
import tokenize
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from loop_close.workspace.listing import MAX_FILES, list_files, walk

MAX_READ = 1_000_000  # of one file: one that is larger is data, and goes by size and time
MAX_KEPT = 256 * 1024
_MAX_READ_IN_ALL = 100_000_000
_MAX_KEPT_IN_ALL = 32_000_000
# What was written within this time of the look may be written again with the same time: as long as a tick of
# FAT; those of other file systems, up to 10 ms, are shorter. Git calls such an entry racily clean.
_TICK_NS = 2_000_000_000
_MAX_DEPTH = 100  # of folders that an index names
_NO_NAMES = ("", ".", "..")
_NEVER = -1  # no time of a file, so that it is read again
#: A second copy of what may hold a credential would be one too many: of all but code, the digest is enough.
_CODE = (".py", ".pyi")
_PRIVATE = (".env", "id_rsa", "id_ed25519", ".vault_pass")


class FileEntry(NamedTuple):
    """A file as it was.

    :ivar mtime_ns: -1 where it says nothing, as the file was written just before the look.
    :ivar digest: of its content; of size and time where it is larger than :data:`MAX_READ` or cannot be read; of
        where it leads for a symbolic link.
    """

    size: int
    mtime_ns: int
    digest: str


class Snapshot(NamedTuple):
    r"""The files of a project at one time.

    :ivar entries: by path relative to the root, with ``/``, sorted; bytes that are no UTF-8 stand as ``\udcNN``.
    :ivar contents: by digest, of the Python files of at most :data:`MAX_KEPT` that were read now; empty where
        there is a problem.
    :ivar listed_by: ``git`` or ``walk``: the one lists what the other leaves out, so compare only alike.
    :ivar unread: files that may be other than they are known, and were not read: they go by size and time.
    :ivar problem: why it is not complete: it should not be compared; empty when it is.
    """

    entries: Mapping[str, FileEntry]
    contents: Mapping[str, bytes]
    listed_by: Literal["git", "walk"] = "walk"
    unread: frozenset[str] = frozenset()
    problem: str = ""


def take(
    root: Path, known: Mapping[str, FileEntry], *, leave_out: Collection[str] = (), most: int | None = None
) -> Snapshot:
    """Look at the files below a root that tests may depend on.

    :param known: the entries of the snapshot before: a file with the same size and time is not read.
    :param leave_out: paths relative to the root; one that ends in ``/`` leaves out a folder.
    :param most: so many files are read, those that were written last; None for no limit.
    :returns: never an error: a file that is gone, private or no file is passed over or goes by its time.
    """
    look = _Look(root, known, leave_out)
    listing = list_files(root)
    for folder in look.add(listing.paths):  # submodules, and other repositories inside this one
        look.add(walk(root, folder)[:MAX_FILES])
    look.finish(most)
    problem = listing.problem if root.is_dir() else f"{root} is not a folder"
    return Snapshot(
        entries=dict(sorted(look.entries.items())),
        contents={} if problem else look.contents,
        listed_by=listing.by,
        unread=frozenset(look.unread),
        problem=problem,
    )


def take_known(root: Path, known: Mapping[str, FileEntry], *, most: int | None = None) -> Snapshot:
    """Look at the files that are known, and at no other; ``listed_by`` says nothing here."""
    look = _Look(root, known, ())
    look.add(list(known))
    look.finish(most)
    return Snapshot(entries=look.entries, contents=look.contents, unread=frozenset(look.unread))


def is_code(path: str) -> bool:
    """Whether it is a Python file, by its name: the content of no other is kept or shown."""
    name = path.rpartition("/")[2]
    return name.endswith(_CODE) and not name.lower().startswith(_PRIVATE)


def _digest_of(content: bytes, kind: bytes = b"") -> str:
    from hashlib import blake2b  # late: it loads OpenSSL, and most of the time nothing has changed

    return blake2b(content, digest_size=16, person=kind).hexdigest()


class _Look:
    """One look at the files of a project."""

    def __init__(self, root: Path, known: Mapping[str, FileEntry], leave_out: Collection[str]) -> None:
        self.entries: dict[str, FileEntry] = {}
        self.contents: dict[str, bytes] = {}
        self.unread: set[str] = set()
        self._to_read: list[tuple[str, os.stat_result]] = []
        self._root = os.path.join(root, "")
        self._known = known
        self._trusted_before = time.time_ns() - _TICK_NS  # before anything is read
        self._left_out = {path for path in leave_out if not path.endswith("/")}
        self._left_out_folders = (".loop-close/", *(path for path in leave_out if path.endswith("/")))
        self._has = {"": True}  # by folder
        self._read = self._kept = 0

    def add(self, paths: list[str]) -> list[str]:
        """Look at these files, and put off those that have to be read; folders among them are given back."""
        folders = []
        for path in paths:
            is_left_out = path in self._left_out or path.startswith(self._left_out_folders)
            if is_left_out or not self._is_inside(path):
                continue
            try:
                status = os.lstat(self._root + path)
                if stat.S_ISDIR(status.st_mode):
                    folders.append(path)
                    continue
                entry = self._entry(path, status)
            except (OSError, ValueError):  # it is gone by now
                continue
            if entry is not None:
                self.entries[_spelled(path)] = entry
        return folders

    def _is_inside(self, path: str) -> bool:
        """Whether it is in the root, without a link on the way: anybody may have written what an index names."""
        folder, slash, name = path.rpartition("/")
        if name in _NO_NAMES or (slash and not folder):
            return False
        found = self._has.get(folder)
        if found is None:
            is_sane = folder.count("/") < _MAX_DEPTH and self._is_inside(folder)
            found = self._has[folder] = is_sane and _is_folder(self._root + folder)
        return found

    def _entry(self, path: str, status: os.stat_result) -> FileEntry | None:
        if stat.S_ISLNK(status.st_mode):
            # Where it leads may be outside of the project, or a pipe; what is inside is listed itself.
            target = os.fsencode(os.readlink(self._root + path))
            digest = _digest_of(target, b"link")
            return FileEntry(size=status.st_size, mtime_ns=_NEVER, digest=digest)
        if not stat.S_ISREG(status.st_mode):
            return None
        known = self._known.get(_spelled(path))
        if known is not None and (known.size, known.mtime_ns) == (status.st_size, status.st_mtime_ns):
            return known
        self._to_read.append((path, status))
        return None

    def finish(self, most: int | None) -> None:
        """Read what was put off; of more than the most those that were written last."""
        late = self._to_read
        if most is not None and len(late) > most:
            late.sort(key=lambda item: item[1].st_mtime_ns, reverse=True)
            self.unread.update(_spelled(path) for path, _ in late[most:])
        for path, status in late:
            name = _spelled(path)
            is_trusted = status.st_mtime_ns < self._trusted_before
            time_ns = status.st_mtime_ns if is_trusted else _NEVER
            digest = _stamp(status) if name in self.unread else self._digest(path, status)
            self.entries[name] = FileEntry(size=status.st_size, mtime_ns=time_ns, digest=digest)

    def _digest(self, path: str, status: os.stat_result) -> str:
        content = None
        if status.st_size <= MAX_READ and self._read <= _MAX_READ_IN_ALL:
            content = read(self._root + path)
        if content is None:
            return _stamp(status)
        self._read += len(content)
        digest = _digest_of(content)
        if self._kept + len(content) <= _MAX_KEPT_IN_ALL and _is_kept(path, content):
            self._kept += len(content)
            self.contents[digest] = content
        return digest


def _stamp(status: os.stat_result) -> str:
    return _digest_of(f"{status.st_size} {status.st_mtime_ns}".encode(), b"stamp")


def read(path: str) -> bytes | None:
    """The content of a regular file of at most :data:`MAX_READ`; None where it is something else or private."""
    # Between the look and the opening it may have become a pipe or a link: neither is waited for or followed.
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"):  # not every system has each
        flags |= getattr(os, name, 0)
    try:
        with open(os.open(path, flags), "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            content = file.read(MAX_READ + 1)
    except OSError:
        return None
    return content if len(content) <= MAX_READ else None


def _is_kept(path: str, content: bytes) -> bool:
    return len(content) <= MAX_KEPT and is_code(path) and b"\0" not in content[:8192]


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _spelled(path: str) -> str:
    """The path as text that can be stored: file names of Linux are bytes, and need not be UTF-8."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()


def decoded(content: bytes) -> str:
    r"""The text, by its BOM or coding cookie, else as UTF-8; what cannot be decoded becomes ``U+FFFD``.

    Every line ends in ``\n``, as for the parser: other line breaks are formatting.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        text = content.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
