"""Which sources count: those of a merge, and environments, until they pass here on the files as they are."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from loop_close.choice import BESIDE, LOCATING
from loop_close.lazy import NamedTuple
from loop_close.memory import MERGED, TESTS, ChangedTest, Run
from loop_close.store import RunRow
from loop_close.text import digest, listed

if TYPE_CHECKING:
    from loop_close.store.runs import RunWindow

_MOST_NAMED = 3
_ACCEPT = "let a person accept the change with loop-close accept"
#: So many last runs are searched for the beginning of a loop over environments.
LOOKS = 60
#: With more changed files they are not compared: a checkout of another branch is an edit anyway.
COMPARED = 100
# Seconds: after so long a loop is over; what ran so short before it began is part of it.
_DAY, _SHORTLY = 86_400.0, 3_600.0


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
    def not_run(self) -> list[str]:
        """The sources but for those that ran, and only lack tests."""
        return [name for name, why, _ in self.sources if not why.endswith(_ACCEPT)]

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
    :ivar is_of_tests: as far as is known, they are of Python.
    """

    name: str
    is_green: bool
    machine: str
    failed: frozenset[str] = frozenset()
    is_of_tests: bool = True


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
    last = next((run for run in reversed(recorded(MERGED)) if run.number == number), Run(number=number))
    code = last.code or str(number)
    left, gone = [], list[ChangedTest]()
    for each in red:
        ran = [runs for name, runs in later.items() if _is_of(name, runs[-1], each, of_machine)]
        whole = [runs for runs in ran if _is_covered(each, runs)]
        absent = min((_absent(each, runs) for runs in whole), key=len, default=[])
        changes = [_change(code, each.name, test) for test in absent]
        changes = [change for change in changes if change.fingerprint not in accepted]
        absent = [change.id for change in changes]
        gone += changes
        if absent:
            left.append((each.name, _why_absent(absent), ""))
        elif not whole:
            left.append((each.name, _why_open(each, ran), _command(each, commands)))
    tests = tuple(mark.test for mark in last.marks)
    return OpenMerge(tuple(left), tests, tuple(gone)) if left else None


def _merged(summary: Mapping[str, object]) -> Iterator[_Merged]:
    from loop_close.facts import file_of  # late, as below: a run without a merge does without

    value, failed = summary.get("sources"), summary.get("failed")
    for each in value if isinstance(value, list) else ():
        if isinstance(each, list) and len(each) == 3 and all(isinstance(part, str) for part in each):
            tests = failed.get(each[0]) if isinstance(failed, dict) else None
            own = frozenset(map(str, tests if isinstance(tests, list) else ()))
            is_of_tests = tests is None or any(file_of(test).endswith(".py") for test in own)
            yield _Merged(each[0], each[1] == "green", each[2], own, is_of_tests)


def _why_open(merged: _Merged, ran: Sequence[Sequence[Run]]) -> str:
    """Why a source still counts that no run here covers.

    :param ran: the runs here of each source that may cover it.
    """
    if _is_elsewhere(merged):
        return f"it is of {merged.machine}: merge newer reports"
    return "no green run of all its tests here since" if ran else "not run here since"


def _why_absent(tests: Sequence[str]) -> str:
    have, it = ("have", "them") if len(tests) > 1 else ("has", "it")
    named = f"{listed(tests, _MOST_NAMED)} failed there and {have} not passed here since"
    return f"{named}: run or restore {it}, or {_ACCEPT}"


def _change(code: str, source: str, test: str) -> ChangedTest:
    """A test that is absent, as a change that a person may accept.

    :param code: the digest of the merge.
    """
    from loop_close.facts import file_of

    return ChangedTest(
        file=file_of(test),
        test=test.partition("::")[2],
        kind="not-run",
        what=f"failed in the merged reports of {source}, and has not passed here since",
        fingerprint=digest(MERGED, code, source, test),
    )


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
    from loop_close.facts import interpreter_in

    if merged.machine and run.interpreter and merged.machine != run.interpreter:
        return False
    named = "" if merged.machine or not run.interpreter else interpreter_in(merged.name)  # of a JUnit file
    if named and not run.interpreter.startswith(f"{named}-"):
        return False
    tool, _, environment = source.partition(":")
    if merged.name in (source, environment):
        return True
    is_alone = of_machine[merged.machine] == 1 and merged.machine in (run.interpreter, "")
    is_same = tool == merged.name.partition(":")[0] or (tool == TESTS and merged.is_of_tests)
    return is_alone and is_same


def _is_covered(merged: _Merged, runs: Sequence[Run]) -> bool:
    """Whether all tests passed in one of the runs, and none failed in the last.

    Where only the output of a command was read, nothing in it may have left tests out.
    """
    is_whole = any(
        run.is_good
        and run.is_full
        and not run.marks
        and _has_all(run.selection, merged.failed)
        and (run.tells_outcomes or run.passed or not merged.failed)
        for run in runs
    )
    return is_whole and runs[-1].is_good and not runs[-1].marks


def _has_all(selection: str, failed: Collection[str]) -> bool:
    """Whether a run had the tests that failed, as far as a command of pytest shows whose output alone was read."""
    program, bar, beside = selection.partition(f" {BESIDE} ")
    if not bar or program != "pytest":
        return not selection.startswith("pytest ")
    try:
        words = shlex.split(beside)
    except ValueError:  # it was too long to be kept whole
        return False
    if any(word.partition("=")[0] in LOCATING for word in words):
        return False
    pairs = zip(["", *words], words, strict=False)
    folders = tuple(f"{word}/" for before, word in pairs if not word.startswith("-") and before != "-p")
    return not folders or all(test.startswith(folders) for test in failed)


def _absent(merged: _Merged, runs: Sequence[Run]) -> list[str]:
    """Of the tests that failed in the source those that have not passed in any of the runs: deleted, or skipped.

    A file that could not be collected was, in a run of all tests. Nothing where no run names its tests, or as the ids
    of a JUnit file may be of another folder.
    """
    if not merged.machine or not any(run.tells_outcomes for run in runs):
        return []
    from loop_close.progress.compare import renamed

    left = {*merged.failed}
    for run in runs:
        names = renamed(tuple(sorted(left)), run)
        left = {names.get(test, test) for test in left}
        left -= {test for test, outcome in run.outcomes.items() if outcome == "passed"}
    removed = {edit.file for run in runs for edit in run.edits.edits if edit.change == "removed"}
    return sorted(test for test in left if "::" in test or test in removed)


def due(looks: Sequence[RunWindow]) -> set[str]:
    """The environments that passed in the last loop over environments: they have to pass on its last files, too.

    It reaches back from the last red run of one of them, as long as one was red. What passed on the files of the run in
    which it began, or shortly before, is part of it. It ended once all tests passed in each of them on the same files,
    or a day ago.

    :param looks: the last runs, the newest first.
    :returns: the source of each environment that ran last; nothing if there is no loop, or it ended.
    """
    own = [each for each in looks if ":" in each.source and looks[0].window[1] - each.window[1] < _DAY]
    red = begin = next((at for at, each in enumerate(own) if not each.is_good), len(own))
    while _is_red(own[begin + 1 :]):
        begin += 1
    if begin == len(own):
        return set()
    state, start = own[begin].snapshot, own[begin].window[0]
    last = {
        name: at
        for name, at in _last(own).items()
        if at <= begin or own[at].snapshot == state is not None or start - own[at].window[1] < _SHORTLY
    }
    for at in range(red):
        then = [own[at + found] for name, found in _last(own[at:]).items() if name in last]
        states = {each.snapshot for each in then}
        if len(states) == 1 and None not in states and all(each.is_good and each.is_full for each in then):
            return set()
    return {own[at].source for at in last.values() if own[at].is_good and not own[at].is_skipped}


def _last(looks: Sequence[RunWindow]) -> dict[str, int]:
    """The position of the last run of each environment, whichever source it is recorded as."""
    return {each.source.split(":")[1]: at for at, each in reversed([*enumerate(looks)])}


def _is_red(looks: Sequence[RunWindow]) -> bool:
    """Whether a source was red at that time: a green run of some tests leaves it so."""
    last: dict[str, bool] = {}
    for each in looks:
        if not each.is_good or each.is_full:
            last.setdefault(each.source, each.is_good)
    return not all(last.values())


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
