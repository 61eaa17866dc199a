"""Whether the agent mended what passes again: the files of the project between the driver's own runs of the tests.

The history knows as much, and the agent can reach it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from loop_close.agent.tool_results import RunOutcome
from loop_close.cli.driven_tests import DrivenTests, Unfixed
from loop_close.progress.tampering import MISSING, Sides, is_only_settings, sides_of
from loop_close.snapshot import take_snapshot
from loop_close.targets import Targets
from loop_close.workspace.edits import Changed

Digests = Mapping[str, str]


class Mending:
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
        """The files by path and digest; None where they are not all known."""
        seen = take_snapshot(self._root, self._known, self._leave_out)
        if seen.entries is None:
            return None
        self._known = seen.entries
        self._contents |= seen.contents
        return {path: entry[2] for path, entry in seen.entries.items()}

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
