"""Which sources count: a merge until its sources ran here, a failed installation until its environment did."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from loop_close import lazy
from loop_close.facts import file_of, qualname
from loop_close.lazy import NamedTuple
from loop_close.memory import MERGED, TESTS, ChangedTest, Run
from loop_close.store import RunRow
from loop_close.text import listed

_MOST_NAMED = 3
#: In a command of which only the output is read: it names tests, or asks for those that failed.
_CHOSEN = lazy.pattern(r"::|--(?:lf|last-failed|loop-close-failed)\b")


class OpenMerge(NamedTuple):
    """A merge whose failures still count.

    :ivar sources: of those that were not green in it and are not green here since: the name, why, and the command that
        runs all its tests here; empty if it is unknown.
    :ivar tests: what failed in it.
    :ivar absent: of those the tests that did not pass in a run here that covers their source: a person may accept it.
    """

    sources: tuple[tuple[str, str, str], ...]
    tests: tuple[str, ...]
    absent: tuple[ChangedTest, ...]

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
    :ivar failed: the tests that failed in it, and files of tests that could not be collected.
    """

    name: str
    is_green: bool
    machine: str
    failed: frozenset[str] = frozenset()


def open_merge(
    sources: Iterable[str],
    rows: Callable[[str], Sequence[RunRow]],
    recorded: Callable[[str], Sequence[Run]],
    accepted: Collection[str] = (),
) -> OpenMerge | None:
    """The last merge, as far as its sources have not run here since; None if nothing of it is left.

    A run covers a source if all its tests ran and passed, and it is of the same name or environment. One of the same
    interpreter and platform does so as well, where no other source of the merge has these.

    :param sources: all that there are runs of; ``rows`` and ``recorded`` give the last runs of one, the newest last.
    :param accepted: fingerprints of changes that a person accepted.
    """
    names = set(sources)
    done = [row for row in rows(MERGED) if row.state == "done"] if MERGED in names else []
    merged = [*_merged(done[-1].summary)] if done else []
    number = done[-1].number if done else 0
    red = [each for each in merged if not each.is_green]
    if not red:
        return None
    since = done[-1].ended or done[-1].started
    later = {
        name: runs for name in sorted(names - {MERGED}) if (runs := _later(rows(name), recorded(name), since))
    }
    of_machine = Counter(each.machine for each in merged)
    commands = done[-1].summary.get("commands")
    left, gone = [], set()
    for each in red:
        ran = [runs for name, runs in later.items() if _is_of(name, runs[-1], each, of_machine)]
        whole = [*filter(_is_covered, ran)]
        open_tests = [t for t in each.failed if _fingerprint(number, t) not in accepted]
        absent = min((_absent(each, open_tests, runs) for runs in whole), key=len, default=[])
        gone.update(absent)
        if absent:
            left.append((each.name, _why_absent(absent), ""))
        elif not whole:
            left.append((each.name, _why_open(each, ran), _command(each, commands)))
    tests = next((run.marks for run in reversed(recorded(MERGED)) if run.number == number), ())
    changes = tuple(_change(number, test) for test in sorted(gone))
    return OpenMerge(tuple(left), tuple(mark.test for mark in tests), changes) if left else None


def _merged(summary: Mapping[str, object]) -> Iterator[_Merged]:
    value, failed = summary.get("sources"), summary.get("failed")
    for each in value if isinstance(value, list) else ():
        if isinstance(each, list) and len(each) == 3 and all(isinstance(part, str) for part in each):
            tests = failed.get(each[0]) if isinstance(failed, dict) else None
            own = frozenset(map(str, tests if isinstance(tests, list) else ()))
            yield _Merged(each[0], each[1] == "green", each[2], own)


def _why_open(merged: _Merged, ran: Sequence[Sequence[Run]]) -> str:
    """Why a source still counts that no run here covers.

    :param ran: the runs here of each source that may cover it.
    """
    if _is_elsewhere(merged):
        return f"it is of {merged.machine}: merge newer reports"
    return "no green run of all its tests here since" if ran else "not run here since"


def _why_absent(tests: Sequence[str]) -> str:
    have, it = ("have", "them") if len(tests) > 1 else ("has", "it")
    return (
        f"{listed(tests, _MOST_NAMED)} failed there and {have} not passed here since: restore {it}, or let a person"
        " accept the change with loop-close accept"
    )


def _change(number: int, test: str) -> ChangedTest:
    """A test that is absent, as a change that a person may accept.

    :param number: of the merge.
    """
    what = f"failed in the reports that merge {number} read, and has not passed here since"
    known_by = _fingerprint(number, test)
    return ChangedTest(
        file=file_of(test), test=qualname(test), kind="not-run", what=what, fingerprint=known_by
    )


def _fingerprint(number: int, test: str) -> str:
    return f"{MERGED}:{number}:{test}"


def _command(merged: _Merged, commands: object) -> str:
    command = commands.get(merged.name) if isinstance(commands, dict) and not _is_elsewhere(merged) else ""
    return command if isinstance(command, str) else ""


def _is_elsewhere(merged: _Merged) -> bool:
    """Whether it is of another platform."""
    return "-" in merged.machine and merged.machine.rpartition("-")[2] != sys.platform


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


def _absent(merged: _Merged, tests: Iterable[str], runs: Sequence[Run]) -> list[str]:
    """Of tests that failed in the source those that have not passed in any of the runs: deleted, or skipped.

    Nothing where the runs do not name their tests, or as the ids of a JUnit file may be of another folder.
    """
    if not merged.machine or not all(run.tells_outcomes for run in runs):
        return []
    passed = {test for run in runs for test, outcome in run.outcomes.items() if outcome == "passed"}
    return sorted({*tests} - passed - {*runs[-1].known})


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
