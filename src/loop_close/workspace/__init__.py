"""Snapshots of the files that tests may depend on: listed by git or a bounded walk, with a digest of each."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import time
import tokenize
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Literal

from loop_close import lazy
from loop_close.conventions import PYTHON, is_configuration, is_of_tests, is_test_file
from loop_close.lazy import NamedTuple
from loop_close.outputs import OUTPUT, PRINTED_TO

# --- the files of a project that tests may depend on, by git or a bounded walk, and their content by digest

MAX_READ = 1_000_000  # bytes of one file; a larger one is compared by size and time
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
_PRIVATE = (".env", "id_rsa", "id_ed25519", ".vault_pass")


# Of a longer output, so much of its head and of its tail is looked at.
_SHOWN = 4096
_COLOR = lazy.pattern(rb"\x1b\[[\d;]*m")
# The last line of pytest or unittest, and what comes before it: one line alone may be data.
_LAST_LINE = lazy.pattern(
    rb"(?m)^(?:"
    rb"(?:=+ )?(?:\d{1,7} (?:failed|passed|skipped|deselected|xfailed|xpassed|warning|error)|no tests ran)"
    rb"[^\n]{0,300}? in \d[\d.]*s"
    rb"|Ran \d{1,7} tests? in \d[\d.]*s\s*$)"
)
_BEFORE_IT = lazy.pattern(
    rb"(?m)^(?:=+ (?:test session starts|FAILURES|ERRORS|short test summary info) =+\s*$"
    rb"|[.FEsxXR]+ +\[ *\d+%\]\s*$|-{70}\s*$)"
)


class FileEntry(NamedTuple):
    """The state of a file.

    :ivar mtime_ns: modification time; -1 if the file was written just before, so that the time proves nothing.
    :ivar digest: of the content; of size and time if the file is larger than :data:`MAX_READ` or cannot be read; of
        the target for a symbolic link; :data:`OUTPUT` for the output of commands.
    """

    size: int
    mtime_ns: int
    digest: str


_PRINTED = FileEntry(size=0, mtime_ns=_NEVER, digest=OUTPUT)


class Snapshot(NamedTuple):
    r"""The files of a project at one time.

    :ivar entries: by path relative to the root, with ``/``, sorted; bytes of invalid UTF-8 are spelled ``\udcNN``.
    :ivar contents: by digest, of the Python files of at most :data:`MAX_KEPT` that were read now; empty if
        there is a problem.
    :ivar listed_by: ``git`` or ``walk``. They list different files, so only compare snapshots of the same kind.
    :ivar unread: files that may have changed but were not read; they are compared by size and time.
    :ivar problem: why the snapshot is incomplete and must not be compared; empty if it is complete.
    """

    entries: Mapping[str, FileEntry]
    contents: Mapping[str, bytes]
    listed_by: Literal["git", "walk"] = "walk"
    unread: frozenset[str] = frozenset()
    problem: str = ""


def take(
    root: Path, known: Mapping[str, FileEntry], *, leave_out: Collection[str] = (), most: int | None = None
) -> Snapshot:
    """Take a snapshot of the files below a root that tests may depend on.

    :param known: entries of the previous snapshot: a file with the same size and time is not read again.
    :param leave_out: paths to exclude, relative to the root; a folder ends in ``/``.
    :param most: read at most so many files, the last modified first; None for no limit.
    :returns: a snapshot, whatever happens: a file that disappears is skipped, a private one compared by size and time.
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
    """Take a snapshot of the known files only; its ``listed_by`` has no meaning."""
    look = _Look(root, known, ())
    look.add(list(known))
    look.finish(most)
    return Snapshot(entries=look.entries, contents=look.contents, unread=frozenset(look.unread))


def is_code(path: str) -> bool:
    """Whether it is a Python file, by its name. Only of those the content is kept and shown."""
    name = path.rpartition("/")[2]
    return name.endswith(PYTHON) and not name.lower().startswith(_PRIVATE)


def _digest_of(content: bytes, kind: bytes = b"") -> str:
    from hashlib import blake2b  # late: it loads OpenSSL, and most of the time nothing has changed

    return blake2b(content, digest_size=16, person=kind).hexdigest()


class _Look:
    """A snapshot in the making."""

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
        """Add these files, and postpone those that must be read.

        :returns: the folders among them.
        """
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
                is_output = (status.st_dev, status.st_ino) in PRINTED_TO and _may_be_output(path)
                entry = _PRINTED if is_output else self._entry(path, status)
            except (OSError, ValueError):  # it is gone by now
                continue
            if entry is not None:
                self.entries[_spelled(path)] = entry
        return folders

    def _is_inside(self, path: str) -> bool:
        """Whether it is in the root without a link on the way. The names in an index are untrusted."""
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
        """Read the postponed files; above the limit only the last modified ones."""
        late = self._to_read
        if most is not None and len(late) > most:
            late.sort(key=lambda item: item[1].st_mtime_ns, reverse=True)
            self.unread.update(_spelled(path) for path, _ in late[most:])
        for path, status in late:
            name = _spelled(path)
            is_trusted = status.st_mtime_ns < self._trusted_before
            time_ns = status.st_mtime_ns if is_trusted else _NEVER
            content = None if name in self.unread else self._content(path, status)
            known = self._known.get(name)
            is_data = known is not None and known.digest != OUTPUT
            if content is not None and not is_data and is_of_test_run(path, content):
                self.entries[name] = _PRINTED
                continue
            digest = _stamp(status) if content is None else self._digest(path, content)
            self.entries[name] = FileEntry(size=status.st_size, mtime_ns=time_ns, digest=digest)

    def _content(self, path: str, status: os.stat_result) -> bytes | None:
        """The content; None if it is too large, or something else than a file."""
        if status.st_size > MAX_READ or self._read > _MAX_READ_IN_ALL:
            return None
        content = read(self._root + path)
        self._read += len(content or b"")
        return content

    def _digest(self, path: str, content: bytes) -> str:
        digest = _digest_of(content)
        if self._kept + len(content) <= _MAX_KEPT_IN_ALL and _is_kept(path, content):
            self._kept += len(content)
            self.contents[digest] = content
        return digest


def _stamp(status: os.stat_result) -> str:
    return _digest_of(f"{status.st_size} {status.st_mtime_ns}".encode(), b"stamp")


def read(path: str) -> bytes | None:
    """The content of a regular file of at most :data:`MAX_READ`; None if it is something else or private."""
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


def _may_be_output(path: str) -> bool:
    """Not code, nor what belongs to tests: edits of it have to be seen, whatever was printed to it."""
    is_of_folder = "/" in path and is_test_file(path)
    return not (is_code(path) or is_of_tests(path) or is_of_folder)


def is_of_test_run(path: str, content: bytes) -> bool:
    """Whether the file is what a test run printed, as of ``pytest > out.txt``.

    Only plain text in the root is: text in a folder may be data, such as a sample that tests read.
    """
    _, dot, suffix = path.lower().rpartition(".")
    if "/" in path or (dot and suffix not in ("txt", "out", "err")) or not _may_be_output(path):
        return False
    shown = content if len(content) <= 2 * _SHOWN else content[:_SHOWN] + b"\n" + content[-_SHOWN:]
    plain = _COLOR.sub(b"", shown)
    return _LAST_LINE.search(plain) is not None and _BEFORE_IT.search(plain) is not None


def _is_kept(path: str, content: bytes) -> bool:
    return len(content) <= MAX_KEPT and is_code(path) and b"\0" not in content[:8192]


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _spelled(path: str) -> str:
    """The path as text that can be stored. File names on Linux are bytes and may be invalid UTF-8."""
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


# --- the files of a project that tests may depend on: by git, else by a bounded walk

MAX_FILES = 20_000
_MAX_WALK_DEPTH = 25
_MAX_SEEN = 200_000  # of whatever kind: a tree of empty folders has no files to count
_SECONDS = 3.0
_LIST = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")

# A git hook sets these for its own repository; settings, such as safe.directory of a CI machine, stay.
_MISLEADING = {
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"),
    *("GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_IMPLICIT_WORK_TREE", "GIT_PREFIX"),
    *("GIT_CONFIG_PARAMETERS", "GIT_GLOB_PATHSPECS", "GIT_LITERAL_PATHSPECS", "GIT_INTERNAL_SUPER_PREFIX"),
    *("GIT_SHALLOW_FILE",),
}

# A hostile repository may name programs that fetch missing objects, and leave its .gitignore out.
_OFFLINE = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",  # none; git before 2.45 does not know the one above
    "GIT_SSH_COMMAND": "false",
    "GIT_ASKPASS": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}

# What runs, tools and editors write by themselves is not an edit, or a project without a .gitignore would seem
# edited by every run; images and archives are written by tests more often than read. All that is left counts:
# modules, configuration, data, and what has no suffix.
# Sets, as a pattern of all this takes 2 ms to compile, at the start of each run.
_FOLDERS = frozenset(("__pycache__", "node_modules", "site-packages", "htmlcov"))
_NAMES = frozenset((".ds_store", ".venv", "coverage.xml", "coverage.json", "coverage.lcov"))
_BEGINNINGS = (".git", ".coverage", ".#", ".loop-close-")  # the last: what another run is about to rename
_OF_TEST_RESULTS = ("testresult", "test-result", "testreport", "test-report")
_DATABASES = frozenset(("db", "sqlite", "sqlite3"))
_SUFFIXES = frozenset(
    (
        *("pyc", "pyo", "pyd", "so", "dylib", "dll", "exe", "o", "obj", "a", "lib", "class", "whl", "egg"),
        *("png", "jpg", "jpeg", "gif", "bmp", "webp", "tif", "tiff", "ico", "pdf", "mp3", "mp4", "wav"),
        *("ttf", "woff", "woff2", "zip", "tar", "gz", "xz", "bz2", "tgz", "7z"),
        *("log", "pid", "prof", "swp", "swo", "tmp", "bak", "orig", "rej"),
        *_DATABASES,
        *(f"{kind}-{beside}" for kind in _DATABASES for beside in ("wal", "shm", "journal")),
    )
)
#: Of a walk alone: with git, what is built is ignored, and a package may be called so.
_BUILT = {"build", "dist", "venv", "env", "site"}

#: git is not installed, as in many containers, or the repository is another user's: that is so in every run.
_LASTING = lazy.pattern(r"\Agit did not start\Z|dubious ownership")


class Listing(NamedTuple):
    """Paths relative to the root, with ``/``, sorted. They need not exist, and may be folders.

    :ivar by: what listed them; lists by different means cannot be compared.
    :ivar problem: why the list is incomplete; the list is empty if git failed.
    """

    paths: list[str]
    by: Literal["git", "walk"]
    problem: str = ""


def list_files(root: Path) -> Listing:
    """List the files below a root, at most :data:`MAX_FILES`: first the configuration of tests, then Python files."""
    paths, fault = _by_git(root) if _is_in_repository(root) else ([], "")
    if fault and not _LASTING.search(fault):
        return Listing([], "walk", _refusal(fault))
    if not paths:  # no repository; or one that ignores the root, as a scratch folder within it
        walked = walk(root)
        return Listing(_bounded(walked), "walk", _too_many() if len(walked) > MAX_FILES else "")
    kept = {path for path in paths if not is_noise(path)}
    kept |= set(_of_tests(root, kept))
    environments = tuple(path.removesuffix("pyvenv.cfg") for path in kept if path.endswith("/pyvenv.cfg"))
    if environments:
        kept = {path for path in kept if not path.startswith(environments)}
    return Listing(_bounded(list(kept)), "git", _too_many() if len(kept) > MAX_FILES else "")


def _of_tests(root: Path, paths: Collection[str]) -> Iterator[str]:
    """Files that pytest reads in the root and beside its tests although git ignores them."""
    folders = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in folders and is_of_tests(path):
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    for folder in folders:
        for entry in _entries(os.path.join(root, folder)):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path not in paths and is_of_tests(path) and not is_noise(path) and not entry.is_dir():
                yield path


def is_noise(path: str) -> bool:
    """Whether runs and tools write such a file, or folder if it ends in ``/``: it is not an edit."""
    *folders, name = path.lower().split("/")
    return any(map(_is_noise_folder, folders)) or bool(name and _is_noise_file(name))


def _is_noise_folder(name: str) -> bool:
    # Hidden ones are settings of editors, caches, CI: nothing that a test run reads.
    return name[:1] == "." or name in _FOLDERS or name.endswith((".egg-info", ".dist-info"))


def _is_noise_file(name: str) -> bool:
    if name in _NAMES or (name.startswith(_BEGINNINGS) and name != ".coveragerc") or name.endswith("~"):
        return True
    stem, dot, suffix = name.rpartition(".")
    if suffix == "xml" and ("junit" in stem or stem.startswith(_OF_TEST_RESULTS)):
        return True
    if (dot and suffix in _SUFFIXES) or (name[0] == name[-1] == "#" and len(name) > 1):
        return True
    while suffix.isdecimal():  # libshop.so.1.2
        stem, dot, suffix = stem.rpartition(".")
    return bool(dot and suffix == "so")


def _too_many() -> str:
    return f"the project has more than {MAX_FILES:,} files; some were not looked at"


def _bounded(paths: list[str]) -> list[str]:
    if len(paths) > MAX_FILES:
        first = sorted(paths, key=lambda path: (not is_configuration(path), not path.endswith(".py"), path))
        paths = first[:MAX_FILES]
    return sorted(paths)


def _by_git(root: Path) -> tuple[list[str], str]:
    """The files that git tracks or does not ignore; else none, and the reason."""
    try:
        done = _asked(root)
    except subprocess.TimeoutExpired:
        return [], f"no answer within {_SECONDS:g} seconds"
    except (OSError, ValueError, subprocess.SubprocessError):
        return [], "git did not start"
    if done.returncode:
        said = done.stderr[:2000].decode("utf-8", "replace").partition("\n")[0]
        return [], said or f"it ended with {done.returncode}"
    paths = os.fsdecode(done.stdout).split("\0")[:-1]
    return [path for path in map(_named, paths, [root] * len(paths)) if path], ""


def commit_at_head(root: Path) -> str:
    """The commit that is checked out; empty if unknown."""
    try:
        done = _asked(root, "rev-parse", "--verify", "HEAD") if _is_in_repository(root) else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    said = done.stdout.decode("ascii", "replace").strip() if done is not None and not done.returncode else ""
    return said if said.isalnum() else ""


def repository_of(root: Path) -> tuple[str, str, str]:
    """The repository by the address of its remote ``origin``, else by its first commit; the root in it; its branch.

    Credentials in the address are left out. Each is empty if git does not know.
    """
    try:
        if not _is_in_repository(root):
            return "", "", ""
        place = _asked(root, "rev-parse", "--show-prefix").stdout.decode("utf-8", "replace").strip()
        branch = _asked(root, "symbolic-ref", "--quiet", "--short", "HEAD").stdout
        origin = (
            _asked(root, "config", "--get", "remote.origin.url").stdout.decode("utf-8", "replace").strip()
        )
        if not origin:
            first = _asked(root, "rev-list", "--max-parents=0", "HEAD").stdout
            origin = first.decode("ascii", "replace").strip().rpartition("\n")[2]
    except (OSError, ValueError, subprocess.SubprocessError):
        return "", "", ""
    return _same_address(origin), place, branch.decode("utf-8", "replace").strip()


def _same_address(address: str) -> str:
    """An address of git in one spelling: ``git@host:a/b.git`` and ``https://user@host/a/b`` are one repository."""
    rest = address.rpartition("://")[2]
    host, mark, path = rest.partition("/") if "://" in address else rest.partition(":")
    if not mark or "/" in host:
        return address
    return f"{host.rpartition('@')[2].partition(':')[0].lower()}/{path.strip('/').removesuffix('.git')}"


def contents_at_head(
    root: Path, is_wanted: Callable[[str], bool], most: int, most_bytes: int
) -> dict[str, bytes]:
    """The content of files in the last commit, by path from the root; empty if git fails.

    :param most: at most so many files, of ``most_bytes`` in total.
    """
    try:
        listed = _asked(root, "ls-tree", "-r", "-z", "-l", "HEAD")
        rows = (row.partition("\t") for row in os.fsdecode(listed.stdout).split("\0"))
        blobs = [(path, about.split()) for about, _, path in rows if path and is_wanted(path)][:most]
        names = [(path, about[2]) for path, about in blobs if about[1] == "blob" and about[0] != "120000"]
        if listed.returncode or sum(int(about[3]) for _, about in blobs if about[3].isdecimal()) > most_bytes:
            return {}
        answer = _asked(root, "cat-file", "--batch", data="".join(f"{name}\n" for _, name in names).encode())
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return {}
    found, rest = {}, answer.stdout
    for path, name in names:
        head, _, rest = rest.partition(b"\n")
        about = head.split()
        if about[:2] != [name.encode(), b"blob"]:
            return {}
        size = int(about[2])
        found[path], rest = rest[:size], rest[size + 1 :]
    return found


def _asked(root: Path, *words: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    # A file system monitor would be started as a daemon that holds our pipe open.
    options = ("-c", "core.fsmonitor=false", "-C", str(root))
    return subprocess.run(
        ["git", *options, *(words or _LIST)],
        stdin=subprocess.DEVNULL if data is None else None,
        input=data,
        capture_output=True,
        timeout=_SECONDS,
        env=_environment(),
        check=False,
    )


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return {**kept, **_OFFLINE}


def _refusal(fault: str) -> str:
    from loop_close.text.redact import clean

    return clean(f"git could not list the files: {fault}")[:250]


def _is_in_repository(root: Path) -> bool:
    """Whether there is a repository here or above, even a broken one or that of another user."""
    top = Path(os.path.realpath(root))
    return any(os.path.lexists(folder / ".git") for folder in (top, *top.parents))


def _named(path: str, root: Path) -> str:
    """The path; the folder of a nested repository; nothing for another work tree of this repository."""
    if not path.endswith("/"):
        return path
    return path.rstrip("/") if os.path.isdir(os.path.join(root, path, ".git")) else ""


def walk(root: Path, below: str = "") -> list[str]:
    """List the files below a folder of the root without git; slightly more than :data:`MAX_FILES` at most.

    Skips folders that are links, hidden, caches, environments or build output.
    """
    found: list[str] = []
    seen = 0
    folders = [(below, 0)]
    while folders and len(found) <= MAX_FILES and seen <= _MAX_SEEN:
        folder, depth = folders.pop()
        entries = _entries(os.path.join(root, folder))
        if depth and any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        seen += len(entries)
        for path, is_folder in _kept(entries, f"{folder}/" if folder else ""):
            if not is_folder:
                found.append(path)
            elif depth < _MAX_WALK_DEPTH:
                folders.append((path, depth + 1))
    return found


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name, reverse=True)
    except OSError:
        return []  # it may be private, or gone by now


def _kept(entries: list[os.DirEntry[str]], prefix: str) -> Iterator[tuple[str, bool]]:
    for entry in entries:
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
        except OSError:
            continue
        path = prefix + entry.name
        if not is_noise(f"{path}/" if is_folder else path) and not (is_folder and entry.name in _BUILT):
            yield path, is_folder
