"""``test-tampering``: tests are not what they were when the loop began, and no person accepted it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from loop_close.facts import file_of, qualname
from loop_close.memory import ChangedTest, Episode, Run, Signal
from loop_close.progress.mended import as_change, is_missing, is_settled, unmended
from loop_close.progress.signals.contract import View, fired, silent

KIND = "test-tampering"
#: The kinds of changes in words.
KINDS = {
    "deleted": "deleted",
    "not-run": "no longer run",
    "weakened": "weakened",
    "replaced": "tests a replacement",
    "unclear": "changed",
    "not-compared": "not compared",
    "not-fixed": "not fixed",
    "no-edit": "not edited",
    "hint": "look",
}
_WAYS = {
    "skipped": "skipped",
    "xfailed": "marked as expected to fail",
    "deleted": "deleted",
    "uncollected": "no longer collected",
}


def test_tampering(view: View) -> Signal:
    """Tests were deleted, kept from running, or demand less than when the loop began.

    Every run reports it until the change is undone, or a person accepts it.
    """
    found = open_changes(changed_tests(view.run, view.after))
    if not found:
        return silent(KIND, "the tests demand what they did when the loop began")
    runs = {view.run.number, *(known.tampered[0] for known in view.after.tests.values())} - {0}
    return fired(KIND, runs, (change.id for change in found), in_words(found))


def open_changes(changes: Sequence[ChangedTest]) -> list[ChangedTest]:
    """Those that keep a green run from being done."""
    return [change for change in changes if change.is_open]


def in_words(changes: Sequence[ChangedTest]) -> str:
    """What was done: the facts of a single one, ``2 weakened, 1 deleted`` of several, with the facts of the first."""
    if len(changes) == 1:
        return changes[0].what or KINDS.get(changes[0].kind, "changed")
    ways = Counter(KINDS.get(change.kind, "changed") for change in changes)
    counted = ", ".join(f"{number} {way}" for way, number in sorted(ways.items()))
    return f"{counted}; of {changes[0].id}: {changes[0].what}"


def changed_tests(run: Run, after: Episode) -> tuple[ChangedTest, ...]:
    """What was done to tests by their source, then what their outcomes alone show."""
    return (*run.tests, *_by_outcome(run, after), *_without_fix(run, after))


def _without_fix(run: Run, after: Episode) -> Iterator[ChangedTest]:
    """Tests that pass again although no code under test was edited."""
    passed = {test: known for test, known in sorted(after.tests.items()) if known.status == "passed"}
    settled = {change.file for change in run.tests if is_settled(change)}
    for each in unmended(after.steps, run, is_missing=is_missing(passed.values())) if passed else ():
        change = as_change(each, next(iter(passed)), settled, run.accepted)
        if change is not None:
            yield change


def _by_outcome(run: Run, after: Episode) -> Iterator[ChangedTest]:
    told = {(change.file, change.test) for change in run.tests if change.state != "hint"}
    for test, known in sorted(after.tests.items()):
        since, way = known.tampered
        place = file_of(test), qualname(test)
        if not since or way not in _WAYS or place in told or (place[0], "") in told:
            continue
        print_ = f"{way} {test}"
        yield ChangedTest(
            file=place[0],
            test=place[1],
            kind="deleted" if way == "deleted" else "not-run",
            what=f"failed in this episode, {_WAYS[way]} since run {since}",
            fingerprint=print_,
            state="accepted" if print_ in run.accepted else "open",
        )
