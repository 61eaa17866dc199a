"""Which of a project's files were edited since its tests ran, as far as that can be told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loop_close import files
from loop_close.cli.hook_files import LISTED, Files, Known, files_now
from loop_close.cli.memory import Remembered
from loop_close.cli.place import Place
from loop_close.conventions import is_configuration
from loop_close.store.runs import Look as RunLook
from loop_close.workspace.scan import Entry

_CODE = (".py", ".pyi")
# With more the sources are not compared: a checkout of another branch is an edit anyway.
_COMPARED = 100

#: Path, and digests before and after; None where there is no file.
_Change = tuple[str, str | None, str | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edited:
    """What was edited.

    :ivar paths: the files whose meaning is another now; None where they are not all known.
    :ivar state: gives a digest of all files as they are; most often nobody asks.
    """

    paths: tuple[str, ...] | None
    state: Callable[[], str]


def edited_since(place: Place, memory: Remembered, run: RunLook | None, later: Sequence[RunLook]) -> Edited:
    """The files whose meaning is another than what a run saw.

    Python files and the configuration of tests count; comments, formatting and docstrings do not, and neither does
    what was written while tests ran.

    :param run: the run to compare with; ``later``: it and those since.
    """
    known = memory.files()
    now = files_now(place.root, known, _ours(place))
    before = _before(known, memory, run)
    if now.entries is None or before is None:
        return Edited(paths=None, state=now.state)
    changed = [
        each
        for each in _changed(before, now.entries)
        if each[0] not in now.in_doubt and not _is_by_tests(place.root, each[0], now.entries, later)
    ]
    paths = _effective(changed, memory, now)
    return Edited(paths=None if now.in_doubt and not paths else paths, state=now.state)


def _ours(place: Place) -> list[str]:
    return [path for path in (place.settings.file, place.settings.json, f"{files.STATE_FOLDER}/") if path]


def _before(known: Known, memory: Remembered, run: RunLook | None) -> dict[str, str | None] | None:
    """Digests as the run saw them, None for no file; None where they are not known."""
    since = memory.changes_since(run.snapshot) if run is not None and known else None
    if since is None:
        return None
    before: dict[str, str | None] = {path: entry[2] for path, entry in known.items() if path != LISTED}
    before.update((path, old) for path, old, _ in since)
    return before


def _changed(before: Mapping[str, str | None], now: Mapping[str, Entry]) -> list[_Change]:
    return sorted(each for each in _differing(before, now) if _counts(each[0]))


def _differing(before: Mapping[str, str | None], now: Mapping[str, Entry]) -> Iterator[_Change]:
    for path, entry in now.items():
        if before.get(path) != entry.digest:
            yield path, before.get(path), entry.digest
    for path in before.keys() - now.keys():
        if before[path] is not None:
            yield path, before[path], None


def _counts(path: str) -> bool:
    return path.endswith(_CODE) or is_configuration(path)


def _is_by_tests(root: Path, path: str, now: Mapping[str, Entry], runs: Iterable[RunLook]) -> bool:
    """Whether it was last written while tests ran."""
    if path not in now:
        return False
    written = now[path].mtime_ns / 1e9
    if written < 0:  # it says nothing
        try:
            written = (root / path).lstat().st_mtime
        except OSError:
            return False
    return any(first <= written <= last for first, last in (run.window for run in runs))


def _effective(changed: list[_Change], memory: Remembered, now: Files) -> tuple[str, ...]:
    """Those that differ in more than comments, formatting and docstrings."""
    if not changed or len(changed) > _COMPARED:
        return tuple(path for path, _, _ in changed)
    from loop_close.workspace.edits import Changed, edits_of  # late: most often nothing was edited

    def content(digest: str) -> bytes | None:
        return now.contents.get(digest) or memory.content(digest)

    found = edits_of(
        [Changed(path=path, before=before, after=after) for path, before, after in changed], content
    )
    return tuple(dict.fromkeys(edit.file for edit in found.edits if edit.is_effective))
