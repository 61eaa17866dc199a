"""One look at the project's files before a run: what is kept of it, and what was edited since the run before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loop_close.memory import Edits
    from loop_close.store.contract import Begun
    from loop_close.store.sqlite import SqliteHistory

_PYTHON = (".py", ".pyi")
#: In the place of a file: what listed them. git leaves out what it ignores, so lists of two kinds say nothing.
_LISTED = "//listed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """The files as they were when the run began.

    :ivar entries: size, time and digest by path; None where they are not all known.
    :ivar contents: of files that are new or changed, by digest.
    :ivar written: when data that is new or changed was last written, in seconds since 1970.
    """

    entries: Mapping[str, tuple[int, int, str]] | None
    contents: Mapping[str, bytes]
    written: Mapping[str, float]

    def code(self) -> str:
        """A digest of the Python files, equal when the code is that of an earlier run; empty when not known."""
        return digest_of({name: e for name, e in (self.entries or {}).items() if name.endswith(_PYTHON)})


def digest_of(entries: Mapping[str, tuple[int, int, str]]) -> str:
    """A digest of files by path and content, equal when they are the same; empty when there are none."""
    from hashlib import blake2b

    lines = sorted(f"{name}\0{entry[2]}" for name, entry in entries.items())
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=8).hexdigest() if lines else ""


def look(
    root: Path,
    known: Mapping[str, tuple[int, int, str]],
    leave_out: Collection[str],
    beside: Collection[Path] = (),
) -> Look:
    """Look at the files below the root; those that are as they are known are not read.

    :param leave_out: paths that are no part of the program, such as what we write.
    :param beside: folders outside of the root that the program is imported from; their files go by ``../``.
    """
    found = _look(root, known, leave_out)
    for folder in beside:
        found = _with_beside(found, root, folder, known)
    return found


def _look(root: Path, known: Mapping[str, tuple[int, int, str]], leave_out: Collection[str]) -> Look:
    from loop_close.workspace.scan import Entry, take

    before = {name: Entry(*entry) for name, entry in known.items()}
    seen = take(root, before, leave_out=leave_out)
    changed = (name for name, entry in seen.entries.items() if before.get(name) != entry)
    entries = {**seen.entries, _LISTED: Entry(size=0, mtime_ns=0, digest=seen.listed_by)}
    return Look(
        entries=None if seen.problem else entries,
        contents=seen.contents,
        written=_written(root, changed),
    )


def _with_beside(found: Look, root: Path, folder: Path, known: Mapping[str, tuple[int, int, str]]) -> Look:
    """The look with the Python files of another folder; without them where they are not all known."""
    prefix = f"{PurePath(os.path.relpath(folder, root)).as_posix()}/"
    below = f"{PurePath(os.path.relpath(root, folder)).as_posix()}/"  # the root itself, where it lies in the folder
    before = {n.removeprefix(prefix): e for n, e in known.items() if n.startswith(prefix)}
    seen = _look(folder, before, (below,))
    if found.entries is None or seen.entries is None:
        return found
    more = {f"{prefix}{n}": e for n, e in seen.entries.items() if n.endswith(_PYTHON)}
    return Look(
        entries={**more, **found.entries},
        contents={**seen.contents, **found.contents},
        written=found.written,
    )


def _written(root: Path, names: Iterable[str]) -> dict[str, float]:
    found = {}
    for name in names:
        if not name.endswith(_PYTHON):
            with contextlib.suppress(OSError):
                found[name] = (root / name).lstat().st_mtime
    return found


def edits_since(history: SqliteHistory, begun: Begun, seen: Look) -> Edits:
    """What was edited since the run before, without the data that the tests wrote while that run went on."""
    from loop_close.memory import Edits

    changes = history.changes_since_last(begun)
    if changes is None:
        return Edits()
    if any(path.endswith(_LISTED) for path, _, _ in changes):
        return Edits()
    first, last = history.window_before(begun)
    by_tests = {name for name, time in seen.written.items() if first <= time <= last}
    edited = [change for change in changes if change[0] not in by_tests]
    if not edited:
        return Edits(kind="none")
    from loop_close.workspace.edits import Changed, edits_of

    return edits_of([Changed(path=p, before=b, after=a) for p, b, a in edited], history.content)
