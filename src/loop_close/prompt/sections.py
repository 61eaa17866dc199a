"""The built-in sections, each from the report to lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from loop_close.detectors import DEFAULT_DETECTORS, DETECTOR_ERROR, Detector
from loop_close.facts import origins
from loop_close.model import Counts, Evidence, Observation, Report
from loop_close.prompt.advice import experiment, hand_over
from loop_close.prompt.green import edits_not_run_line, green_title, told_counts
from loop_close.prompt.primary import primary
from loop_close.prompt.rerun import command_for, rerun_command
from loop_close.prompt.section import Section
from loop_close.prompt.show import line_of, span
from loop_close.prompt.signals import signal_lines
from loop_close.prompt.standing import standing_lines
from loop_close.prompt.suspects import suspect_lines
from loop_close.prompt.tried import tried
from loop_close.text.markdown import fence
from loop_close.text.sanitize import one_line

MAX_FILES = 25
_SIGNALS = 6
_NOTHING = {
    True: "Nothing in the output shows a failure: proceed.",
    False: "Nothing in the output matches a known pattern: read it by hand, its end first.",
}


def title(report: Report, tokens: int) -> Iterator[str]:
    """The stall reason and the exit code, or that all is well."""
    code = report.observation.exit_code
    known = "exit code unknown" if code is None else f"exit {code}"
    if report.verdict == "green" and not report.observation.expects_tests:
        yield f"# No stall detected ({known})"
    elif report.verdict == "green":
        yield green_title(known)
    else:
        yield f"# Stall detected: {one_line(report.stall_reason, 120)} ({known})"


def standing(report: Report, tokens: int) -> Iterator[str]:
    """What ran, with what outcome, and whether it ran to its end."""
    observation = report.observation
    causes, failures = len(report.causes), len(observation.failures)
    behind = f" behind {failures} failures" if failures > 1 else ""
    found = f"{causes} root cause{'' if causes == 1 else 's'}{behind}." if causes else ""
    counts = _counts(observation)
    selected = f"Selected by {line_of(observation.selection)}." if observation.selection else ""
    parts = [found, f"{counts}." if counts else "", selected]
    told = " ".join(part for part in parts if part)
    if told:
        yield told
    if not told or (report.stall_reason == "no-patterns-matched" and not observation.rerun):
        yield _NOTHING[report.verdict == "green"]
    if report.progress is not None:
        yield from standing_lines(report.progress, is_green=report.verdict == "green")
    if not_run := edits_not_run_line(report):
        yield not_run
    others = ", ".join(
        f"{span(source, 60)} ({verdict} in its run {run})" for source, run, verdict in report.elsewhere
    )
    if others:
        yield f"Not green on the same files: {others}."
    yield from (f"Memory: {line_of(note, 300)}" for note in report.notes)
    if observation.incomplete:
        missing = observation.counts.not_run
        left = f": {missing} test{'' if missing == 1 else 's'} did not run" if missing else ""
        yield f"This run is incomplete ({line_of(observation.incomplete, 160)}){left}."


def _counts(observation: Observation) -> str:
    c = observation.counts
    found = Counter(f.tool for f in observation.failures if f.tool and f.phase == "check")
    checks = ", ".join(
        f"{tool}: {number} error{'s' * (number != 1)}" for tool, number in sorted(found.items())
    )
    if checks or not observation.expects_tests:
        tests = _told(c) if observation.expects_tests else ""
        return ". ".join(part for part in (checks, tests) if part)
    return _told(c)


def _told(c: Counts) -> str:
    return told_counts(
        failed=c.failed,
        errors=c.errors,
        passed=c.passed,
        skipped=c.skipped,
        xfailed=c.xfailed,
        xpassed=c.xpassed,
    )


def fix_by(report: Report, tokens: int, hints: Mapping[str, str]) -> Iterator[str]:
    """The catalogue's hint for the most blocking kind."""
    kind = report.causes[0].kind if report.causes else ""
    is_closed = report.progress is None or report.progress.breaker.state == "closed"
    if kind in hints and is_closed:  # else what it says did not help
        yield hints[kind]


def other_signals(report: Report, tokens: int, labels: Mapping[str, Detector]) -> Iterator[str]:
    """What was found beside the root causes, counted by kind with the first places."""
    kinds: defaultdict[str, list[Evidence]] = defaultdict(list)
    for evidence in report.evidence:
        if evidence.failure is None and not (evidence.kind == "stack-trace" and report.causes):
            kinds[evidence.kind].append(evidence)
    for kind, found in list(kinds.items())[:_SIGNALS]:
        name = labels[kind].count(len(found)) if kind in labels else f"{len(found)} {kind}"
        yield f"- {one_line(name, 60)}: {'; '.join(_signal(e) for e in found[:2])}{'; …' if len(found) > 2 else ''}"


def _signal(evidence: Evidence) -> str:
    at = f" at {span(f'{evidence.file}:{evidence.line}')}" if evidence.file else ""
    if evidence.kind in ("incomplete-function", "stack-trace"):
        return f"{span(evidence.label, 60)}{at}"
    return f"{line_of(evidence.snippet, 110)}{at}"


def files_touched(report: Report, tokens: int) -> Iterator[str]:
    """Every file that the evidence names, sorted, at most 25."""
    files = sorted({e.file for e in report.evidence if e.file} | _origin_files(report))
    shown: list[str] = []
    for file in files[:MAX_FILES]:
        shown.append(span(file))
        if sum(len(s.encode()) + 2 for s in shown) > 4 * tokens - 16:  # for "and 99999 more"
            shown.pop()
            break
    rest = len(files) - len(shown)
    if shown:
        yield ", ".join(shown) + (f" and {rest} more" if rest else "")


def _origin_files(report: Report) -> set[str]:
    return {o.file for e in report.evidence if e.failure is not None for o in origins(e.failure) if o.file}


def next_step(report: Report, tokens: int) -> Iterator[str]:
    """How to run again just what failed."""
    if report.verdict == "green":
        yield from _rest(report)
        return
    if not report.observation.rerun:
        named = "Fix what is named above" if report.causes else "Find out what went wrong"
        yield f"{named}, then run the failing command again to verify."
        return
    left = report.progress.not_run if report.progress is not None else ()
    if left and not report.observation.failures:
        yield "The tests that are known to fail and did not run, from the root:"
        yield from fence(command_for(report.observation, left), "sh")
        return
    by_test = any(f.nodeid for f in report.observation.failures)
    other = "the tests" if report.observation.expects_tests else "the same command"
    what = "just the failing tests" if by_test else other
    yield f"{what[0].upper()}{what[1:]}, from the root:"
    yield from fence(rerun_command(report.observation), "sh")


def _rest(report: Report) -> Iterator[str]:
    """After a green run of some tests in a loop: all of them, as the others may have been broken since they ran."""
    progress = report.progress
    if (
        progress is not None
        and progress.episode.tests
        and not progress.step.is_full
        and report.observation.rerun
    ):
        yield "The other tests did not run. All of them, from the root:"
        yield from fence(command_for(report.observation, ()), "sh")


def built_in(detectors: tuple[Detector, ...]) -> tuple[Section, ...]:
    """The sections of DESIGN section 7, with the hints and labels of the detectors in use."""
    hints = {d.kind: d.hint for d in reversed(detectors)}
    labels = {d.kind: d for d in reversed((*detectors, DETECTOR_ERROR))}
    return (
        Section(id="title", position=10, render=title, tokens=80, keep=True),
        Section(id="standing", position=20, render=standing, tokens=220, keep=True),
        Section(
            id="fix-by", position=30, title="Fix by", render=lambda r, t: fix_by(r, t, hints), tokens=120
        ),
        Section(
            id="experiment",
            position=32,
            title="What would tell more",
            render=experiment,
            tokens=260,
            keep=True,
        ),
        Section(id="hand-over", position=34, title="For a person", render=hand_over, tokens=260, keep=True),
        Section(id="signals", position=40, title="Stuck signals", render=signal_lines, tokens=300, keep=True),
        Section(id="primary", position=50, title="Primary evidence", render=primary, tokens=0),
        Section(id="suspects", position=60, title="Suspects", render=suspect_lines, tokens=300),
        Section(id="tried", position=70, title="Tried so far", render=tried, tokens=420),
        Section(
            id="other-signals",
            position=80,
            title="Other signals",
            render=lambda r, t: other_signals(r, t, labels),
        ),
        Section(id="files", position=90, title="Files touched", render=files_touched, tokens=100),
        Section(id="next-step", position=100, title="Next step", render=next_step, tokens=180, keep=True),
    )


DEFAULT_SECTIONS = built_in(DEFAULT_DETECTORS)
