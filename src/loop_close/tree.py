"""The project's files by content: what a result of a check holds for, and what no longer is so when it changes.

A file counts if git tracks it or does not ignore it; without git, if a walk finds it. What Python or pytest loads by
itself counts even if git ignores it. What well-known tools write does not count, unless it is Python.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path

import msgspec

from loop_close.conventions import OF_PYTEST, PYTHON, SHARED, is_test_file, is_test_module
from loop_close.files import write_bytes
from loop_close.records import Record

#: A walk that finds more files is not over in a second.
_MOST = 200_000
_SECONDS = 20.0
# What was written less than this before the look may be written again with the same time. The times of FAT are two
# seconds apart, those of other file systems at most 10 ms. git calls such an entry "racily clean".
_TICK_NS = 2_000_000_000

#: Folders that hold no files of the project.
_HIDDEN = frozenset((".git", ".loop-close"))
#: Folders of installed packages, and of other version control. What git tracks in them counts.
INSTALLED = frozenset(
    (".venv", "venv", ".tox", ".nox", "site-packages", "node_modules", ".eggs", ".hg", ".svn", ".jj")
)
#: What an environment has below it; anything else there is no part of it.
_OF_ENVIRONMENT = frozenset(
    ("bin", "include", "lib", "lib64", "share", "etc", "man", "Scripts", "Lib", "Include")
)
#: Folders that tools write while tests run. Python files in them count.
_CACHES = frozenset(
    (
        *("__pycache__", ".pytest_cache", ".hypothesis", ".benchmarks", "htmlcov", ".ipynb_checkpoints"),
        *(".mypy_cache", ".ruff_cache", ".pytype", ".pyre", ".import_linter_cache"),
    )
)
_SKIPPED = _HIDDEN | INSTALLED | _CACHES
# The names of files that tools write, wherever they are, and of those that they write in the root.
_WRITTEN = re.compile(
    r"\.coverage(?:\..*)?|\.DS_Store|Thumbs\.db|\.dmypy\.json|\.testmondata(?:-.*)?"
    r"|\.loop-close-.*|\.nfs.*|\.fuse_hidden.*|\.~lock\..*|\.#.*|#.*#|.*(?:~|\.sw[opx])",
    re.DOTALL,
)
_WRITTEN_IN_ROOT = frozenset(("coverage.xml", "coverage.json", "coverage.lcov", ".noseids"))
#: The ends of the names of folders of which one file is loaded.
_PACKAGES = (".dist-info", ".egg-info", "sitecustomize", "usercustomize")
#: The names of what Python or pytest loads by itself, wherever it is, as a pattern: configuration, modules that the
#: interpreter imports at its start, paths, and installed plugins.
LOADED = "|".join(
    (
        *map(re.escape, ("conftest.py", *OF_PYTEST, *SHARED)),
        r"(?:site|user)customize(?:\.pyc?|/__init__\.pyc?|[^/]*\.so)",
        r"[^/]*\.pth",
        r"[^/]*\.(?i:(?:dist|egg)-info)(?:/entry_points\.txt)?",  # the folder alone: a link to one
    )
)
_IS_LOADED = re.compile(rf"(?:^|/)(?:{LOADED})\Z")

# A git hook sets variables for its own repository. Those that name a safe.directory stay.
_MISLEADING = re.compile(r"GIT_(?!CONFIG_)|GIT_CONFIG_PARAMETERS")
# A hostile repository may name programs that fetch missing objects.
_OFFLINE = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",  # none; git before 2.45 does not know the one above
    "GIT_SSH_COMMAND": "false",
    "GIT_ASKPASS": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}


class TreeError(Exception):
    """The files cannot be listed; the text says why."""


class Tree(Record, frozen=True):
    r"""The project's files at one time.

    :ivar digest: of ``files``.
    :ivar files: digest of the content by path; ``+x`` at its end for an executable. Bytes of a path that are invalid
        UTF-8 are spelled ``\udcNN``.
    :ivar stamps: of each Python file, and each file that git tracks and no output is, its inode and the time of its
        last change, which no program can set back.
    """

    digest: str
    files: Mapping[str, str]
    stamps: Mapping[str, tuple[int, int]]


def changed(before: Tree, after: Tree) -> tuple[str, ...]:
    """The files that differ between two trees: content, or a file that was written or replaced meanwhile. Sorted."""
    differing = {path for path, _ in before.files.items() ^ after.files.items()}
    stamps = after.stamps
    replaced = {path for path, stamp in before.stamps.items() if path in stamps and stamps[path] != stamp}
    return tuple(sorted(differing | replaced))


def take(
    root: Path, *, outputs: Sequence[str] = (), leave_out: Collection[str] = (), cache: Path | None = None
) -> Tree:
    """The files below a root.

    :param outputs: patterns of files that the tests write; a folder ends in ``/``. They match no Python file, nothing
        in test folders, and no configuration of pytest. Of a file that git tracks the content counts in any case.
    :param leave_out: paths of files that we write ourselves.
    :param cache: where the digests of the last time are kept: a file that did not change since is not read again.
        It is written if its folder exists.
    :raises TreeError: when the files cannot be listed.
    """
    began = time.time_ns()  # before anything is looked at
    if not root.is_dir():
        raise TreeError(f"{root} is not a folder")
    known = _read_cache(cache)
    look = _Look(root, known, outputs, leave_out)
    listed: dict[str, bool] = {}
    waiting = [("", _list(root))]
    while waiting:  # of the root, then of submodules and other repositories inside this one
        prefix, found = waiting.pop()
        found = {f"{prefix}{path}": is_tracked for path, is_tracked in found.items()}
        listed |= found
        for folder in look.add(found):
            is_repository = os.path.lexists(root / folder / ".git")
            waiting.append((f"{folder}/", _list(root / folder) if is_repository else _walk(root / folder)))
    look.add(dict.fromkeys({*_loaded(root, listed)} - listed.keys(), False))
    files = dict(sorted(look.files.items()))
    _write_cache(cache, known, look.entries, began)
    content = "".join([f"{path}\0{digest}\0" for path, digest in files.items()])
    return Tree(digest=content_digest(content.encode()), files=files, stamps=look.stamps)


def remove_stale_bytecode(root: Path, tree: Tree) -> None:
    """Remove bytecode that is not newer than the last change of its source.

    Python takes it for current if size and time of the source agree, as after an edit within the same second.
    """
    modules: dict[str, dict[str, int]] = {}
    for path, (_, changed_at) in tree.stamps.items():
        folder, _, name = path.rpartition("/")
        if name.endswith(".py"):
            modules.setdefault(folder, {})[name.removesuffix(".py")] = changed_at
    for folder, times in modules.items():
        with contextlib.suppress(OSError), os.scandir(root / folder / "__pycache__") as entries:
            for entry in entries:
                at = times.get(entry.name.partition(".")[0])
                if at is not None and entry.stat(follow_symlinks=False).st_ctime_ns <= at:
                    os.unlink(entry.path)


def is_loaded(path: str) -> bool:
    """Whether Python or pytest loads the file by itself."""
    return _IS_LOADED.search(path) is not None


# --- content by path


#: Size, modification, change, inode and digest of a file when it was read.
_Entry = tuple[int, int, int, int, str]


class _Look:
    """A tree in the making.

    :ivar entries: what is known of the files now, by path.
    """

    def __init__(
        self, root: Path, known: Mapping[str, _Entry], outputs: Sequence[str], leave_out: Collection[str]
    ) -> None:
        self.files: dict[str, str] = {}
        self.stamps: dict[str, tuple[int, int]] = {}
        self.entries: dict[str, _Entry] = {}
        self._root = os.path.join(root, "")
        self._known = known
        patterns = [pattern.removeprefix("./") for pattern in outputs]
        self._outputs = [f"{pattern}*" if pattern.endswith("/") else pattern for pattern in patterns]
        self._ours = frozenset(leave_out)
        self._environments: set[str] = set()
        self._folders = {"": "all"}

    def add(self, listed: Mapping[str, bool]) -> list[str]:
        """Add what counts of these files; what is gone does not.

        :param listed: whether git tracks each.
        :returns: the folders among them.
        """
        self._environments |= {
            path.rpartition("/")[0]
            for path, is_tracked in listed.items()
            if path.endswith("/pyvenv.cfg") and not is_tracked and self._has_python(path)
        }
        found = []
        for path, is_tracked in listed.items():
            above, _, name = path.removesuffix("/").rpartition("/")
            counted = self._counted_in(above)
            if counted == "none" or name in _HIDDEN or (counted == "tracked" and not is_tracked):
                continue
            is_python = name.endswith(PYTHON)
            if not is_python and (counted == "python" or self._is_noise(path, name, is_tracked)):
                continue
            spelled = path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()
            try:
                status = os.lstat(self._root + path)
                if stat.S_ISDIR(status.st_mode):
                    found.append(path.removesuffix("/"))
                elif stat.S_ISREG(status.st_mode):
                    self.files[spelled] = self._content(path, spelled, status)
                elif stat.S_ISLNK(status.st_mode):
                    self.files[spelled], status = self._link(path, spelled, status)
            except OSError:
                continue
            # What tools write again and again, with the same content, is seldom either.
            if (is_python or (is_tracked and not self._is_output(path))) and spelled in self.files:
                self.stamps[spelled] = (status.st_ino, status.st_ctime_ns)
        return found

    def _counted_in(self, path: str) -> str:
        """Which files of a folder count: ``all``, ``tracked`` by git, ``python``, or ``none``.

        The names in an index are untrusted: the folder may be outside, or behind a link.
        """
        found = self._folders.get(path)
        if found is None:
            above, _, name = path.rpartition("/")
            found, place = self._counted_in(above), self._root + path
            if name in {*_HIDDEN, "", ".", ".."} or os.path.islink(place) or not os.path.isdir(place):
                found = "none"
            elif (found == "all" and name in INSTALLED) or (
                above in self._environments and name in _OF_ENVIRONMENT
            ):
                found = "tracked"
            elif found == "all" and (name in _CACHES or path in self._environments):
                found = "python"
            self._folders[path] = found
        return found

    def _is_noise(self, path: str, name: str, is_tracked: bool) -> bool:
        """Whether a file that is not Python is written by tools, by us, or by the tests."""
        if _WRITTEN.fullmatch(name) or path in _WRITTEN_IN_ROOT:
            return True
        is_ours = path in self._ours or (not is_tracked and self._is_output(path))
        return is_ours and not (is_loaded(path) or is_test_file(path))

    def _is_output(self, path: str) -> bool:
        return any(fnmatchcase(path, each) for each in self._outputs)

    def _has_python(self, path: str) -> bool:
        """Whether the folder of the file has an interpreter, as an environment has."""
        folder = self._root + path.rpartition("/")[0]
        return any(os.path.lexists(f"{folder}/{each}") for each in ("bin/python", "Scripts/python.exe"))

    def _link(self, path: str, spelled: str, status: os.stat_result) -> tuple[str, os.stat_result]:
        """Where a link leads, and the content of a file there."""
        target = content_digest(os.fsencode(os.readlink(self._root + path)))
        with contextlib.suppress(OSError):
            status = os.stat(self._root + path)
        content = self._content(path, spelled, status) if stat.S_ISREG(status.st_mode) else ""
        return f"{target}>{content}", status

    def _content(self, path: str, name: str, status: os.stat_result) -> str:
        now = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        entry = self._known.get(name)
        if entry is None or entry[:4] != now:
            entry = (*now, _read(self._root + path))
        self.entries[name] = entry
        if not entry[4]:  # it cannot be read
            return f"{status.st_size} {status.st_mtime_ns}"
        return f"{entry[4]}+x" if status.st_mode & stat.S_IXUSR else entry[4]


def content_digest(content: bytes) -> str:
    """The digest of a content, as a tree has it."""
    return blake2b(content, digest_size=16).hexdigest()


def _read(path: str) -> str:
    """The digest of a regular file's content; empty if it cannot be read."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NONBLOCK", 0)  # by now it may be a pipe, which is not waited for
    try:
        with open(os.open(path, flags), "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return file_digest(file, partial(blake2b, digest_size=16)).hexdigest()
    except OSError:
        return ""


# --- the cache: digests by path, with what shows that a file is still the one that was read


_CACHE = msgspec.msgpack.Decoder(dict[str, _Entry])


def _read_cache(path: Path | None) -> dict[str, _Entry]:
    """What is known of the last time; nothing for a missing or damaged cache."""
    try:
        return _CACHE.decode(path.read_bytes()) if path is not None and path.is_file() else {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _write_cache(
    path: Path | None, known: Mapping[str, _Entry], entries: Mapping[str, _Entry], began: int
) -> None:
    """Replace the cache if it would change. What was written just before the look is left out.

    :param began: when the look began. A file whose times are older by a tick was not written since then, or its times
        would be later than these.
    """
    trusted_before = began - _TICK_NS
    kept = {
        name: entry
        for name, entry in entries.items()
        if entry is known.get(name) or (max(entry[1], entry[2]) < trusted_before and entry[4])
    }
    if path is not None and kept != known:
        with contextlib.suppress(OSError):
            write_bytes(path, msgspec.msgpack.encode(kept))


# --- the list of files


def _list(top: Path) -> dict[str, bool]:
    """The files below a folder, relative to it, and folders of other repositories; whether git tracks each.

    By git what it tracks or does not ignore; by a walk where it refuses, as for another user's repository, or lists
    nothing, as in a scratch folder that the repository around it ignores.
    """
    said = git(top, "ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard")
    return {row[2:]: row[0] != "?" for row in os.fsdecode(said).split("\0") if row} or _walk(top)


def git(root: Path, *words: str) -> bytes:
    """What git says of a repository that may be hostile; empty where it is not installed or refuses.

    :raises TreeError: when it does not answer in time.
    """
    kept = {name: value for name, value in os.environ.items() if not _MISLEADING.match(name)}
    try:
        # A file system monitor would be started as a daemon that holds our pipe open.
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "-C", str(root), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            env={**kept, **_OFFLINE},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TreeError(f"git {words[0]} did not end within {_SECONDS:g} seconds") from None
    except (OSError, ValueError):
        return b""
    return b"" if done.returncode else done.stdout


def _walk(top: Path) -> dict[str, bool]:
    """The files below a folder without git, relative to it, as untracked. Follows no links."""
    found: dict[str, bool] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        for entry in _entries(os.path.join(top, folder)):
            if not entry.is_dir(follow_symlinks=False):
                found[f"{folder}{entry.name}"] = False
            elif entry.name not in _HIDDEN and entry.name not in INSTALLED:
                folders.append(f"{folder}{entry.name}/")
        if len(found) > _MOST:
            raise TreeError(f"{top} has more than {_MOST:,} files, and git does not list them")
    return found


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # it may be private, or gone by now


def _loaded(root: Path, listed: Iterable[str]) -> Iterator[str]:
    """What Python and pytest load by themselves, ignored by git or not.

    They look in the root, in ``src``, in the folders from the root to each Python file, and below ``tests``.
    """
    folders = {"", "src"}
    for folder in {path.rpartition("/")[0] for path in listed if path.endswith(PYTHON)}:
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    waiting = [*folders]
    while waiting:
        folder = waiting.pop()
        for entry in _entries(os.path.join(root, folder)):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.lower().endswith(_PACKAGES):
                yield from (f"{path}/entry_points.txt", f"{path}/__init__.py")
            elif is_loaded(path) or (is_test_module(entry.name) and path.endswith(PYTHON)):
                yield path
            elif path not in folders and entry.name not in _SKIPPED and is_test_file(f"{path}/"):
                folders.add(path)
                waiting += [path] * entry.is_dir(follow_symlinks=False)
