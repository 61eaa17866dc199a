"""The baseline: the test files as they were, kept with their contents in the user's state folder."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from loop_close import files
from loop_close.checks import DEFAULT
from loop_close.conventions import OF_PYTEST, SHARED, TEST_FOLDERS
from loop_close.facts import file_of, test_function
from loop_close.process import locked
from loop_close.records import Record, Run
from loop_close.text import digest as digest_of
from loop_close.tree import LOADED, Tree, content_digest, is_loaded
from loop_close.tree import take as take_tree

#: Of a file that is larger than this only the digest is kept.
LARGEST = 16_000_000
_MOST_ACCEPTED = 1_000
_INDEX = "baseline"
_RAN = ("passed", "failed")
_INI_HEADER = re.compile(r"^(?=\[)", re.M)
_INI_OURS = re.compile(r"\[(?:tool:)?pytest\]")
# Up to the next key or table.
_FILES = re.compile(r"^\s*python_files\s*=((?:.*\n(?!\s*[\w.-]+\s*=|\[[\w.:]+\]\s*$))*.*)", re.M)
_PATTERN = re.compile(r"[^\s\"',=]*[^\s\"',=\[\]*?][^\s\"',=]*(?:\.py\b|\*)")


class Baseline(Record, frozen=True):
    """The tests as they were.

    :ivar files: digest of the content by path, as :attr:`loop_close.tree.Tree.files` has it: test files, configuration
        of pytest, and what Python or pytest loads by itself.
    :ivar patterns: how else test modules are named, by the setting ``python_files`` of pytest.
    :ivar functions: of each check the test functions that ran, as node ids without parameters, and the command line
        of each pytest: started otherwise, it may leave out cases, or load what changes results. A check that is
        missing has not run on these files.
    :ivar accepted: files that a person accepted since.
    :ivar is_held: it holds for a whole session of an agent, or of ``drive``.
    :ivar is_open: a check objected, and the objection is open: then another session takes no new baseline.
    """

    files: Mapping[str, str] = {}
    patterns: tuple[str, ...] = ()
    functions: Mapping[str, tuple[str, ...]] = {}
    accepted: tuple[str, ...] = ()
    is_held: bool = False
    is_open: bool = False

    @property
    def digest(self) -> str:
        """Of the files, and of nothing else here."""
        return content_digest(msgspec.msgpack.encode(self.files, order="sorted"))


# --- which files it has


# As conventions.is_test_file, with test.py and the folders, which may be links. One pattern: all paths are looked at.
_IS_OF_TESTS = re.compile(
    rf"(?:^|/)(?:(?:tests?|testing)(?:/|\Z)|(?:test_[^/]*|[^/]*_test\.py|tests?\.py|{LOADED})\Z)"
)


def is_of_tests(path: str, patterns: Iterable[str] = ()) -> bool:
    """Whether the file determines what the tests demand, and which of them run."""
    if _IS_OF_TESTS.search(path):
        return True
    name = path.rpartition("/")[2]
    return any(fnmatchcase(f"/{path}" if "/" in each else name, each) for each in patterns)


def differing(baseline: Baseline, tree: Tree) -> tuple[str, ...]:
    """The files of the tests that changed, are new, or gone. Pure.

    ``pyproject.toml``, ``setup.cfg`` and ``tox.ini`` are named for any change; :func:`changed` looks into them.
    """
    before, after, patterns = baseline.files, tree.files, baseline.patterns
    found = [path for path, digest in before.items() if after.get(path) != digest]
    found += [path for path in after if path not in before and is_of_tests(path, patterns)]
    return tuple(sorted(found))


def changed(root: Path, baseline: Baseline, tree: Tree) -> tuple[str, ...]:
    """The same, without files in which only what is not of pytest changed. The checks count if one of theirs did."""
    return tuple(path for path in differing(baseline, tree) if _counts(root, baseline, path))


def _counts(root: Path, baseline: Baseline, path: str) -> bool:
    if not is_shared(path):
        return True
    before, after = old_content(root, baseline, path), read(root, path)
    is_same = tables_of(path, before) == tables_of(path, after)
    return not is_same or (path == "pyproject.toml" and bool(checks_changed(root, baseline)))


def checks_changed(root: Path, baseline: Baseline) -> str:
    """What changed in the commands of the checks of the baseline; empty for nothing. More checks may be there."""
    now = _checks_of(read(root, "pyproject.toml"))
    for name, command in _checks_of(old_content(root, baseline, "pyproject.toml")).items():
        if now.get(name) != command:
            said = f"is now {str(now[name])!r}" if name in now else "is gone"
            return f"the checks changed: {name}, which was {command!r}, {said}"
    return ""


def is_shared(path: str) -> bool:
    """Whether only the tables of pytest and of the checks count of the file. Below test folders it is data of tests."""
    *folders, name = path.split("/")
    return name in SHARED and TEST_FOLDERS.isdisjoint(folders)


def tables_of(path: str, content: bytes | None) -> str:
    """The tables of pytest in a file that others share, as text to compare; all of it if it cannot be read."""
    text = text_of(content)
    if not path.endswith(".toml"):
        text = "\n".join(text.removeprefix("\ufeff").splitlines())  # as pytest's parser splits it
        return "\n".join(part.strip() for part in _INI_HEADER.split(text) if _INI_OURS.match(part))
    if (document := _toml(text)) is None:
        return text
    return json.dumps(table_at(document, "tool", "pytest"), default=str, sort_keys=True)


def _checks_of(content: bytes | None) -> Mapping[str, Any]:
    """The checks that a ``pyproject.toml`` names, as the settings have them."""
    return table_at(_toml(text_of(content)), "tool", "loop-close", "checks") or DEFAULT


def _toml(text: str) -> object:
    import tomllib  # late, as in many projects there is nothing to read for it

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def table_at(table: object, *keys: str) -> Mapping[str, Any]:
    """The table below these keys; an empty one where there is none."""
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def _patterns(texts: Iterable[str]) -> tuple[str, ...]:
    """The name patterns of test modules in pytest's settings, INI or TOML; not one that matches every module."""
    found = [word for text in texts for match in _FILES.finditer(text) for word in _PATTERN.findall(match[1])]
    return tuple(dict.fromkeys(f"*/{each}" if "/" in each else each for each in found))


# --- contents


def text_of(content: bytes | None) -> str:
    """The content as text; empty for a file that is missing."""
    return (content or b"").decode("utf-8", "replace")


def read(root: Path, path: str, most: float = math.inf) -> bytes | None:
    """The present content of a regular file; None if there is none, or one that has more bytes."""
    with contextlib.suppress(OSError, ValueError):
        status = os.stat(root / path)
        if stat.S_ISREG(status.st_mode) and status.st_size <= most:
            return (root / path).read_bytes()
    return None


# --- taking


def take(root: Path, tree: Tree, runs: Sequence[Run]) -> Baseline:
    """Make the present files the baseline.

    :param runs: results on these files; the newest of each check says which test functions run.
    :raises OSError: when it cannot be kept.
    """
    return _keep(root, msgspec.structs.replace(of_tree(root, tree), functions=functions_of(runs)))


def hold(root: Path, *, keeps: bool = False) -> None:
    """Take the present files as the baseline of a session that begins, and hold it until another one begins.

    :param keeps: the former baseline is held, as while an objection is open.
    :raises OSError: when it cannot be kept. :raises TreeError: when the files cannot be listed.
    """
    before = load(root)
    if before is None or not (keeps or before.is_open):
        tree = take_tree(root, cache=root / files.TREE_CACHE)
        former, before = before, of_tree(root, tree)
        # Test functions run as before, but for those of files that changed, while pytest is configured as before.
        if former is not None and not any(map(is_loaded, other := changed(root, former, tree))):
            before = msgspec.structs.replace(before, functions=_of_other_files(former, other))
    _keep(root, msgspec.structs.replace(before, is_held=True))


def note(root: Path, baseline: Baseline, tree: Tree, runs: Sequence[Run], *, is_open: bool) -> None:
    """Keep what results on these files say.

    :param runs: they say which test functions run, while no file differs.
    :param is_open: there is an objection, which a red run and a lost history do not answer.
    """
    learned, known = functions_of(runs) if not changed(root, baseline, tree) else {}, baseline.functions
    both = {check: {*known.get(check, ()), *learned.get(check, ())} for check in {**known, **learned}}
    functions = {check: tuple(sorted(names)) for check, names in both.items()}
    noted = msgspec.structs.replace(baseline, functions=functions, is_open=is_open)
    if noted != baseline:
        _keep(root, noted)


def accept(root: Path, tree: Tree, paths: Collection[str], runs: Sequence[Run] = ()) -> tuple[str, ...]:
    """Make the present state of some files the baseline. Their test functions are those that ran in the newest results.

    :param tree: the present files.
    :param paths: if they are all that differ, which other functions ran is accepted, too.
    :param runs: the newest results on the present files, oldest first.
    :returns: the files.
    :raises OSError: when it cannot be kept.
    """
    baseline = load(root)
    if baseline is None:
        return ()
    differ = changed(root, baseline, tree)
    accepted = tuple(path for path in differ if path in paths)
    new, ran = of_tree(root, tree), functions_of(runs)
    if accepted != differ:
        listing = {path: digest for path, digest in baseline.files.items() if path not in accepted}
        listing |= {path: digest for path, digest in new.files.items() if path in accepted}
        others = _of_other_files(baseline, accepted)
        ran = {
            check: (*functions, *(each for each in ran.get(check, ()) if file_of(each) in accepted))
            for check, functions in others.items()
        }
        new = msgspec.structs.replace(baseline, files=listing)
    once = tuple(dict.fromkeys((*baseline.accepted, *accepted)))[-_MOST_ACCEPTED:]
    _keep(root, msgspec.structs.replace(new, functions=ran, accepted=once, is_held=baseline.is_held))
    return accepted


def functions_of(runs: Iterable[Run]) -> dict[str, tuple[str, ...]]:
    """The test functions that ran in the newest run of each check, of those whose tests are known."""
    found: dict[str, tuple[str, ...]] = {}
    for run in runs:
        # not a file that could not be collected
        tests = {test_function(test) for test, outcome in run.tests if outcome in _RAN and "::" in test}
        if tests and run.check:
            found[run.check] = tuple(sorted(tests.union(run.started)))
    return found


def _of_other_files(baseline: Baseline, paths: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The test functions of the baseline that are in other files."""
    return {
        check: tuple(each for each in functions if file_of(each) not in paths)
        for check, functions in baseline.functions.items()
    }


def of_tree(root: Path, tree: Tree) -> Baseline:
    """The present files as a baseline that is not kept."""
    configured = [path for path in tree.files if path.rpartition("/")[2] in (*OF_PYTEST, *SHARED)]
    patterns = _patterns(text_of(read(root, path)) for path in configured)
    return Baseline(
        files={path: digest for path, digest in tree.files.items() if is_of_tests(path, patterns)},
        patterns=patterns,
    )


# --- where it is kept


def folder_of(root: Path) -> Path:
    """The folder in the user's state folder; where that cannot be written and no session holds it, below the root."""
    outside = files.outside(root, f"baseline-{digest_of(os.path.realpath(root), size=12)}")
    if outside is not None:
        with contextlib.suppress(OSError):
            above = next(filter(Path.exists, outside.parents))  # the root of the file system at last
            if (above.is_dir() and os.access(above, os.W_OK)) or _index_in(outside).is_held:
                return outside
    return root / files.STATE_FOLDER / "baseline"


def load(root: Path) -> Baseline | None:
    """The project's baseline; None if there is none.

    :raises OSError: when it cannot be read, or is damaged: then the earlier tests are unknown.
    """
    with contextlib.suppress(FileNotFoundError):
        return _index_in(folder_of(root))
    return None


def _index_in(folder: Path) -> Baseline:
    path = folder / _INDEX
    checksum, _, data = path.read_bytes().partition(b"\n")
    with contextlib.suppress(msgspec.MsgspecError):
        if checksum == content_digest(data).encode():
            return msgspec.msgpack.decode(data, type=Baseline)
    raise OSError(f"the baseline of the tests is damaged; a person may delete {path}")


def old_content(root: Path, baseline: Baseline, path: str) -> bytes | None:
    """What a file of the baseline held; None for a file that it does not have, or whose content is not kept."""
    if (digest := baseline.files.get(path)) is None:
        return None
    with contextlib.suppress(OSError):
        content = (folder_of(root) / _name(digest)).read_bytes()
        if content_digest(content) == _name(digest):
            return content
    return None


def _name(digest: str) -> str:
    """The name of a content: digests of links and executables have more than that."""
    return digest.rpartition(">")[2].removesuffix("+x")


def _keep(root: Path, baseline: Baseline) -> Baseline:
    folder = folder_of(root)
    if folder.is_relative_to(root):
        files.state_folder(root)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locked(folder / "lock", 5.0):
        # First: a hook that is ended before all contents are kept leaves a baseline.
        data = msgspec.msgpack.encode(baseline)
        files.write_bytes(folder / _INDEX, content_digest(data).encode() + b"\n" + data)
        names = {_name(digest): path for path, digest in baseline.files.items()}
        there = set(os.listdir(folder))
        for name in names.keys() - there:
            found = read(root, names[name], LARGEST)
            # What changed meanwhile is not what the tree has; it shows as missing when it is needed.
            if found is not None and content_digest(found) == name:
                files.write_bytes(folder / name, found)
        for name in there - names.keys() - {_INDEX, "lock"}:
            with contextlib.suppress(OSError):
                os.unlink(folder / name)
    return baseline


def missing(baseline: Baseline, run: Run) -> Iterator[str]:
    """What of the baseline did not run: test functions that are gone, skipped or expected to fail; command lines."""
    ran = {test_function(test) for test, outcome in run.tests if outcome in (*_RAN, "xpassed")}
    ran.update(run.started)
    yield from (each for each in baseline.functions.get(run.check, ()) if each not in ran)
