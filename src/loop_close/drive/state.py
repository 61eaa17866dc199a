"""What the driver keeps of its loop: its saved state, what was run and edited, which tests pass without a fix."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from loop_close import files
from loop_close.agent import WHOLE, ByName, Or, checked_state
from loop_close.agent.loop import RunOutcome
from loop_close.cli import UsageError
from loop_close.cli.driven_tests import DrivenTests, Unfixed
from loop_close.cli.project import project_at
from loop_close.cli.recorded import read
from loop_close.cli.status import RunResult, has_run
from loop_close.files import Targets
from loop_close.memory import Edits, Run
from loop_close.outputs import OUTPUT
from loop_close.process import locked
from loop_close.progress.tampering import MISSING, Sides, is_only_settings, sides_of
from loop_close.snapshot import take_snapshot
from loop_close.store.reader import HistoryReader
from loop_close.store.runs import known_by
from loop_close.text.redact import clean
from loop_close.workspace.edits import Changed

# --- what a driver knows of its loop beyond single runs: how it began, and what was run

_UNKNOWN = -1
_MAX_TESTS = 5_000


@dataclass(kw_only=True, slots=True)
class LoopTracker:
    """What is known, from run to run of the driver's own.

    States of the project's files go by the numbers that the history gives them, -1 where they are not known.

    :ivar first: when the loop began; ``last`` when the tests ran last.
    :ivar selection: how the first run chose its tests; ``elsewhere`` what was known then to fail and did not run.
    :ivar most: tests that ran in the run with the most of them.
    :ivar numbers: of the last run of every source: they only grow.
    :ivar own: what the last run of the loop is known by.
    :ivar is_lost: the history was removed, with all earlier runs.
    """

    first: int = _UNKNOWN
    last: int = _UNKNOWN
    selection: str = ""
    elsewhere: list[str] = field(default_factory=list)
    most: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    own: str = ""
    is_lost: bool = False
    is_begun: bool = False

    def notice_loss(self, numbers: Mapping[str, int], *, may_let_go: bool = False) -> None:
        """Compare the numbers of the last runs by source. If they went back, the history was removed.

        :param may_let_go: a source that is not there any more the history let go by itself, as it does after a run.
        """
        for source, number in self.numbers.items():
            self.is_lost |= numbers.get(source, number if may_let_go else 0) < number
        self.numbers = dict(numbers)

    def begin(self, result: RunResult) -> None:
        """After the first run of the loop: how it chose its tests, and what is elsewhere; later runs change nothing."""
        run, progress = result.run, result.progress
        if run is None or self.is_begun:
            return
        self.is_begun, self.selection = True, run.selection
        # It is unknown what a run would have run that was cut off, or stopped at the first failure.
        not_run = progress.not_run if progress is not None and not run.incomplete else ()
        self.elsewhere = sorted(not_run)[:_MAX_TESTS]

    def is_rest_elsewhere(self, result: RunResult) -> bool:
        """Whether all that is known to fail is what the command has never run in this loop."""
        progress, run = result.progress, result.run
        if progress is None or run is None or len(result.statuses) > 1 or not run.is_good:
            return False
        left = progress.step.unresolved
        is_same = bool(run.selection) and run.selection == self.selection
        return is_same and left == progress.step.not_run > 0 and set(progress.not_run) <= set(self.elsewhere)

    def ended(
        self, root: Path, numbers: Mapping[str, int], result: RunResult, outcome: RunOutcome
    ) -> RunOutcome:
        """After a run: its outcome as this loop sees it.

        :param numbers: of the last runs by source.
        """
        self.notice_loss(numbers, may_let_go=True)
        edited: Edits | None = None
        now = _UNKNOWN
        with contextlib.suppress(UsageError):
            now, edited = read(project_at(root).history, self._look)
        if result.statuses:
            last = result.statuses[0].last
            self.own = known_by(last.source, last.number, last.started)
        self.first = now if self.first == _UNKNOWN else self.first
        self.last = now
        if result.progress is not None:  # what ran once is the loop's
            self.elsewhere = [test for test in self.elsewhere if test in result.progress.not_run]
        return replace(
            outcome,
            missing=self._missing(result.run, outcome),
            not_run=len(set(result.progress.not_run) - set(self.elsewhere)) if result.progress else 0,
            is_edited=outcome.is_edited if edited is None else edited.kind == "effective",
        )

    def notice_other(self, root: Path) -> None:
        """Before a run: whether the history is the one that has the last run of the loop."""
        self.is_lost |= bool(self.own) and not has_run(root, self.own)

    def edits(self, root: Path) -> Edits | None:
        """What was edited since the loop began; None if that is unknown."""
        if self.is_lost:
            return None
        with contextlib.suppress(UsageError):
            return read(project_at(root).history, lambda history: _edits(history, self.first))
        return None

    def _look(self, history: HistoryReader) -> tuple[int, Edits | None]:
        """The files' state now, and what was edited since the tests ran last."""
        seen = [_UNKNOWN if each.snapshot is None else each.snapshot for each in history.looks(1)]
        return next(iter(seen), _UNKNOWN), None if self.is_lost else _edits(history, self.last)

    def _missing(self, run: Run | None, outcome: RunOutcome) -> int:
        """How many tests fewer ran than before, if nothing else shows that tests are gone."""
        if run is None or not outcome.is_complete:
            return 0
        ran = run.passed + run.skipped + sum(mark.phase != "check" for mark in run.marks) + run.omitted_marks
        self.most = max(self.most, ran)
        is_recorded = run.tells_outcomes and not self.is_lost
        return 0 if is_recorded or outcome.verdict != "green" else self.most - ran


def _edits(history: HistoryReader, snapshot: int) -> Edits | None:
    """How the project differs from that state of it; None if that is unknown."""
    changes = None if snapshot == _UNKNOWN else history.changes_since(snapshot)
    if changes is None:
        return None
    from loop_close.workspace.edits import Changed, edits_of

    changed = [Changed(path=path, before=before, after=after) for path, before, after in changes]
    return edits_of(changed, history.content)


STATE = f"{files.STATE_FOLDER}/drive.json"
#: What the agent is given for its turn.
TURN = f"{files.STATE_FOLDER}/turnprompt.md"
_LOCK = f"{files.STATE_FOLDER}/drive.lock"
_SCHEMA = "loop-close.drive/1"
_LARGEST = 10_000_000
_WATCH = {
    **dict.fromkeys(("first", "last"), Or(_UNKNOWN, WHOLE)),
    "selection": str,
    "elsewhere": [str],
    "most": WHOLE,
    "numbers": ByName(WHOLE),
    "own?": str,
    **dict.fromkeys(("is_lost", "is_begun"), bool),
}
_SHAPE = {
    "schema": (_SCHEMA,),
    "given": ByName(str),
    "loop": dict,
    "watch": _WATCH,
    "tests?": str,
    "ended": ("", "done", "stuck", "limit", "interrupted"),
    "reason": str,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """A loop as it is kept.

    :ivar given: the words of its options by name; empty for what holds a credential, which is not kept.
    :ivar loop: what :meth:`loop_close.agent.loop.AgentLoop.state` returned.
    :ivar watch: what is known from run to run.
    :ivar child: number and birth of the process that was running; 0 for none.
    :ivar tests: a digest of the tests at the loop's start, which are kept elsewhere.
    :ivar ended: how the loop ended, empty while it has not; ``reason`` why.
    """

    given: Mapping[str, str]
    loop: Mapping[str, Any]
    watch: LoopTracker = field(default_factory=LoopTracker)
    child: tuple[int, str] = (0, "")
    tests: str = ""
    ended: str = ""
    reason: str = ""


def save_state(root: Path, state: State) -> None:
    """Write the state, whole or not at all.

    :raises OSError: when it cannot be written.
    """
    given = {name: text for name, text in state.given.items() if clean(text) == text}
    document = {
        "schema": _SCHEMA,
        "given": given,
        "loop": state.loop,
        "watch": asdict(state.watch),
        "child": state.child,
        "tests": state.tests,
        "ended": state.ended,
        "reason": clean(state.reason, 2_000),
    }
    files.state_folder(root)
    files.write_private(root / STATE, json.dumps(document, indent=1) + "\n")


def load_state(root: Path) -> State | None:
    """The state of the last loop; None if there is none.

    :raises UsageError: when it is damaged, naming the field.
    """
    path = root / STATE
    try:
        if path.exists() and not path.is_file():  # nothing that a reader would wait for
            raise UsageError(f"{STATE} is not a regular file; remove it")
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {STATE}: {error.strerror or error}") from None
    try:
        return _state(json.loads(data))
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{STATE} is damaged ({error}); start a new loop without --resume") from None


def _state(document: Any) -> State:
    saved = checked_state(document, _SHAPE, "drive")
    pid, birth = document.get("child") or (0, "")
    return State(
        given=saved["given"],
        loop=saved["loop"],
        watch=LoopTracker(**saved["watch"]),
        child=(pid, birth) if isinstance(pid, int) and isinstance(birth, str) else (0, ""),
        tests=saved.get("tests", ""),
        ended=saved["ended"],
        reason=saved["reason"],
    )


@contextlib.contextmanager
def exclusive_lock(root: Path) -> Iterator[None]:
    """Hold the project: two loops in one would undo each other's edits.

    :raises UsageError: when another process holds it, or the state cannot be kept.
    """
    try:
        files.state_folder(root)
        (root / _LOCK).touch()
    except OSError as error:
        raise UsageError(f"cannot write to {files.STATE_FOLDER}: {error.strerror or error}") from None
    with locked(root / _LOCK, 0) as is_held:
        if is_held is False:
            raise UsageError("another loop-close drive is running in this project")
        yield


# --- whether the agent mended what passes again: the files of the project between the driver's own runs of the
# tests.
# The history knows as much, and the agent can reach it.

Digests = Mapping[str, str]


class FixTracker:
    """What the driver knows of the project's files, from run to run.

    Each run is compared with the last one in which the fewest tests failed.
    """

    def __init__(self, root: Path, targets: Targets, tests: DrivenTests) -> None:
        self._root = root
        self._tests = tests
        self._leave_out = [
            path.relative_to(root).as_posix()
            for path in (targets.prompt, targets.json)
            if path is not None and path.is_relative_to(root)
        ]
        self._known: Mapping[str, tuple[int, int, str]] = {}
        self._contents: dict[str, bytes] = {}
        self._start: Digests | None = None
        self._last: tuple[int, Digests] | None = None
        self._is_missing = False

    def take_snapshot(self) -> Digests | None:
        """The files by path and digest; None if they are not all known."""
        seen = take_snapshot(self._root, self._known, self._leave_out)
        if seen.entries is None:
            return None
        self._known = seen.entries
        self._contents |= seen.contents
        return {path: entry[2] for path, entry in seen.entries.items() if entry[2] != OUTPUT}

    def ran(self, before: Digests | None, outcome: RunOutcome) -> None:
        """Take up a run of the tests, with the files as they were before it.

        What passes without a fix is noted with the tests of the loop, until the tests fail again.
        """
        if before is None or not (outcome.failing or outcome.verdict == "green"):
            return
        self._start = self._start if self._start is not None else before
        failing = outcome.failing
        is_back = self._tests.fail_again(failing)
        if self._last is not None:
            since, then = self._last
            if failing < since:
                self._note(since, then, before)
            elif self._sides(then, before).code:
                self._tests.edited()
        if self._last is None or failing <= self._last[0] or is_back:
            after = self.take_snapshot()
            if after is not None:
                self._last = failing, after
            self._is_missing = any(each.startswith(MISSING) for each in outcome.causes.values())

    def _note(self, failing: int, then: Digests, now: Digests) -> None:
        made = self._sides(then, now)
        if not made.kind:
            self._tests.edited()
            return
        start = self._start or {}
        # The agent may correct tests of its own, and what is as it was at the start demands what it did.
        kept = [path for path in made.tests if path in start or path not in then]
        files = [path for path in kept if start.get(path) != now.get(path)]
        if made.tests and not files:
            return
        if made.kind == "no-edit" and self._is_missing:
            return  # it was installed
        is_found = self._is_missing and bool(files) and is_only_settings(files)
        named = {path: then.get(path) for path in files or made.other}
        self._tests.note(Unfixed.of("unclear" if is_found else made.kind, failing, named, now))

    def _sides(self, then: Digests, now: Digests) -> Sides:
        from loop_close.workspace.edits import edits_of

        paths = sorted(
            path for path in {*then, *now} if then.get(path) != now.get(path) and not path.startswith("//")
        )
        changed = [Changed(path=path, before=then.get(path), after=now.get(path)) for path in paths]
        # One by one: of many edits in one list the last are left out.
        edits = [edit for each in changed for edit in edits_of([each], self._contents.get).edits]
        new = {path for path in paths if path not in then}
        edits = [replace(e, function="", change="added") if e.file in new else e for e in edits]
        return sides_of(edits, self._tests.texts, is_missing=self._is_missing)
