"""A run compared with its episode: which tests moved, and which earlier runs count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from loop_close import lazy
from loop_close.conventions import is_configuration, is_test_file, is_test_module
from loop_close.facts import DURING_COLLECTION, TEST_PHASES, file_of, qualname, test_function
from loop_close.memory import (
    MERGED,
    UNEDITED,
    Edit,
    Edits,
    Episode,
    FailureRecord,
    FailureShape,
    KnownTest,
    Progress,
    Run,
    Status,
    Step,
    Thresholds,
)
from loop_close.progress.tampering import is_silenced
from loop_close.syntax.meaning import MODULE
from loop_close.text.normalize import similar


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
    tests: dict[str, KnownTest] = field(default_factory=dict)


def compare(episode: Episode, run: Run, limits: Thresholds) -> Changes:
    """Sort every test that is known or failed."""
    names = renamed(tuple(episode.tests), run)
    known = {names.get(test, test): about for test, about in episode.tests.items()}
    records = {record.test: record for record in run.marks}
    moved = frozenset(names.values())
    changes = Changes()
    for test in sorted(
        (known.keys() | records.keys()) - {*run.known}
    ):  # those do not count, whatever they did before
        if test in records:
            _failing(changes, episode, run, known.get(test), records[test], limits, is_moved=test in moved)
        else:
            _not_failing(changes, episode, run, test, known[test])
    return changes


def _failing(
    changes: Changes,
    episode: Episode,
    run: Run,
    known: KnownTest | None,
    record: FailureRecord,
    limits: Thresholds,
    *,
    is_moved: bool,
) -> None:
    test = record.test
    if known is not None:
        record = _recognized(known.mark, record)
        known = _moved_on(known, record) if is_moved else known
    if record.is_infrastructure:
        changes.infrastructure.append(test)
        if known is not None:  # it says nothing about what is known of the program
            changes.tests[test] = known
        return
    after = failed(known, record, run.number)
    if known is None:
        after = _first_seen(changes, episode, run, after)
    elif known.status == "passed":
        after = _failing_again(changes, episode, run, known, after)
    elif is_moved or known.status != "failing":
        changes.unresolved.append(test)
    elif is_flaky(known):
        changes.flipped.append(test)
    elif known.mark.shape != record.shape or _is_another_part(run, known.mark, record):
        _changed(changes, run, known, record, limits)
    else:
        changes.unresolved.append(test)
        changes.moved += known.mark.exact != record.exact
    changes.tests[test] = after


def _carry(changes: Changes, test: str, known: KnownTest) -> None:
    if known.status == "failing":
        changes.not_run.append(test)


def _first_seen(changes: Changes, episode: Episode, run: Run, after: KnownTest) -> KnownTest:
    test = after.mark.test
    is_green = episode.is_green_full and test not in episode.known
    if not episode.steps and is_green and run.edits.kind in UNEDITED and not BY_MARK.search(run.selection):
        after = flipped(after, run.number)  # it passed in the green run before
    changes.new.append(test)
    if _had_passed(test, episode, run):
        changes.broken.append(test)
        after = replace(after, was_broken=True)
    elif any(edit.file == file_of(test) and edit.change != "removed" for edit in run.edits.edits):
        changes.added.append(test)  # or a case of it; or it was there, but is not known to have passed
    return after


def _is_unedited(episode: Episode, run: Run, known: KnownTest) -> bool:
    """Whether nothing that could move the failure was edited since the test last ran.

    A checker may be content with a comment.
    """
    kinds = {step.edits.kind for step in episode.steps if step.run > known.ran} | {run.edits.kind}
    return kinds <= ({"none"} if known.mark.phase == "check" else set(UNEDITED))


def _is_same_choice(episode: Episode, run: Run, known: KnownTest) -> bool:
    """Whether as many tests were chosen as when it last ran: what it does among others, or alone, is not by chance."""
    return not any(s.run == known.ran and s.collected != run.collected for s in episode.steps)


def _failing_again(
    changes: Changes, episode: Episode, run: Run, known: KnownTest, after: KnownTest
) -> KnownTest:
    test = after.mark.test
    if _is_unedited(episode, run, known):
        if not _is_same_choice(episode, run, known):
            changes.unresolved.append(test)
            return after
        after = flipped(after, run.number)
        changes.flipped.append(test)
    elif is_flaky(known):
        changes.flipped.append(test)
    else:
        changes.new.append(test)
        changes.broken.append(test)
    return after


def _changed(changes: Changes, run: Run, known: KnownTest, record: FailureRecord, limits: Thresholds) -> None:
    changes.changed.append(record.test)
    if _is_later(run, known.mark, record):
        changes.later.append(record.test)
    elif _is_later(run, record, known.mark) or record.parts > known.mark.parts:
        return  # it broke sooner, or more of it did
    had = any(f.shape == record.shape or is_worded_alike(f, record, limits.similarity) for f in known.forms)
    if known.mark.shape == record.shape or not had:
        changes.shaped.append(record.test)


def _recognized(before: FailureRecord, record: FailureRecord) -> FailureRecord:
    """The record in the form of the one before, if it is the same failure in a traceback of another style.

    Where only output is read, a shorter one does not show the function.
    """
    has_places = all(mark.where.rpartition(":")[2] for mark in (before, record))
    if has_places or before.exact != record.exact:
        return record
    return replace(record, shape=before.shape, family=before.family, message=before.message)


def _moved_on(known: KnownTest, record: FailureRecord) -> KnownTest:
    """What is known of a test that was moved, with its failure as it is called at the new place."""
    if known.mark.exception != record.exception:
        return known
    forms = (
        replace(form, shape=record.shape, family=record.family, message=record.message)
        if form.shape == known.mark.shape
        else form
        for form in known.forms
    )
    return replace(known, forms=tuple(forms))


def _is_another_part(run: Run, before: FailureRecord, record: FailureRecord) -> bool:
    """Whether other subtests fail, or a test that was not edited wants another value: it is in a later round."""
    if before.parts != record.parts:
        return True
    is_round = _is_whole(before.want) and _is_whole(record.want) and before.want != record.want
    return is_round and not any(is_about(edit, record.test) for edit in run.edits.edits)


def _is_whole(value: str) -> bool:
    """Whether the text of a value is all of it: how much pytest shows of a longer one depends on its verbosity."""
    is_cut = value.startswith("…") or value.endswith("…") or " …" in value
    return bool(value) and "..." not in value and not is_cut


def _is_later(run: Run, before: FailureRecord, record: FailureRecord) -> bool:
    """Whether the test came further: a later phase, a line below in a function not edited, fewer parts that fail."""
    if before.phase != record.phase:
        order = ("collect", "setup", "call", "teardown")
        return record.phase in order and before.phase in order[: order.index(record.phase)]
    if before.shape == record.shape and before.parts != record.parts:
        return record.parts < before.parts
    is_edited = any(is_about(edit, record.test) for edit in run.edits.edits)
    if before.test_line != record.test_line and before.test_line and record.test_line:
        return record.test_line > before.test_line and not is_edited
    file, _, function = record.where.rpartition(":")
    is_edited = any(e.file == file and e.function in ("", function) for e in run.edits.edits)
    return record.where == before.where and record.line > before.line > 0 and not is_edited


def _not_failing(changes: Changes, episode: Episode, run: Run, test: str, known: KnownTest) -> None:
    if known.status == "gone" and test not in run.outcomes and _is_restored(test, run):
        known = replace(known, status="failing", tampered=(0, ""))  # as it last ran
        changes.not_run.append(test)
        changes.tests[test] = known
        return
    outcome = outcome_of(test, known, run, episode)
    if outcome is None:
        _carry(changes, test, known)
        changes.tests[test] = known
        return
    if outcome == "passed" and known.mark.phase in TEST_PHASES and is_silenced(test, known, episode, run):
        outcome = "weakened"
    # A skip may come from anywhere: the code under test can raise it as well.
    is_skipped = outcome in ("skipped", "xfailed", "weakened") and not _is_unedited(episode, run, known)
    is_touched = is_skipped or _is_by_runner(test, outcome, run)
    after = settled(known, outcome, run.number, is_touched=is_touched)
    if known.status == "failing":
        after = _no_longer_failing(changes, episode, run, test, known, after)
    elif known.tampered[1] == "weakened" and after.status == "passed" and run.edits.kind not in UNEDITED:
        changes.fixed.append(test)  # the test is what it was, and passes
    changes.tests[test] = after


def _is_restored(test: str, run: Run) -> bool:
    """Whether the function of a test that was deleted is there again, though it was not chosen to run."""
    is_back = any(edit.change == "added" and is_about(edit, test) for edit in run.edits.edits)
    ran = {test_function(each) for each in (*run.outcomes, *(mark.test for mark in run.marks))}
    return is_back and not run.is_full and test_function(test) not in ran


def _no_longer_failing(
    changes: Changes, episode: Episode, run: Run, test: str, known: KnownTest, after: KnownTest
) -> KnownTest:
    if after.status != "passed":
        changes.not_fixed.append(test)
    elif _is_unedited(episode, run, known) and known.mark.phase != "collect":
        changes.flipped.append(test)
        return flipped(after, run.number) if _is_same_choice(episode, run, known) else after
    elif is_flaky(known):
        changes.flipped.append(test)
    else:
        changes.fixed.append(test)
        if known.was_broken:
            changes.mended.append(test)
        elif known.mark.phase == "collect":
            changes.cleared.append(test)
    return after


def _had_passed(test: str, episode: Episode, run: Run) -> bool:
    """Whether a test that is not known passed in the episode: a whole run had it and did not name it.

    That it was there then is known where only the code under test and other tests were edited since: cases, bases and
    marks of a test may be in any other file. It is also known where no more tests were collected than then and none
    was added, as long as the test itself was not edited.
    """
    if test in episode.tests or BY_MARK.search(run.selection):
        return False  # addopts may have left it out of a run of all tests
    hidden_since = _hidden_since(test, episode, run)
    edits = [run.edits]
    for step in reversed(episode.steps):
        is_whole = step.is_full and not step.is_killed and test not in (*step.infrastructure, *step.known)
        if is_whole and step.run < hidden_since and _was_there(test, step, run, edits):
            return True
        edits.append(step.edits)
    return False


def _hidden_since(test: str, episode: Episode, run: Run) -> int:
    """The run since which a file or folder of the test cannot be collected; this run if there is none."""
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


def failing(tests: Mapping[str, KnownTest]) -> list[str]:
    """The tests that failed last, without those that do so by chance."""
    return sorted(test for test, known in tests.items() if known.status == "failing" and not is_flaky(known))


# --- the state of one test after a run

#: What became of a test that did not fail.
_Became = Literal["passed", "skipped", "xfailed", "deleted", "uncollected", "weakened"]

_MAX_SHAPES = 16
_MAX_RUNS = 12
_MAX_VALUES = 8
#: So often it changed with nothing edited, and it is flaky beyond doubt.
_PROVEN = 2


def is_flaky(known: KnownTest) -> bool:
    """Whether it is proven that it passes and fails by chance."""
    return len(known.flips) >= _PROVEN


def failed(known: KnownTest | None, record: FailureRecord, run: int) -> KnownTest:
    """After a run in which it failed."""
    if known is None:
        known = KnownTest(status="failing", mark=record, since=run)
    is_again = known.status == "passed"
    is_other = known.mark.shape != record.shape  # values of another comparison do not belong to this series
    return replace(
        known,
        status="failing",
        mark=replace(record, message=""),  # its shape has it
        since=run if is_again else known.since,
        ran=run,
        was_broken=known.was_broken or is_again,
        forms=_with_shape(known.forms, record, run),
        values=_with_value(() if is_other else known.values, record.got, run),
        tampered=(0, ""),
    )


def settled(known: KnownTest, outcome: _Became, run: int, *, is_touched: bool = True) -> KnownTest:
    """After a run in which it did not fail: passed, skipped, expected to fail, or gone.

    :param is_touched: something was edited by which it may have been silenced: a test may also be skipped by
        itself.
    """
    known = replace(known, ran=run)
    if outcome == "passed":
        return replace(known, status="passed", tampered=(0, ""))
    if known.status in ("skipped", "xfailed", "gone"):
        return known
    is_touched = is_touched and known.status == "failing"
    status: Status = outcome if outcome in ("skipped", "xfailed") else "gone"
    return replace(known, status=status, tampered=(run, outcome) if is_touched else known.tampered)


def shape_now(known: KnownTest) -> FailureShape | None:
    """The shape that its last failure had."""
    return next((known_shape for known_shape in known.forms if known_shape.shape == known.mark.shape), None)


def is_worded_alike(
    one: FailureShape | FailureRecord, other: FailureShape | FailureRecord, threshold: float
) -> bool:
    """Whether two failures of one type and place say nearly the same; never where the wording does not decide."""
    is_worded = bool(one.message and other.message) and one.family == other.family
    return is_worded and similar(one.message, other.message, threshold)


def flipped(known: KnownTest, run: int) -> KnownTest:
    """It came out otherwise although nothing was edited."""
    return replace(known, flips=(*known.flips, run)[-_MAX_RUNS:])


def _with_shape(
    shapes: tuple[FailureShape, ...], record: FailureRecord, run: int
) -> tuple[FailureShape, ...]:
    new = FailureShape(shape=record.shape, family=record.family, message=record.message)
    known_shape = next((f for f in shapes if f.shape == record.shape), new)
    others = [f for f in shapes if f.shape != record.shape][-(_MAX_SHAPES - 1) :]
    return (*others, replace(known_shape, runs=(*known_shape.runs, run)[-_MAX_RUNS:]))


def _with_value(values: tuple[tuple[int, str], ...], got: str, run: int) -> tuple[tuple[int, str], ...]:
    if not got or "..." in got or (values and values[-1][1] == got):  # how much is left out depends on -v
        return values
    return (*values, (run, got))[-_MAX_VALUES:]


# --- the outcome of a test that failed before and is not among the failures now


def outcome_of(test: str, known: KnownTest, run: Run, episode: Episode) -> _Became | None:
    """Its outcome; None if it did not run."""
    if run.is_killed:
        return None
    if test in run.outcomes:
        return run.outcomes[test]
    if known.mark.phase == "collect":
        return _of_collection(test, run)
    if known.mark.phase not in TEST_PHASES or not run.tells_outcomes:
        # in a run between, of other tests, it was not among those that were chosen
        last = next((s.selection for s in reversed(episode.steps) if s.run == known.ran), episode.selection)
        return "passed" if _covers(run.selection, last) and _names_failures(run) else None
    if any(is_about(edit, test) for edit in run.edits.edits if edit.change == "removed"):
        return "deleted"
    return "uncollected" if run.is_full and _touches_tests(run.edits, test) else None


def _names_failures(run: Run) -> bool:
    """Whether the tests that it chose passed unless it names them: it ended by itself, and does not only count."""
    is_clear = not run.incomplete and (run.is_good or bool(run.marks))
    return run.is_full or (is_clear and CHOSEN.search(run.selection) is not None)


def _covers(selection: str, before: str) -> bool:
    """Whether the run has what the earlier one had: all, the same command, or all of the reports that were merged."""
    if selection in ("", before) or (selection == "pytest" and before.startswith("pytest ")):
        return True
    if selection.startswith("pytest | ") and before.endswith(selection.removeprefix("pytest")):
        return True
    words, others = selection.split(), before.split()
    return words[0] == MERGED in others[:1] and {*others} <= {*words}


def _is_by_runner(test: str, outcome: _Became, run: Run) -> bool:
    """Whether a test that no longer fails shows by its outcome alone that it was silenced.

    What was done to the source of a test is judged by its source, where that was compared: a test that is gone may
    have been renamed, or made the case of another one.
    """
    own = (edit for edit in run.edits.edits if is_about(edit, test) or edit.moved_to == _place(test))
    is_edited = outcome == "uncollected" and any(own)
    is_by_source = run.is_compared and (outcome == "deleted" or is_edited)
    return not is_by_source and _touches_tests(run.edits, test)


def _touches_tests(edits: Edits, test: str) -> bool:
    """Whether what decides which tests run was edited: the test's own file, a conftest, pytest's configuration."""
    file = file_of(test)
    named = {edit.file for edit in edits.edits} | {edit.moved_to[0] for edit in edits.edits}
    return bool(edits.omitted) or file in named or any(map(is_configuration, named))


def _of_collection(test: str, run: Run) -> _Became | None:
    """A file that could not be collected passed when its tests, or those of all other files, were found."""
    named = (*run.outcomes, *(record.test for record in run.marks))
    seen = any(other.startswith(f"{test}::") for other in named)
    if seen or run.is_full or (DURING_COLLECTION in run.incomplete and not run.selection):
        return "passed"
    return None


def is_about(edit: Edit, test: str) -> bool:
    """Whether the edit is of the function of this test, or of its whole file."""
    return edit.file == file_of(test) and (not edit.function or edit.function == qualname(test))


def _place(test: str) -> tuple[str, str]:
    return file_of(test), qualname(test)


def renamed(tests: tuple[str, ...], run: Run) -> dict[str, str]:
    """New names of known tests: their functions were moved, or their cases got other ids."""
    names = moved(tests, run)
    for rule in (_new_ids, _rewritten):
        names |= dict(rule(tuple(t for t in tests if t not in names), run))
    return names


def moved(tests: tuple[str, ...], run: Run) -> dict[str, str]:
    """New names of tests whose functions were moved."""
    moves = {(e.file, e.function): e.moved_to for e in run.edits.edits if e.change == "moved"}
    names = {}
    for test in tests:
        file, function = moves.get(_place(test), ("", ""))
        if file:
            case = test[len(test_function(test)) :]
            names[test] = f"{file}::{function.replace('.', '::')}{case}"
    return names


def _rewritten(tests: tuple[str, ...], run: Run) -> Iterator[tuple[str, str]]:
    """Failing tests that are gone, and the one new failing test of that name: moved and edited at once."""
    gone = {(e.file, e.function) for e in run.edits.edits if e.change == "removed"}
    added = {(e.file, e.function) for e in run.edits.edits if e.change == "added"}
    new = [m.test for m in run.marks if _place(m.test) in added]
    for test in tests:
        if _place(test) in gone:
            same = [other for other in new if other.rpartition("::")[2] == test.rpartition("::")[2]]
            if len(same) == 1 and same[0] not in tests:
                yield test, same[0]


def _new_ids(tests: tuple[str, ...], run: Run) -> Iterator[tuple[str, str]]:
    """Cases that vanished, and as many unknown failing ones of the same test: ids made of values."""
    present = {record.test for record in run.marks} | set(run.outcomes)
    known = set(tests)
    unknown: dict[str, list[str]] = {}
    for test in sorted(present - known):
        unknown.setdefault(test_function(test), []).append(test)
    for test in tests:
        candidates = unknown.get(test_function(test), [])
        if test not in present and "[" in test and candidates:
            yield test, candidates.pop(0)


# --- which of an episode's steps count for what

#: pytest's option that chooses tests by their marks.
BY_MARK = lazy.pattern(r"(?:^| )-m ")
#: pytest's options that choose by what failed last: other tests each time.
LAST_FAILED = lazy.pattern(r"(?:^| )--(?:lf|last-failed|sw|stepwise|loop-close-failed)\b")
#: A command of pytest of which only the output is read, and that leaves tests out.
CHOSEN = lazy.pattern(r"\Apytest (?!\| )")


def counted_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Those that count: no killed run, no fault of the machine, no mere look."""
    return tuple(step for step in steps if step.is_counted)


def stretch(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The attempts since the last one that advanced, that one included; all where none did."""
    counted = counted_steps(steps)
    start = next((n for n in range(len(counted) - 1, -1, -1) if counted[n].advanced), 0)
    return counted[start:]


def worth_telling(progress: Progress) -> list[Step]:
    """The runs that an edit came before, and killed ones; of the first only where it is known what was edited."""
    first, *rest = progress.episode.steps if progress.episode.steps else [progress.step]
    is_begun = first.run == progress.episode.first
    begun = [first] if not is_begun or first.edits.kind == "effective" else []
    return [*begun, *(s for s in rest if s.is_killed or s.is_counted or s.edits.kind == "effective")]


def same_code_as(step: Step, progress: Progress) -> int | None:
    """The number of the earlier run that had the very same code, where the code was another one between."""
    earlier = [s for s in progress.episode.steps if s.run < step.run and s.code]
    if not step.code or not earlier or earlier[-1].code == step.code:
        return None
    return next((s.run for s in earlier if s.code == step.code), None)


def selections_of_green(episode: Episode) -> tuple[str, ...]:
    """How a green run before the episode may have chosen its tests, if all that fails now is to have passed in it.

    All tests will do (an empty text). So will those that the episode began with, as long as no failure was new in a run
    that chose others: what else fails may have been broken before that green run, and its diff must not be hidden.
    """
    first = episode.selection
    is_enough = all(step.selection == first or not step.new for step in episode.steps)
    return ("", first) if is_enough and not LAST_FAILED.search(first) else ("",)
