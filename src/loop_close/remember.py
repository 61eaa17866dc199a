"""A run in the history: begun before the tests, recorded after them. An error costs a note."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import time  # now: a test may leave its own in the place of it
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from loop_close import files
from loop_close.lazy import NamedTuple
from loop_close.process import birth_of, host, is_alive
from loop_close.snapshot import (
    FileSnapshot,
    edits_run,
    edits_since,
    last_runs_of_others,
    since_green,
    take_snapshot,
    tree_of,
)
from loop_close.store import HistoryError, NewCalls
from loop_close.text import fault_text

if TYPE_CHECKING:
    from loop_close.calls import Calls
    from loop_close.memory import ChangedTest, Episode, Outcome, Run, Thresholds
    from loop_close.model import Observation, OtherRun, Report
    from loop_close.settings import KnownEntry, Settings
    from loop_close.sharing import Learned, Sharing
    from loop_close.store import KeptCalls, NewBaseline, RunHandle
    from loop_close.store.sqlite import RunTransaction, SqliteHistory, ToShare

_MOST_NAMED = 300


class RunContext(NamedTuple):
    """What the plugin or a command knows of a run beside its report.

    :ivar outcomes: of watched tests that did not fail, by node id.
    :ivar tells_outcomes: a test that is named nowhere did not run.
    :ivar selection: how tests were chosen, or the command; empty when all were meant.
    :ivar code: a digest of what ran, where that is not the project's files.
    """

    outcomes: Mapping[str, Outcome] = MappingProxyType({})
    tells_outcomes: bool = True
    selection: str = ""
    code: str = ""


def passed_by_name(seen: Observation, tests: Iterable[str]) -> dict[str, Outcome]:
    """The tests that a command names: they passed, as far as its output does not name them as failing.

    :param tests: their ids.
    :returns: nothing where the output only counts, tests were skipped, or the run was cut short.
    """
    counts = seen.counts
    is_clear = not (seen.incomplete or counts.skipped or counts.xfailed)
    is_named = all(failure.nodeid for failure in seen.failures)
    return dict.fromkeys(tests, "passed") if is_clear and is_named else {}


class Memory:
    """Recorder of one run: begins it in the history before the tests, and records its result after them.

    Without a history, each run counts as the first.

    :ivar watched: tests that failed in the episode: their outcome has to be reported.
    :ivar merged: the tests that failed in the last merge: their outcome as well.
    :ivar notes: what went wrong, in a line each.
    """

    def __init__(
        self,
        root: Path,
        source: str,
        interpreter: str = "",
        sharing: Sharing | None = None,
        *,
        sees_tree: bool = False,
    ) -> None:
        self.watched: frozenset[str] = frozenset()
        self.merged: frozenset[str] = frozenset()
        self.notes: list[str] = []
        self.source = source
        self._interpreter = interpreter
        self._root = root
        self._path: Path | None = None
        self._process = os.getpid()
        self._begun: RunHandle | None = None
        self._taken: RunHandle | None = None
        self._seen: FileSnapshot | None = None
        self._calls: NewCalls | None = None
        self._whole: Calls | None = None
        self._result: Report | None = None
        self._sharing = sharing
        self._sees_tree = sees_tree or sharing is not None
        self._known: tuple[Sequence[KnownEntry], Sequence[KnownEntry]] | None = None

    @property
    def is_edited(self) -> bool:
        """Whether code under test was edited since the last green run: then it is asked which of it the tests ran."""
        return self._begun is not None and self._begun.is_edited

    @property
    def is_as_green(self) -> bool:
        """Whether no file differs from the last green run of these tests, or of all."""
        return self._begun is not None and self._begun.is_as_green

    @property
    def is_fresh(self) -> bool:
        """Whether a green run has nothing to be compared with, and nothing has to be reported."""
        begun = self._begun
        is_noted = begun is not None and (begun.killed or begun.has_others or begun.tests)
        return not (self.watched or self.notes or is_noted)

    @property
    def has_others(self) -> bool:
        """Whether the history knows other sources."""
        return self._begun is not None and self._begun.has_others

    def begin(
        self,
        path: Path,
        leave_out: Collection[str],
        extra_roots: Collection[Path] = (),
        selection: str = "",
        *,
        sees_files: bool = True,
    ) -> None:
        """Give the run its number in the history, with the project's files as they are now, if it is of them."""
        with self._noted():
            if path.parent == self._root / files.STATE_FOLDER:
                files.state_folder(self._root)
            self._path = path
            with self._opened() as history:
                self.source = history.source_of(self.source, self._interpreter)
                self._seen = seen = (
                    take_snapshot(self._root, history.files(), leave_out, extra_roots)
                    if sees_files
                    else FileSnapshot(None, {}, {})
                )
                pid = os.getpid()
                self._begun = history.begin(
                    self.source,
                    seen.entries,
                    seen.contents,
                    pid=pid,
                    birth=birth_of(pid),
                    host=host(),
                    now=time(),
                    is_alive=is_alive,
                    selection=selection,
                )
            self.watched, self.merged = frozenset(self._begun.watched), frozenset(self._begun.merged)
            if self._sharing is not None:
                with self._shared():
                    self._sharing.announce(self._begun)

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        """Work that, when it fails, costs a note, and the history from then on."""
        try:
            yield
        except HistoryError as error:
            self._lose(str(error))
        except OSError as error:
            self._lose(f"cannot write the history: {error.strerror or error}")
        except Exception as fault:  # an internal error must not end the run
            self._lose(f"internal error of loop-close: {fault_text(fault)}")

    def _lose(self, why: str) -> None:
        self.notes.append(f"{why}; this run is not recorded")
        self._begun = None

    @contextlib.contextmanager
    def _shared(self) -> Iterator[None]:
        """A part that the shared history has in the run; if it fails, it costs a note: the run is worth more."""
        try:
            yield
        except Exception as fault:
            self.notes.append(f"shared history: internal error of loop-close: {type(fault).__name__}")

    def _tree(self) -> str:
        """A digest of all files, where it is asked for."""
        return tree_of(self._seen.entries) if self._sees_tree and self._seen is not None else ""

    @contextlib.contextmanager
    def _opened(self) -> Iterator[SqliteHistory]:
        """The history, open for no longer than it takes: tests close descriptors, and fork."""
        from loop_close.store.sqlite import open_history

        assert self._path is not None
        with open_history(self._path, project=project_of(self._root)) as history:
            try:
                yield history
            finally:
                self.notes += [note for note in history.notes if note not in self.notes]

    def _own(self) -> RunHandle | None:
        """The run as it began; None if it was not, and in a process that a test has forked."""
        return self._begun if os.getpid() == self._process else None

    def abandon(self) -> None:
        """Do not record the run: no test was meant to run, or none could."""
        begun = self._own()
        if begun is not None:
            with self._noted(), self._opened() as history:
                history.abandon(begun)
                if self._sharing is not None:
                    with self._shared():
                        self._sharing.withdraw(begun)
        self._begun = None

    def keep_green(self, passed: int, skipped: int, selection: str = "") -> bool:
        """Remember a plain green run with nothing before it that it could be compared with.

        :param selection: how tests were chosen, of plain characters; empty for all.
        :returns: False if there is something by now: then it has to be recorded.
        """
        begun, is_kept = self._own(), True
        if begun is not None:
            fields: dict[str, Any] = {"passed": passed, "skipped": skipped}
            if self._interpreter:
                fields["interpreter"] = self._interpreter
            if selection:
                fields |= {"selection": selection, "is_full": False}
            with self._noted(), self._opened() as history:
                if tree := self._tree():
                    fields["tree"] = tree
                baseline = self._baseline() if begun.tests is None else None
                plain = {"exit_code": 0, "is_good": True, **fields}
                to_share = self._to_share(lambda sharing: sharing.entry(begun, plain, {"verdict": "green"}))
                is_kept = history.keep_green(
                    begun, calls=self._calls, baseline=baseline, to_share=to_share, **fields
                )
                if is_kept:
                    self._send(history)
        if is_kept:
            self._begun = None
        return is_kept

    def _to_share(self, made: Callable[[Sharing], ToShare]) -> ToShare | None:
        if self._sharing is not None:
            with self._shared():
                return made(self._sharing)
        return None

    def _send(self, history: SqliteHistory) -> None:
        """Send what there is; what cannot be sent is sent by a later run."""
        sharing = self._sharing
        if sharing is not None:
            with self._shared():
                sharing.send(history)
            sharing.close()
            self.notes += [sharing.note] if sharing.note else []

    def known_entries(
        self, entries: Sequence[KnownEntry]
    ) -> tuple[Sequence[KnownEntry], Sequence[KnownEntry]]:
        """Which entries of the setting ``known`` count, and which wait for a person to accept them.

        An entry that the baseline does not have, as it was added by the agent whose tests fail, counts once it is
        accepted. Without a history all count.
        """
        if self._known is None:
            self._known = entries, ()
            begun = self._own()
            if begun is not None and begun.tests is not None:
                with self._noted(), self._opened() as history:
                    from loop_close.baseline import entries_added

                    added = entries_added(entries, history, begun)
                    self._known = (
                        [each for each in entries if each not in added],
                        [each for each in entries if each in added],
                    )
        return self._known

    @property
    def is_kept(self) -> bool:
        """Whether the run is going to be remembered, as far as that is known."""
        return self._own() is not None

    def fuller_calls(self) -> KeptCalls | None:
        """What the tests of the last fuller run called; None if nothing is remembered of it."""
        if self.is_kept:
            with self._noted(), self._opened() as history:
                return history.calls(self.source)
        return None

    def keep_calls(self, calls: Calls, tests: Collection[str], *, is_whole: bool) -> None:
        """Have this run's counts remembered along with it, unless those of an earlier one are fuller.

        :param tests: node ids of all its tests; empty if they are not known.
        :param is_whole: all tests were meant to run. A red one is taken for full only while most tests pass:
            what broke them all must not cost the counts to compare them with.
        """
        most: int | None = calls.passed
        if is_whole:
            most = 2 * calls.passed if calls.failed else None
            self._whole = calls
        self._calls = NewCalls(calls=calls, most=most, tests=tests)

    def record_run(self, report: Report, settings: Settings, context: RunContext) -> Report:
        """Record the run; return its report, compared with the runs before it.

        A run that is reported again, for an error after its end, keeps its result.
        """
        before, self._result = self._result, report
        if before is not None and before.progress is not None and before.verdict != "green":
            known = ("progress", "verdict", "since_green", "green_run")
            self._result = replace(report, **{name: getattr(before, name) for name in known})
        with self._noted():
            self._record(report, settings, context)
        self._taken = self._begun or self._taken
        self._begun = None
        return replace(self._result, notes=(*report.notes, *dict.fromkeys(self.notes)))

    def others(self) -> tuple[OtherRun, ...]:
        """The last runs of other sources as they are now, of a run that was recorded; other runs may end meanwhile."""
        if self._taken is not None and self._seen is not None and os.getpid() == self._process:
            with self._noted(), self._opened() as history:
                return last_runs_of_others(history, self._root, self._taken, self._seen)
        return ()

    def _record(self, report: Report, settings: Settings, context: RunContext) -> None:
        """Compare the run with those before it, and save it. What is known so far stays if a later part fails."""
        begun, seen = self._own(), self._seen
        if begun is None or seen is None:
            return
        # What is ignored is what the parser says of odd escapes in values that messages show.
        with warnings.catch_warnings(action="ignore"), self._opened() as history:
            run = self._run_of(report, context, history, begun, seen)
            changes = self._changes(history, begun, settings, report)
            if run.is_good and run.is_full and self._whole is not None:
                green, ran = edits_run(history, begun, self._whole)
                report = replace(report, edits_run=ran, green_run=green)
            learned = self._learned(history, begun, run, report)
            run = replace(run, is_collision=learned is not None and learned.is_collision)
            with history.transaction(begun) as transaction:
                self._compare_and_save(report, run, changes, settings, begun, transaction)
            report = self._result = self._with_facts(self._result or report, learned, history)
            if report.verdict != "green" and report.progress is not None:
                try:
                    number, edits = since_green(history, begun, seen, report.progress.episode)
                    self._result = replace(report, since_green=edits, green_run=number)
                except Exception as fault:  # the run is remembered, and all else is known
                    self.notes.append(
                        f"the edits since the last green run are not known: {fault_text(fault)}"
                    )

    def _run_of(
        self,
        report: Report,
        context: RunContext,
        history: SqliteHistory,
        begun: RunHandle,
        seen: FileSnapshot,
    ) -> Run:
        """The record of the run, before it is compared with others."""
        from loop_close.progress.advance import run_of
        from loop_close.progress.compare import moved

        run = run_of(
            report,
            number=begun.number,
            source=self.source,
            edits=edits_since(history, begun, seen),
            **{**context._asdict(), "code": context.code or seen.code()},
        )
        names = moved((*self.watched, *self.merged), run)
        ours = {*self.watched, *self.merged, *names.values()}
        outcomes = {test: out for test, out in run.outcomes.items() if test in ours}
        outcomes |= {
            old: outcomes[new] for old, new in names.items() if old in self.merged and new in outcomes
        }
        run = replace(run, outcomes=outcomes)
        accepted = tuple(history.accepted())
        now, then = history.advanced_since(begun) if begun.has_others else ("", "")
        run = replace(
            run,
            interpreter=self._interpreter,
            accepted=accepted,
            tree=self._tree(),
            elsewhere=now,
            elsewhere_before=then,
        )
        if begun.tests is None:
            return run
        from loop_close.conventions import is_of_tests

        of_tests = [path for path in history.baseline(begun.source) if not is_of_tests(path)]
        differing = tuple(path for path, _, _ in begun.tests)
        return replace(
            run,
            is_compared=True,
            of_tests=tuple(of_tests[:_MOST_NAMED]),
            differing=differing if len(differing) <= _MOST_NAMED else None,
        )

    def _compare_and_save(
        self,
        report: Report,
        run: Run,
        changes: list[ChangedTest],
        settings: Settings,
        begun: RunHandle,
        transaction: RunTransaction,
    ) -> None:
        """Advance the episode as it is now, and save it with the run: other runs may have ended meanwhile."""
        from loop_close.memory import Run
        from loop_close.progress.advance import report_with_progress, summary_of

        before = transaction.episode
        killed = [Run(number=n, source=self.source, is_killed=True) for n in transaction.killed]
        if changes:
            from loop_close.baseline import judged

            tests = judged(changes, run.accepted, before.asked, is_new=not before.runs)
            run = replace(run, tests=tests)
        compared, episode = report_with_progress(report, before, [*killed, run], limits_of(settings))
        if compared.verdict != "green":
            compared = replace(compared, edits_run=None, green_run=0)
        self.notes += [f"run {each.number} started but did not finish" for each in killed]
        self._result = compared
        is_over = episode.green == begun.number and not _is_asked(run, before)
        is_moved = begun.tests is None or (is_over and begun.tests)
        summary = summary_of(compared, run.marks)
        transaction.save(
            run,
            episode,
            summary,
            calls=self._calls,
            baseline=self._baseline() if is_moved else None,
            to_share=self._to_share(lambda sharing: sharing.entry_of(begun, run, summary, before)),
        )

    def _learned(self, history: SqliteHistory, begun: RunHandle, run: Run, report: Report) -> Learned | None:
        """What the shared history says of a run; None without one."""
        if self._sharing is not None:
            with self._shared():
                return self._sharing.learn(history, begun, run, report.causes)
        return None

    def _with_facts(self, report: Report, learned: Learned | None, history: SqliteHistory) -> Report:
        """The report with what the shared history says, after the run was sent there."""
        sharing = self._sharing
        if sharing is None:
            return report
        if learned is not None:
            with self._shared():
                report = replace(report, shared=sharing.facts(learned, report.progress))
        self._send(history)
        return report

    def _baseline(self) -> NewBaseline | None:
        """The tests as this run saw them, for later ones to be compared with."""
        from loop_close.baseline import new_baseline  # late: most often it stays as it is

        seen = self._seen
        return new_baseline(self._root, seen.entries) if seen is not None else None

    def _changes(
        self, history: SqliteHistory, begun: RunHandle, settings: Settings, report: Report
    ) -> list[ChangedTest]:
        """What was done to the tests since the baseline; nothing if the signal is off.

        A file that cannot be collected is red for that: what was done to it is judged once it can be. Code that looks
        made for the tests is looked for when they are green.
        """
        is_due = begun.tests or (begun.tests is not None and self.watched and report.verdict == "green")
        if not is_due:
            return []
        from loop_close.memory import TAMPERING  # late: most green runs do without

        if TAMPERING in settings.signals_off:
            return []
        from loop_close.baseline import compared_with_history

        try:
            found = compared_with_history(self._root, history, begun)
        except Exception as fault:  # the run is worth more
            from loop_close.baseline import not_compared

            self.notes.append(f"the tests could not be compared: {fault_text(fault)}")
            before, after = ({each[0]: str(each[at]) for each in begun.tests or ()} for at in (1, 2))
            return [not_compared(before, after, fault_text(fault))]
        broken = {each.nodeid or each.file for each in report.observation.failures if each.phase == "collect"}
        return [change for change in found if change.file not in broken]


def project_of(root: Path) -> str:
    """A digest of where the project lies: one history cannot hold the files of two."""
    from hashlib import blake2b

    return blake2b(os.fsencode(os.path.realpath(root)), digest_size=8).hexdigest()


def begin(
    targets: files.Targets,
    source: str,
    leave_out: Iterable[Path | None] = (),
    *,
    extra_roots: Collection[Path] = (),
    interpreter: str = "",
    selection: str = "",
    sees_files: bool = True,
) -> Memory:
    """The memory of a run that is about to start; it keeps nothing where the targets have no history.

    :param leave_out: absolute paths, beside the targets, that are not part of the program; None for what is not.
    :param extra_roots: folders outside of the root that hold code of the program.
    :param interpreter: what runs the tests; runs of another one are of another source.
    :param selection: how the tests are chosen, empty for all.
    :param sees_files: False for a run of other files than those below the root.
    """
    root, path, settings = targets.root, targets.history, targets.settings
    sharing = None
    if targets.shared and path is not None:
        from loop_close.sharing import Sharing  # late: most projects share nothing

        sharing = Sharing(targets.shared, root, settings.shared)
    memory = Memory(root, source, interpreter, sharing, sees_tree=bool(settings.required))
    if path is not None and (fault := files.url_fault()):
        memory.notes.append(fault)
    if path is not None:
        ours = _below(root, (targets.prompt, targets.json, path, *leave_out))
        try:
            memory.begin(path, ours, extra_roots, selection, sees_files=sees_files)
        except BaseException:  # Ctrl-C: no run began
            memory.abandon()
            raise
    return memory


def _below(root: Path, paths: Iterable[Path | None]) -> list[str]:
    """The paths that lie below the root, as they are called there."""
    full = (Path(os.path.abspath(path)) for path in paths if path is not None)
    return [path.relative_to(root).as_posix() for path in full if path.is_relative_to(root)]


def _is_asked(run: Run, episode: Episode) -> bool:
    """Whether the run is the first to report changes to tests that are asked about."""
    return any(change.state == "asked" and change.fingerprint not in episode.asked for change in run.tests)


def limits_of(settings: Settings) -> Thresholds:
    """The thresholds with those of the settings over them."""
    from loop_close.memory import Thresholds

    return replace(Thresholds(off=tuple(settings.signals_off)), **settings.thresholds)  # type: ignore[arg-type]
