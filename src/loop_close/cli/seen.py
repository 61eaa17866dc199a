"""What is known of a project when an agent wants to stop."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from loop_close import files
from loop_close.cli.edited import Edited, edited_since
from loop_close.cli.memory import Remembered
from loop_close.cli.place import Place
from loop_close.cli.standing import Standing, end_of, last_runs, standings
from loop_close.cli.summary import summary_of
from loop_close.memory import ChangedTest
from loop_close.store.contract import RunRow
from loop_close.store.runs import Look, known_by

# Of tests; other tools that are run tell nothing of them.
_TESTS = "pytest"
_LOOKS = 60
_BACK = 4
_WORST = ("green", "failing", "stuck")


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What is known.

    :ivar standing: of the source that decides: the worst of those that ran on the files as they were last.
    :ivar is_complete: its last run that ended came to its end, and all tests were meant to run.
    :ivar is_running: that source, or a run of tests, is under way.
    :ivar latest: the source and number of the last run that ended, of whichever source.
    :ivar tests: what was done to tests, by the last runs of the source that decides.
    :ivar known: the last run as it can be known again; ``has_known``: the history has the one that was known before.
    :ivar finished: the last run of each source that ended, as it can be known again.
    """

    standing: Standing
    is_complete: bool
    is_running: bool
    edited: Edited
    latest: str
    tests: tuple[ChangedTest, ...] = ()
    known: str = ""
    has_known: bool = True
    finished: tuple[str, ...] = ()


def see(place: Place, memory: Remembered, known: str = "") -> Seen:
    """Look at what is remembered, and at the files.

    :param known: a run that was seen before; empty for none.
    """
    looks = memory.looks(_LOOKS)
    found = list(standings(last_runs(memory, None), place, memory.accepted()))
    decides = _deciding(found, looks)
    whole = _last_whole(looks)
    later = looks[: looks.index(whole) + 1] if whole is not None else ()
    return Seen(
        standing=decides,
        is_complete=decides.last.state != "killed" and _is_complete(decides, looks),
        is_running=any(
            each.last.state == "running" for each in found if each is decides or _is_of_tests(each)
        ),
        edited=edited_since(place, memory, whole, later),
        latest=f"{looks[0].source} {looks[0].number}" if looks else "",
        tests=_tests(decides, memory),
        known=known_by(looks[0].source, looks[0].number, looks[0].window[0]) if looks else "",
        has_known=not known or memory.has_run(known),
        finished=tuple(_known_by(each.finished) for each in found if each.finished is not None),
    )


def _known_by(row: RunRow) -> str:
    return known_by(row.source, row.number, row.started)


def failing_since(seen: Seen, before: Collection[str], memory: Remembered) -> tuple[int, tuple[str, ...]]:
    """The tests that fail, where each had the same failure already in an earlier run of its source.

    Asked of a run of all tests that came to its end, and that is red for its tests alone.

    :param before: the earlier runs, as they can be known again, at most one of each source.
    :returns: the number of the earlier run and the tests; zero and nothing where any of them is of later.
    """
    row = seen.standing.finished
    earlier = next((known for known in before if row is not None and _is_earlier(known, row)), None)
    if row is None or earlier is None or seen.standing.last is not row or not seen.is_complete:
        return 0, ()
    run, last = memory.recorded_as(_known_by(row)), memory.recorded_as(earlier)
    if run is None or last is None or run.omitted_marks or run.incomplete or last.is_killed:
        return 0, ()
    failing = tuple(sorted(mark.test for mark in run.marks))
    older = {(mark.test, mark.shape) for mark in last.marks}
    is_older = all((mark.test, mark.shape) in older or mark.test in last.known for mark in run.marks)
    return (last.number, failing) if failing and is_older else (0, ())


def _is_earlier(known: str, row: RunRow) -> bool:
    number, _, rest = known.partition(" ")
    return rest.partition(" ")[2] == row.source and int(number) < row.number


def _tests(standing: Standing, memory: Remembered) -> tuple[ChangedTest, ...]:
    """What was done to tests; where the last run tells of nothing, by the green run before it that does.

    What cannot be decided is reported by two green runs, and an agent may run the tests as often as it likes.
    """
    if standing.summary.tests:
        return standing.summary.tests
    accepted = memory.accepted()
    rows = (row for row in reversed(memory.rows(standing.last.source, _BACK)) if row.state == "done")
    found = (summary_of(row).judged(accepted) for row in rows)
    return next((each.tests for each in found if each.verdict == "green" and each.tests), ())


def _is_of_tests(standing: Standing) -> bool:
    return standing.last.source.startswith(_TESTS)


def _is_complete(standing: Standing, looks: Sequence[Look]) -> bool:
    number = standing.finished.number if standing.finished is not None else 0
    return any(each.is_full for each in looks if (each.source, each.number) == (standing.last.source, number))


def _deciding(found: Sequence[Standing], looks: Sequence[Look]) -> Standing:
    """The worst of the sources whose last run saw the files as the last run of all did; the newest of equals."""
    newest = max(found, key=_age)
    last: dict[str, Look] = {}
    for each in looks:
        last.setdefault(each.source, each)
    same = [s for s in found if s is newest or _saw_the_same(last.get(s.last.source), looks)]
    return max(same, key=lambda standing: (_WORST.index(standing.verdict), _age(standing)))


def _saw_the_same(look: Look | None, looks: Sequence[Look]) -> bool:
    return look is not None and look.snapshot is not None and look.snapshot == looks[0].snapshot


def _age(standing: Standing) -> float:
    return end_of(standing.finished or standing.last)


def _last_whole(looks: Sequence[Look]) -> Look | None:
    """The last run in which all tests were meant to run; where there is none, the last of tests, or of anything."""
    tests = [each for each in looks if each.source.startswith(_TESTS)] or list(looks)
    return next((each for each in tests if each.is_full), tests[0] if tests else None)


def is_ours_to_judge(place: Place) -> bool:
    """Whether the project and what is remembered of it belong to us, or to the administrator: else it may be a trap."""
    if not hasattr(os, "getuid"):
        return True
    paths = (place.root, place.root / files.STATE_FOLDER)
    return all(path.lstat().st_uid in (os.getuid(), 0) for path in paths if os.path.lexists(path))
