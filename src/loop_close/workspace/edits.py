"""Say what was edited between two looks at a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loop_close.conventions import is_test_file
from loop_close.memory import Edit, EditKind, Edits
from loop_close.syntax.meaning import Part
from loop_close.workspace.compare import Changed, Content, Difference, differences
from loop_close.workspace.diffs import diff_of
from loop_close.workspace.moves import with_moves
from loop_close.workspace.scan import Entry

__all__ = ["Changed", "changed", "edits_of"]

MAX_EDITS = 40
MAX_DIFFS = 12
_ABSTRACT = {"@abstractmethod", "@abc.abstractmethod"}


def changed(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> tuple[Changed, ...]:
    """The files whose content differs, those that are new, and those that are gone, by path."""
    found = []
    for path in before.keys() | after.keys():
        digests = [entries[path].digest if path in entries else None for entries in (before, after)]
        if digests[0] != digests[1]:
            found.append(Changed(path=path, before=digests[0], after=digests[1]))
    return tuple(sorted(found, key=lambda change: change.path))


def edits_of(changed: Sequence[Changed], content: Content) -> Edits:
    """What was edited in the files that changed.

    Both versions are read by this process: another Python's digests of the same source would be others.

    :param content: what a digest stands for, None where it was not kept; the file is then one edit.
    :returns: at most 40 edits, in the order of files and lines, effective ones first; never ``unknown``.
    """
    if not changed:
        return Edits(kind="none")
    found = sorted(with_moves(differences(changed, content)), key=_importance)
    kind: EditKind = "effective" if any(difference.is_effective for difference in found) else "ineffective"
    kept = [(difference, at < MAX_DIFFS) for at, difference in enumerate(found[:MAX_EDITS])]
    kept.sort(key=lambda item: (not item[0].is_effective, *_place(item[0])))
    edits = tuple(_edit(difference, has_diff=has_diff) for difference, has_diff in kept)
    return Edits(kind=kind, edits=edits, omitted=len(found) - len(edits))


def edited_functions(changed: Sequence[Changed], content: Content) -> set[tuple[str, str]] | None:
    """The functions and methods of these Python files that were edited, added or moved and are there now.

    Comments, formatting and docstrings are no edit. What has no body of its own (``...``, an abstract method) is left
    out, and so are the bodies of classes and modules.

    :returns: as (file, qualified name); None where a file could not be compared function by function.
    """
    found = set()
    for difference in with_moves(differences(changed, content)):
        part = difference.new
        if part is None or not difference.is_effective:
            continue
        if not part.name and part.size:
            return None
        if part.is_function and not _is_abstract(part):
            found.add((difference.path_after or difference.path, part.name))
    return found


def _is_abstract(part: Part) -> bool:
    lines = [line.strip() for line in part.source if line.strip()]
    last = lines[-1] if lines else ""
    return last == "..." or last.endswith(": ...") or not _ABSTRACT.isdisjoint(lines)


def _importance(difference: Difference) -> tuple[bool, bool, bool, str, int, str]:
    """What has to be known first: a test that was taken out, then code, then tests."""
    is_test = is_test_file(difference.path)
    is_gone = is_test and difference.change == "removed"
    return (not difference.is_effective, not is_gone, is_test, *_place(difference))


def _place(difference: Difference) -> tuple[str, int, str]:
    return difference.path, difference.part.start, difference.part.name


def _edit(difference: Difference, *, has_diff: bool) -> Edit:
    old, new = difference.old, difference.new
    is_moved = difference.change == "moved"
    diff = ""
    if has_diff and difference.is_effective and not is_moved:
        diff = diff_of(old.source if old else (), new.source if new else ())
    return Edit(
        file=difference.path,
        function=(old or difference.part).name,
        change=difference.change,
        is_effective=difference.is_effective,
        moved_to=(difference.path_after, difference.part.name) if is_moved else ("", ""),
        diff=diff,
    )
