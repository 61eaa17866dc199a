"""The built-in sections, each from the report to lines, in the order in which they are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from loop_close.detectors import DEFAULT_DETECTORS, DETECTOR_ERROR, Detector
from loop_close.facts import DURING_COLLECTION, is_environment
from loop_close.model import Evidence, Report, SourceResult
from loop_close.prompt import (
    edits_not_run_line,
    edits_not_run_words,
    failing,
    green_title,
    line_of,
    number_of,
    safe,
    span,
    spans,
)
from loop_close.prompt.block import (
    LEGEND,
    LEGENDS,
    LEVELS,
    SHOWS_OTHERS,
    block_lines,
    brief_line,
    more_places,
)
from loop_close.prompt.compose import NEXT_STEP, Section, estimate_tokens
from loop_close.prompt.loop import (
    attempt_lines,
    changed_tests,
    objections_of,
    since_done,
    standing,
    state_lines,
)
from loop_close.prompt.place import (
    POSSIBLE,
    PROBABLE,
    are_one_place,
    name_of,
    percent,
    place_in_words,
    probable_place,
    representative,
)
from loop_close.prompt.shared import shared_lines
from loop_close.text import listed, one_line

#: Root causes shown as blocks; the others get a line each.
MAX_BLOCKS = 10
_RESERVE = 40
_FINDINGS = 6
_MAX_SOURCES = 5
#: The command that says whether the work is done.
CHECK = "loop-close check"
_MAX_REJECTED = 8
#: Kinds whose advice says more than the failure itself; so does that of detectors of others.
_ADVICE = frozenset(
    ("crash", "timeout", "coverage-below", "unhandled-async", "internal-error", "collection-error")
)
_REASONS = {
    "no-patterns-matched": "no known failure in the output",
    "unknown": "nothing is known: no output",
}
_NOTHING = {
    "no-stall-detected": "The output shows no failure: proceed.",
    "no-patterns-matched": "The output matches no known pattern. Read the log, starting at the end.",
    "unknown": "The command printed nothing: it is not known whether it succeeded.",
}


def title(report: Report, tokens: int) -> Iterator[str]:
    """What fails, what passes, and where to look first, in words."""
    code = report.observation.exit_code
    known = "exit code unknown" if code is None else f"exit {code}"
    if report.verdict == "green":
        yield _green(report, known)
        return
    said = in_numbers(report)
    if not report.causes:
        yield f"# {one_line(said, 160)} ({known})"
        return
    first = place_in_words(report.causes[0], report.loop)
    number = len(report.causes)
    if number == 1 and first == report.causes[0].kind:  # which has been said
        yield f"# {one_line(said, 160)} ({known})"
        return
    is_unclear = any(each.score < POSSIBLE for each in report.causes[0].suspects[:1])
    causes = "" if number == 1 else f"{number} root causes, {'the first with' if is_unclear else 'first'} "
    if number > 1 and are_one_place(report.causes):
        causes = f"{number} kinds of failure, all "
    yield f"# {one_line(said, 120)}: {causes}{first}"


def _green(report: Report, known: str) -> str:
    said = _green_words(report, known)
    is_done = report.state is not None and report.state.verdict == "done"
    return f"# Done: {said[2:3].lower()}{said[3:]}" if is_done else said


def _green_words(report: Report, known: str) -> str:
    return green_title(report.observation.counts, known, has_tests=report.observation.expects_tests)


def in_numbers(report: Report) -> str:
    """``5 tests fail, 36 pass``; without tests, the findings; without these, the stall reason."""
    counts = report.observation.counts
    uncollected = len({f.nodeid for f in report.observation.failures if f.nodeid and f.phase == "collect"})
    errors = max(0, counts.errors - uncollected)
    checks: Counter[str] = Counter()
    for failure in report.observation.failures:
        if failure.tool and failure.phase == "check":
            checks[failure.tool] += failure.number
    parts_of = Counter(
        tool for tool, _ in {(f.tool, f.code) for f in report.observation.failures if is_environment(f)}
    )
    hooks = parts_of.pop("pre-commit", 0)
    parts = [
        failing(counts.failed, counts.failed_subtests),
        number_of(uncollected, "file cannot be collected", "files cannot be collected"),
        number_of(errors, "error", "errors"),
        *(number_of(n, f"{tool} error", f"{tool} errors") for tool, n in sorted(checks.items())),
        number_of(parts_of.total(), "environment fails", "environments fail"),
        number_of(hooks, "hook fails", "hooks fail"),
    ]
    parts = [part for part in parts if part]
    if not parts:
        reason = safe(report.stall_reason)
        reason = _REASONS.get(reason, reason.removesuffix(" detected"))
        if report.observation.exit_reason:
            reason = "exit status set by a plugin"
        parts = [f"{reason[:1].upper()}{reason[1:]}"]
    if counts.passed:
        parts.append(f"{counts.passed:,} pass{'es' * (counts.passed == 1)}")
    return ", ".join(parts)


def in_short(report: Report) -> str:
    """The report in one line of plain text: ``5 tests fail; look first at src/shop/shipping.py:15 cost() (62 %)``."""
    if report.verdict == "green":
        said = _green_words(report, "exit 0")
        old = sum(len(each.tests) + each.omitted for each in objections_of(report))
        objected = f"of the tests as they were, {number_of(old, 'fails', 'fail')}" if old else ""
        more = [
            f"{text[:1].lower()}{text[1:]}"
            for text in (edits_not_run_words(report.edits_run), objected)
            if text
        ]
        return "; ".join([said.removeprefix("# ").replace("T", "t", 1), *more])
    incomplete = one_line(safe(report.observation.incomplete or report.observation.exit_reason), 2_000)
    what = "; incomplete" if report.causes and report.observation.incomplete else ""
    ended = f"{what}: {incomplete}" if incomplete else ""
    return f"{in_numbers(report)}{_first_place(report)}{ended}{_loop(report)}"


def _alone(source: SourceResult) -> Report:
    return Report(observation=source.observation, verdict=source.verdict, stall_reason="not green")


def _first_place(report: Report) -> str:
    """Where to look first; what failed there where no place is likely."""
    if not report.causes:
        return ""
    first = report.causes[0]
    at = probable_place(first, report.loop)
    where = f"{safe(at.where)} {safe(at.called)}".strip()
    if at.score is not None:
        return f"; look first at {where} ({percent(at.score)})"
    message = safe(representative(first).message).strip().partition("\n")[0][:100]
    said = f"{safe(name_of(first))}: {message}" if message else safe(name_of(first))
    return f"; look first at {where}: {said}" if at.file else f": {said}"


def _loop(report: Report) -> str:
    """Whether the loop advances; empty in its first run."""
    loop = report.loop
    if loop is None or len(loop.steps) < 2 or not (said := standing(report, loop)):
        return ""
    return f"; run {loop.steps[-1].run}: {said[:1].lower()}{said[1:].rstrip('.')}"


def facts(report: Report, tokens: int) -> Iterator[str]:
    """Facts about the run as a whole: whether it was finished, other sources, missing call data."""
    observation = report.observation
    if observation.exit_reason:
        yield f"The tests do not explain the exit status: {line_of(observation.exit_reason, 200)}."
    if not_run := edits_not_run_line(report):
        yield not_run
    if observation.incomplete:
        missing = observation.counts.not_run
        # Those of the files that cannot be collected are not known.
        where = " of other files" if DURING_COLLECTION in observation.incomplete else ""
        left = f": {missing} test{'' if missing == 1 else 's'}{where} did not run" if missing else ""
        yield f"This run is incomplete ({line_of(observation.incomplete, 160)}){left}."
    if not report.causes and not observation.expects_tests and not observation.rerun:
        yield _NOTHING.get(report.stall_reason, _NOTHING["no-patterns-matched"])
    why, calls = observation.why_no_calls, observation.calls
    if why and (observation.asks_for_calls or _is_first(report)):
        yield f"Call data is missing or partial: {line_of(why, 160)}."
    elif calls is not None:  # suspects may be wrong where more than a tenth is missing
        known, all_failing = len(calls.failed), len(calls.failed) + calls.omitted
        if 10 * calls.omitted > all_failing or 9 * calls.passed_over > calls.passed + all_failing:
            yield from _coverage(
                report, f"{known:,} of {all_failing:,} failing and {calls.passed:,} passing tests"
            )
    yield from (f"Note: {line_of(note, 300)}" for note in report.notes)


def rejected_inputs(report: Report, tokens: int) -> Iterator[str]:
    """The inputs of a merged report that took no part, each with the reason."""
    for name, why in report.rejected[:_MAX_REJECTED]:
        yield f"- {span(name, 300)} was not read: {line_of(why, 400)}"
    if (more := len(report.rejected) - _MAX_REJECTED) > 0:
        yield f"- and {more} more {'was' if more == 1 else 'were'} not read"


def sources(report: Report, tokens: int) -> Iterator[str]:
    """The result of each source in a report of several: one line for each that is not green, one for all others."""
    for each in report.sources:
        if each.verdict != "green":
            incomplete = "; incomplete" if each.observation.incomplete else ""
            yield f"- {span(each.source, 60)}: {one_line(in_numbers(_alone(each)), 160)}{incomplete}"
    if green := [
        each.source for each in report.sources if each.verdict == "green" and not each.observation.skipped
    ]:
        yield f"- Green: {spans(green, 8)}"
    seen = [each.observation for each in report.sources] or [report.observation]
    if left := [f"{span(each.source, 60)} ({line_of(each.skipped, 100)})" for each in seen if each.skipped]:
        yield f"- Skipped: {listed(left, _MAX_SOURCES)}"


def _coverage(report: Report, tests: str) -> Iterator[str]:
    """Of how many tests the lines are known: in the first red run without a probable suspect, where more may help."""
    if _is_first(report) and all(each.score < PROBABLE for each in report.causes[0].suspects):
        yield f"Lines were recorded in {tests}; `--loop-close-suspects on` records all."


def _is_first(report: Report) -> bool:
    """Whether it is the first red run of its loop: what holds in every run is said once."""
    return bool(report.causes) and (report.loop is None or len(report.loop.steps) < 2)


def root_causes(report: Report, tokens: int, advisers: Mapping[str, Detector]) -> Iterator[str]:
    """Every root cause in one line before any gets more; then detail, the first cause first.

    The first cause is the one to fix next; the others are shown whole when it is their turn.
    """
    causes = report.causes
    if not causes:
        return
    room = tokens - (_RESERVE if len(causes) > 1 else 0)  # to say how many are left out
    rendered = _first_lines(report, room, advisers)
    left = room - sum(map(_cost, rendered))
    shown: dict[object, int] = {}
    for index, level in _wishes(len(rendered)):
        if index >= MAX_BLOCKS:
            continue
        others = [name for name, by in shown.items() if by != index]
        wanted = block_lines(index + 1, causes[index], level, report, advisers, others)
        change = _cost(wanted) - _cost(rendered[index])
        if change <= left:
            rendered[index] = wanted
            left -= change
            if level > 1:
                shown.setdefault(probable_place(causes[index]).source_key, index)
            for each, _ in more_places(causes[index]) if level >= SHOWS_OTHERS else ():
                shown.setdefault((each.file, each.function, each.line), index)
    yield from _with_blank_lines(_with_one_legend(rendered[:MAX_BLOCKS]))
    if rendered[MAX_BLOCKS:]:
        yield from ("", f"{len(rendered) - MAX_BLOCKS} more, in a line each:", "")
    for lines in rendered[MAX_BLOCKS:]:
        yield from lines
    if len(rendered) < len(causes):
        more = len(causes) - len(rendered)
        yield from ("", f"… and {more} more root cause{'s' * (more != 1)}, left out to keep the budget.")


def _wishes(number: int) -> Iterator[tuple[int, int]]:
    """(index, level) in the order of their use: all about the first, then the others, up to their own source."""
    yield from ((0, level) for level in range(1, LEVELS))
    yield from ((index, level) for level in range(1, SHOWS_OTHERS) for index in range(1, number))


def _first_lines(report: Report, tokens: int, advisers: Mapping[str, Detector]) -> list[list[str]]:
    kept: list[list[str]] = []
    spent = 0
    for index, cause in enumerate(report.causes):
        is_block = index < MAX_BLOCKS
        brief = brief_line(index + 1, cause, report) if not is_block else ""
        lines = block_lines(index + 1, cause, 0, report, advisers) if is_block else [brief]
        spent += _cost(lines)
        if kept and spent > tokens:
            break
        kept.append(lines)
    return kept


def _cost(lines: Sequence[str]) -> int:
    return estimate_tokens("\n".join(lines)) + 1


def _with_one_legend(rendered: Sequence[list[str]]) -> list[list[str]]:
    """The blocks, the meaning of each mark only at its first use."""
    seen: set[str] = set()
    shown = []
    for lines in rendered:
        kept = []
        for line in lines:
            parts = [part for part in (*LEGENDS.values(), LEGEND) if part in line]
            if not parts or " ".join(parts) != line:
                kept.append(line)
            elif new := [part for part in parts if part not in seen]:
                seen.update(new)
                kept.append(" ".join(new))
        shown.append(kept)
    return shown


def _with_blank_lines(rendered: Sequence[Sequence[str]]) -> Iterator[str]:
    for number, lines in enumerate(rendered):
        if number:
            yield ""
        yield from lines


def _other_findings(report: Report, tokens: int, labels: Mapping[str, Detector]) -> Iterator[str]:
    """What was found beside the root causes, counted by kind with the first places."""
    kinds: defaultdict[str, list[Evidence]] = defaultdict(list)
    for evidence in report.evidence:
        if evidence.failure is None and not (evidence.kind == "stack-trace" and report.causes):
            kinds[evidence.kind].append(evidence)
    for kind, found in list(kinds.items())[:_FINDINGS]:
        name = labels[kind].count_of(found) if kind in labels else f"{len(found)} {kind}"
        shown = [*dict.fromkeys(map(_finding, found))]  # a warning may come once in each test
        yield f"- {one_line(name, 60)}: {'; '.join(shown[:2])}{'; …' if len(shown) > 2 else ''}"


def _finding(evidence: Evidence) -> str:
    at = f" at {span(f'{evidence.file}:{evidence.line}')}" if evidence.file else ""
    if evidence.kind in ("incomplete-function", "stack-trace"):
        return f"{span(evidence.label, 60)}{at}"
    return f"{line_of(evidence.snippet, 110)}{at}"


def _next_step(report: Report, tokens: int) -> Iterator[str]:
    """The command that runs just what failed once more, and the one that says whether the work is done."""
    state, seen = report.state, [each.observation for each in report.sources] or [report.observation]
    if report.verdict != "green":
        red = [each.observation for each in report.sources if each.verdict != "green"] or [report.observation]
        commands = [*dict.fromkeys(each.rerun for each in red if each.rerun and each.failures)]
        yield from (
            [f"Rerun just the failing tests: {listed(commands, _MAX_SOURCES, line_of)}"] if commands else []
        )
        if not commands and state is None and report.causes:
            yield "Run the failing command again to verify the fix."
    elif any(each.selection for each in seen):
        yield "The other tests did not run."
    if state is not None and state.verdict != "done":
        said = one_line(safe(state.reason), 300).rstrip(".") if report.verdict == "green" else ""
        reason = f"{said}. " if said else ""
        yield f"{reason}Whether the work is done: {line_of(state.command or CHECK)}"


# --- the table of the sections


def built_in(detectors: tuple[Detector, ...]) -> tuple[Section, ...]:
    """The built-in sections, with the hints and labels of the detectors in use."""
    ours = {d.kind for d in DEFAULT_DETECTORS}
    advisers = {d.kind: d for d in reversed(detectors) if d.kind in _ADVICE or d.kind not in ours}
    labels = {d.kind: d for d in reversed((*detectors, DETECTOR_ERROR))}
    return (
        Section(id="title", position=10, render=title, tokens=120, keep=True),
        Section(id="since-done", position=20, render=since_done, tokens=400, keep=True),
        Section(
            id="old-tests",
            position=25,
            title="The tests as they were",
            render=changed_tests,
            tokens=700,
            keep=True,
        ),
        Section(id="sources", position=28, render=sources, tokens=200, keep=True),
        Section(id="loop", position=30, render=state_lines, tokens=400, keep=True),
        Section(id="facts", position=40, render=facts, tokens=220, keep=True),
        Section(id="rejected", position=45, render=rejected_inputs, tokens=500, keep=True),
        Section(id="root-causes", position=50, render=lambda r, t: root_causes(r, t, advisers), tokens=0),
        Section(id="shared", position=60, title="Other agents", render=shared_lines, tokens=300, keep=True),
        Section(id="attempts", position=70, title="Earlier attempts", render=attempt_lines, tokens=420),
        Section(
            id="other-findings",
            position=80,
            title="Other findings",
            render=lambda r, t: _other_findings(r, t, labels),
        ),
        Section(id=NEXT_STEP, position=100, render=_next_step, tokens=300, keep=True),
    )


DEFAULT_SECTIONS = built_in(DEFAULT_DETECTORS)
