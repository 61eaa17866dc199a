"""Which tests were tampered with in this loop: the history tells it of the run that shows it, and only of that."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from loop_close.agent.run_outcome import RunOutcome
from loop_close.agent.tampered import still_tampered
from loop_close.cli.memory import Remembered, read
from loop_close.cli.parser_parts import UsageError
from loop_close.cli.place import place_at
from loop_close.memory import Edit
from loop_close.memory import Tampering as Way

_UNKNOWN = -1


class Tampering:
    """What was done to tests and is not undone.

    :param tests: what was done, by node id.
    :param snapshot: the number of the last state of the files, in the history, before anything was done; -1 for none.
    """

    def __init__(self, tests: Mapping[str, str] | None = None, snapshot: int = _UNKNOWN) -> None:
        self.tests = {test: cast(Way, way) for test, way in (tests or {}).items()}
        self.snapshot = snapshot

    def told(self, root: Path, outcome: RunOutcome) -> RunOutcome:
        """The outcome of a run, with what was done to tests before it."""
        with contextlib.suppress(UsageError):
            read(place_at(root).history, self._look)
        self.tests = {**self.tests, **outcome.tampered}
        if not self.tests:
            self.snapshot = self._now
        return replace(outcome, tampered=self.tests)

    _now: int = _UNKNOWN

    def _look(self, memory: Remembered) -> None:
        """Forget what is undone by now."""
        looks = memory.looks(1)
        seen = looks[0].snapshot if looks else None
        self._now = _UNKNOWN if seen is None else seen
        if self.tests:
            self.tests = still_tampered(self.tests, _edits(memory, self.snapshot))


def _edits(memory: Remembered, snapshot: int) -> Sequence[Edit] | None:
    """How the project differs from that state of it; None where that is not known."""
    if snapshot == _UNKNOWN:
        return None
    changes = memory.changes_since(snapshot)
    if changes is None:
        return None
    from loop_close.workspace.edits import Changed, edits_of

    changed = [Changed(path=path, before=before, after=after) for path, before, after in changes]
    return edits_of(changed, memory.content).edits
