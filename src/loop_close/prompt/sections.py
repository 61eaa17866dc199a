"""The built-in sections, each from the report to lines, in the order in which they are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from loop_close.detectors import DEFAULT_DETECTORS, DETECTOR_ERROR, Detector
from loop_close.facts import DURING_COLLECTION, is_environment
from loop_close.model import Evidence, Report, SourceResult
from loop_close.prompt import edits_not_run, failing, number_of, safe, span, spans
from loop_close.prompt.cause import root_causes
from loop_close.prompt.compose import Rank, Section
from loop_close.prompt.loop import (
    attempt_lines,
    changed_tests,
    objected,
    shared_lines,
    since_done,
    standing,
    state_lines,
)
from loop_close.prompt.place import (
    IN_SOURCE,
    name_of,
    percent,
    place_in_words,
    probable_place,
)
from loop_close.text import listed, one_line

_FINDINGS = 6
_MAX_SOURCES = 5
#: Kinds whose advice says more than the failure itself; so does that of detectors of others.
_ADVICE = frozenset(("crash", "timeout", "coverage-below", "unhandled-async", "internal-error"))
_REASONS = {
    "no-patterns-matched": "no known failure in the output",
    "unknown": "nothing is known: no output",
}
#: What is counted of a green run, in pytest's words.
GREEN = ("passed", "skipped", "xfailed", "xpassed")
#: What the title of a green run begins with, by what the gate says.
_WORDS: Mapping[str, str] = {"done": "Done", "objected": "Not done"}
_NOTHING = {
    "no-stall-detected": "The output shows no failure: proceed.",
    "no-patterns-matched": "The output matches no known pattern. Read the log, starting at the end.",
    "unknown": "The command printed nothing: it is not known whether it succeeded.",
}


def title(report: Report) -> Iterator[str]:
    """What fails, what passes, and where to look first, in words."""
    if report.verdict == "green":
        tests = "The tests pass: " if report.observation.expects_tests else ""
        said = "; ".join(filter(None, [f"{tests}{_green(report)}", _objected(report)]))
        word = _WORDS.get(report.state.verdict, "") if report.state is not None else ""
        yield f"# {word}: {said[:1].lower()}{said[1:]}" if word else f"# {said}"
        return
    said = one_line(in_numbers(report), 160)
    first = place_in_words(report.causes[0]) if report.causes else ""
    number = len(report.causes)
    # A single finding without a place has been said.
    if not number or (number == 1 and first == report.causes[0].kind):
        yield f"# {said} ({_exit(report.observation.exit_code)})"
    else:
        yield f"# {said}: {f'{number} root causes, first ' if number > 1 else ''}{first}"


def _exit(code: int | None) -> str:
    return "exit code unknown" if code is None else f"exit {code}"


def _green(report: Report) -> str:
    """``36 passed, 2 skipped``, in pytest's words for the outcomes; of what runs no tests the exit code."""
    if not report.observation.expects_tests:
        return f"No failure ({_exit(report.observation.exit_code)})"
    numbers = ((name, getattr(report.observation.counts, name)) for name in GREEN)
    return ", ".join(f"{number:,} {name}" for name, number in numbers if number) or "no test is counted"


def _objected(report: Report) -> str:
    """What the checks object to, in words; empty for nothing."""
    return "; ".join(dict.fromkeys(one_line(safe(check.reason), 300) for check in objected(report)))


def in_numbers(report: Report) -> str:
    """``5 tests fail, 36 pass``; without tests, the findings; without these, the stall reason."""
    observation = report.observation
    counts, failures = observation.counts, observation.failures
    uncollected = len({f.nodeid for f in failures if f.nodeid and f.phase == "collect"})
    checks: Counter[str] = Counter()
    for failure in failures:
        if failure.tool and failure.phase == "check":
            checks[failure.tool] += failure.number
    environments = Counter(tool for tool, _ in {(f.tool, f.code) for f in failures if is_environment(f)})
    hooks = environments.pop("pre-commit", 0)
    parts = [
        failing(counts.failed, counts.failed_subtests),
        number_of(uncollected, "file cannot be collected", "files cannot be collected"),
        number_of(max(0, counts.errors - uncollected), "error", "errors"),
        *(number_of(n, f"{tool} error", f"{tool} errors") for tool, n in sorted(checks.items())),
        number_of(environments.total(), "environment fails", "environments fail"),
        number_of(hooks, "hook fails", "hooks fail"),
    ]
    if not any(parts):
        reason = safe(report.stall_reason)
        reason = _REASONS.get(reason, reason.removesuffix(" detected"))
        parts = [f"{reason[:1].upper()}{reason[1:]}"]
    return ", ".join(filter(None, [*parts, number_of(counts.passed, "passes", "pass")]))


def in_short(report: Report) -> str:
    """The report in one line of plain text: ``5 tests fail; look first at src/shop/shipping.py:15 cost() (62 %)``."""
    observation = report.observation
    if report.verdict == "green":
        not_run = edits_not_run(report.edited, lambda text: one_line(safe(text, 400), 100))
        more = (f"{text[:1].lower()}{text[1:]}" for text in (not_run, _objected(report)) if text)
        return "; ".join([_green(report), *more])
    incomplete = one_line(safe(observation.incomplete), 2_000)
    said = f"{in_numbers(report)}{_first_place(report)}"
    if incomplete:
        said += f"{'; incomplete' if report.causes else ''}: {incomplete}"
    loop = report.loop
    run = ""
    if len(loop.steps) > 1 and (text := standing(report, loop)):
        run = f"run {loop.steps[-1].run}: {text[:1].lower()}{text[1:].rstrip('.')}"
    return "; ".join(filter(None, [said, run]))


def _first_place(report: Report) -> str:
    """Where to look first; what failed there where no place is likely."""
    if not report.causes:
        return ""
    first = report.causes[0]
    at = probable_place(first)
    where = f"{safe(at.where)} {safe(at.called)}".strip()
    if at.score is not None:
        return f"; look first at {where} ({percent(at.score)})"
    message = safe(first.failures[0].message).strip().partition("\n")[0][:100]
    said = f"{safe(name_of(first))}{f': {message}' if message else ''}"
    return f"; look first at {where}: {said}" if at.file else f": {said}"


def facts(report: Report) -> Iterator[str]:
    """Facts about the run as a whole: whether it was finished, edited functions that did not run, missing call data."""
    observation = report.observation
    yield edits_not_run(report.edited, lambda text: span(text, 100))
    if observation.incomplete:
        missing = number_of(observation.counts.not_run, "test", "tests")
        # Those of the files that cannot be collected are not known.
        where = " of other files" if DURING_COLLECTION in observation.incomplete else ""
        left = f": {missing}{where} did not run" if missing else ""
        yield f"This run is incomplete ({span(observation.incomplete, 160)}){left}."
    if not (report.causes or observation.expects_tests or observation.rerun or report.state):
        yield _NOTHING.get(report.stall_reason, _NOTHING["no-patterns-matched"])
    calls, why_not = observation.calls, observation.why_no_calls if report.causes else ""
    if why_not and not calls.failed:
        yield f"Lines that tests ran are not known: {span(why_not, 160)}."
    elif calls.omitted or (calls.failed and calls.passed < observation.counts.passed):
        all_failing = len(calls.failed) + calls.omitted
        known = f"{len(calls.failed):,} of {all_failing:,} failing and {calls.passed:,} passing tests"
        yield f"Lines were recorded in {known}{f'; {span(why_not, 160)}' if why_not else ''}."
    if calls.remembered:
        yield "Passing tests that ran a function were counted in an earlier run."
    yield from (f"Note: {span(note, 300)}" for note in report.notes)


def sources(report: Report) -> Iterator[str]:
    """The result of each source in a report of several: one line for each that is not green, one for all others."""
    for each in report.sources:
        if each.verdict != "green":
            incomplete = "; incomplete" if each.observation.incomplete else ""
            yield f"- {span(each.source, 60)}: {one_line(in_numbers(alone(each)), 160)}{incomplete}"
    green = [each.source for each in report.sources if each.verdict == "green"]
    yield f"- Green: {spans(green, 8)}" if green else ""


def alone(source: SourceResult) -> Report:
    """The result of one of several sources as a report."""
    return Report(observation=source.observation, verdict=source.verdict, stall_reason="not green")


def other_findings(report: Report, labels: Mapping[str, Detector]) -> Iterator[str]:
    """What was found beside the root causes, counted by kind with the first places."""
    kinds: defaultdict[str, list[Evidence]] = defaultdict(list)
    with_causes = {id(evidence) for cause in report.causes for evidence in cause.findings}
    for evidence in report.evidence:
        is_said = bool(report.causes) and (evidence.kind in IN_SOURCE or id(evidence) in with_causes)
        if evidence.failure is None and not is_said:
            kinds[evidence.kind].append(evidence)
    for kind, found in list(kinds.items())[:_FINDINGS]:
        name = labels[kind].count_of(found) if kind in labels else f"{len(found)} {kind}"
        shown = [*dict.fromkeys(map(_finding, found))]  # a warning may come once in each test
        yield f"- {one_line(name, 60)}: {'; '.join(shown[:2])}{'; …' if len(shown) > 2 else ''}"


def _finding(evidence: Evidence) -> str:
    at = f" at {span(f'{evidence.file}:{evidence.line}')}" if evidence.file else ""
    if evidence.kind in ("incomplete-function", "stack-trace"):
        return f"{span(evidence.label, 60)}{at}"
    return f"{span(evidence.snippet, 110)}{at}"


def next_step(report: Report) -> Iterator[str]:
    """The command that runs just what failed once more, and the one that says whether the work is done."""
    state, seen = report.state, [each.observation for each in report.sources] or [report.observation]
    if report.verdict != "green":
        commands = dict.fromkeys(each.rerun for each in seen if each.rerun and each.failures)
        if commands:
            yield f"Rerun just the failing tests: {listed([*commands], _MAX_SOURCES, span)}"
        elif state is None and report.causes:
            yield "Run the failing command again to verify the fix."
    elif chosen := dict.fromkeys(each.scope for each in seen if each.scope):
        yield f"This run chose its tests: {listed([*chosen], _MAX_SOURCES, span)}."
    if state is not None and state.command:
        said = one_line(safe(state.reason), 300).rstrip(".") if report.verdict == "green" else ""
        yield f"{f'{said}. ' if said else ''}Whether the work is done: {span(state.command)}"


# --- the table of the sections


def built_in(detectors: tuple[Detector, ...]) -> tuple[Section, ...]:
    """The built-in sections, with the hints and labels of the detectors in use."""
    ours = {d.kind for d in DEFAULT_DETECTORS}
    advisers = {d.kind: d for d in reversed(detectors) if d.kind in _ADVICE or d.kind not in ours}
    labels = {d.kind: d for d in reversed((*detectors, DETECTOR_ERROR))}
    return (
        Section(id="title", position=10, render=title, rank=Rank.ANSWER),
        Section(id="since-done", position=20, render=since_done, tokens=400, rank=Rank.EDITS),
        Section(
            id="old-tests",
            position=25,
            title="The tests as they were",
            render=changed_tests,
            tokens=700,
            rank=Rank.FIRST_CAUSE,
        ),
        Section(id="sources", position=28, render=sources, rank=Rank.LOOP),
        Section(id="loop", position=30, render=state_lines, tokens=600, rank=Rank.LOOP),
        Section(id="facts", position=40, render=facts, tokens=220, rank=Rank.LOOP),
        Section(id="root-causes", position=50, render=lambda report: root_causes(report, advisers)),
        Section(id="shared", position=60, title="Other agents", render=shared_lines, tokens=300),
        Section(id="attempts", position=70, title="Earlier attempts", render=attempt_lines, rank=Rank.LOOP),
        Section(
            id="other-findings",
            position=80,
            title="Other findings",
            render=lambda report: other_findings(report, labels),
        ),
        Section(id="next-step", position=100, render=next_step, tokens=300, rank=Rank.ANSWER),
    )


DEFAULT_SECTIONS = built_in(DEFAULT_DETECTORS)
