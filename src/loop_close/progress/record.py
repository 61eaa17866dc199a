"""The record of a run, and its report compared with the runs before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from loop_close.facts import is_only_counted
from loop_close.memory import GROUPS, Edits, Episode, FailureRecord, Outcome, Run, Thresholds
from loop_close.model import Counts, Report
from loop_close.progress.advance import advance, verdict_of
from loop_close.progress.fingerprints import MAX_MARKS, marks_of, name_of
from loop_close.text.redact import clean


def run_of(
    report: Report,
    *,
    number: int,
    source: str,
    edits: Edits,
    code: str,
    outcomes: Mapping[str, Outcome],
    tells_outcomes: bool,
    selection: str,
) -> Run:
    """The record of a run for the history."""
    observation = report.observation
    marks = marks_of(report.causes)
    is_named = not any(map(is_only_counted, observation.failures))
    is_full = not observation.incomplete and is_named and not (selection and tells_outcomes)
    return Run(
        number=number,
        source=source,
        marks=marks[:MAX_MARKS],
        omitted_marks=max(0, len(marks) - MAX_MARKS),
        outcomes=outcomes,
        tells_outcomes=tells_outcomes,
        edits=_meant(edits, marks),
        selection=clean(selection, 400),
        is_full=is_full,
        incomplete=clean(observation.incomplete, 400),
        exit_code=observation.exit_code,
        code=code,
        is_good=report.verdict == "green",
        passed=observation.counts.passed,
        skipped=observation.counts.skipped,
        collected=_collected(observation.counts),
        known=_known(report),
    )


def _known(report: Report) -> tuple[str, ...]:
    """The tests that failed and do not count. One that also fails otherwise does."""
    counting = {failure.nodeid for failure in report.observation.failures}
    tests = {each.test for each in report.observation.known_failing} - counting
    return tuple(sorted(map(name_of, tests))[:MAX_MARKS])


def _collected(counts: Counts) -> int:
    """How many tests were selected to run; if that is not known, how many have an outcome."""
    ended = counts.passed + counts.failed + counts.skipped + counts.xfailed + counts.xpassed
    return counts.collected or ended + counts.errors


def _meant(edits: Edits, marks: Sequence[FailureRecord]) -> Edits:
    """The edits; for a checker comments and formatting are effective, as they may be all that it reports."""
    is_check = bool(marks) and all(mark.phase == "check" for mark in marks)
    return replace(edits, kind="effective") if is_check and edits.kind == "ineffective" else edits


def record_run(
    report: Report, episode: Episode, runs: Sequence[Run], limits: Thresholds
) -> tuple[Report, Episode]:
    """The report with its progress, and the episode to remember.

    :param runs: those to add to the episode, the report's own last; before it those that were killed.
    """
    for killed in runs[:-1]:
        episode = advance(episode, killed, limits).episode
    made = advance(episode, runs[-1], limits)
    verdict = verdict_of(made.progress, report.verdict)
    result = replace(report, progress=made.progress, verdict=verdict)
    if report.verdict == "green" and verdict != "green":
        number = made.progress.step.unresolved
        reason = f"{number} earlier failure{'s' * (number != 1)} not run again"
        result = replace(result, stall_reason=reason)
    return result, made.episode


def summary_of(report: Report) -> dict[str, Any]:
    """The summary of a run for the commands, as plain values."""
    progress = report.progress
    if progress is None:
        return {"verdict": report.verdict, "stall_reason": report.stall_reason, **_known_failing(report)}
    counted = sum(f.number for f in report.observation.failures if is_only_counted(f))
    return {
        "verdict": report.verdict,
        "stall_reason": report.stall_reason,
        # Which of the failures are new is not known where they are only counted.
        **({} if counted else {group: len(getattr(progress, group)) for group in GROUPS}),
        "position": progress.position,
        "failing": progress.step.unresolved + counted,
        "best": list(progress.episode.best),
        "advanced": progress.step.advanced,
        "edit": progress.step.edits.kind,
        "breaker": asdict(progress.breaker),
        "signals": [asdict(signal) for signal in progress.signals],
        **({"tests": [asdict(change) for change in progress.tests]} if progress.tests else {}),
        **_known_failing(report),
        **_edits_run(report),
    }


def _known_failing(report: Report) -> dict[str, Any]:
    """How many tests failed and do not count; empty for none."""
    number = len({each.test for each in report.observation.known_failing})
    return {"known": number} if number else {}


def _edits_run(report: Report) -> dict[str, Any]:
    """Which edited functions the tests ran, and since which green run; empty if none was edited."""
    ran = report.edits_run
    return {"edits_run": {**asdict(ran), "since": report.green_run}} if ran is not None and ran.edited else {}
