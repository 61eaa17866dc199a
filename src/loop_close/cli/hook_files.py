"""A project's files as they are when the hook is asked, in the time that it has."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from loop_close.workspace.scan import Entry, take, take_known

#: So many changed files are read, those that were written last: after a checkout there are thousands.
MOST_READ = 500
LISTED = "//listed"
_ABOVE = "../"

Known = Mapping[str, tuple[int, int, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """The files as they are.

    :ivar entries: size, time and digest by path; None where they are not all known, or listed in another way than they
        were when they were last known.
    :ivar contents: of files that are new or changed, by digest.
    :ivar in_doubt: files of the same size as known that were written since, and not read for want of time.
    """

    entries: Mapping[str, Entry] | None
    contents: Mapping[str, bytes]
    in_doubt: Collection[str]

    def state(self) -> str:
        """A digest of them all; empty where they are not known."""
        from loop_close.snapshot import digest_of  # late: most often nobody asks

        return digest_of(self.entries or {})


def files_now(root: Path, known: Known, leave_out: Collection[str]) -> Files:
    """Look at the files below the root, and at those outside of it that are known.

    :param known: as they were when they were last taken down.
    :param leave_out: paths that are no part of the program.
    """
    before = {path: Entry._make(entry) for path, entry in known.items()}
    outside = {path: entry for path, entry in before.items() if path.startswith(_ABOVE)}
    seen = take(root, before, leave_out=leave_out, most=MOST_READ)
    listed = known.get(LISTED)
    if seen.problem or listed is None or listed[2] != seen.listed_by:
        return Files(entries=None, contents={}, in_doubt=())
    entries, contents = dict(seen.entries), dict(seen.contents)
    if outside:
        entries |= _outside(root, outside, contents)
    doubted = (path for path in seen.unread if path in before and before[path].size == entries[path].size)
    return Files(entries=entries, contents=contents, in_doubt=frozenset(doubted))


def _outside(root: Path, known: Mapping[str, Entry], contents: dict[str, bytes]) -> dict[str, Entry]:
    """Those outside as they are, by their paths from the root; new ones are not found. Puts contents to the others."""
    root = Path(os.path.realpath(root))
    levels = min(max(_levels(path) for path in known), len(root.parents))
    top = root.parents[levels - 1] if levels else root
    down = root.relative_to(top).parts
    below = {"/".join((*down[: levels - _levels(path)], path[3 * _levels(path) :])): path for path in known}
    seen = take_known(top, {name: known[path] for name, path in below.items()}, most=MOST_READ)
    contents |= seen.contents
    found = {below[name]: entry for name, entry in seen.entries.items()}
    return found or dict(
        known
    )  # they are gone all at once where the root was moved: of that nobody knows anything


def _levels(path: str) -> int:
    """How many folders it goes up."""
    parts = path.split("/")
    return next((at for at, part in enumerate(parts) if part != os.pardir), len(parts))
