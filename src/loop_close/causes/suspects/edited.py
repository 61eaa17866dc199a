"""What was edited right before failures began; what was edited since were attempts to mend them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.conventions import is_test_file, is_test_module
from loop_close.facts import qualname, test_function
from loop_close.memory import Edit, Episode, Step
from loop_close.model import Failure

_CONFTEST = "conftest.py"


def edited_before(failures: Sequence[Failure], episode: Episode) -> dict[tuple[str, str], tuple[int, Edit]]:
    """Functions, class bodies and module bodies, by file and qualified name: the last such edit, and the run after it.

    Of test code only what the failing tests may use: their own functions, what stands beside them, helpers that are
    no tests, and the conftests above them. New test code is left out: its failures say what is still to be done.
    """
    runs = _runs_before(failures, episode)
    return {
        _name(edit): (step.run, edit)
        for step in episode.steps
        if step.run in runs
        for edit in step.edits.edits
        if _counts(edit) and (not is_test_file(edit.file) or _may_be_used(edit, failures))
    }


def _name(edit: Edit) -> tuple[str, str]:
    return edit.moved_to if edit.change == "moved" else (edit.file, edit.function)


def _counts(edit: Edit) -> bool:
    return bool(edit.function) and edit.is_effective and edit.change != "removed"


def _runs_before(failures: Sequence[Failure], episode: Episode) -> frozenset[int]:
    """The runs from the one in which a failure began back to the one after which all tests had last run."""
    known = (episode.tests.get(failure.nodeid) for failure in failures)
    begun = {each.since for each in known if each is not None}
    return frozenset(step.run for since in begun for step in _back_from(since, episode.steps))


def _back_from(since: int, steps: Sequence[Step]) -> Iterator[Step]:
    for step in reversed(steps):
        if step.run < since and step.is_full:
            return
        if step.run <= since:
            yield step


def _may_be_used(edit: Edit, failures: Sequence[Failure]) -> bool:
    if edit.change == "added":
        return False
    folder, _, name = edit.file.rpartition("/")
    if name == _CONFTEST:
        return any(f"/{failure.file}".startswith(f"/{folder}/".replace("//", "/")) for failure in failures)
    if is_test_module(edit.file) and edit.file not in {failure.file for failure in failures}:
        return False
    if edit.function.rpartition(".")[2].startswith("test"):
        return any(
            (failure.file, written_name(failure)) == (edit.file, edit.function) for failure in failures
        )
    return True


def written_name(failure: Failure) -> str:
    """The test's qualified name as it is written: without its parameters."""
    return qualname(failure.nodeid) or test_function(failure.nodeid)
