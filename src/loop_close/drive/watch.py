"""What a driver knows of its loop that no single run tells: how it began, and what was run."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from loop_close.agent.saved import Saved
from loop_close.agent.tool_results import RunOutcome
from loop_close.cli.memory import Remembered, read
from loop_close.cli.project import place_at
from loop_close.cli.status import CameTo, has_run
from loop_close.cli.streams import UsageError
from loop_close.memory import Edits, Run
from loop_close.store.runs import known_by

_UNKNOWN = -1
_MAX_TESTS = 5_000


@dataclass(kw_only=True, slots=True)
class Watch:
    """What is known, from run to run of the driver's own.

    States of the project's files go by the numbers that the history gives them, -1 where they are not known.

    :ivar first: when the loop began; ``last`` when the tests ran last.
    :ivar selection: how the first run chose its tests; ``elsewhere`` what was known then to fail and did not run.
    :ivar most: tests that ran in the run with the most of them.
    :ivar numbers: of the last run of every source: they only grow.
    :ivar own: what the last run of the loop is known by.
    :ivar is_lost: the history was taken away: it tells nothing of before.
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

    def state(self) -> dict[str, Any]:
        """What to go on from, as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_saved(cls, saved: Saved) -> Watch:
        """The watch that gave the state.

        :raises StateError: naming the field that is damaged.
        """
        numbers = saved.record("numbers")
        return cls(
            **{name: saved.whole_or(name, _UNKNOWN) for name in ("first", "last")},
            selection=saved.text("selection"),
            elsewhere=saved.texts("elsewhere"),
            most=saved.whole("most"),
            numbers={source: numbers.whole(source) for source in numbers.names()},
            own=saved.text("own") if "own" in saved.names() else "",
            is_lost=saved.flag("is_lost"),
            is_begun=saved.flag("is_begun"),
        )

    def notice_loss(self, numbers: Mapping[str, int], *, may_let_go: bool = False) -> None:
        """Numbers of the last runs by source. Where they went back somebody took the history away.

        :param may_let_go: a source that is not there any more the history let go by itself, as it does after a run.
        """
        for source, number in self.numbers.items():
            self.is_lost |= numbers.get(source, number if may_let_go else 0) < number
        self.numbers = dict(numbers)

    def begin(self, came: CameTo) -> None:
        """After the first run of the loop: how it chose its tests, and what is elsewhere; later runs change nothing."""
        run, progress = came.run, came.progress
        if run is None or self.is_begun:
            return
        self.is_begun, self.selection = True, run.selection
        # Of a run that was cut off, or stopped at the first failure, nobody knows what it would have run.
        not_run = progress.not_run if progress is not None and not run.incomplete else ()
        self.elsewhere = sorted(not_run)[:_MAX_TESTS]

    def is_rest_elsewhere(self, came: CameTo) -> bool:
        """Whether all that is known to fail is what the command has never run in this loop."""
        progress, run = came.progress, came.run
        if progress is None or run is None or len(came.standings) > 1 or not run.is_good:
            return False
        left = progress.step.unresolved
        is_same = bool(run.selection) and run.selection == self.selection
        return is_same and left == progress.step.not_run > 0 and set(progress.not_run) <= set(self.elsewhere)

    def ended(self, root: Path, numbers: Mapping[str, int], came: CameTo, outcome: RunOutcome) -> RunOutcome:
        """After a run: its outcome as this loop sees it.

        :param numbers: of the last runs by source.
        """
        self.notice_loss(numbers, may_let_go=True)
        edited: Edits | None = None
        now = _UNKNOWN
        with contextlib.suppress(UsageError):
            now, edited = read(place_at(root).history, self._look)
        if came.standings:
            last = came.standings[0].last
            self.own = known_by(last.source, last.number, last.started)
        self.first = now if self.first == _UNKNOWN else self.first
        self.last = now
        if came.progress is not None:  # what ran once is the loop's
            self.elsewhere = [test for test in self.elsewhere if test in came.progress.not_run]
        return replace(
            outcome,
            missing=self._missing(came.run, outcome),
            not_run=len(set(came.progress.not_run) - set(self.elsewhere)) if came.progress else 0,
            is_edited=outcome.is_edited if edited is None else edited.kind == "effective",
        )

    def notice_other(self, root: Path) -> None:
        """Before a run: whether the history is the one that has the last run of the loop."""
        self.is_lost |= bool(self.own) and not has_run(root, self.own)

    def edits(self, root: Path) -> Edits | None:
        """What was edited since the loop began; None where that is not known."""
        if self.is_lost:
            return None
        with contextlib.suppress(UsageError):
            return read(place_at(root).history, lambda memory: _edits(memory, self.first))
        return None

    def _look(self, memory: Remembered) -> tuple[int, Edits | None]:
        """The files' state now, and what was edited since the tests ran last."""
        seen = [_UNKNOWN if each.snapshot is None else each.snapshot for each in memory.looks(1)]
        return next(iter(seen), _UNKNOWN), None if self.is_lost else _edits(memory, self.last)

    def _missing(self, run: Run | None, outcome: RunOutcome) -> int:
        """How many tests fewer ran than before, where nothing else tells that tests are gone."""
        if run is None or not outcome.is_complete:
            return 0
        ran = run.passed + run.skipped + sum(mark.phase != "check" for mark in run.marks) + run.omitted_marks
        self.most = max(self.most, ran)
        is_told = run.tells_outcomes and not self.is_lost
        return 0 if is_told or outcome.verdict != "green" else self.most - ran


def _edits(memory: Remembered, snapshot: int) -> Edits | None:
    """How the project differs from that state of it; None where that is not known."""
    changes = None if snapshot == _UNKNOWN else memory.changes_since(snapshot)
    if changes is None:
        return None
    from loop_close.workspace.edits import Changed, edits_of

    changed = [Changed(path=path, before=before, after=after) for path, before, after in changes]
    return edits_of(changed, memory.content)
