"""The loop in the prompt: what changed since it was done, whether it advances, what to do, what was tried."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from loop_close.conventions import PYTHON, is_test_file
from loop_close.facts import known_calls
from loop_close.keys import name_of, test_key
from loop_close.loop import is_stuck
from loop_close.model import Report, RootCause
from loop_close.prompt import line_of, safe, span, spans, spans_apart
from loop_close.prompt.compose import estimate_tokens
from loop_close.records import Edit, Effect, FailingTest, Loop, Objection, Signal, Step
from loop_close.syntax.meaning import MODULE
from loop_close.text import cut_apart, fence, one_line

#: The signal that has a section of its own.
TAMPERING = "test-tampering"
#: The sentence that ends an objection, for a person and an agent alike.
HOW_IT_ENDS = (
    "This ends when the old tests pass, the files are restored, or a person accepts the new ones"
    " (`loop-close accept`)."
)
#: So many attempts in a row that do not advance call for an experiment.
_TRY_SOMETHING = 2
_WHY = {
    "fewest": "Fewer fail than after any attempt before.",
    "collected": "Files can be collected that could not be.",
    "changed": "A failure is one that was not seen before in this loop.",
}
_SILENT = {
    "none": "nothing",
    "ineffective": "only comments, formatting, docstrings or prose",
    "unknown": "unknown",
}
_MAX_NAMED = 3
_MAX_STEPS = 6
_MAX_DIFF_LINES = 14
_MAX_OLD = 8
_WIDTH = 120
_BAR = re.compile(r"(\\*)\|")
_HEAD = ("| run | edit | effect |", "|---|---|---|")
# Tokens of the line that counts the rows left out.
_ROOM_TO_COUNT = 10

#: What would discriminate between two explanations, by signal, the most telling signal first. ``{edited}`` are the
#: functions edited last, ``{tests}`` what the signal is about. All of the words are ours.
EXPERIMENTS: Mapping[str, str] = {
    "no-edit": "Either no edit was made, or the edits go to files that the tests do not import (another checkout, an "
    'installed copy, a build folder). `python -c "import PACKAGE; print(PACKAGE.__file__)"` shows which file is '
    "imported.",
    "no-effective-edit": "No edit changed an expression or a statement, so no result could change.",
    "oscillation": "Either the tests contradict each other, or the code misses a case. Compare the inputs and the "
    "expected results of {tests}: equal inputs with different results are a contradiction; otherwise the difference "
    "between the inputs is the missing case.",
    "whack-a-mole": "Either the tests share code that each edit bends another way, or they contradict each other. "
    "Look at the code that all of {tests} run: the first difference in what they pass to it shows what one edit has "
    "to handle.",
    "repeated-failure": "Either {edited} does not run in the failing test, or it is not the cause. An exception raised "
    "as its first statement decides: if the failure stays the same, the code does not run there.",
    "repeated-failure, moved": "A value changed after an edit of {edited}. Either its rule is wrong, or its input is. "
    "Print its arguments and its return value once in the failing test: with a wrong argument, the fault is earlier.",
    "repeated-failure, run": "{edited} runs in {tests}, and no edit of it changed their result. Either its "
    "input is wrong, or what decides is elsewhere. Print its arguments and its return value once in the failing test.",
    "repeated-failure, not run": "{edited} is not run by {tests}, so edits of it cannot change their result.",
    "similar-failure": "Either the wording differs by chance, or each edit moves the same fault. Run the same code "
    "twice: if the words differ again, it is chance.",
    "regression": "Either the last edit broke what had been fixed, or both need a case that is missing. Undo the last "
    "edit and run {tests}: if they do as before, it was the edit.",
}
DEFAULT = (
    "Either {edited} is not the cause, or the test expects a wrong value. Work out the expected value by hand from the "
    "input of the test, before the next edit."
)
#: What an edit is called where none is known.
_SOMETHING = "the edited code"


def since_done(report: Report, tokens: int) -> Iterator[str]:
    """What was edited since no test was known to fail, with its diff; else the diff of the last edit."""
    loop = report.loop
    if report.verdict == "green" or loop is None:
        return
    edits = report.since
    if edits is None or edits.kind == "unknown" or not loop.base:
        yield from _last_diff(report, loop)
        return
    since = f"since run {loop.base}, when no test was known to fail"
    kept = [edit for edit in edits.edits if edit.is_effective]
    if kept:
        yield f"Changed {since}: {_names([*map(place_of_edit, kept)], _MAX_NAMED, edits.omitted)}"
        yield from _diff(kept, report)
    elif edits.kind != "none":
        yield f"Only comments, formatting, docstrings or prose changed {since}."


def _last_diff(report: Report, loop: Loop) -> Iterator[str]:
    """The diff of the last edit of the loop, unless the table of attempts shows it whole."""
    for step in reversed(loop.steps[1:]):
        kept = [edit for edit in step.edits.edits if edit.is_effective]
        is_in_table = len(kept) == 1 and not step.edits.omitted and _one_line_change(kept[0])
        if kept and not is_in_table:
            names = _names([*map(place_of_edit, kept)], _MAX_NAMED, step.edits.omitted)
            yield f"Last edit, before run {step.run}: {names}"
            yield from _diff(kept, report)
        if kept:
            return


def _names(names: Sequence[str], most: int, omitted: int) -> str:
    more = max(0, len(names) - most) + omitted
    return f"{', '.join(names[:most])}{f' and {more} more' if more else ''}"


def place_of_edit(edit: Edit) -> str:
    """`` `total` in `src/cart.py` ``, with its fate if it was not edited in place."""
    if edit.change == "moved":
        file, function = edit.moved_to
        return f"{span(edit.function, 60)} (now {span(f'{file}:{function}', 100)})"
    change = f" ({edit.change})" if edit.change in ("added", "removed") else ""
    is_part = edit.function not in ("", MODULE)
    where = f"{span(edit.function, 60)} in {span(edit.file, 100)}" if is_part else span(edit.file, 100)
    return f"{where}{change}"


def _diff(edits: Sequence[Edit], report: Report) -> list[str]:
    """The first lines of each diff, that of the likeliest suspect first: they share the room that one has."""
    suspects = [suspect for cause in report.causes for suspect in cause.suspects]
    names = dict.fromkeys((suspect.file, suspect.function) for suspect in suspects)
    order = {name: number for number, name in enumerate(names)}
    shown = sorted((e for e in edits if e.diff), key=lambda e: order.get((e.file, e.function), len(order)))
    if not shown:
        return []
    room = _MAX_DIFF_LINES // min(len(shown), _MAX_NAMED)
    rows: list[str] = []
    more = 0
    for number, edit in enumerate(shown):
        lines = safe(edit.diff).split("\n")
        kept = lines[:room] if number < _MAX_NAMED else []
        if kept and len(edits) > 1:
            name = edit.file if edit.function in ("", MODULE) else edit.function
            rows.append(f"@@ {one_line(safe(name), 100)} @@")
        rows += _cut_rows(kept)
        more += len(lines) - len(kept)
    rest = [f"… {more} more line{'s' * (more != 1)}"] if more else []
    return fence("\n".join([*rows, *rest]), "diff")


def _cut_rows(rows: Sequence[str]) -> list[str]:
    """The rows of a diff, long ones cut around what differs in them."""
    cut = cut_apart([row[1:] for row in rows], _WIDTH - 1)
    return [f"{row[:1]}{text}" for row, text in zip(rows, cut, strict=True)]


# --- where the loop stands


def state_lines(report: Report, tokens: int) -> Iterator[str]:
    """The state of the loop in one line; then each signal, an experiment, and a question for a person."""
    loop = report.loop
    if loop is None or not loop.steps:
        return
    if len(loop.steps) > 1:
        yield f"Run {loop.steps[-1].run}: {counts(loop.steps[-1].effect)}. {standing(report, loop)}".rstrip()
    shown = [each for each in report.signals if each.kind != TAMPERING]
    yield from (f"- {_named(signal, loop)}." for signal in shown)
    if loop.failing and loop.stalled >= min(_TRY_SOMETHING, report.stuck_after):
        yield _experiment(report, loop)
        if is_stuck(loop, report.stuck_after):
            yield f"For a person: {_question(loop, {each.kind for each in shown})}"


def counts(effect: Effect) -> str:
    """The groups that are not empty: ``2 fixed, 1 new, 3 unresolved``."""
    named = (
        (effect.fixed, "fixed"),
        (effect.broken, "new"),
        (effect.changed, "changed"),
        (effect.moved, "with other values"),
        (effect.unresolved, "unresolved"),
        (effect.not_run, "not run"),
        (effect.not_fixed, "stopped failing without passing"),
    )
    return ", ".join(f"{len(tests)} {name}" for tests, name in named if tests) or "no change"


def standing(report: Report, loop: Loop) -> str:
    """Whether the loop advances, in a sentence or two; empty if nothing is to be said of it."""
    step = loop.steps[-1]
    stalled = f"{stalled_words(loop)}." if loop.stalled else ""
    if is_stuck(loop, report.stuck_after):
        stalled = f"Stuck: {stalled}"
    unedited = "No file of the project changed since the run before." if step.edits.kind == "none" else ""
    if step.edits.kind == "ineffective":
        unedited = "Only comments, formatting, docstrings or prose changed since the run before."
    return " ".join(filter(None, (_WHY.get(step.advanced, stalled), unedited)))


def stalled_words(loop: Loop) -> str:
    """``2 attempts in a row without fewer than 3 failing tests``."""
    number = f"{loop.stalled} attempt{'s' * (loop.stalled != 1)} in a row"
    best = loop.best
    return number if best is None else f"{number} without fewer than {best} failing test{'s' * (best != 1)}"


def _named(signal: Signal, loop: Loop) -> str:
    is_all = bool(signal.tests) and {*signal.tests} == {each.test for each in loop.failing}
    about = " all failing tests:" if is_all else f" {spans(signal.tests, 2)}:" if signal.tests else ""
    return f"{signal.kind.replace('-', ' ').capitalize()}:{about} {one_line(signal.explanation, 300)}"


def _experiment(report: Report, loop: Loop) -> str:
    """What would discriminate between two explanations."""
    fired = {each.kind: each for each in report.signals}
    signal = next((fired[kind] for kind in EXPERIMENTS if kind in fired), None)
    ran = _functions_run(report, signal.tests if signal is not None else ())
    names = _edited(loop)
    first = next((name for name in names if ran.get(name)), names[0] if names else None)
    kind = signal.kind if signal is not None else ""
    if signal is not None and kind == "repeated-failure":
        if first is not None and ran.get(first) is False:
            kind += ", not run"
        elif moving := next(
            (each for each in reversed(loop.steps) if each.effect.moved and _code(each)), None
        ):
            kind, first = f"{kind}, moved", _code(moving)[0]
        elif first is not None and first in ran:
            kind += ", run"
    tests = spans(signal.tests, _MAX_NAMED) if signal is not None and signal.tests else "the failing tests"
    edited = _place(*first) if first is not None else _SOMETHING
    return EXPERIMENTS.get(kind, DEFAULT).format(edited=edited, tests=tests)


def _functions_run(report: Report, tests: Collection[str]) -> dict[tuple[str, str], bool]:
    """The functions that all failing tests ran, or none of them, by file and qualified name, and which it is.

    Empty if that is not known of all failing tests.

    :param tests: those that are meant; empty for all.
    """
    calls = known_calls(report.observation)
    if calls is None:
        return {}
    meant = [hits for test, hits in calls.failed.items() if not tests or name_of(test) in tests]
    times = Counter(index for hits in meant for index in {index for index, _ in hits})
    return {
        (each.file, each.function): bool(times[index])
        for index, each in enumerate(calls.functions)
        if times[index] in (0, len(meant))
    }


def _edited(loop: Loop) -> list[tuple[str, str]]:
    """Functions of the code under test that were edited since the loop advanced last, the latest first."""
    found: list[tuple[str, str]] = []
    for step in reversed(loop.steps[1:]):
        if step.advanced:
            break
        found += _code(step)
    return list(dict.fromkeys(found))


def _code(step: Step) -> list[tuple[str, str]]:
    """The code under test that was edited before a run."""
    edits = (each for each in step.edits.edits if each.is_effective and not is_test_file(each.file))
    return [(each.file, each.function) for each in edits]


def _place(file: str, function: str) -> str:
    return span(file, 100) if function in ("", MODULE) else f"{span(function, 60)} ({span(file, 100)})"


def _question(loop: Loop, kinds: Collection[str]) -> str:
    """What the loop cannot decide: whether the wanted value is right, or whether two wishes can both be met."""
    if "no-edit" in kinds:
        return "the files do not change between the runs; is an agent working on this?"
    if not {"oscillation", "whack-a-mole"}.isdisjoint(kinds):
        return "can these tests all pass, or do two of them contradict each other?"
    # the value of a test that did not run may be right by now
    ran = [each for each in loop.failing if each.record.want and each.ran >= loop.steps[-1].run]
    if not ran:
        return "does the test ask for the right thing, and which code is meant to do it?"
    moved = max(ran, key=lambda each: len(each.values))
    seen = ", ".join(span(value, 40) for _, value in moved.values[-_MAX_NAMED:])
    return f"is {span(moved.record.want, 40)} right in {span(moved.test, 160)}? The code returned {seen}."


# --- what was tried


def attempt_lines(report: Report, tokens: int) -> Iterator[str]:
    """A table of the attempts of the loop: what was edited before each, and its effect."""
    loop = report.loop
    if loop is None or not loop.failing:
        return
    steps = [step for step in loop.steps if step.is_attempt or not step.is_finished]
    rows = [
        f"| {step.run} | {_cell(edit_of(step))}{_same_files(step, loop)} | {_cell(effect(step))} |"
        for step in steps[-_MAX_STEPS:]
    ]
    while rows and estimate_tokens("\n".join((*_HEAD, *rows))) > tokens - _ROOM_TO_COUNT:
        rows.pop(0)
    if rows:
        left = len(steps) - len(rows)
        yield from (*_HEAD, *rows)
        yield from ["", f"{left} earlier attempt{'s' * (left != 1)} left out."] if left else []


def _cell(text: str) -> str:
    """Text that is one cell: a bar would end it, even inside of a code span.

    Renderers differ in whether two backslashes before it escape each other; after an odd number all agree.
    """
    return _BAR.sub(lambda found: found[1] + "\\" * (1 + len(found[1]) % 2) + "|", text)


def _same_files(step: Step, loop: Loop) -> str:
    """That the files are those of an earlier run, with others between."""
    before = [each for each in loop.steps if each.run < step.run]
    same = next((each.run for each in before if step.tree and each.tree == step.tree), 0)
    return f", back to the files of run {same}" if same and before[-1].tree != step.tree else ""


def edit_of(step: Step) -> str:
    """The edited functions, files that are not Python last; of a single edit of one line, the line before and after."""
    edits = sorted((e for e in step.edits.edits if e.is_effective), key=lambda e: not e.file.endswith(PYTHON))
    if not edits:
        return _SILENT.get(step.edits.kind, _SILENT["ineffective"])
    changed = _one_line_change(edits[0]) if len(edits) == 1 and not step.edits.omitted else ""
    names = [span(edit.file if edit.function in ("", MODULE) else edit.function, 80) for edit in edits]
    return f"{names[0]}: {changed}" if changed else _names(names, 2, step.edits.omitted)


def _one_line_change(edit: Edit) -> str:
    """`` `old` → `new` `` for an edit that replaced one line; empty for any other."""
    rows = edit.diff.split("\n")
    removed = [row[1:].strip() for row in rows if row.startswith("-")]
    added = [row[1:].strip() for row in rows if row.startswith("+")]
    if len(removed) != 1 or len(added) != 1:
        return ""
    return " → ".join(spans_apart((removed[0], added[0]), 50))


def effect(step: Step) -> str:
    """What a run changed in the failures, and how many tests are known to fail after it."""
    if not step.is_finished:
        return "killed before its end"
    failing = step.effect.failing
    return f"{counts(step.effect)}; {failing} fail{'s' * (failing == 1)}"


# --- the tests as they were


def objections_of(report: Report) -> list[Objection]:
    """What the checks object to."""
    checks = report.state.checks if report.state is not None else ()
    return [each.objection for each in checks if each.objection is not None]


def changed_tests(report: Report, tokens: int) -> Iterator[str]:
    """What each check objects to."""
    for objection in objections_of(report):
        yield from objection_lines(objection)


def objection_lines(objection: Objection) -> Iterator[str]:
    """The old tests that do not pass, with reasons; how that ends; and the diff of the test files."""
    if objection.tests:
        yield from ("These tests of the baseline do not pass in a copy with the present code:", "")
        for each in objection.tests[:_MAX_OLD]:
            reason = f", {line_of(each.reason, 200)}" if each.reason else ""
            yield f"- {span(each.test, 160)}: {each.outcome}{reason}"
        more = len(objection.tests) - _MAX_OLD + objection.omitted
        yield from [f"- and {more} more"] if more > 0 else []
    else:
        yield f"The tests as they were did not run: {line_of(objection.reason, 300)}."
        if objection.files:
            yield f"Changed since the baseline: {spans(objection.files, _MAX_NAMED)}."
    yield from ("", HOW_IT_ENDS)
    yield from fence(objection.diff, "diff") if objection.diff else ()


# --- what is remembered of a root cause


def past_lines(cause: RootCause, loop: Loop | None) -> Iterator[str]:
    """What is remembered of the cause: since when it has been there, and the values that it went through. One line."""
    first, tests = cause.evidence[0].failure, _known_of(cause, loop)
    if loop is None or not tests or first is None:
        return
    known = _oldest(tests)
    parts = [f"Failing since run {known.since}."] if known.since < loop.steps[-1].run else []
    if len(known.values) > 1:
        test = "" if known.test == test_key(first) else f" in {span(known.test, 160)}"
        shown = ", ".join(span(value, 40) for _, value in known.values[-_MAX_NAMED:])
        want = f"; wanted {span(known.record.want, 40)}" if known.record.want else ""
        parts.append(f"Got {shown}{want}{test}.")
    if passed := sum(each.had_passed for each in tests):
        which = f"{passed} of {len(tests)}" if len(tests) > 1 else "It"
        parts.append(f"{which} had passed in this loop.")
    if parts:
        yield " ".join(parts)


def attempts_at(cause: RootCause, loop: Loop | None) -> int:
    """How many attempts there were while the cause was there, and it stayed."""
    tests = _known_of(cause, loop)
    if loop is None or not tests:
        return 0
    since = _oldest(tests).since
    return sum(step.run > since for step in loop.attempts)


def _known_of(cause: RootCause, loop: Loop | None) -> list[FailingTest]:
    """What is known of the tests of a cause."""
    keys = {test_key(e.failure) for e in cause.evidence if e.failure is not None}
    return [each for each in loop.failing if each.test in keys] if loop is not None else []


def _oldest(tests: Sequence[FailingTest]) -> FailingTest:
    """The test that has been failing longest, of those that went through most values."""
    return min(tests, key=lambda each: (each.since, -len(each.values)))
