"""State of a project: its sources after their last run, and what was edited since."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from loop_close import files
from loop_close.agent.guard import needs_run
from loop_close.cli.project import Project
from loop_close.cli.recorded import Summary, changed_before, read, shown, summary_of
from loop_close.conventions import PYTHON, is_configuration
from loop_close.lazy import dataclass
from loop_close.memory import MERGED, TAMPERING, TESTS, ChangedTest
from loop_close.project_files import runs_environments
from loop_close.store import RunRow
from loop_close.store.reader import HistoryReader
from loop_close.store.runs import RunWindow, known_by
from loop_close.text import listed
from loop_close.union import COMPARED, LOOKS, OpenMerge, due, open_merge, setup_of, superseded
from loop_close.workspace import FileEntry, take, take_known

# With a command that chooses tests itself, no run is of all of them.
_CHOOSES = re.compile(r"\s-[km]\b|::|\s--(?:deselect|ignore)")
_MOST_NAMED = 5
_WORST = ("green", "failing", "stuck")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectState:
    """What is known.

    :ivar standing: of the source that decides: the worst of those that ran on the last state of the files.
    :ivar is_complete: its last run that ended ended by itself, and all tests were meant to run.
    :ivar is_running: that source, or a run of tests, is under way.
    :ivar edited: since all tests ran; ``is_seen``: the last run, of some of them or cut short, saw the files as they
        are.
    :ivar latest: the source and number of the last run that ended, of whichever source.
    :ivar tests: what was done to tests, by the last runs of the source that decides.
    :ivar known: the last run as it can be known again; ``has_known``: the history has the one that was known before.
    :ivar finished: the last run of each source that ended, as it can be known again.
    :ivar due: environments that passed in this loop, where one of them has not seen the last edit.
    :ivar green: those of the required sources whose last run was green, and of all tests, on the files as they are.
    """

    standing: SourceStatus
    is_complete: bool
    is_running: bool
    edited: Edited
    is_seen: bool
    latest: str
    tests: tuple[ChangedTest, ...] = ()
    known: str = ""
    has_known: bool = True
    finished: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    green: tuple[str, ...] = ()

    @property
    def is_stale(self) -> bool:
        """Whether a run has to come first."""
        is_red = self.standing.verdict != "green" and not self.is_partly_green
        return needs_run(self.edited.paths, is_red=is_red, is_seen=self.is_seen)

    @property
    def is_partly_green(self) -> bool:
        """Whether no test failed that ran: those that are known to fail were left out."""
        summary = self.standing.summary
        return 0 < (summary.failing or 0) == summary.counts.get("not_run", 0)


def load_state(project: Project, history: HistoryReader, known: str = "") -> ProjectState:
    """Read the history and the files.

    :param known: a run that was seen before; empty for none.
    """
    looks = _looks(history)
    found = source_statuses(project, history)
    decides = _deciding(found, looks)
    edited, is_seen = _edited_since_tests(project, history, looks, _files(project, history))
    return ProjectState(
        standing=decides,
        is_complete=decides.last.state != "killed"
        and any(
            each.is_full
            for each in looks
            if decides.finished is not None
            and (each.source, each.number) == (decides.last.source, decides.finished.number)
        ),
        is_running=any(
            each.last.state == "running"
            for each in found
            if each is decides or each.last.source.startswith(TESTS)
        ),
        edited=edited,
        is_seen=is_seen,
        latest=f"{looks[0].source} {looks[0].number}" if looks else "",
        tests=decides.summary.tests or changed_before(history, decides.last.source),
        known=known_by(looks[0].source, looks[0].number, looks[0].window[0]) if looks else "",
        has_known=not known or history.has_run(known),
        finished=tuple(known_again(each.finished) for each in found if each.finished is not None),
        due=tuple(_due(project.root, looks)) if is_seen and edited.paths else (),
        green=tuple(_green(project.settings.required, found, history, edited)),
    )


def _green(
    required: Sequence[str], found: Sequence[SourceStatus], history: HistoryReader, edited: Edited
) -> Iterator[str]:
    """The required sources that this machine knows to be green on the files as they are."""
    for each in found:
        if each.last.source in required and each.verdict == "green" and each.last is each.finished:
            run = history.recorded(each.last.source, 1)[-1]
            if run.is_full and run.tree and run.tree == edited.tree():
                yield each.last.source


def missing_sources(project: Project, seen: ProjectState) -> tuple[str, str]:
    """The required sources that are not known to be green on these files, here or on another machine, in words.

    :returns: a sentence without its end, empty for none; and why nothing is known of them: then the work may end.
    """
    missing = [source for source in project.settings.required if source not in seen.green]
    tree = seen.edited.tree() if missing and not seen.edited.paths else ""
    if not tree:
        return "", ""
    url = files.shared_history(project.settings)
    if url:
        from loop_close.sharing import Sharing  # late: most projects share nothing

        sharing = Sharing(url, project.root, project.settings.shared)
        green = sharing.green_sources(tree, missing)
        sharing.close()
        if sharing.note:
            why = sharing.note.partition(";")[0]
            return "", f"{why}; required sources are not known, so the agent may stop"
        missing = [source for source in missing if source not in green]
    if not missing:
        return "", ""
    named = listed(missing, _MOST_NAMED, lambda source: shown(source, 80))
    are = "are" if len(missing) > 1 else "is"
    return f"Required and not known to be green on these very files (tree {tree}) {are}: {named}", ""


def known_again(row: RunRow) -> str:
    """The run, as it can be known again."""
    return known_by(row.source, row.number, row.started)


def _deciding(found: Sequence[SourceStatus], looks: Sequence[RunWindow]) -> SourceStatus:
    """The worst of the sources whose last run saw the files as the last run of all did; the newest of equals."""
    newest = max(found, key=_age)
    last: dict[str, RunWindow] = {}
    for each in looks:
        last.setdefault(each.source, each)

    def saw_the_same(source: str) -> bool:
        look = last.get(source)
        return look is not None and look.snapshot is not None and look.snapshot == looks[0].snapshot

    # A merge that is still open counts whatever the files are.
    same = [each for each in found if each is newest or each.waits or saw_the_same(each.last.source)]
    return max(same, key=lambda standing: (_WORST.index(standing.verdict), _age(standing)))


def _age(standing: SourceStatus) -> float:
    return end_of(standing.finished or standing.last)


def _edited_since_tests(
    project: Project, history: HistoryReader, looks: Sequence[RunWindow], current: tuple[Known, Files]
) -> tuple[Edited, bool]:
    """What was edited since all tests ran, and whether the last run of tests saw even that.

    Where no run was of all tests, the last one counts; where none was of tests, any.

    :param current: what :func:`_files` returns.
    """
    tests = [each for each in looks if each.source.startswith(TESTS)] or list(looks)
    # What another command wrote, such as a formatter, is an edit.
    is_chosen = bool(_CHOOSES.search(project.settings.test_command))
    whole = next((each for each in tests if each.is_full or is_chosen), tests[0] if tests else None)
    later = tests[: tests.index(whole) + 1] if whole is not None else ()
    known, now = current
    edited = edited_since(project, history, known, now, whole, later)
    if edited.paths == () and not is_chosen:
        partly = _edited_since_partial(
            project.root,
            tests,
            looks,
            lambda run, since: edited_since(project, history, known, now, run, since),
        )
        return (edited, True) if partly is None else (partly, True)
    if not edited.paths or whole == tests[0]:
        return edited, edited.paths == ()
    return edited, edited_since(project, history, known, now, tests[0], tests[:1]).paths == ()


def _files(project: Project, history: HistoryReader) -> tuple[Known, Files]:
    """The files as they were last recorded, and as they are."""
    known = history.files()
    ours = (project.settings.file, project.settings.json, f"{files.STATE_FOLDER}/")
    return known, files_now(project.root, known, [path for path in ours if path])


def _due(root: Path, looks: Sequence[RunWindow]) -> list[str]:
    """The environments of the last loop that can be run again by their names."""
    names = sorted(due(looks))
    return names if names and runs_environments(root) else []


def _edited_since_partial(
    root: Path,
    tests: Sequence[RunWindow],
    looks: Sequence[RunWindow],
    edited: Callable[[RunWindow, Sequence[RunWindow]], Edited],
) -> Edited | None:
    """What was edited since a source ran all its tests, where it ran some of them on the files as they are now.

    All tests of another source are not its own: it may fail in what it has not run. An environment that passed in this
    loop, before the last edit, has to pass again.

    :param tests: the runs of tests, the newest first; ``looks`` all runs; ``edited`` returns what was edited since one.
    """
    for name in _due(root, looks):
        at = next(at for at, each in enumerate(looks) if each.source == name)
        if (found := edited(looks[at], looks[: at + 1])).paths:
            return found
    for source in dict.fromkeys(each.source for each in tests):
        own = [each for each in tests if each.source == source]
        whole = next((each for each in own if each.is_full), None)
        if whole is None or whole is own[0] or edited(own[0], tests[: tests.index(own[0]) + 1]).paths != ():
            continue
        found = edited(whole, tests[: tests.index(whole) + 1])
        if found.paths:
            return found
    return None


def _looks(history: HistoryReader) -> tuple[RunWindow, ...]:
    """The last runs; where many of other commands followed, the last ones of tests too."""
    looks = history.looks(LOOKS)
    is_tested = any(each.source.startswith(TESTS) for each in looks)
    return looks if is_tested or len(looks) < LOOKS else (*looks, *history.looks(LOOKS, TESTS))


def unrun_edits(project: Project, source: str | None = None) -> tuple[str, ...]:
    """The files that were edited since all tests of the source, or of any, ran; none where that is unknown."""

    def edits(history: HistoryReader) -> tuple[str, ...]:
        looks = [each for each in _looks(history) if source in (None, each.source)]
        return _edited_since_tests(project, history, looks, _files(project, history))[0].paths or ()

    return read(project.history, edits)


def unseen_edits(
    project: Project, source: str | None, *, is_green: bool
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """What :func:`unrun_edits` returns, nothing unless it is green; and the files edited since each source ran last.

    Sources that saw the files as they are, are left out.
    """

    def edits(history: HistoryReader) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
        looks, current = _looks(history), _files(project, history)
        own = [each for each in looks if source in (None, each.source)]
        of_tests = _edited_since_tests(project, history, own, current)[0].paths if is_green else ()
        last = {each.source: at for at, each in reversed([*enumerate(looks)])}
        found = {
            name: edited_since(project, history, *current, looks[at], looks[: at + 1]).paths
            for name, at in last.items()
        }
        return of_tests or (), {name: paths for name, paths in found.items() if paths}

    return read(project.history, edits)


def is_ours_to_judge(project: Project) -> bool:
    """Whether the project and what is remembered of it belong to us, or to the administrator: else it may be a trap."""
    if not hasattr(os, "getuid"):
        return True
    paths = (project.root, project.root / files.STATE_FOLDER)
    return all(path.lstat().st_uid in (os.getuid(), 0) for path in paths if os.path.lexists(path))


# --- which of a project's files were edited since its tests ran, as far as a quick look shows


#: Path, and digests before and after; None if there is no file.
_Change = tuple[str, str | None, str | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edited:
    """What was edited.

    :ivar paths: the files whose meaning is another now; None if they are not all known.
    :ivar state: returns a digest of all files; it is rarely needed.
    :ivar tree: the same without what tests wrote, as runs are recorded with it; empty if it is not known.
    """

    paths: tuple[str, ...] | None
    state: Callable[[], str]
    tree: Callable[[], str]


def edited_since(
    project: Project,
    history: HistoryReader,
    known: Known,
    now: Files,
    run: RunWindow | None,
    later: Sequence[RunWindow],
) -> Edited:
    """The files whose meaning differs from what a run saw.

    Python files and the configuration of tests count; comments, formatting and docstrings do not, and neither does
    what was written while tests ran.

    :param known: the files as they were last recorded; ``now``: as they are.
    :param run: the run to compare with; ``later``: it and those since.
    """
    before = _before(known, history, run)

    def tree() -> str:
        return _tree(project.root, known, now, later)

    if now.entries is None or before is None:
        return Edited(paths=None, state=now.state, tree=tree)
    changed = [
        each
        for each in sorted(_differing(before, now.entries))
        if (each[0].endswith(PYTHON) or is_configuration(each[0]))
        and each[0] not in now.in_doubt
        and not _is_by_tests(project.root, each[0], now.entries, later)
    ]
    paths = _effective(changed, history, now)
    return Edited(paths=None if now.in_doubt and not paths else paths, state=now.state, tree=tree)


def _tree(root: Path, known: Known, now: Files, later: Sequence[RunWindow]) -> str:
    """A digest of the files as the next run would record them, but for what runs wrote."""
    from loop_close.snapshot import tree_of  # late: it is rarely needed

    if now.entries is None or now.in_doubt:
        return ""
    entries: dict[str, tuple[int, int, str]] = {}
    for path, entry in now.entries.items():
        old = known.get(path)
        is_as_known = old is not None and old[2] == entry.digest
        is_ours = old is None and path.endswith((".json", ".md")) and files.is_ours(root / path)
        if is_as_known or not (is_ours or _is_by_tests(root, path, now.entries, later)):
            entries[path] = entry
        elif old is not None:
            entries[path] = old
    return tree_of(entries)


def _before(known: Known, history: HistoryReader, run: RunWindow | None) -> dict[str, str | None] | None:
    """Digests as the run saw them, None for no file; None if they are not known."""
    since = history.changes_since(run.snapshot) if run is not None and known else None
    if since is None:
        return None
    before: dict[str, str | None] = {path: entry[2] for path, entry in known.items() if path != LISTED}
    before.update((path, old) for path, old, _ in since)
    return before


def _differing(before: Mapping[str, str | None], now: Mapping[str, FileEntry]) -> Iterator[_Change]:
    for path, entry in now.items():
        if before.get(path) != entry.digest:
            yield path, before.get(path), entry.digest
    for path in before.keys() - now.keys():
        if before[path] is not None:
            yield path, before[path], None


def _is_by_tests(root: Path, path: str, now: Mapping[str, FileEntry], runs: Iterable[RunWindow]) -> bool:
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


def _effective(changed: list[_Change], history: HistoryReader, now: Files) -> tuple[str, ...]:
    """Those that differ in more than comments, formatting and docstrings."""
    if not changed or len(changed) > COMPARED:
        return tuple(path for path, _, _ in changed)
    from loop_close.workspace.edits import Changed, edits_of  # late: most often nothing was edited

    def content(digest: str) -> bytes | None:
        return now.contents.get(digest) or history.content(digest)

    found = edits_of(
        [Changed(path=path, before=before, after=after) for path, before, after in changed], content
    )
    return tuple(dict.fromkeys(edit.file for edit in found.edits if edit.is_effective))


# --- a project's files as they are when the hook is asked, in the time that it has

#: So many changed files are read, those that were written last: after a checkout there are thousands.
MOST_READ = 500
LISTED = "//listed"
_ABOVE = "../"

Known = Mapping[str, tuple[int, int, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """The files as they are.

    :ivar entries: size, time and digest by path; None if they are not all known, or listed in another way than they
        were when they were last known.
    :ivar contents: of files that are new or changed, by digest.
    :ivar in_doubt: files of the same size as known that were written since, and not read for want of time.
    """

    entries: Mapping[str, FileEntry] | None
    contents: Mapping[str, bytes]
    in_doubt: Collection[str]

    def state(self) -> str:
        """A digest of them all; empty if they are not known."""
        from loop_close.snapshot import digest_of  # late: it is rarely needed

        return digest_of(self.entries or {})


def files_now(root: Path, known: Known, leave_out: Collection[str]) -> Files:
    """Look at the files below the root, and at those outside of it that are known.

    :param known: as they were last recorded.
    :param leave_out: paths that are not part of the program.
    """
    before = {path: FileEntry._make(entry) for path, entry in known.items()}
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


def _outside(root: Path, known: Mapping[str, FileEntry], contents: dict[str, bytes]) -> dict[str, FileEntry]:
    """Those outside as they are, by their paths from the root; new ones are not found. Puts contents to the others."""
    root = Path(os.path.realpath(root))
    levels = min(max(_levels(path) for path in known), len(root.parents))
    top = root.parents[levels - 1] if levels else root
    down = root.relative_to(top).parts
    below = {"/".join((*down[: levels - _levels(path)], path[3 * _levels(path) :])): path for path in known}
    seen = take_known(top, {name: known[path] for name, path in below.items()}, most=MOST_READ)
    contents |= seen.contents
    found = {below[name]: entry for name, entry in seen.entries.items()}
    return found or dict(known)  # all are gone if the root was moved: then nothing is known


def _levels(path: str) -> int:
    """How many folders it goes up."""
    parts = path.split("/")
    return next((at for at, part in enumerate(parts) if part != os.pardir), len(parts))


# --- the state of a source after its last run, and the path of its prompt

_SOURCE = re.compile(r"^- `([^`\n]{1,200})`: ", re.MULTILINE)
#: Characters at the top of a prompt that are searched for its sources.
_MOST_READ = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceStatus:
    """The state of a source.

    :ivar last: its last run, whatever became of it.
    :ivar finished: the last that ended; None if none did.
    :ivar prompt: absolute path of the prompt that shows that run, alone or among others; None if it no longer shows the
        run, or is gone.
    :ivar waits: what of a merge still has to run here; None for another source.
    """

    last: RunRow
    finished: RunRow | None
    summary: Summary
    prompt: Path | None
    waits: OpenMerge | None = None

    @property
    def verdict(self) -> str:
        """``green``, ``failing`` or ``stuck``: an unknown result is not green."""
        if self.summary.breaker.state == "open" or self.summary.verdict == "stuck":
            return "stuck"
        is_tampered = any(signal.kind == TAMPERING for signal in self.summary.fired)
        is_green = self.summary.verdict == "green" and self.last.state != "killed" and not is_tampered
        return "green" if is_green else "failing"


def source_statuses(
    project: Project, history: HistoryReader, source: str | None = None
) -> list[SourceStatus]:
    """The status of the source, or of each that counts, with its prompt if that still exists."""
    names = (source,) if source is not None else history.sources()
    pairs = [_last_of(history, name) for name in names]
    accepted = history.accepted()
    reads = history.rows, history.recorded
    merge = open_merge(history.sources(), *reads, accepted) if MERGED in names else None
    newest = max(pairs, key=lambda pair: end_of(pair[1]))[1]
    left_out = superseded(
        {
            name: (end_of(row), setup_of(row.summary))
            for (_, row), name in zip(pairs, names, strict=True)
            if row is not None
        }
    )
    # A merged report that is older than another run is of files as they were then: only what has to run here counts.
    left_out |= {MERGED} if merge is None and newest is not None and newest.source != MERGED else set()
    kept = [pair for pair in pairs if source is not None or pair[0].source not in left_out] or pairs
    path = project.root / project.settings.file
    prompt = path if path.is_file() and files.is_finished(path) else None
    # The sources whose results the prompt shows: each that is not green has a line of its own.
    shown_sources = _SOURCE.findall(prompt_text(prompt, _MOST_READ)) if len(kept) > 1 else ()
    return [
        SourceStatus(
            last=last,
            finished=finished,
            summary=summary_of(finished or last).judged(accepted),
            prompt=prompt
            if finished is not None and (finished is newest or last.source in shown_sources)
            else None,
            waits=merge if last.source == MERGED else None,
        )
        for last, finished in kept
    ]


def waiting_text(standing: SourceStatus) -> str:
    """What of a merge still has to run here, as a prompt; empty for another source."""
    left = standing.waits
    if left is None:
        return ""
    tests = (
        f"\n\nIt failed: {listed(left.tests, _MOST_NAMED, lambda test: shown(test, 160))}"
        if left.tests
        else ""
    )
    return (
        "\n".join(
            [f"# Not green: {shown(standing.last.source)}", "", *(f"- {shown(line)}" for line in left.words)]
        )
        + tests
    )


def _last_of(history: HistoryReader, source: str) -> tuple[RunRow, RunRow | None]:
    last = history.rows(source, 1)[-1]
    rows = (last,) if last.state == "done" else history.rows(source)
    return last, next((row for row in reversed(rows) if row.state == "done"), None)


def end_of(row: RunRow | None) -> float:
    """When it ended, else when it began; 0 for none."""
    return 0.0 if row is None else row.ended or row.started


def prompt_text(path: Path | None, limit: int) -> str:
    """The beginning of the prompt, made safe once more; empty if there is none, or it is not where we write it."""
    if path is None or path.is_symlink() or not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            text = file.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""
    from loop_close.prompt import safe

    return safe(files.without_signature(text), limit)
