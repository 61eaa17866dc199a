"""What was done to tests: changes that silence them, and tests that pass although no code under test was edited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from loop_close.conventions import is_configuration, is_of_dependencies, is_of_tests, is_source, is_test_file
from loop_close.facts import file_of, qualname
from loop_close.lazy import NamedTuple
from loop_close.memory import UNEDITED, ChangedTest, Edit, Episode, KnownTest, Run, Step
from loop_close.syntax.meaning import MODULE
from loop_close.text import listed

#: What a new module alone may mend, or a package that was installed.
MISSING = ("ModuleNotFoundError", "ImportError")
_NAMED = 3
#: Phases of failures that are no tests.
_NO_TESTS = ("check", "process")
_WHAT = {
    "not-fixed": "only tests were edited {}: {}",
    "unclear": "no source was edited {}, only: {}",
    "no-edit": "nothing was edited {}: it may fail now and then, or depend on what lies outside of the project",
}
_FEWER = (
    "passes {}, failed in a run with {} tests: it may depend on what they leave behind, or on what lies outside of the "
    "project"
)


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
    :ivar selected: how many tests were selected in the two runs, 0 if unknown.
    """

    since: int
    run: int
    kind: str
    files: tuple[str, ...]
    before: int
    selected: tuple[int, int] = (0, 0)


def sides_of(edits: Iterable[Edit], of_tests: Collection[str] = (), *, is_missing: bool = False) -> Sides:
    """Sort what was edited.

    A new module alone does not count as edited source, unless a module was missing: no code under test uses it yet.
    Tests may use it in place of what they tested.

    :param of_tests: files that belong to the tests although their names do not say so.
    :param is_missing: what failed was an import.
    """
    named: dict[str, set[str]] = {
        "code": set(),
        "tests": set(),
        "other": set(),
        "new": set(),
        "needed": set(),
    }
    made = [edit for edit in edits if edit.is_effective]
    new = _added_files(made)
    for file in {edit.file for edit in made}:
        if file in of_tests or is_of_tests(file) or is_test_file(file):
            named["tests"].add(file)
        elif is_source(file):
            named["new" if file in new else "code"].add(file)
        else:
            named["needed" if is_of_dependencies(file) else "other"].add(file)
    named["code" if is_missing or named["code"] else "other"] |= named["new"]
    is_free = is_missing or not (
        named["tests"] or named["other"]
    )  # another version of a package may be the fix
    named["code" if is_free else "other"] |= named["needed"]
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
    unseen: list[Edit] = []  # those before a run that left out failing tests: these may pass by them
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
            is_idle = kind == "no-edit" and (
                is_missing or bool(step.not_fixed) or any(e.is_effective for e in unseen)
            )
            if kind and not is_idle and (step.fixed or step.not_fixed or kind == "no-edit"):
                made_by = (kind, files or about.other, last.unresolved)
                selected = (last.collected, step.collected)
                found.append(_PassWithoutFix(last.run, step.run, *made_by, selected))
        if last is None or step.unresolved <= last.unresolved or is_back:
            own |= _added_files(edits)
            unseen = [*unseen, *edits] if step.not_run else []
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
        what=_order_in_words(each) or unfixed_in_words(each.kind, files, each.before, runs),
        fingerprint=print_,
        state="accepted" if print_ in run.accepted else "open" if is_open else "asked",
    )


def _order_in_words(each: _PassWithoutFix) -> str:
    """Of tests that passed with nothing edited as fewer were selected: they may depend on those before; else empty."""
    then, now = each.selected
    if each.kind != "no-edit" or not 0 < now < then:
        return ""
    return _FEWER.format(*(("alone", "other") if now == 1 else ("with fewer tests", "more")))


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
    named = listed(files, _NAMED)
    failed = f"{failing} test{'s' * (failing != 1)} failed"
    when = f"between run {runs[0]}, when {failed}, and run {runs[1]}" if runs else f"since {failed}"
    return _WHAT[kind].format(when, named)


def is_missing(known: Iterable[KnownTest]) -> bool:
    """Whether it was imports that failed."""
    return any(each.mark.exception.rpartition(".")[2] in MISSING for each in known)


# --- ``test-tampering``: tests are not what they were when the loop began, and no person accepted it

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


def tampering_in_words(changes: Sequence[ChangedTest]) -> str:
    """What was done: the facts of a single one, ``2 weakened, 1 deleted`` of several, with the facts of the first."""
    if len(changes) == 1:
        return changes[0].what or KINDS.get(changes[0].kind, "changed")
    ways = Counter(KINDS.get(change.kind, "changed") for change in changes)
    counted = ", ".join(f"{number} {way}" for way, number in sorted(ways.items()))
    return f"{counted}; of {changes[0].id}: {changes[0].what}"


def is_silenced(test: str, known: KnownTest, episode: Episode, run: Run) -> bool:
    """Whether a test passes only as it was changed itself, which is no fix: no code was edited since it failed.

    It stays so until that is undone or accepted.
    """
    places = (file_of(test), qualname(test)), (file_of(test), "")
    if known.status != "failing":
        is_left = any((c.file, c.test) in places for c in run.tests if c.state in ("open", "asked"))
        return known.tampered[1] == "weakened" and is_left
    since = [*(step.edits for step in episode.steps if step.run > known.ran), run.edits]
    made = sides_of((edit for each in since for edit in each.edits), run.of_tests)
    changes = open_changes(run.tests) if made.tests and not made.code else ()
    return any((c.file, c.test) in places for c in changes if c.kind != "unclear")


def changed_tests(run: Run, after: Episode) -> tuple[ChangedTest, ...]:
    """What was done to tests by their source, then what their outcomes alone show."""
    return (*run.tests, *_by_outcome(run, after), *_without_fix(run, after))


def _without_fix(run: Run, after: Episode) -> Iterator[ChangedTest]:
    """Tests that pass again although no code under test was edited.

    What checkers find, and environments that fail, are no tests: to mend their configuration is a fix.
    """
    tests = {test: known for test, known in after.tests.items() if known.mark.phase not in _NO_TESTS}
    is_mixed = len(tests) < len(after.tests)
    passed = {
        test: known
        for test, known in sorted(tests.items())
        if known.status == "passed" or known.tampered[1] == "weakened"
    }
    settled = {change.file for change in run.tests if is_settled(change)}
    for each in (
        _passes_without_fix(after.steps, run, is_missing=is_missing(passed.values())) if passed else ()
    ):
        ran = [test for test, known in passed.items() if known.ran >= each.run] or list(passed)
        before = min(each.before, len(tests)) if is_mixed else each.before
        change = _as_change(each._replace(before=before), ran[0], settled, run)
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
