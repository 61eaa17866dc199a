"""Which of a project's files were edited since its tests ran, as far as that can be told at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from loop_close import files
from loop_close.cli.memory import Remembered
from loop_close.cli.place import Place
from loop_close.look import Look, look
from loop_close.store.runs import Look as RunLook

_CODE = (".py", ".pyi")
_CONFIGURATION = ("pyproject.toml", "pytest.ini", ".pytest.ini", "setup.cfg", "tox.ini")
_LISTED = "//listed"
# With more the sources are not compared: a checkout of another branch is an edit anyway.
_COMPARED = 100

_Entries = Mapping[str, tuple[int, int, str]]
#: Path, and digests before and after; None where there is no file.
_Change = tuple[str, str | None, str | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edited:
    """What was edited.

    :ivar paths: the files whose meaning is another now; None where they are not all known.
    :ivar state: a digest of all files as they are.
    """

    paths: tuple[str, ...] | None
    state: str


def edited_since(place: Place, memory: Remembered, run: RunLook | None, later: Iterable[RunLook]) -> Edited:
    """The files whose meaning is another than what a run saw.

    Python files and the configuration of tests count; comments, formatting and docstrings do not, and neither does
    what was written while tests ran.

    :param run: the run to compare with; ``later``: it and those since.
    """
    known = memory.files()
    seen = look(place.root, _below(known), _ours(place))
    if seen.entries is None or run is None or not known or known.get(_LISTED) != seen.entries.get(_LISTED):
        return Edited(paths=None, state=seen.state())
    since = memory.changes_since(run.snapshot)
    if since is None:
        return Edited(paths=None, state=seen.state())
    before = {path: entry[2] for path, entry in _below(known).items()}
    for path, old, _ in since:
        before[path] = old or ""
    changed = [
        each for each in _changed(before, seen.entries) if not _is_by_tests(place.root, each[0], later)
    ]
    return Edited(paths=_effective(changed, memory, seen), state=seen.state())


def _ours(place: Place) -> list[str]:
    return [path for path in (place.settings.file, place.settings.json, f"{files.STATE_FOLDER}/") if path]


def _below(known: _Entries) -> _Entries:
    return {path: entry for path, entry in known.items() if not path.startswith("../")}


def _changed(before: Mapping[str, str], now: _Entries) -> list[_Change]:
    found = []
    for path in sorted(before.keys() | now.keys()):
        old, new = before.get(path) or None, now[path][2] if path in now else None
        if old != new and _counts(path):
            found.append((path, old, new))
    return found


def _counts(path: str) -> bool:
    return path.endswith(_CODE) or path.rpartition("/")[2] in _CONFIGURATION


def _is_by_tests(root: Path, path: str, runs: Iterable[RunLook]) -> bool:
    """Whether it was last written while tests ran."""
    try:
        written = (root / path).lstat().st_mtime
    except OSError:
        return False
    return any(first <= written <= last for first, last in (run.window for run in runs))


def _effective(changed: list[_Change], memory: Remembered, seen: Look) -> tuple[str, ...]:
    """Those that differ in more than comments, formatting and docstrings."""
    if not changed or len(changed) > _COMPARED:
        return tuple(path for path, _, _ in changed)
    from loop_close.workspace.edits import Changed, edits_of  # late: most often nothing was edited

    def content(digest: str) -> bytes | None:
        return seen.contents.get(digest) or memory.content(digest)

    found = edits_of(
        [Changed(path=path, before=before, after=after) for path, before, after in changed], content
    )
    return tuple(dict.fromkeys(edit.file for edit in found.edits if edit.is_effective))
