"""Which sources count: a merge until its sources ran here, a failed installation until its environment did."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from loop_close import lazy
from loop_close.lazy import NamedTuple
from loop_close.memory import MERGED, TESTS, Run
from loop_close.store import RunRow

#: In a command of which only the output is read: it names tests, or asks for those that failed.
_CHOSEN = lazy.pattern(r"::|--(?:lf|last-failed|loop-close-failed)\b")


class OpenMerge(NamedTuple):
    """A merge whose failures still count.

    :ivar sources: of those that were not green in it and are not green here since: the name, why, and the command that
        runs all its tests here; empty if it is unknown.
    :ivar tests: what failed in it.
    """

    sources: tuple[tuple[str, str, str], ...]
    tests: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """A line for each source."""
        return [
            f"{name}: not green in the merged reports, {why}{f': {command}' if command else ''}"
            for name, why, command in self.sources
        ]


class _Merged(NamedTuple):
    """A source as it was merged.

    :ivar machine: interpreter and platform, empty if unknown.
    """

    name: str
    is_green: bool
    machine: str


def open_merge(
    sources: Iterable[str],
    rows: Callable[[str], Sequence[RunRow]],
    recorded: Callable[[str], Sequence[Run]],
) -> OpenMerge | None:
    """The last merge, as far as its sources have not run here since; None if nothing of it is left.

    A run covers a source if all its tests ran and passed, and it is of the same name or environment. One of the same
    interpreter and platform does so as well, where no other source of the merge has these.

    :param sources: all that there are runs of; ``rows`` and ``recorded`` give the last runs of one, the newest last.
    """
    names = set(sources)
    done = [row for row in rows(MERGED) if row.state == "done"] if MERGED in names else []
    merged = [*_merged(done[-1].summary.get("sources"))] if done else []
    red = [each for each in merged if not each.is_green]
    if not red:
        return None
    since = done[-1].ended or done[-1].started
    later = {
        name: runs for name in sorted(names - {MERGED}) if (runs := _later(rows(name), recorded(name), since))
    }
    of_machine = Counter(each.machine for each in merged)
    commands = done[-1].summary.get("commands")
    left = [
        (each.name, *_way_out(each, commands if isinstance(commands, dict) else {}, has_run=bool(ran)))
        for each in red
        if not any(
            map(_is_covered, ran := [r for n, r in later.items() if _is_of(n, r[-1], each, of_machine)])
        )
    ]
    tests = next((run.marks for run in reversed(recorded(MERGED)) if run.number == done[-1].number), ())
    return OpenMerge(tuple(left), tuple(mark.test for mark in tests)) if left else None


def _merged(value: object) -> Iterator[_Merged]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, list) and len(each) == 3 and all(isinstance(part, str) for part in each):
            yield _Merged(each[0], each[1] == "green", each[2])


def _way_out(merged: _Merged, commands: Mapping[str, object], *, has_run: bool) -> tuple[str, str]:
    """Why a source still counts, and the command for it."""
    command = commands.get(merged.name)
    if "-" in merged.machine and merged.machine.rpartition("-")[2] != sys.platform:
        return f"it is of {merged.machine}: merge newer reports", ""
    why = "no green run of all its tests here since" if has_run else "not run here since"
    return why, command if isinstance(command, str) else ""


def _later(rows: Sequence[RunRow], runs: Sequence[Run], since: float) -> list[Run]:
    numbers = {row.number for row in rows if row.state == "done" and row.started >= since}
    return [run for run in runs if run.number in numbers]


def _is_of(source: str, run: Run, merged: _Merged, of_machine: Mapping[str, int]) -> bool:
    """Whether a run here is one of the source that was merged."""
    if merged.machine and run.interpreter and merged.machine != run.interpreter:
        return False
    tool, _, environment = source.partition(":")
    if merged.name in (source, environment):
        return True
    is_alone = of_machine[merged.machine] == 1 and merged.machine in (run.interpreter, "")
    return is_alone and tool in (merged.name.partition(":")[0], TESTS)


def _is_covered(runs: Sequence[Run]) -> bool:
    """Whether all tests passed in one of the runs, and none failed in the last."""
    is_whole = any(
        run.is_good
        and run.is_full
        and not run.marks
        and not (run.collected and _CHOSEN.search(run.selection))
        for run in runs
    )
    return is_whole and runs[-1].is_good and not runs[-1].marks


def superseded(last: Mapping[str, tuple[float, Sequence[str]]]) -> set[str]:
    """The sources that only say that environments could not be made, where each ran tests later.

    :param last: of each source when its last run ended, and the environments that could not be made, if that is all.
    """
    ran: dict[str, float] = {}
    for source, (ended, setup) in last.items():
        environment = source.partition(":")[2].partition(":")[0]
        if environment and not setup:
            ran[environment] = max(ended, ran.get(environment, 0.0))
    return {
        source
        for source, (ended, setup) in last.items()
        if setup and all(ran.get(name, 0.0) > ended for name in setup)
    }


def setup_of(summary: Mapping[str, object]) -> tuple[str, ...]:
    """The environments that could not be made, where a run says nothing else."""
    found = summary.get("setup")
    return tuple(map(str, found)) if isinstance(found, list) else ()
