"""A snapshot of the project's files before a run: what is kept of it, and what was edited since the run before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeGuard

from loop_close import files
from loop_close.conventions import PYTHON, is_configuration
from loop_close.lazy import NamedTuple
from loop_close.outputs import OUTPUT

if TYPE_CHECKING:
    from loop_close.calls import Calls
    from loop_close.memory import Edit, Edits, Episode
    from loop_close.model import EditsRun, OtherRun
    from loop_close.store import Changes, LastRun, RunHandle
    from loop_close.store.sqlite import SqliteHistory


#: Names of prompts and reports of loop-close, as other commands may have set them.
_WRITTEN = (".json", ".md")
#: In the place of a file: what listed them. git leaves out what it ignores, so lists of two kinds say nothing.
_LISTED = "//listed"
#: So many functions that no test ran are named.
_MOST_NOT_RUN = 40
#: The last rows of a source, among which one has ended.
_LAST, _ALL = 5, -1


class FileSnapshot(NamedTuple):
    """The files as they were when the run began.

    :ivar entries: size, time and digest by path; None if they are not all known.
    :ivar contents: of files that are new or changed, by digest.
    :ivar written: when data that is new or changed was last written, in seconds since 1970.
    """

    entries: Mapping[str, tuple[int, int, str]] | None
    contents: Mapping[str, bytes]
    written: Mapping[str, float]

    def code(self) -> str:
        """A digest of the Python files, equal when the code is that of an earlier run; empty when not known."""
        return digest_of({name: e for name, e in (self.entries or {}).items() if name.endswith(PYTHON)})


def tree_of(entries: Mapping[str, tuple[int, int, str]] | None) -> str:
    """A digest of the files below the root, the same on every machine with these files; empty when not known."""
    found = (entries or {}).items()
    own = {p: e for p, e in found if p != _LISTED and p[:3] != "../" and e[2] != OUTPUT}
    return digest_of(own)


def digest_of(entries: Mapping[str, tuple[int, int, str]]) -> str:
    """A digest of files by path and content, equal when they are the same; empty when there are none."""
    from loop_close.text import digest

    lines = sorted(f"{name}\0{entry[2]}" for name, entry in entries.items())
    return digest("\n".join(lines)) if lines else ""


def take_snapshot(
    root: Path,
    known: Mapping[str, tuple[int, int, str]],
    leave_out: Collection[str],
    extra_roots: Collection[Path] = (),
) -> FileSnapshot:
    """Look at the files below the root; those that are as they are known are not read.

    :param leave_out: paths that are not part of the program, such as what we write.
    :param extra_roots: folders outside of the root that the program is imported from; their files go by ``../``.
    """
    found = _snapshot_of(root, known, leave_out)
    for folder in extra_roots:
        found = _with_beside(found, root, folder, known)
    return found


def _snapshot_of(
    root: Path, known: Mapping[str, tuple[int, int, str]], leave_out: Collection[str]
) -> FileSnapshot:
    from loop_close.workspace import FileEntry, take

    before = {name: FileEntry(*entry) for name, entry in known.items()}
    seen = take(root, before, leave_out=leave_out)
    changed = [name for name, entry in seen.entries.items() if before.get(name) != entry]
    ours = {name for name in changed if name.endswith(_WRITTEN) and files.is_ours(root / name)}
    entries = {
        **{n: e for n, e in seen.entries.items() if n not in ours},
        _LISTED: FileEntry(size=0, mtime_ns=0, digest=seen.listed_by),
    }
    return FileSnapshot(
        entries=None if seen.problem else entries,
        contents=seen.contents,
        written=_written(root, changed),
    )


def _with_beside(
    found: FileSnapshot, root: Path, folder: Path, known: Mapping[str, tuple[int, int, str]]
) -> FileSnapshot:
    """The look with the Python files of another folder; without them where they are not all known."""
    prefix = f"{PurePath(os.path.relpath(folder, root)).as_posix()}/"
    below = f"{PurePath(os.path.relpath(root, folder)).as_posix()}/"  # the root itself, where it lies in the folder
    before = {n.removeprefix(prefix): e for n, e in known.items() if n.startswith(prefix)}
    seen = _snapshot_of(folder, before, (below,))
    if found.entries is None or seen.entries is None:
        return found
    more = {f"{prefix}{n}": e for n, e in seen.entries.items() if n.endswith(PYTHON)}
    return FileSnapshot(
        entries={**more, **found.entries},
        contents={**seen.contents, **found.contents},
        written=found.written,
    )


def _written(root: Path, names: Iterable[str]) -> dict[str, float]:
    found = {}
    for name in names:
        if not name.endswith(PYTHON):
            with contextlib.suppress(OSError):
                found[name] = (root / name).lstat().st_mtime
    return found


def edits_since(history: SqliteHistory, begun: RunHandle, seen: FileSnapshot) -> Edits:
    """What was edited since the run before, without the data that the tests wrote while that run went on."""
    from loop_close.memory import Edits

    changes = history.changes_since_last(begun)
    if not _are_comparable(changes):
        return Edits()
    return _edits(history, changes, seen, [history.window_before(begun)])


def since_green(
    history: SqliteHistory, begun: RunHandle, seen: FileSnapshot, episode: Episode
) -> tuple[int, Edits | None]:
    """How the files of a run that is not green differ from those of the green run before its episode.

    :param episode: with this run as its last step.
    :returns: the number of the green run, and the edits; 0 and None if it is unknown.
    """
    from loop_close.progress.compare import selections_of_green

    found = history.since_green(begun, episode.first, selections_of_green(episode))
    if found is None or not _are_comparable(found.changes):
        return 0, None
    if len(found.windows) == 1 and found.changes == history.changes_since_last(begun):
        edits = episode.steps[-1].edits  # the green run is the one before: that was compared already
    else:
        edits = _edits(history, found.changes, seen, found.windows)
    return found.run, replace(edits, edits=tuple(sorted(edits.edits, key=_code_first)))


def _code_first(edit: Edit) -> tuple[bool, bool, bool]:
    """What took effect before what did not; then code under test, other files, tests."""
    from loop_close.conventions import is_test_file

    return not edit.is_effective, is_test_file(edit.file), not edit.file.endswith(PYTHON)


def _due_again(history: SqliteHistory, root: Path, seen: FileSnapshot, others: Sequence[LastRun]) -> set[str]:
    """The environments that were green in this loop before the last edit of code or of pytest's configuration."""
    from loop_close.project_files import runs_environments
    from loop_close.union import COMPARED, LOOKS, due

    green = {last.source: last for last in others if last.verdict == "green" and ":" in last.source}
    if not green or not runs_environments(root):
        return set()
    found: dict[Changes, bool] = {}
    again = set()
    for name in due(history.looks(LOOKS)) & green.keys():
        changes, windows = green[name].changes, green[name].windows
        if changes is None:
            continue
        kept = tuple(each for each in changes if each[0].endswith(PYTHON) or is_configuration(each[0]))
        if kept not in found:
            found[kept] = len(kept) > COMPARED or _edits(history, kept, seen, windows).kind == "effective"
        again |= {name} if found[kept] else set()
    return again


def last_runs_of_others(
    history: SqliteHistory, root: Path, begun: RunHandle, seen: FileSnapshot
) -> tuple[OtherRun, ...]:
    """The last run of each other source that counts, and whether it is one of the files as this run saw them."""
    from loop_close.memory import MERGED
    from loop_close.model import OtherRun

    others = history.others(begun)
    merge, left_out = None, {MERGED}
    again = _due_again(history, root, seen, others)
    if any(last.verdict != "green" or last.source.startswith(("tox:", "nox:")) for last in others):
        from loop_close.union import open_merge, setup_of, superseded

        names = [begun.source, *(last.source for last in others)]
        most = _ALL if MERGED in names else _LAST
        rows = {name: history.runs(name, most) for name in names}
        done = {name: row for name in names for row in rows[name] if row.state == "done"}
        left_out |= superseded(
            {name: (row.ended or row.started, setup_of(row.summary)) for name, row in done.items()}
        )
        accepted = history.accepted() if MERGED in names else ()
        merge = open_merge(names, rows.__getitem__, lambda name: history.recorded(name, _ALL), accepted)
        left_out -= {MERGED} if merge is not None else set()
    return tuple(
        OtherRun(
            source=last.source,
            run=last.number,
            verdict=last.verdict,
            is_current=_are_comparable(last.changes) and not _edited(last.changes, seen, last.windows),
            is_due=last.source in again,
            left=merge.sources if merge is not None and last.source == MERGED else (),
        )
        for last in others
        if last.source not in left_out
    )


def edits_run(history: SqliteHistory, begun: RunHandle, calls: Calls) -> tuple[int, EditsRun | None]:
    """Which functions the tests of a green run ran, of those edited since the last green run of all tests.

    Where there was none before, the source's previous run takes its place. Where no test of that green run ran some of
    what had been edited, and no code was edited since, this run is compared with what that one was compared with.

    :param calls: of a run of all tests, which the monitor saw as a whole.
    :returns: the number of the green run, 0 for none, and the functions; None if it is unknown what was edited, or
        where tests run in processes that the monitor does not see.
    """
    from loop_close.conventions import is_under_test
    from loop_close.model import EditsRun
    from loop_close.store.project import is_code_changed
    from loop_close.workspace.edits import Changed, edited_functions

    green = history.since_green(begun, begun.number, ("",))
    if green is not None and green.not_run_since and not is_code_changed(green.changes):
        green = history.since_green(begun, green.not_run_since + 1, ("",))
    changes = history.changes_since_last(begun) if green is None else green.changes
    if not _are_comparable(changes) or not any(each.passed for each in calls.functions):
        return 0, None
    code = [Changed(path=p, before=b, after=a) for p, b, a in changes if is_under_test(p)]
    edited = edited_functions(code, history.content)
    if edited is None:
        return 0, None
    ran = {(each.file, each.function) for each in calls.functions}
    not_run = sorted(edited - ran)
    kept = tuple(not_run[:_MOST_NOT_RUN])
    ran_of_them = EditsRun(edited=len(edited), not_run=kept, omitted=len(not_run) - len(kept))
    return green.run if green is not None else 0, ran_of_them


def _are_comparable(changes: Changes | None) -> TypeGuard[Changes]:
    """Whether it is known what changed, in files that were listed in the same way."""
    return changes is not None and not any(path.endswith(_LISTED) for path, _, _ in changes)


def _edits(
    history: SqliteHistory, changes: Changes, seen: FileSnapshot, windows: Collection[tuple[float, float]]
) -> Edits:
    """What was edited, without the data that was last written in one of these times."""
    from loop_close.memory import Edits
    from loop_close.workspace.edits import Changed, edits_of

    edited = _edited(changes, seen, windows)
    if not edited:
        return Edits(kind="none")
    return edits_of([Changed(path=p, before=b, after=a) for p, b, a in edited], history.content)


def _edited(changes: Changes, seen: FileSnapshot, windows: Collection[tuple[float, float]]) -> Changes:
    """The changes but for data that tests wrote, the output of commands, and new files without content.

    A shell makes such a file for the output of a command to come.
    """
    return tuple(
        (path, before, after)
        for path, before, after in changes
        if OUTPUT not in (before, after)
        and not _is_by_tests(path, seen, windows)
        and not (
            before is None and seen.entries is not None and path in seen.entries and not seen.entries[path][0]
        )
    )


def _is_by_tests(path: str, seen: FileSnapshot, windows: Collection[tuple[float, float]]) -> bool:
    if path.endswith(PYTHON):
        return False
    time = seen.written.get(path)
    if time is None and seen.entries is not None and path in seen.entries:
        time = seen.entries[path][1] / 1e9  # it is as it was in an earlier run
    return time is not None and any(first <= time <= last for first, last in windows)
