"""Which of a project's files were edited since its last run, as far as that can be told at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from loop_close import files
from loop_close.cli.memory import Remembered
from loop_close.cli.place import Place
from loop_close.look import Look, look

_CODE = (".py", ".pyi")
_CONFIGURATION = ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini")
# With more the sources are not compared: a checkout of another branch is an edit anyway.
_COMPARED = 20

_Entries = Mapping[str, tuple[int, int, str]]
#: Path, and digests before and after; None where there is no file.
_Change = tuple[str, str | None, str | None]


def edited_since(place: Place, memory: Remembered) -> tuple[tuple[str, ...] | None, str]:
    """The files whose meaning is another than what the last run saw, and a digest of the code as it is.

    Python files and the configuration of tests count; comments, formatting and docstrings do not.

    :returns: None in the place of the files where they are not all known.
    """
    known = memory.files()
    ours = (place.settings.file, place.settings.json, f"{files.STATE_FOLDER}/")
    seen = look(place.root, _below(known), [path for path in ours if path])
    if seen.entries is None or not known:
        return None, seen.code()
    changed = _changed(known, seen.entries)
    if len(changed) <= _COMPARED and not _is_effective(changed, memory, seen):
        changed = []
    return tuple(path for path, _, _ in changed), seen.code()


def _below(known: _Entries) -> _Entries:
    return {path: entry for path, entry in known.items() if not path.startswith("../")}


def _changed(known: _Entries, now: _Entries) -> list[_Change]:
    before = _below(known)
    found = []
    for path in sorted(before.keys() | now.keys()):
        old, new = (entries[path][2] if path in entries else None for entries in (before, now))
        if old != new and _counts(path):
            found.append((path, old, new))
    return found


def _counts(path: str) -> bool:
    return path.endswith(_CODE) or path in _CONFIGURATION


def _is_effective(changed: list[_Change], memory: Remembered, seen: Look) -> bool:
    from loop_close.workspace.edits import Changed, edits_of  # late: most often nothing was edited

    def content(digest: str) -> bytes | None:
        return seen.contents.get(digest) or memory.content(digest)

    found = [Changed(path=path, before=before, after=after) for path, before, after in changed]
    return edits_of(found, content).kind == "effective"


def prompt_text(path: Path | None, limit: int) -> str:
    """The beginning of the prompt, in bytes at most; empty where there is none."""
    if path is None:
        return ""
    try:
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""
