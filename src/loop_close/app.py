"""The one sequence: observe, detect, group, compose, save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loop_close import files
from loop_close.detectors import DEFAULT_DETECTORS, DETECTOR_ERROR, Detector, in_order, run_detectors
from loop_close.model import Evidence, Failure, Observation, Report, RootCause, Verdict
from loop_close.prompt.compose import compose
from loop_close.prompt.report_json import dump, report_document
from loop_close.prompt.rerun import selected_tests
from loop_close.prompt.section import Section
from loop_close.prompt.sections import built_in

_MEANINGS = {
    2: "run interrupted",
    3: "internal error",
    4: "usage error",
    5: "no tests collected",
    6: "maximum number of warnings exceeded",
}


def group(evidence: Sequence[Evidence], priorities: Mapping[str, int]) -> tuple[RootCause, ...]:
    """The root causes; what finds them is loaded only where there is something to group."""
    if not evidence:
        return ()
    from loop_close import causes

    return causes.group(evidence, priorities)


def close(
    observation: Observation,
    *,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    faults: Sequence[str] = (),
) -> Report:
    """From what was observed to what it comes to. Pure: the same observation gives the same report.

    :param faults: what went wrong with extensions, in a line each; they become ``detector-error`` evidence.
    """
    ordered = replace(observation, failures=tuple(sorted(observation.failures, key=_failure_order)))
    broken = tuple(Evidence(kind=DETECTOR_ERROR.kind, snippet=text) for text in faults)
    evidence = run_detectors(ordered, detectors) + broken
    causes = group(evidence, {d.kind: d.priority for d in reversed(in_order(detectors))})
    verdict = _verdict(ordered, causes)
    return Report(
        observation=ordered,
        verdict=verdict,
        stall_reason=_stall_reason(ordered, verdict, causes, detectors),
        evidence=evidence,
        causes=causes,
    )


def _failure_order(failure: Failure) -> tuple[str, ...]:
    return failure.nodeid, failure.phase, failure.subtest, failure.message


def _verdict(observation: Observation, causes: Sequence[RootCause]) -> Verdict:
    """Green only when tests ran to the end and none failed."""
    if any(cause.kind != "internal-error" for cause in causes):
        return "first-failure"
    counts = observation.counts
    ran = counts.passed + counts.xfailed + counts.xpassed
    if observation.exit_code == 0 and ran and not observation.incomplete and not causes:
        return "green"
    return "error"


def _stall_reason(
    observation: Observation, verdict: Verdict, causes: Sequence[RootCause], detectors: Sequence[Detector]
) -> str:
    if causes:
        kind = causes[0].kind
        number = sum(len(c.evidence) for c in causes if c.kind == kind)
        named = next((d.count(number) for d in in_order(detectors) if d.kind == kind), f"{number} {kind}")
        return f"{named} detected"
    if verdict == "green":
        return "no-stall-detected"
    if observation.exit_code == 0:
        return "the run is incomplete" if observation.incomplete else "no test ran"
    unknown = "the run is incomplete" if observation.incomplete else "no-patterns-matched"
    return _MEANINGS.get(observation.exit_code or 0, unknown)


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What was written.

    :ivar prompt: the next prompt's text.
    :ivar problems: what could not be written, in a line each.
    """

    prompt: str
    problems: tuple[str, ...] = ()


def save(
    report: Report,
    *,
    root: Path,
    prompt_file: Path,
    json_file: Path | None,
    budget: int,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    extra_sections: Sequence[Section] = (),
) -> Saved:
    """Compose the prompt and write it, with the JSON report where it is wanted or kept.

    A red run keeps its report in the state folder, so that nothing the budget cuts is lost.
    """
    sections = (*built_in(tuple(detectors)), *extra_sections)
    problems: list[str] = []
    kept = _keep_failed(report, root, problems)
    if not kept:
        report = replace(report, observation=replace(report.observation, argument_file=""))
    text = compose(report, sections, budget=budget, full_report=files.REPORT if kept else "")
    if kept and not _try_write(root / files.REPORT, report, text, problems):
        text = compose(report, sections, budget=budget)
    if json_file is not None:
        _try_write(json_file, report, text, problems)
    try:
        files.write(prompt_file, [text])
    except OSError as error:
        problems.append(f"cannot write {prompt_file.name}: {error.strerror or error}")
    return Saved(prompt=text, problems=tuple(problems))


def _keep_failed(report: Report, root: Path, problems: list[str]) -> bool:
    """Write down which tests failed; False when there are none or nothing can be kept."""
    if not report.causes:
        return False
    try:
        files.state_folder(root)
        files.write(root / files.FAILED, (f"{test}\n" for test in selected_tests(report.observation)))
    except OSError as error:
        problems.append(f"cannot keep the full report: {error.strerror or error}")
        return False
    return True


def _try_write(path: Path, report: Report, text: str, problems: list[str]) -> bool:
    try:
        files.write(path, dump(report_document(report, text)))
    except OSError as error:
        problems.append(f"cannot write {path.name}: {error.strerror or error}")
        return False
    return True
