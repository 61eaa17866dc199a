"""The loop in the prompt: what changed since it was done, its attempts, what to find out, who tried what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from loop_close.conventions import PYTHON, is_test_file
from loop_close.facts import TEST_PHASES
from loop_close.keys import test_key
from loop_close.loop import is_stuck
from loop_close.model import OtherAttempt, Report, RootCause
from loop_close.prompt import number_of, safe, span, spans, spans_apart
from loop_close.prompt.compose import Paragraph, Rank
from loop_close.records import CheckState, Edit, FailingTest, Loop, Objection, Signal, Step
from loop_close.syntax.meaning import MODULE
from loop_close.text import cut_apart, fence, listed, one_line

#: The signal that has a section of its own.
TAMPERING = "test-tampering"
#: The sentence that ends an objection, for a person and an agent alike.
HOW_IT_ENDS = (
    "This ends when the old tests pass, the files are restored, or a person accepts the new ones"
    " (`loop-close accept`)."
)
#: So many attempts in a row that do not advance call for an experiment.
_TRY_SOMETHING = 2
_SILENT = {
    "none": "nothing",
    "ineffective": "only comments, formatting, docstrings or prose",
    "unknown": "unknown",
}
_UNEDITED = {"none": "No file", "ineffective": "Only comments, formatting, docstrings or prose"}
_MAX_NAMED = 3
_MAX_STEPS = 6
_MAX_DIFF_LINES = 14
_MAX_OLD = 8
_WIDTH = 120
_MOST_OTHERS = 3
_MOST_EDITS = 2
#: A diff that replaces one line.
_ONE_LINE = re.compile(r"(?:(?![-+]).*\n)*-(.*)\n\+(.*)(?:\n(?![-+]).*)*")
_BAR = re.compile(r"(\\*)\|")
_HEAD = ("| run | edit | effect |", "|---|---|---|")
#: What would tell two explanations apart, by signal, the most telling signal first. ``{edited}`` are the functions
#: edited last, ``{tests}`` what the signal is about. All of the words are ours.
EXPERIMENTS = {
    "oscillation": "Compare the inputs and the expected results of {tests}. Equal inputs with different results"
    " contradict each other; otherwise the difference between the inputs is the missing case.",
    "whack-a-mole": "Compare what {tests} pass to the code that all of them run: the first difference shows what one"
    " edit has to handle.",
    "regression": "Undo the last edit and run {tests}: if they pass, it was the edit.",
    "": "Print the arguments and the return value of {edited} while {tests} run. No output: it does not run there. A"
    " wrong argument: the fault is earlier.",
}


def since_done(report: Report) -> Iterator[str]:
    """What was edited since no test was known to fail, with its diff."""
    loop, edits = report.loop, report.since
    if report.verdict == "green" or not loop.base:
        return
    when = f"Changed since run {loop.base}, when no test was known to fail: "
    kept = [edit for edit in edits.edits if edit.is_effective]
    if kept:
        names = [*map(place_of_edit, kept), *[""] * edits.omitted]
        yield when + listed(names, min(_MAX_NAMED, len(kept)))
        yield from _diff(kept)
    elif edits.kind == "ineffective":
        yield f"{when}{_SILENT['ineffective']}."


def place_of_edit(edit: Edit) -> str:
    """`` `total` in `src/cart.py` ``, with its fate if it was not edited in place."""
    change = f" ({edit.change})" if edit.change in ("added", "removed") else ""
    return f"{_place(edit.file, edit.function)}{change}"


def _place(file: str, function: str) -> str:
    where = span(file, 100)
    return where if function in ("", MODULE) else f"{span(function, 60)} in {where}"


def _diff(edits: Sequence[Edit]) -> list[str]:
    """The first lines of the diffs, each below its place."""
    rows: list[str] = []
    for edit in edits:
        name = one_line(safe(f"{edit.file} {edit.function}"), 160)
        rows += [f"@@ {name} @@", *safe(edit.diff).split("\n")] if edit.diff else []
    kept = rows[:_MAX_DIFF_LINES]
    shown = [
        f"{row[:1]}{text}" for row, text in zip(kept, cut_apart([r[1:] for r in kept], _WIDTH), strict=True)
    ]
    more = number_of(len(rows) - len(kept), "more line", "more lines")
    return fence("\n".join([*shown, *([f"… {more}"] if more else [])]), "diff") if rows else []


# --- where the loop stands


def state_lines(report: Report) -> Iterator[str]:
    """The state of the loop in one line; then each signal, an experiment, and a question for a person."""
    loop = report.loop
    if not loop.steps:
        return
    if len(loop.steps) > 1 and not objected(report):  # what rewritten tests say is not compared
        last = loop.steps[-1]
        yield f"Run {last.run}: {effect(last)}. {standing(report, loop)}".rstrip()
    yield from (f"- {_named(each)}." for each in report.signals if each.kind != TAMPERING)
    if loop.failing and loop.stalled >= min(_TRY_SOMETHING, report.stuck_after):
        if any(each.phase in TEST_PHASES for each in report.observation.failures):
            yield _experiment(report, loop)
        if is_stuck(loop, report.stuck_after):
            yield f"For a person: {_question(loop)}"


def counts(step: Step) -> str:
    """The groups that are not empty: ``2 fixed, 1 new, 3 unresolved``."""
    named = (
        (step.fixed, "fixed"),
        (step.broken, "new"),
        (step.changed, "failing in another way"),
        (step.moved, "with other values"),
        (step.unresolved, "unresolved"),
        (step.not_run, "not run"),
        (step.not_fixed, "stopped failing without passing"),
    )
    return ", ".join(f"{len(tests)} {name}" for tests, name in named if tests) or "no change"


def standing(report: Report, loop: Loop) -> str:
    """The attempts that did not advance with the failing tests after each, and a run without an edit; may be empty."""
    kind = loop.steps[-1].edits.kind
    said = [f"{_UNEDITED[kind]} changed since the run before."] if kind in _UNEDITED else []
    if loop.stalled:
        stuck = "Stuck: " if is_stuck(loop, report.stuck_after) else ""
        failing = ", ".join(str(step.failing) for step in loop.attempts[-loop.stalled :])
        attempts = number_of(loop.stalled, "attempt", "attempts in a row")
        said.insert(0, f"{stuck}{attempts} did not advance; tests failing after: {failing}.")
    return " ".join(said)


def _named(signal: Signal) -> str:
    about = f" {spans(signal.tests, 2)}:" if signal.tests else ""
    return f"{signal.kind.replace('-', ' ').capitalize()}:{about} {one_line(signal.explanation, 300)}"


def _experiment(report: Report, loop: Loop) -> str:
    """What would tell two explanations apart."""
    fired = {each.kind: each for each in report.signals}
    kind = next((kind for kind in EXPERIMENTS if kind in fired), "")
    edited = next((name for step in reversed(loop.steps) for name in _edited(step)), "the edited code")
    tests = spans(fired[kind].tests, _MAX_NAMED) if kind else "the failing tests"
    return EXPERIMENTS[kind].format(edited=edited, tests=tests)


def _edited(step: Step) -> list[str]:
    """The code under test that was edited before a run."""
    edits = [each for each in step.edits.edits if each.is_effective and not is_test_file(each.file)]
    return [place_of_edit(each) for each in edits]


def _question(loop: Loop) -> str:
    """What the loop cannot decide: whether the wanted value is right, or whether the tests can all pass."""
    # The value of a test that did not run may be right by now.
    ran = [each for each in loop.failing if each.record.want and each.ran >= loop.steps[-1].run]
    if not ran:
        return "do the failing tests ask for the right thing, and can they all pass?"
    moved = max(ran, key=lambda each: len(each.values))
    return f"is {span(moved.record.want, 40)} right in {span(moved.test, 160)}?{_values(moved)}"


def _values(test: FailingTest) -> str:
    """The values that a test got, each with the run in which it first came."""
    shown = (f"{span(value, 40)} (run {run})" for run, value in test.values[-_MAX_NAMED:])
    return f" Got {', '.join(shown)}." if test.values else ""


# --- what was tried


def attempt_lines(report: Report) -> Iterator[Paragraph]:
    """A table of the attempts of the loop: what was edited before each, and its effect."""
    loop = report.loop
    if not loop.failing:
        return
    steps = [step for step in loop.steps if step.is_attempt or not step.is_finished]
    rows = [
        f"| {step.run} | {_cell(edit_of(step))} | {_cell(effect(step))} |" for step in steps[-_MAX_STEPS:]
    ]
    left = number_of(len(steps) - len(rows), "earlier attempt", "earlier attempts")
    if rows:
        lines = (*_HEAD, *rows, *(("", f"{left} not shown.") if left else ()))
        yield Paragraph(lines=lines, rank=Rank.LOOP, name="earlier attempts")


def _cell(text: str) -> str:
    """Text that is one cell: a bar would end it, even inside of a code span.

    Renderers differ in whether two backslashes before it escape each other; after an odd number all agree.
    """
    return _BAR.sub(lambda found: found[1] + "\\" * (1 + len(found[1]) % 2) + "|", text)


def edit_of(step: Step) -> str:
    """The edited functions, files that are not Python last; of a single edit of one line, the line before and after."""
    edits = sorted((e for e in step.edits.edits if e.is_effective), key=lambda e: not e.file.endswith(PYTHON))
    if not edits:
        return _SILENT.get(step.edits.kind, _SILENT["ineffective"])
    names = [span(edit.file if edit.function in ("", MODULE) else edit.function, 80) for edit in edits]
    line = _ONE_LINE.fullmatch(edits[0].diff)
    if line and len(edits) == 1 and not step.edits.omitted:
        return f"{names[0]}: {' → '.join(spans_apart([*map(str.strip, line.groups())], 50))}"
    return listed([*names, *[""] * step.edits.omitted], min(2, len(names)))


def effect(step: Step) -> str:
    """What a run changed in the failures, and how many tests are known to fail after it."""
    if not step.is_finished:
        return "killed before its end"
    return f"{counts(step)}; {step.failing} count as failing"


# --- the tests as they were


def objected(report: Report) -> list[CheckState]:
    """The checks that object to something."""
    checks = report.state.checks if report.state is not None else ()
    return [each for each in checks if each.objection is not None]


def changed_tests(report: Report) -> Iterator[str]:
    """What each check objects to."""
    for check in objected(report):
        assert check.objection is not None
        yield from objection_lines(check.objection)


def objection_lines(objection: Objection) -> Iterator[str]:
    """The old tests that do not pass, with reasons; how that ends; and the diff of the test files."""
    if objection.tests:
        yield from ("These tests of the baseline do not pass in a copy with the present code:", "")
        for each in objection.tests[:_MAX_OLD]:
            reason = f", {span(each.reason, 200)}" if each.reason else ""
            yield f"- {span(each.test, 160)}: {each.outcome}{reason}"
        more = len(objection.tests) - _MAX_OLD + objection.omitted
        yield from [f"- and {more} more"] if more > 0 else []
    else:
        yield f"The tests as they were did not run: {span(objection.reason, 300)}."
        if objection.files:
            yield f"Changed since the baseline: {spans(objection.files, _MAX_NAMED)}."
    yield from ("", HOW_IT_ENDS)
    yield from fence(objection.diff, "diff") if objection.diff else ()


# --- what is remembered of a root cause


def past_lines(cause: RootCause, loop: Loop) -> Iterator[str]:
    """Since when the tests of a cause have been failing, the values that one of them got, and how many had passed."""
    tests = _known_of(cause, loop)
    if not tests:
        return
    began = Counter(each.since for each in tests)
    since = [f"run {run}{f' ({number})' if len(began) > 1 else ''}" for run, number in sorted(began.items())]
    parts = [f"Failing since {', '.join(since)}."] if min(began) < loop.steps[-1].run else []
    known = _oldest(tests)
    if len(known.values) > 1:
        test = f" ({span(known.test, 160)})" if len(tests) > 1 else ""
        parts.append(f"{_values(known)[1:-1]}{test}.")
    if passed := sum(each.had_passed for each in tests):
        parts.append(f"{passed} of {len(tests)} passed in an earlier run.")
    if parts:
        yield " ".join(parts)


def attempts_at(cause: RootCause, loop: Loop) -> int:
    """How many attempts there were while the cause was there, and it stayed."""
    tests = _known_of(cause, loop)
    if not tests:
        return 0
    since = _oldest(tests).since
    return sum(step.run > since for step in loop.attempts)


def _known_of(cause: RootCause, loop: Loop) -> list[FailingTest]:
    """What is known of the tests of a cause."""
    keys = {test_key(failure) for failure in cause.failures}
    return [each for each in loop.failing if each.test in keys]


def _oldest(tests: Sequence[FailingTest]) -> FailingTest:
    """The test that has been failing longest, of those that went through most values."""
    return min(tests, key=lambda each: (each.since, -len(each.values)))


# --- what only a shared history can tell


def shared_lines(report: Report) -> Iterator[str]:
    """The section of the prompt: what other agents tried for each root cause, a line each."""
    for number, cause in enumerate(report.causes, 1):
        which = f"{number}. " if len(report.causes) > 1 else ""
        attempts = [each for each in report.shared or () if each.cause == cause.id]
        yield from (f"- {which}{_of_other(each)}." for each in attempts[:_MOST_OTHERS])


def _of_other(found: OtherAttempt) -> str:
    branch = f", branch {span(found.branch, 60)}" if found.branch else ""
    edit = "this edit" if found.is_same else _edits(found.edits)
    tests = f"{found.failing} test{'s' * (found.failing != 1)} failed after it"
    effect = f"this cause was gone, {tests}" if found.is_cleared else tests
    return f"Another agent tried {edit} for this cause in run {found.run} ({span(found.machine, 60)}{branch}): {effect}"


def _edits(edits: Sequence[tuple[str, str, str, str]]) -> str:
    named = []
    for file, function, before, after in edits:
        change = f" ({' → '.join(spans_apart((before, after), 60))})" if before or after else ""
        named.append(f"{_place(file, function)}{change}")
    return f"an edit of {listed(named, _MOST_EDITS)}"
