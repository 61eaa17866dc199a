"""The loop in the prompt: what changed since it was green, whether it advances, what to do, what was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from loop_close import lazy
from loop_close.conventions import PYTHON, is_of_tests, is_test_file
from loop_close.facts import known_calls
from loop_close.memory import (
    ELSEWHERE,
    MERGED,
    TAMPERING,
    ChangedTest,
    Edit,
    Edits,
    Episode,
    KnownTest,
    Progress,
    Signal,
    Step,
)
from loop_close.model import Report, RootCause
from loop_close.progress.compare import same_code_as, worth_telling
from loop_close.progress.fingerprints import name_of, test_key
from loop_close.progress.tampering import KINDS
from loop_close.prompt import plain_values, safe, span, spans, spans_apart
from loop_close.prompt.compose import estimate_tokens
from loop_close.syntax.meaning import MODULE
from loop_close.text import cut_apart, fence, one_line

_WHY = {
    "fixed": "more was fixed than broken",
    "fixed, others new": "tests that had failed pass; the new failures are not known to have passed before",
    "later": "a test got further",
    "changed": "a failure changed in a way not seen before",
    "unmasked": "tests can be collected again",
    "added": "a new test fails, and nothing that had passed",
}
_UNEDITED = {
    "none": "No file of the project changed since the run before.",
    "ineffective": "Only comments, formatting, docstrings or prose changed since the run before.",
}
_SILENT = {
    "none": "nothing",
    "ineffective": "only comments, formatting, docstrings or prose",
    "unknown": "unknown",
}
_MAX_NAMED = 3
_MAX_STEPS = 6
_MAX_DIFF_LINES = 14
_BAR = lazy.pattern(r"(\\*)\|")
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
    "repeated-failure, moved": "The value follows the edits of {edited}, so that code runs. Either its rule is wrong, "
    "or its input is. Print its arguments and its return value once in the failing test: with a wrong argument, the "
    "fault is earlier.",
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


def since_green(report: Report, tokens: int) -> Iterator[str]:
    """What was edited since the last green run, with its diff: in every red run until the next green one."""
    progress = report.progress
    if report.verdict == "green" or progress is None:
        return
    green, edits = report.green_run, report.since_green
    if edits is None or edits.kind == "unknown":
        yield from _last_diff(report)
        return
    since = f"since run {green}, which was green" if green else "since the last green run"
    if edits.kind == "none":
        yield f"No file of the project changed {since}."
        return
    kept = [edit for edit in edits.edits if edit.is_effective]
    if not kept:
        yield f"Only comments, formatting, docstrings or prose changed {since}."
        return
    yield f"Changed {since}: {_names(kept, edits)}"
    yield from _diff(kept, report)


def _last_diff(report: Report) -> Iterator[str]:
    """Where no green run is known: the diff of the last edit of the loop."""
    progress = report.progress
    steps = progress.episode.steps if progress is not None else ()
    for step in reversed(steps[1:]):
        kept = [edit for edit in step.edits.edits if edit.is_effective]
        is_in_table = len(kept) == 1 and not step.edits.omitted and _one_line_change(kept[0])
        if kept and not is_in_table:
            yield f"Last edit, before run {step.run}: {_names(kept, step.edits)}"
            yield from _diff(kept, report)
        if kept:
            return


def _names(kept: Sequence[Edit], edits: Edits) -> str:
    more = len(kept) - _MAX_NAMED + edits.omitted if len(kept) > _MAX_NAMED else edits.omitted
    named = ", ".join(map(place_of_edit, kept[:_MAX_NAMED]))
    return f"{named} and {more} more" if more else named


def place_of_edit(edit: Edit) -> str:
    """`` `total` in `src/cart.py` ``, with its fate if it was not edited in place."""
    if edit.change == "moved":
        file, function = edit.moved_to
        return f"{span(edit.function, 60)} (now {span(f'{file}:{function}', 100)})"
    change = f" ({edit.change})" if edit.change in ("added", "removed") else ""
    is_part = edit.function and edit.function != MODULE
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


def state_lines(report: Report, tokens: int) -> Iterator[str]:
    """The state of the loop in one line; then each signal, an experiment, and a question for a person."""
    progress = report.progress
    if progress is None:
        return
    fired = [s for s in progress.signals if s.is_on and s.kind != TAMPERING]  # that has its own section
    if report.verdict == "green":
        yield from _fixed(progress)
        yield from (f"- {_named(signal, progress)}." for signal in fired)
        return
    if progress.position > 1:
        is_of_one = len(report.sources) > 1 and progress.source != MERGED
        yield state_line(progress, progress.source if is_of_one else "")
    yield from (f"- {_named(signal, progress)}." for signal in fired)
    if progress.breaker.state != "closed":
        yield from _experiment(report, progress)
    if progress.breaker.state == "open":
        yield f"For a person: {_question(progress, _failing(progress))}"


def state_line(progress: Progress, source: str = "") -> str:
    """The state in one line: ``Run 5 of this loop: 1 fixed, 2 unresolved. No progress for 2 runs.``.

    :param source: whose loop it is, where the report is of several.
    """
    whose = f"the loop of {span(source, 60)}" if source else "this loop"
    parts = [f"{_number(progress)} of {whose}: {counts(progress)}."]
    if _is_of_other_tests(progress):
        parts.append("It ran other tests than the run before, so it was no attempt.")
    else:
        parts += [_verdict(progress), _UNEDITED.get(progress.step.edits.kind, "")]
    return " ".join(part for part in parts if part)


def _is_of_other_tests(progress: Progress) -> bool:
    """Whether it chose its tests otherwise, and ran none that the loop knew, as another shard does."""
    known = progress.fixed or progress.unresolved or progress.changed or progress.not_fixed
    steps = progress.episode.steps
    is_other = len(steps) > 1 and steps[-2].selection != progress.step.selection
    return is_other and not known and not progress.step.advanced and progress.breaker.state == "closed"


def _number(progress: Progress) -> str:
    """The run by its number, which everything else refers to; its place in the loop if that differs."""
    run, position = progress.run, progress.position
    return f"Run {run}" if run == position else f"Run {run}, the {_ordinal(position)}"


def _ordinal(number: int) -> str:
    end = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number // 10 % 10 == 1 else end}"


def counts(progress: Progress) -> str:
    """The groups that are not empty: ``2 fixed, 1 new (1 had passed), 3 unresolved``."""
    broken = f" ({len(progress.broken)} had passed)" if progress.broken else ""
    named = (
        (len(progress.fixed), "fixed", ""),
        (len(progress.new), "new", broken),
        (len(progress.changed), "changed", ""),
        (len(progress.unresolved), "unresolved", ""),
        (len(progress.not_run), "not run", ""),
        (len(progress.not_fixed), "stopped failing without a fix", ""),
        (len(progress.step.infrastructure), "failed by infrastructure", ""),
    )
    return ", ".join(f"{number} {name}{more}" for number, name, more in named if number) or "no change"


def _verdict(progress: Progress) -> str:
    step = progress.step
    if step.advanced == ELSEWHERE:
        return f"Nothing changed here; {span(step.elsewhere, 60)} made progress."
    if step.advanced:
        is_unknown = step.advanced == "fixed" and step.new > step.broken
        return f"Progress: {_WHY['fixed, others new' if is_unknown else step.advanced]}."
    if progress.breaker.state == "closed":
        return "No progress."
    reason = progress.breaker.reason
    return f"Stuck: {reason}." if progress.breaker.state == "open" else f"{reason[:1].upper()}{reason[1:]}."


def _named(signal: Signal, progress: Progress) -> str:
    is_all = bool(signal.tests) and [*signal.tests] == _failing(progress)
    about = " all failing tests:" if is_all else f" {spans(signal.tests, 2)}:" if signal.tests else ""
    return f"{signal.kind.replace('-', ' ').capitalize()}:{about} {one_line(signal.explanation, 300)}"


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


def _experiment(report: Report, progress: Progress) -> Iterator[str]:
    """While the loop does not advance: what would discriminate between two explanations."""
    fired = {s.kind: s for s in progress.signals if s.is_on}
    signal = next((fired[kind] for kind in EXPERIMENTS if kind in fired), None)
    ran = _functions_run(report, signal.tests if signal is not None else ())
    names = _edited(progress)
    first = next((name for name in names if ran.get(name)), names[0] if names else None)
    kind = _situation(signal, progress) if signal is not None else ""
    if first is not None and first in ran and kind.startswith("repeated-failure"):
        kind = (
            "repeated-failure, not run"
            if not ran[first]
            else "repeated-failure, run"
            if "," not in kind
            else kind
        )
    tests = spans(signal.tests, _MAX_NAMED) if signal is not None and signal.tests else "the failing tests"
    edited = _place(*first) if first is not None else _SOMETHING
    yield EXPERIMENTS.get(kind, DEFAULT).format(edited=edited, tests=tests)


def _situation(signal: Signal, progress: Progress) -> str:
    """The key of the catalogue: an edit that moved the values is known to run."""
    moves = [
        s for s in progress.episode.steps if s.moved and s.edits.kind == "effective" and s.run in signal.runs
    ]
    return f"{signal.kind}, moved" if signal.kind == "repeated-failure" and moves else signal.kind


def _failing(progress: Progress) -> list[str]:
    return sorted(test for test, known in progress.episode.tests.items() if known.status == "failing")


def _edited(progress: Progress) -> list[tuple[str, str]]:
    """Functions of the code under test that were edited since the last progress, by file and name, the latest first."""
    found: list[tuple[str, str]] = []
    for step in reversed(progress.episode.steps):
        if step.advanced or step.run == progress.episode.first:
            break
        found += [
            (e.file, e.function) for e in step.edits.edits if e.is_effective and not is_test_file(e.file)
        ]
    return list(dict.fromkeys(found))


def _place(file: str, function: str) -> str:
    is_part = function and function != MODULE
    return f"{span(function, 60)} ({span(file, 100)})" if is_part else span(file, 100)


def _question(progress: Progress, failing: list[str]) -> str:
    """What the loop cannot decide: whether the wanted value is right, or whether two wishes can both be met."""
    kinds = {s.kind for s in progress.signals if s.is_on}
    if "no-edit" in kinds:
        return "the files do not change between the runs; is an agent working on this?"
    if kinds & {"oscillation", "whack-a-mole"}:
        return "can these tests all pass, or do two of them contradict each other?"
    known = (progress.episode.tests[test] for test in failing)
    ran = (k for k in known if k.mark.test not in progress.not_run)  # its value may be right by now
    moved = max((k for k in ran if k.mark.want), key=lambda k: len(k.values), default=None)
    if moved is not None:
        return _about_value(moved)
    return "does the test ask for the right thing, and which code is meant to do it?"


def _about_value(known: KnownTest) -> str:
    test, want = span(known.mark.test, 160), span(known.mark.want, 40)
    seen = ", ".join(span(value, 40) for _, value in known.values[-_MAX_NAMED:])
    return f"is {want} right in {test}? The code returned {seen}."


def _fixed(progress: Progress) -> Iterator[str]:
    """After a green run: what had been broken in the episode that is over."""
    episode: Episode = progress.episode
    passed = {t: k for t, k in episode.tests.items() if k.status == "passed" and "::" in t}
    tests = sorted(t for t, known in passed.items() if progress.step.is_full or known.ran == progress.run)
    if tests:
        runs = f"{episode.runs} run{'s' * (episode.runs != 1)}"
        number = f"{len(tests)} test{'s' * (len(tests) != 1)} that had failed pass"
        yield f"{number}{'es' * (len(tests) == 1)} after {runs}: {spans(tests, _MAX_NAMED)}."


def attempt_lines(report: Report, tokens: int) -> Iterator[str]:
    """A table of the runs of the loop: what was edited before each, and its effect; none before the second run."""
    progress = report.progress
    if progress is None or progress.position < 2 or not progress.step.unresolved:
        return
    steps = worth_telling(progress)
    rows = [
        f"| {step.run} | {_cell(_edit_of(step))}{_same_code(step, progress)} | {_cell(effect(step))} |"
        for step in steps[-_MAX_STEPS:]
    ]
    while rows and estimate_tokens("\n".join((*_HEAD, *rows))) > tokens - _ROOM_TO_COUNT:
        rows.pop(0)
    if rows:
        left = len(steps) - len(rows)
        yield from (*_HEAD, *rows)
        yield from ["", f"{left} earlier run{'s' * (left != 1)} left out."] if left else []


def _cell(text: str) -> str:
    """Text that is one cell: a bar would end it, even inside of a code span.

    Renderers differ in whether two backslashes before it escape each other; after an odd number all agree.
    """
    return _BAR.sub(lambda found: found[1] + "\\" * (1 + len(found[1]) % 2) + "|", text)


def _same_code(step: Step, progress: Progress) -> str:
    same = same_code_as(step, progress)
    return f", back to the code of run {same}" if same is not None else ""


def _edit_of(step: Step) -> str:
    """The edited functions, files that are not Python last; of a single edit of one line, the line before and after."""
    if step.edits.kind in _SILENT:
        return _SILENT[step.edits.kind]
    edits = sorted((e for e in step.edits.edits if e.is_effective), key=lambda e: not e.file.endswith(PYTHON))
    if not edits:  # a checker may be content with them
        return _SILENT["ineffective"]
    if len(edits) == 1 and not step.edits.omitted:
        changed = _one_line_change(edits[0])
        if changed:
            return f"{_short_place(edits[0])}: {changed}"
    more = max(0, len(edits) - 2) + step.edits.omitted
    return ", ".join(map(_short_place, edits[:2])) + (f" and {more} more" if more else "")


def _short_place(edit: Edit) -> str:
    is_part = edit.function and edit.function != MODULE
    return span(edit.function if is_part else edit.file, 80)


def _one_line_change(edit: Edit) -> str:
    """`` `old` → `new` `` for an edit that replaced one line; empty for any other."""
    rows = edit.diff.split("\n")
    removed = [row[1:].strip() for row in rows if row.startswith("-")]
    added = [row[1:].strip() for row in rows if row.startswith("+")]
    if len(removed) != 1 or len(added) != 1:
        return ""
    return " → ".join(spans_apart((removed[0], added[0]), 50))


def effect(step: Step) -> str:
    """What a run changed in the failures."""
    if step.is_killed:
        return "killed before its end"
    if step.advanced == ELSEWHERE:
        return f"progress in {one_line(step.elsewhere, 60)}; {step.unresolved} fail{'s' * (step.unresolved == 1)}"
    named = (
        (step.fixed, "fixed"),
        (step.broken, "broken"),
        (step.new - step.broken, "new"),
        (step.changed, "changed"),
        (step.moved, "with other values"),
        (step.not_fixed, "stopped failing without a fix"),
        (len(step.infrastructure), "failed by infrastructure"),
        (step.not_run, "not run"),
    )
    moved = ", ".join(f"{number} {name}" for number, name in named if number)
    return f"{moved or 'no change'}; {step.unresolved} fail{'s' * (step.unresolved == 1)}"


# --- tests that were changed since the loop began

_MAX_SHOWN, _MAX_DIFFS = 8, 3
_MAX_LINES = 8
_WIDTH = 120
_OPEN = (
    "The loop is done once these tests are as they were when it began, or a person accepts the changes"
    " (`loop-close accept`)."
)
_ASKED = "It cannot be decided whether these tests still demand what they did. Restore them, or say why they changed."
_UNEDITED_TESTS = (
    "These tests failed before. Say why they pass now, or find out whether they fail now and then:"
)
_DATA = (
    "Only data was edited since tests failed that pass now. If tests compare with it, restore it, or say why it"
    " changed. If the program reads it, it may be the fix."
)
_HINTS = "Of the code under test, to be looked at by a person:"


_GROUPS = {"open": _OPEN, "asked": _ASKED, "no-edit": _UNEDITED_TESTS, "data": _DATA, "hint": _HINTS}
# Groups of tests that were not changed.
_UNSOURCED = ("no-edit", "data")


def changed_test_lines(report: Report, tokens: int) -> Iterator[str]:
    """The section of the prompt: what was done to which test, with the lines that differ, and what to do."""
    if report.progress is not None:
        yield from lines_of([each for each in report.progress.tests if _group_of(each) not in _UNSOURCED])


def unedited_test_lines(report: Report, tokens: int) -> Iterator[str]:
    """The section of the prompt on tests that pass although no source was edited: they were not changed."""
    if report.progress is not None:
        yield from lines_of([each for each in report.progress.tests if _group_of(each) in _UNSOURCED])


def lines_of(changes: Sequence[ChangedTest]) -> list[str]:
    """The same as markdown lines; none if there is nothing to say."""
    lines: list[str] = []
    room = _MAX_DIFFS
    for group, words in _GROUPS.items():
        found = [change for change in changes if _group_of(change) == group]
        if not found:
            continue
        lines += [*([""] if lines else []), words, ""]
        for change in found[:_MAX_SHOWN]:
            lines.append(f"- {span(change.id, 160)} ({KINDS.get(change.kind, 'changed')}): {_what(change)}")
            if room and (rows := diff_of(change)):
                room -= 1
                lines += fence("\n".join(rows), "diff")
        more = len(found) - _MAX_SHOWN
        lines += [f"- and {more} more"] if more > 0 else []
    return lines


def _group_of(change: ChangedTest) -> str:
    if change.state != "asked":
        return change.state
    is_data = change.kind == "unclear" and not (
        change.test or is_test_file(change.file) or is_of_tests(change.file)
    )
    return change.kind if change.kind == "no-edit" else "data" if is_data else "asked"


def _what(change: ChangedTest) -> str:
    return one_line(safe(change.what), 240)


def diff_of(change: ChangedTest) -> list[str]:
    """The lines that differ, at most eight, those that are gone first."""
    old, new = (
        [line.rstrip() for line in safe(text).split("\n") if line.strip()]
        for text in (change.before, change.after)
    )
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    rows = [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    if len(rows) > _MAX_LINES:
        half = _MAX_LINES // 2
        old, new = old[: max(half, _MAX_LINES - len(new))], new[: max(half, _MAX_LINES - len(old))]
        rows = [*(f"-{line}" for line in old), *(f"+{line}" for line in new), "…"]
    return _cut_rows(rows)


def _cut_rows(rows: Sequence[str]) -> list[str]:
    """The rows of a diff, long ones cut around what differs in them."""
    cut = cut_apart([row[1:] for row in rows], _WIDTH - 1)
    return [f"{row[:1]}{text}" for row, text in zip(rows, cut, strict=True)]


def plain_line(change: ChangedTest) -> str:
    """A change on one line of plain text: ``weakened: tests/test_a.py::test_f: asserts less``."""
    what = _what(change)
    name = f"{KINDS.get(change.kind, 'changed')}: {one_line(safe(change.id), 160)}"
    return f"{name}: {what}" if what else name


def tests_document(changes: Sequence[ChangedTest]) -> list[dict[str, Any]]:
    """The changes as plain values, as the report and ``status --json`` have them."""
    names = ("file", "test", "kind", "what", "before", "after", "line", "state")
    return [{**plain_values(change, *names), "accepted": change.state == "accepted"} for change in changes]


# --- what is remembered of a root cause


def past_lines(cause: RootCause, progress: Progress | None) -> Iterator[str]:
    """What is remembered of the cause: how long it has been there, and the values that it went through. One line."""
    first, tests = cause.evidence[0].failure, _known_of(cause, progress)
    if progress is None or not tests or first is None:
        return
    known = _oldest(tests)
    runs = [s.run for s in progress.episode.steps if s.run >= known.since and not s.is_killed]
    old = sum(each.since == known.since for each in tests)
    failing = "Failing" if old == len(tests) else f"{old} of {len(tests)} failing"
    parts = [f"{failing} for {len(runs)} runs, since run {known.since}."] if len(runs) > 1 else []
    if len(known.values) > 1:
        test = "" if known.mark.test == test_key(first) else f" in {span(known.mark.test, 160)}"
        shown = ", ".join(span(value, 40) for _, value in known.values[-3:])
        want = f"; wanted {span(known.mark.want, 40)}" if known.mark.want else ""
        parts.append(f"Got {shown}{want}{test}.")
    broken = sum(each.was_broken for each in tests)
    if broken:
        which = (
            f"{broken} of {len(tests)}" if broken < len(tests) else "It" if broken == 1 else f"All {broken}"
        )
        is_file = known.mark.phase == "collect"
        parts.append(
            f"{which} could be collected before." if is_file else f"{which} had passed in this loop."
        )
    if parts:
        yield " ".join(parts)


def attempts_at(cause: RootCause, progress: Progress | None) -> int:
    """How many times the code was edited while the cause was there, and it stayed."""
    tests = _known_of(cause, progress)
    if progress is None or not tests:
        return 0
    since = _oldest(tests).since
    steps = [s for s in progress.episode.steps if s.run > since and s.is_counted and s.advanced != ELSEWHERE]
    return sum(s.edits.kind in ("effective", "unknown") for s in steps)


def _known_of(cause: RootCause, progress: Progress | None) -> list[KnownTest]:
    """What is known of the tests of a cause."""
    keys = {test_key(e.failure) for e in cause.evidence if e.failure is not None}
    known = progress.episode.tests if progress is not None else {}
    return [known[key] for key in sorted(keys) if key in known]


def _oldest(tests: Sequence[KnownTest]) -> KnownTest:
    """The test that has been failing longest, of those that went through most values."""
    return min(tests, key=lambda each: (each.since, -len(each.values)))
