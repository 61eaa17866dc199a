"""The signals that a loop is not advancing, in the order in which they are shown.

A signal is a function from a :class:`View` to why it fired or why it did not, and a row of :data:`SIGNALS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from loop_close.conventions import is_configuration, is_of_tests, is_source, is_test_file
from loop_close.facts import file_of, qualname
from loop_close.memory import (
    TAMPERING,
    ChangedTest,
    Edit,
    Episode,
    KnownTest,
    Returned,
    Run,
    Signal,
    Step,
    Thresholds,
)
from loop_close.progress.compare import (
    UNEDITED,
    Changes,
    attempts,
    form_now,
    is_about,
    is_flaky,
    is_worded_alike,
    stretch,
)
from loop_close.syntax.meaning import MODULE

_MAX_TESTS = 10
_MAX_CYCLE = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A run and what it is compared with.

    :ivar before: the episode without the run, ``after`` with it.
    :ivar step: the run's own; the last of ``after.steps``.
    """

    run: Run
    before: Episode
    after: Episode
    changes: Changes
    step: Step
    limits: Thresholds

    @property
    def attempts(self) -> tuple[Step, ...]:
        """The runs of the episode that count, this one among them if it does."""
        return attempts(self.after.steps)


class Fired(NamedTuple):
    """What a signal that fired shows: the runs, the tests and an explanation."""

    runs: Iterable[int]
    tests: Iterable[str]
    explanation: str


class Rule(NamedTuple):
    """How a signal is checked.

    :ivar check: returns a text if the signal did not fire: what it lacks.
    :ivar is_stuck: it shows that the loop is stuck, so it never fires in a run that advances.
    """

    check: Callable[[View], Fired | str]
    is_stuck: bool = True


def check_all(view: View) -> tuple[Signal, ...]:
    """Every signal, fired or not, in the order of the table."""
    return tuple(_signal(kind, rule, view) for kind, rule in SIGNALS.items())


def _signal(kind: str, rule: Rule, view: View) -> Signal:
    found: Fired | str
    if kind in view.limits.off:
        found = "turned off in the settings"
    elif rule.is_stuck and view.step.advanced:
        found = f"run {view.run.number} made progress"
    elif rule.is_stuck and not view.step.unresolved:
        found = "no test is known to fail"
    else:
        found = rule.check(view)
    if isinstance(found, str):
        return Signal(kind=kind, is_on=False, explanation=found)
    return Signal(
        kind=kind,
        runs=tuple(sorted(set(found.runs))),
        tests=tuple(sorted(set(found.tests))[:_MAX_TESTS]),
        explanation=found.explanation,
    )


def _names(runs: Iterable[int]) -> str:
    """``runs 3, 4 and 6``."""
    numbers = [str(run) for run in runs]
    if len(numbers) == 1:
        return f"run {numbers[0]}"
    return f"runs {', '.join(numbers[:-1])} and {numbers[-1]}"


def _test_tampering(view: View) -> Fired | str:
    """Tests were deleted, kept from running, or demand less than when the loop began.

    Every run reports it until the change is undone, or a person accepts it.
    """
    found = open_changes(changed_tests(view.run, view.after))
    if not found:
        return "the tests demand what they did when the loop began"
    runs = {view.run.number, *(known.tampered[0] for known in view.after.tests.values())} - {0}
    return Fired(runs, (change.id for change in found), in_words(found))


def _oscillation(view: View) -> Fired | str:
    """The last two runs each have the failures of as many runs ago: a cycle of 2 to 5. A single revert is not a cycle.

    Also a failure that began ``repeats`` times, each time after a green run.
    """
    returned = _returned(view)
    if returned:
        runs = [*returned[0].runs, view.run.number]
        text = f"the same failure in {_names(runs)}, each time after it had been fixed"
        return Fired(runs, [each.test for each in returned], text)
    steps = [s for s in view.attempts if s.edits.kind not in UNEDITED]
    for length in range(2, _MAX_CYCLE + 1):
        if view.step.is_counted and _is_cycle([s.state for s in steps], length):
            runs = [s.run for s in steps[-length - 2 :]]
            tests = set(view.changes.new) | set(view.changes.fixed) | set(view.changes.changed)
            same = f"{_names(runs[-2:])} have the same failures as {_names(runs[:2])}"
            return Fired(runs, tests or view.changes.unresolved, f"{same}: a cycle of {length} runs")
    return "the failures did not return to an earlier state twice in a row"


def _returned(view: View) -> list[Returned]:
    """Failures that began again with this run, after as many green runs as the threshold ``repeats`` says.

    A test that was edited is another test now. Without an edit the failure is flaky.
    """
    if view.run.edits.kind in UNEDITED:
        return []
    marks = {(m.test, m.shape) for m in view.run.marks if not m.is_infrastructure}
    began = {test for test in view.changes.new if not any(is_about(e, test) for e in view.run.edits.edits)}
    found = [
        each
        for each in view.before.returned
        if len(each.runs) + 1 >= view.limits.repeats
        and each.test in began
        and (each.test, each.shape) in marks
    ]
    return sorted(found, key=lambda each: (-len(each.runs), each.test))


def _is_cycle(states: Sequence[str], length: int) -> bool:
    if len(states) < length + 2:
        return False
    comes_back = states[-1] == states[-1 - length] and states[-2] == states[-2 - length]
    return comes_back and states[-1] != states[-2] and len(set(states[-length:])) == length


def _repeated_failure(view: View) -> Fired | str:
    """The same shape in enough attempts since the last progress, with an edit before each but the first."""
    need, runs = view.limits.repeats, _edited_runs(view)
    seen = {}
    for test, known in _failing_now(view).items():
        form = form_now(known)
        seen[test] = [run for run in form.runs if run in runs] if form is not None else []
    most = max(map(len, seen.values()), default=0)
    if most < need:
        return f"no failure came back in {need} edited runs since the last progress (at most in {most})"
    tests, shown = _alike(seen)
    return Fired(shown, tests, f"same failure in {_names(shown)}, despite edits between them")


def _similar_failure(view: View) -> Fired | str:
    """Similar messages of one type and place in enough edited runs."""
    need, runs = view.limits.repeats, _edited_runs(view)
    seen = {}
    for test, known in _failing_now(view).items():
        now = form_now(known)
        similar = [f for f in known.forms if now and is_worded_alike(f, now, view.limits.similarity)]
        if len(similar) > 1:  # with equal words it is a repeated failure
            seen[test] = sorted({run for form in similar for run in form.runs if run in runs})
    often = {test: shown for test, shown in seen.items() if len(shown) >= need}
    if not often:
        return f"no failure came back in {need} runs with a similar message"
    tests, shown = _alike(often)
    return Fired(shown, tests, f"nearly the same message in {_names(shown)}, despite edits between them")


def _failing_now(view: View) -> dict[str, KnownTest]:
    """What failed in this run, without flaky tests and infrastructure failures."""
    tests = {m.test for m in view.run.marks if not m.is_infrastructure}
    return {t: k for t, k in view.after.tests.items() if t in tests and not is_flaky(k)}


def _edited_runs(view: View) -> set[int]:
    """Attempts since the last progress that an edit came before, as far as is known. The first always counts."""
    steps = stretch(view.after.steps)
    return {s.run for n, s in enumerate(steps) if n == 0 or s.edits.kind not in UNEDITED}


def _alike(seen: Mapping[str, Sequence[int]]) -> tuple[list[str], Sequence[int]]:
    """The runs of the test that was seen most, and all tests that were seen in each of these runs."""
    shown = seen[min(seen, key=lambda test: (-len(seen[test]), test))]
    return [test for test, runs in seen.items() if set(shown) <= set(runs)], shown


def _whack_a_mole(view: View) -> Fired | str:
    """Enough attempts in a row fixed tests and broke others, none with a new lowest count."""
    need = view.limits.mole
    moles = [s for s in view.attempts[-need:] if s.fixed and s.broken]
    least, best = view.after.best
    if len(moles) < need or best >= moles[0].run:
        return f"{len(moles)} of the last {need} runs fixed some tests and broke others"
    runs = [s.run for s in moles]
    text = f"{_names(runs)} each fixed some tests and broke others"
    text = f"{text}; run {best} still has the fewest failures, {least}"
    return Fired(runs, (*view.changes.fixed, *view.changes.broken), text)


def _regression(view: View) -> Fired | str:
    """Tests that passed earlier in the episode fail now, once it has as many runs as the threshold ``repeats`` says."""
    broken = view.changes.broken
    if not broken:
        return "no test fails that passed earlier in this episode"
    if len(view.attempts) < view.limits.repeats:
        first, *others = sorted(set(broken))
        named = f"{first} and {len(others)} more" if others else first
        return f"{named} passed before; a regression needs at least {view.limits.repeats} runs"
    again = [test for test in broken if test in view.before.tests]
    # the runs in which they were last seen to pass; else the last run of all tests
    seen = {view.before.tests[test].ran for test in again}
    full = [step.run for step in view.before.steps if step.is_full and not step.is_killed][-1:]
    text = (
        "fixed in this episode and failing again" if again else "passed earlier in this episode and fails now"
    )
    return Fired([*(seen or full), view.step.run], again or broken, text)


def _no_edit(view: View) -> Fired | str:
    """Enough runs on exactly the same files."""
    found = _runs_without_edit(view, ("none",))
    return (
        found
        if isinstance(found, str)
        else Fired(found, (), f"no project file changed between {_names(found)}")
    )


def _no_effective_edit(view: View) -> Fired | str:
    """Enough runs between which only comments, formatting, docstrings or prose changed."""
    found = _runs_without_edit(view, UNEDITED)
    if isinstance(found, str):
        return found
    if not any(s.edits.kind == "ineffective" for s in view.after.steps if s.run in found[1:]):
        return "nothing changed at all"
    return Fired(found, (), f"only comments, formatting, docstrings or prose changed between {_names(found)}")


def _runs_without_edit(view: View, kinds: tuple[str, ...]) -> list[int] | str:
    """The last runs between which there were only edits of these kinds; a text if they are too few."""
    need, runs, steps = view.limits.repeats, [view.step.run], view.attempts
    for step, before in zip(reversed(steps), reversed(steps[:-1]), strict=False):
        if step.edits.kind not in kinds:
            break
        runs.insert(0, before.run)
    if not view.step.is_counted or len(runs) < need:
        return f"{len(runs)} of {need} required runs on the same code"
    return sorted(set(runs))


def _flaky(view: View) -> Fired | str:
    """Tests that changed their result twice without an edit. They do not count any more in this episode."""
    found = {t: k for t, k in view.after.tests.items() if is_flaky(k)}
    if not found:
        return "no test changed its result twice without an edit"
    runs = {run for known in found.values() for run in known.flips}
    return Fired(runs, found, f"passed and failed without an edit, in {_names(sorted(runs))}")


def _infrastructure(view: View) -> Fired | str:
    """Infrastructure failures in enough runs, this one among them."""
    need = view.limits.repeats
    steps = [s for s in view.after.steps if s.infrastructure]
    if not view.step.infrastructure or len(steps) < need:
        return f"{len(steps)} of {need} required runs with an infrastructure failure"
    runs = [s.run for s in steps]
    tests = {test for step in steps for test in step.infrastructure}
    return Fired(runs, tests, f"infrastructure failure (time limit, network, disk, worker) in {_names(runs)}")


SIGNALS: Mapping[str, Rule] = {
    TAMPERING: Rule(_test_tampering, is_stuck=False),
    "oscillation": Rule(_oscillation),
    "repeated-failure": Rule(_repeated_failure),
    "similar-failure": Rule(_similar_failure),
    "whack-a-mole": Rule(_whack_a_mole),
    "regression": Rule(_regression),
    "no-edit": Rule(_no_edit),
    "no-effective-edit": Rule(_no_effective_edit),
    "flaky": Rule(_flaky, is_stuck=False),
    "infrastructure": Rule(_infrastructure, is_stuck=False),
}
# --- changes that silence tests, and tests that pass although no code under test was edited


#: What a new module alone may mend, or a package that was installed.
MISSING = ("ModuleNotFoundError", "ImportError")
_NAMED = 3
_WHAT = {
    "not-fixed": "only tests were edited {}: {}",
    "unclear": "no source was edited {}, only: {}",
    "no-edit": "nothing was edited {}: it may fail now and then, or depend on what lies outside of the project",
}


class Sides(NamedTuple):
    """The files that were edited with an effect.

    :ivar code: source of the program; ``tests``: what decides what the tests demand, with data beside them; ``other``:
        data of which it is not known whose it is.
    """

    code: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    other: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of change if tests pass by these edits; empty if they may well have been mended."""
        if self.code:
            return ""
        return "not-fixed" if self.tests else "unclear" if self.other else "no-edit"


class _PassWithoutFix(NamedTuple):
    """Tests pass that had failed, and no source was edited in between.

    :ivar since: the run in which they failed last; ``run``: the first in which they passed.
    :ivar kind: that of the change; ``files``: what was edited; ``before``: how many tests failed until then.
    """

    since: int
    run: int
    kind: str
    files: tuple[str, ...]
    before: int


def sides_of(edits: Iterable[Edit], of_tests: Collection[str] = (), *, is_missing: bool = False) -> Sides:
    """Sort what was edited.

    A new module alone does not count as edited source, unless a module was missing: no code under test uses it yet.
    Tests may use it in place of what they tested.

    :param of_tests: files that belong to the tests although their names do not say so.
    :param is_missing: what failed was an import.
    """
    named: dict[str, set[str]] = {"code": set(), "tests": set(), "other": set(), "new": set()}
    made = [edit for edit in edits if edit.is_effective]
    new = _added_files(made)
    for edit in made:
        is_test = edit.file in of_tests or is_of_tests(edit.file) or is_test_file(edit.file)
        side = (
            "tests"
            if is_test
            else "other"
            if not is_source(edit.file)
            else "new"
            if edit.file in new
            else "code"
        )
        named[side].add(edit.file)
    named["code" if is_missing or named["code"] else "other"] |= named["new"]
    return Sides(*(tuple(sorted(named[side])) for side in ("code", "tests", "other")))


def _added_files(edits: Iterable[Edit]) -> set[str]:
    """The files that were not there before: of a module, its body was added."""
    return {edit.file for edit in edits if edit.change == "added" and edit.function in ("", MODULE)}


def _passes_without_fix(
    steps: Sequence[Step], run: Run, *, is_missing: bool = False
) -> list[_PassWithoutFix]:
    """Tests that passed without a fix in the runs of an episode, and are neither undone nor fixed since.

    Each run is compared with the last one in which the fewest tests failed. Files of tests that were edited before the
    first failure are left out, and those that were added since: they may be what failed.

    :param steps: the kept steps; the last one is that of the run.
    """
    found: list[_PassWithoutFix] = []
    own: set[str] = set()
    edits: list[Edit] = []
    last: Step | None = None
    is_known, is_broken = True, False
    for step in steps:
        made = sides_of(step.edits.edits, run.of_tests)
        is_back = any(step.unresolved >= each.before for each in found)
        found = [left for each in found if (left := _left(each, step, made)) is not None]
        edits += step.edits.edits
        is_known = is_known and (step.edits.kind in UNEDITED or any(e.is_effective for e in step.edits.edits))
        if last is None:
            own, is_broken = set(made.tests), bool(made.code)
        elif is_known and not step.is_killed and _failing(step, last) < last.unresolved:
            about = sides_of(edits, run.of_tests, is_missing=is_missing)
            files = tuple(file for file in about.tests if file not in own and _differs(file, run))
            kind = about.kind if files or not about.tests else ""
            is_of_code = is_broken and not any(map(is_configuration, files))
            if kind == "not-fixed" and (is_of_code or (is_missing and is_only_settings(files))):
                kind = "unclear"  # tests may have to follow code that was edited before the first failure
            is_idle = kind == "no-edit" and (is_missing or bool(step.not_fixed))
            if kind and not is_idle and (step.fixed or kind == "no-edit"):
                found.append(_PassWithoutFix(last.run, step.run, kind, files or about.other, last.unresolved))
        if last is None or step.unresolved <= last.unresolved or is_back:
            own |= _added_files(edits)
            last, edits, is_known = step, [], True
    return [each for each in found if each.kind == "not-fixed" or each.run == run.number]


def _failing(step: Step, last: Step) -> int:
    """How many tests fail. Tests added to the setting ``known`` since the last run count too: that is not a fix."""
    return step.unresolved + len({*step.known}.difference(last.known))


def is_only_settings(files: Iterable[str]) -> bool:
    """Whether they are configuration, which may be what a missing module was missing for."""
    return all(is_configuration(file) and not file.endswith(".py") for file in files)


def _differs(file: str, run: Run) -> bool:
    """Whether a file of tests is not as it was when the loop began, as far as that is known."""
    is_kept = file in run.of_tests or is_of_tests(file)
    return run.differing is None or not is_kept or file in run.differing


def _left(each: _PassWithoutFix, step: Step, made: Sides) -> _PassWithoutFix | None:
    """What is left of it after another run: None if the tests fail again or if all files were edited with a fix."""
    if step.unresolved >= each.before:
        return None
    files = tuple(file for file in each.files if not (made.code and file in (*made.tests, *made.other)))
    is_fixed = bool(made.code) if each.kind == "no-edit" else not files
    return None if is_fixed else each._replace(files=files)


def _as_change(each: _PassWithoutFix, test: str, covered: Collection[str], run: Run) -> ChangedTest | None:
    """The change that keeps the loop from being done, or asks about it.

    :param test: one that passes now, for where no file was edited.
    :param covered: files whose changes are reported by the comparison of tests.
    """
    files = tuple(file for file in each.files if file not in covered)
    if each.files and not files:
        return None
    print_ = f"{each.kind} {each.run} {' '.join(files)}"
    is_open = each.kind == "not-fixed"
    runs = (each.since, each.run) if each.run != run.number else None
    return ChangedTest(
        file=files[0] if files else test.partition("::")[0],
        test="" if files else test.partition("::")[2].replace("::", "."),
        kind=each.kind,
        what=unfixed_in_words(each.kind, files, each.before, runs),
        fingerprint=print_,
        state="accepted" if print_ in run.accepted else "open" if is_open else "asked",
    )


def is_settled(change: ChangedTest) -> bool:
    """Whether the change of a file is certain, or was accepted: then no second one is reported for the file."""
    return change.state == "accepted" or (change.state == "open" and change.kind != "unclear")


def unfixed_in_words(
    kind: str, files: Sequence[str], failing: int, runs: tuple[int, int] | None = None
) -> str:
    """What is known of tests that pass without a fix.

    :param failing: how many tests failed before.
    :param runs: the runs in which they failed last and passed first; None if the latter is this run.
    """
    named = ", ".join(files[:_NAMED]) + (f" and {len(files) - _NAMED} more" if len(files) > _NAMED else "")
    failed = f"{failing} test{'s' * (failing != 1)} failed"
    when = f"between run {runs[0]}, when {failed}, and run {runs[1]}" if runs else f"since {failed}"
    return _WHAT[kind].format(when, named)


def is_missing(known: Iterable[KnownTest]) -> bool:
    """Whether it was imports that failed."""
    return any(each.mark.exception.rpartition(".")[2] in MISSING for each in known)


# ``test-tampering``: tests are not what they were when the loop began, and no person accepted it.

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
    for each in (
        _passes_without_fix(after.steps, run, is_missing=is_missing(passed.values())) if passed else ()
    ):
        change = _as_change(each, next(iter(passed)), settled, run)
        if change is not None:
            yield change


def _by_outcome(run: Run, after: Episode) -> Iterator[ChangedTest]:
    known_changes = {(change.file, change.test) for change in run.tests if change.state != "hint"}
    for test, known in sorted(after.tests.items()):
        since, way = known.tampered
        place = file_of(test), qualname(test)
        if not since or way not in _WAYS or {place, (place[0], "")} & known_changes:
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
