"""A run against what is known: every test into its group, and what is known afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from loop_close.conventions import is_test_file, is_test_module
from loop_close.facts import file_of, qualname
from loop_close.memory import Edit, Edits, Episode, Known, Mark, Run, Step, Thresholds
from loop_close.progress.known import failed, flipped, is_flaky, is_worded_alike, settled
from loop_close.progress.outcome import is_about, is_by_runner, outcome_of, renamed
from loop_close.progress.steps import UNEDITED
from loop_close.syntax.meaning import MODULE


@dataclass(kw_only=True, slots=True)
class Changes:
    """The groups of tests, as :class:`~loop_close.memory.Progress` names them, while they are being made.

    :ivar later: of the changed ones those that came further; ``shaped`` those with a shape never seen before.
    :ivar added: of the new ones those that were written or rewritten since the run before.
    :ivar mended: of the fixed ones those that an earlier run of the episode broke.
    :ivar flipped: came out otherwise although nothing was edited, or are known to do so.
    :ivar moved: how many of the unresolved ones have other values.
    :ivar cleared: files that could not be collected before.
    """

    fixed: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    not_fixed: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    shaped: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    flipped: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    infrastructure: list[str] = field(default_factory=list)
    moved: int = 0
    tests: dict[str, Known] = field(default_factory=dict)


def compare(episode: Episode, run: Run, limits: Thresholds) -> Changes:
    """Sort every test that is known or failed."""
    names = renamed(tuple(episode.tests), run)
    known = {names.get(test, test): about for test, about in episode.tests.items()}
    marks = {mark.test: mark for mark in run.marks}
    moved = frozenset(names.values())
    changes = Changes()
    for test in sorted(
        (known.keys() | marks.keys()) - {*run.known}
    ):  # those do not count, whatever they did before
        if test in marks:
            _failing(changes, episode, run, known.get(test), marks[test], limits, is_moved=test in moved)
        else:
            _not_failing(changes, episode, run, test, known[test])
    return changes


def _failing(
    changes: Changes,
    episode: Episode,
    run: Run,
    known: Known | None,
    mark: Mark,
    limits: Thresholds,
    *,
    is_moved: bool,
) -> None:
    test = mark.test
    if mark.is_infrastructure:
        changes.infrastructure.append(test)
        if known is not None:  # it says nothing about what is known of the program
            changes.tests[test] = known
            _carry(changes, test, known)
        return
    after = failed(known, mark, run.number)
    if known is None:
        after = _first_seen(changes, episode, run, after)
    elif known.status == "passed":
        after = _failing_again(changes, episode, run, known, after)
    elif is_moved or known.status != "failing":
        changes.unresolved.append(test)
    elif is_flaky(known):
        changes.flipped.append(test)
    elif known.mark.shape != mark.shape or _is_another_part(run, known.mark, mark):
        _changed(changes, run, known, mark, limits)
    else:
        changes.unresolved.append(test)
        changes.moved += known.mark.exact != mark.exact
    changes.tests[test] = after


def _carry(changes: Changes, test: str, known: Known) -> None:
    if known.status == "failing":
        changes.not_run.append(test)


def _first_seen(changes: Changes, episode: Episode, run: Run, after: Known) -> Known:
    test = after.mark.test
    is_green = episode.is_green_full and test not in episode.known
    if not episode.steps and is_green and run.edits.kind in UNEDITED:
        after = flipped(after, run.number)  # it passed in the green run before
    changes.new.append(test)
    if had_passed(test, episode, run):
        changes.broken.append(test)
        after = replace(after, was_broken=True)
    elif any(edit.file == file_of(test) and edit.change != "removed" for edit in run.edits.edits):
        changes.added.append(test)  # or a case of it, or it was there: nobody knows that it had passed
    return after


def _is_unedited(episode: Episode, run: Run, known: Known) -> bool:
    """Whether nothing that could move the failure was edited since the test last ran.

    A checker may be content with a comment.
    """
    kinds = {step.edits.kind for step in episode.steps if step.run > known.ran} | {run.edits.kind}
    return kinds <= ({"none"} if known.mark.phase == "check" else set(UNEDITED))


def _failing_again(changes: Changes, episode: Episode, run: Run, known: Known, after: Known) -> Known:
    test = after.mark.test
    if _is_unedited(episode, run, known):
        after = flipped(after, run.number)
        changes.flipped.append(test)
    elif is_flaky(known):
        changes.flipped.append(test)
    else:
        changes.new.append(test)
        changes.broken.append(test)
    return after


def _changed(changes: Changes, run: Run, known: Known, mark: Mark, limits: Thresholds) -> None:
    changes.changed.append(mark.test)
    if _is_later(run, known.mark, mark):
        changes.later.append(mark.test)
    elif _is_later(run, mark, known.mark) or mark.parts > known.mark.parts:
        return  # it broke sooner, or more of it did
    had = any(f.shape == mark.shape or is_worded_alike(f, mark, limits.similarity) for f in known.forms)
    if known.mark.shape == mark.shape or not had:
        changes.shaped.append(mark.test)


def _is_another_part(run: Run, before: Mark, mark: Mark) -> bool:
    """Whether other subtests fail, or a test that was not edited wants another value: it is in a later round."""
    if before.parts != mark.parts:
        return True
    is_round = _is_whole(before.want) and _is_whole(mark.want) and before.want != mark.want
    return is_round and not any(is_about(edit, mark.test) for edit in run.edits.edits)


def _is_whole(value: str) -> bool:
    """Whether the text of a value is all of it: how much pytest shows of a longer one depends on its verbosity."""
    return bool(value) and "..." not in value and not value.endswith("…")


def _is_later(run: Run, before: Mark, mark: Mark) -> bool:
    """Whether the test came further: a later phase, a line below in a function not edited, fewer parts that fail."""
    if before.phase != mark.phase:
        order = ("collect", "setup", "call", "teardown")
        return mark.phase in order and before.phase in order[: order.index(mark.phase)]
    if before.shape == mark.shape and before.parts != mark.parts:
        return mark.parts < before.parts
    is_edited = any(is_about(edit, mark.test) for edit in run.edits.edits)
    if before.test_line != mark.test_line and before.test_line and mark.test_line:
        return mark.test_line > before.test_line and not is_edited
    file, _, function = mark.where.rpartition(":")
    is_edited = any(e.file == file and e.function in ("", function) for e in run.edits.edits)
    return mark.where == before.where and mark.line > before.line > 0 and not is_edited


def _not_failing(changes: Changes, episode: Episode, run: Run, test: str, known: Known) -> None:
    outcome = outcome_of(test, known, run, episode)
    if outcome is None:
        _carry(changes, test, known)
        changes.tests[test] = known
        return
    # A skip may come from anywhere: the code under test can raise it as well.
    is_skipped = outcome in ("skipped", "xfailed") and not _is_unedited(episode, run, known)
    is_touched = is_skipped or is_by_runner(test, outcome, run)
    after = settled(known, outcome, run.number, is_touched=is_touched)
    if known.status == "failing":
        after = _no_longer_failing(changes, episode, run, test, known, after)
    changes.tests[test] = after


def _no_longer_failing(
    changes: Changes, episode: Episode, run: Run, test: str, known: Known, after: Known
) -> Known:
    if after.status != "passed":
        changes.not_fixed.append(test)
    elif _is_unedited(episode, run, known) and known.mark.phase != "collect":
        changes.flipped.append(test)
        return flipped(after, run.number)
    elif is_flaky(known):
        changes.flipped.append(test)
    else:
        changes.fixed.append(test)
        if known.was_broken:
            changes.mended.append(test)
        elif known.mark.phase == "collect":
            changes.cleared.append(test)
    return after


def had_passed(test: str, episode: Episode, run: Run) -> bool:
    """Whether a test that is not known passed in the episode: a whole run had it and did not name it.

    That it was there then is known where only the code under test and other tests were edited since: cases, bases and
    marks of a test may stand in any other file. It is also known where no more tests were collected than then and none
    was added, as long as the test itself was not edited.
    """
    if test in episode.tests:
        return False
    hidden_since = _hidden_since(test, episode, run)
    edits = [run.edits]
    for step in reversed(episode.steps):
        is_whole = step.is_full and not step.is_killed and test not in (*step.infrastructure, *step.known)
        if is_whole and step.run < hidden_since and _was_there(test, step, run, edits):
            return True
        edits.append(step.edits)
    return False


def _hidden_since(test: str, episode: Episode, run: Run) -> int:
    """The run since which a file or folder of the test cannot be collected; this run where there is none."""
    failed = (
        known.since
        for where, known in episode.tests.items()
        if known.status == "failing" and known.mark.phase == "collect" and _is_below(file_of(test), where)
    )
    return min(failed, default=run.number)


def _is_below(file: str, where: str) -> bool:
    """Whether a file is not collected where that file or folder cannot be; a conftest is one of its folder."""
    folder = where.removesuffix("conftest.py").removesuffix("__init__.py").strip("./")
    return file == where or not folder or file.startswith(f"{folder}/")


def _was_there(test: str, step: Step, run: Run, since: list[Edits]) -> bool:
    """Whether a test of this run was one of that earlier step, by what was edited since, this run's edits included."""
    edits = [edit for each in since for edit in each.edits]
    if not any(each.omitted for each in since) and all(_is_apart(edit, test) for edit in edits):
        return True
    is_as_many = run.is_full and 0 < run.collected <= step.collected
    return is_as_many and not any(_adds_test(edit) or is_about(edit, test) for edit in edits)


def _is_apart(edit: Edit, test: str) -> bool:
    """Whether the edit can neither make the test nor a case of it: one of other code, or of another test."""
    if not edit.file.endswith(".py") or not is_test_file(edit.file):
        return edit.file.endswith(".py")
    name = qualname(test).rpartition(".")[2]
    is_other = edit.function not in ("", MODULE) and edit.function.rpartition(".")[2] != name
    is_outer = edit.file == file_of(test) and qualname(test).startswith(f"{edit.function}.")
    return is_test_module(edit.file) and is_other and not is_outer and "[" not in test


def _adds_test(edit: Edit) -> bool:
    """Whether a function or class was added that may be a test, by the names that pytest collects by default."""
    names = edit.function.lower().split(".")
    return edit.change == "added" and is_test_file(edit.file) and any(n.startswith("test") for n in names)


def failing(tests: Mapping[str, Known]) -> list[str]:
    """The tests that failed last, without those that do so by chance."""
    return sorted(test for test, known in tests.items() if known.status == "failing" and not is_flaky(known))
