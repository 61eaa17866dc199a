"""From what was recorded to the observation of the run: counts, failures, warnings, and how pytest was started."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from loop_close.capture import ProjectCode
from loop_close.conventions import PYTEST
from loop_close.detectors import is_unhandled_exception
from loop_close.model import Counts, Failure, Observation, Raised, Warned
from loop_close.parts import Part
from loop_close.provenance import provenance_of, source_of
from loop_close.pytest_plugin.calls import collect_calls
from loop_close.pytest_plugin.command import scope, shard_of
from loop_close.readers import pytest_reports
from loop_close.records import Outcome, PytestContext

if TYPE_CHECKING:
    from loop_close.pytest_plugin.session import Recorder

_TESTS_FAILED, _INTERNAL_ERROR = 1, 3
_FAILED_SUBTESTS = re.compile(r"contains \d+ failed subtests?")
#: The outcome of a test by the count that it is in.
_OUTCOMES: dict[str, Outcome] = {
    "passed": "passed",
    "skipped": "skipped",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
    "failed": "failed",
    "failed_subtests": "failed",
    "errors": "failed",
}


def part_of(recorder: Recorder, exit_code: int) -> Part:
    """All that the run said, with the outcome of each test and how pytest was started."""
    config, session = recorder.config, recorder.session
    root = str(config.rootpath)
    reports = [*_final(recorder.reports)]
    counts, outcomes = tally(report for report, _ in reports)
    failures = (*recorder.failures, *_failures(reports, root), *coverage_failures(config))
    selected = recorder.chosen or [item.nodeid for item in getattr(session, "items", ())]
    ended = {report.nodeid for report, _ in reports}
    not_run = sum(nodeid not in ended for nodeid in selected)
    calls, why_no_calls = collect_calls(recorder.calls, root, {each.nodeid for each in failures} - {""})
    number, digest, loaded = recorder.collected
    made = provenance_of(config.rootpath, os.environ)
    if session is None:
        counts = Counts(errors=len(failures))
    observation = Observation(
        exit_code=_TESTS_FAILED if recorder.is_crashed else exit_code,
        source=source_of("pytest", os.environ),
        provenance=replace(made, shard=shard_of(config), collected=number, digest=digest),
        failures=failures,
        warnings=tuple(_warnings(recorder, root)),
        counts=replace(counts, collected=getattr(session, "testscollected", 0), not_run=not_run),
        incomplete=_incomplete(recorder, exit_code, not_run),
        scope=scope(config, recorder.deselected),
        calls=calls,
        outcomes=outcomes,
        why_no_calls=why_no_calls if failures else "",
        # In an environment of tox or nox it would be another environment that runs.
        rerun="" if made.runner in ("tox", "nox") else "pytest --loop-close-failed",
    )
    return Part(observation=observation, context=_context_of(config, loaded if recorder.begun_file else ()))


# --- reports to counts and failures


def _final(reports: list[tuple[Any, Raised | None]]) -> Iterator[tuple[Any, Raised | None]]:
    """The reports that count.

    Not those of attempts after which pytest-rerunfailures ran the test again, and not what is reported twice: files
    that cannot be collected by every worker of xdist, modules that skip themselves also for their doctests.
    """
    rerun: set[str] = set()
    seen: set[tuple[str, str]] = set()
    kept = []
    for report, raised in reversed(reports):
        if report.outcome == "rerun":
            rerun.add(report.nodeid)
        elif report.nodeid not in rerun:
            kept.append((report, raised))
    for report, raised in reversed(kept):
        if report.when == "collect":
            same = "" if report.outcome == "skipped" else report.nodeid, str(report.longrepr)
            if same in seen:
                continue
            seen.add(same)
        yield report, raised


def tally(reports: Iterable[Any]) -> tuple[Counts, dict[str, Outcome]]:
    """The counts that pytest's last line shows, and the outcome of each test: the worst of its phases and subtests.

    :param reports: of all phases; passing setups and teardowns may be left out.
    """
    numbers: Counter[str] = Counter()
    outcomes: dict[str, Outcome] = {}
    for report in reports:
        count = _count_of(report)
        if count in _OUTCOMES:
            numbers[count] += 1
            if _OUTCOMES[count] == "failed":
                outcomes[report.nodeid] = "failed"
            else:
                outcomes.setdefault(report.nodeid, _OUTCOMES[count])
    return Counts(**numbers), outcomes


def _count_of(report: Any) -> str:
    """The field of the counts that a report belongs to; another word for none."""
    is_subtest = hasattr(report, "context")  # it is not a test of its own unless it fails
    if report.outcome == "failed":
        if report.when in ("collect", "setup", "teardown"):
            return "errors"
        return "failed_subtests" if is_subtest else "failed"
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.outcome == "skipped" else "xpassed"
    return "" if is_subtest else str(report.outcome)


def _failures(reports: list[tuple[Any, Raised | None]], root: str) -> Iterator[Failure]:
    failed = [(report, raised) for report, raised in reports if report.outcome == "failed"]
    with_subtests = {report.nodeid for report, _ in failed if hasattr(report, "context")}
    for report, raised in failed:
        words = getattr(report, "longrepr", None)
        is_summary = isinstance(words, str) and _FAILED_SUBTESTS.fullmatch(words) is not None
        if is_summary and report.nodeid in with_subtests:  # pytest fails the test for its subtests alone
            continue
        try:
            yield pytest_reports.read_report(report, raised, root)
        except Exception as fault:  # a report that a plugin made otherwise must not end the run
            yield pytest_reports.unreadable(report, fault)


def coverage_failures(config: pytest.Config) -> Iterator[Failure]:
    """A total below the limit, by pytest-cov, which prints it only on the terminal."""
    plugin = config.pluginmanager.get_plugin("_cov")
    total = getattr(plugin, "cov_total", None)
    limit = getattr(getattr(plugin, "options", None), "cov_fail_under", None)
    if total is None or limit is None or total >= limit:
        return
    from loop_close.readers.runners import read_coverage

    report = getattr(plugin, "cov_report", None)
    table = report.getvalue() if report is not None else ""
    said = f"Required test coverage of {limit:g}% not reached. Total coverage: {total:.2f}%"
    yield from read_coverage(f"{table}\n{said}\n", str(config.rootpath)).failures


# --- all else


def _incomplete(recorder: Recorder, exit_code: int, not_run: int) -> str:
    session = recorder.session
    if recorder.interrupted or session is None:
        return recorder.interrupted or "pytest ended before it collected any test"
    # -x at the last test leaves nothing out; while files are collected it leaves out those that come after.
    if (session.shouldfail or session.shouldstop) and (not_run or not session.testscollected):
        return str(session.shouldfail or session.shouldstop)
    return "an internal error ended it" if exit_code == _INTERNAL_ERROR else ""


def _warnings(recorder: Recorder, root: str) -> list[Warned]:
    """The warnings of exceptions that nobody handled."""
    if not recorder.warnings:
        return []
    project = ProjectCode(root)
    found = set()
    for category, message, filename, lineno in recorder.warnings:
        if is_unhandled_exception(category, message):
            file = project.relative(filename) or ""
            line = lineno if file else 0
            found.add(Warned(category=category, message=message, file=file, line=line))
    return sorted(found, key=lambda w: (w.file, w.line, w.message))


def _context_of(config: pytest.Config, loaded: Iterable[str]) -> PytestContext:
    """How pytest was started, so that the tests as they were can be run the same way."""
    args = tuple(str(word) for word in config.invocation_params.args)
    words = tuple(sys.orig_argv[1 : len(sys.orig_argv) - len(args)])
    is_plain = (
        tuple(sys.orig_argv[1:]) == words + args and os.path.basename(words[-1] if words else "") in PYTEST
    )
    return PytestContext(
        executable=sys.executable,
        args=args,
        words=words if is_plain else (),
        is_optimized=not __debug__,
        pythonpath=os.environ.get("PYTHONPATH", ""),
        cwd=str(config.invocation_params.dir),
        rootdir=str(config.rootpath),
        loaded=tuple(loaded),
    )
