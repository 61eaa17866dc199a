"""What became of a test that failed before and is not among the failures now."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.conventions import is_configuration
from loop_close.facts import TEST_PHASES, file_of, qualname, test_function
from loop_close.memory import Edit, Edits, Episode, Known, Run
from loop_close.progress.known import Became

#: pytest's words for a run that ended with its collection: the other files were collected whole.
_COLLECTED = "during collection"


def outcome_of(test: str, known: Known, run: Run, episode: Episode) -> Became | None:
    """What became of it; None where it did not run."""
    if run.is_killed:
        return None
    if test in run.outcomes:
        return run.outcomes[test]
    if known.mark.phase == "collect":
        return _of_collection(test, run)
    if known.mark.phase not in TEST_PHASES or not run.tells_outcomes:
        return "passed" if run.is_full and _is_same_command(run, episode) else None
    if any(is_about(edit, test) for edit in run.edits.edits if edit.change == "removed"):
        return "deleted"
    return "uncollected" if run.is_full and touches_tests(run.edits, test) else None


def is_by_runner(test: str, outcome: Became, run: Run) -> bool:
    """Whether a test that no longer fails shows by its outcome alone that it was silenced.

    What was done to the source of a test is judged by its source, where that was compared: a test that is gone may
    have been renamed, or made the case of another one.
    """
    own = (edit for edit in run.edits.edits if is_about(edit, test) or edit.moved_to == _place(test))
    is_edited = outcome == "uncollected" and any(own)
    is_by_source = run.is_compared and (outcome == "deleted" or is_edited)
    return not is_by_source and touches_tests(run.edits, test)


def touches_tests(edits: Edits, test: str) -> bool:
    """Whether what decides which tests run was edited: the test's own file, a conftest, pytest's configuration."""
    file = file_of(test)
    named = {edit.file for edit in edits.edits} | {edit.moved_to[0] for edit in edits.edits}
    return bool(edits.omitted) or file in named or any(map(is_configuration, named))


def _of_collection(test: str, run: Run) -> Became | None:
    """A file that could not be collected passed when its tests, or those of all other files, were found."""
    named = (*run.outcomes, *(mark.test for mark in run.marks))
    seen = any(other.startswith(f"{test}::") for other in named)
    if seen or run.is_full or (_COLLECTED in run.incomplete and not run.selection):
        return "passed"
    return None


def _is_same_command(run: Run, episode: Episode) -> bool:
    last = episode.steps[-1].selection if episode.steps else episode.selection
    return run.selection in ("", episode.selection, last)


def is_about(edit: Edit, test: str) -> bool:
    """Whether the edit is of the function of this test, or of the whole file it stands in."""
    return edit.file == file_of(test) and (not edit.function or edit.function == qualname(test))


def _place(test: str) -> tuple[str, str]:
    return file_of(test), qualname(test)


def renamed(tests: tuple[str, ...], run: Run) -> dict[str, str]:
    """New names of known tests: their functions were moved, or their cases got other ids."""
    names = dict(_moved(tests, run))
    for rule in (_new_ids, _rewritten):
        names |= dict(rule(tuple(t for t in tests if t not in names), run))
    return names


def _moved(tests: tuple[str, ...], run: Run) -> Iterator[tuple[str, str]]:
    moves = {(e.file, e.function): e.moved_to for e in run.edits.edits if e.change == "moved"}
    for test in tests:
        file, function = moves.get(_place(test), ("", ""))
        if file:
            case = test[len(test_function(test)) :]
            yield test, f"{file}::{function.replace('.', '::')}{case}"


def _rewritten(tests: tuple[str, ...], run: Run) -> Iterator[tuple[str, str]]:
    """Failing tests that are gone, and the one new failing test of that name: moved and edited at once."""
    gone = {(e.file, e.function) for e in run.edits.edits if e.change == "removed"}
    added = {(e.file, e.function) for e in run.edits.edits if e.change == "added"}
    new = [m.test for m in run.marks if _place(m.test) in added]
    for test in tests:
        if _place(test) in gone:
            same = [other for other in new if _last_name(other) == _last_name(test)]
            if len(same) == 1 and same[0] not in tests:
                yield test, same[0]


def _last_name(test: str) -> str:
    return test.rpartition("::")[2]


def _new_ids(tests: tuple[str, ...], run: Run) -> Iterator[tuple[str, str]]:
    """Cases that vanished, and as many unknown failing ones of the same test: ids made of values."""
    present = {mark.test for mark in run.marks} | set(run.outcomes)
    known = set(tests)
    unknown: dict[str, list[str]] = {}
    for test in sorted(present - known):
        unknown.setdefault(test_function(test), []).append(test)
    for test in tests:
        candidates = unknown.get(test_function(test), [])
        if test not in present and "[" in test and candidates:
            yield test, candidates.pop(0)
