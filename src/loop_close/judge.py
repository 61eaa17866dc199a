"""From an observation to a report: evidence, root causes, verdict, stall reason; then the suspects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from loop_close.detectors import DEFAULT_DETECTORS, DETECTOR_ERROR, Detector, by_priority, run_detectors
from loop_close.facts import failure_order
from loop_close.model import Counts, Evidence, Failure, Observation, Report, RootCause, Verdict
from loop_close.records import NO_LOOP, Loop

_MEANINGS = {
    2: "run interrupted",
    3: "internal error",
    4: "usage error",
    5: "no tests collected",
    6: "maximum number of warnings exceeded",
}


def report_of(observation: Observation, *, detectors: Sequence[Detector] = DEFAULT_DETECTORS) -> Report:
    """The report of an observation with its suspects, and no loop. Pure: the same observation gives the same report."""
    return with_suspects(judged(observation, detectors=detectors))


def judged(
    observation: Observation,
    *,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    faults: Sequence[str] = (),
) -> Report:
    """The report of an observation without suspects, which only those need who show it.

    :param faults: what went wrong with extensions, in a line each; they become ``detector-error`` evidence.
    """
    failures = sorted(observation.failures, key=lambda each: (*failure_order(each), each.file, each.line))
    ordered = replace(observation, failures=tuple(failures))
    broken = tuple(Evidence(kind=DETECTOR_ERROR.kind, snippet=text) for text in faults)
    return judge(ordered, run_detectors(ordered, detectors) + broken, detectors)


def judge(
    observation: Observation, evidence: Sequence[Evidence], detectors: Sequence[Detector] = DEFAULT_DETECTORS
) -> Report:
    """The report of the evidence without suspects: root causes, verdict, stall reason.

    Evidence without a failure (comments, warnings) is a cause only where an exit code or its absence says
    that something is wrong and nothing else explains it.
    """
    priorities = _priorities(detectors)
    if all(found.failure is None for found in evidence) and observation.exit_code != 0:
        evidence = tuple(promoted(evidence, priorities))
    causes: tuple[RootCause, ...] = ()
    if any(found.failure is not None for found in evidence):
        from loop_close.causes import group  # late: a green run does without

        causes = group(evidence, priorities)
    verdict = _verdict(observation, causes)
    return Report(
        observation=observation,
        verdict=verdict,
        stall_reason=_stall_reason(observation, verdict, causes, detectors),
        evidence=tuple(evidence),
        causes=causes,
    )


def with_suspects(report: Report, loop: Loop = NO_LOOP) -> Report:
    """The report with the functions that probably hold the fault of each root cause; causes that share them are one.

    :param loop: the runs since the project was last done, this run included: edits before failures began count.
    """
    if not report.causes:
        return report
    from loop_close.causes import in_order, joined, located  # late: a green run does without

    calls = report.observation.calls
    kinds = [*dict.fromkeys(cause.kind for cause in report.causes)]  # the most blocking first
    causes = in_order(joined(report.causes, calls, loop), {kind: kinds.index(kind) for kind in kinds})
    whole = {id(each): cause.id for cause in causes for each in cause.evidence}
    now = {cause.id: whole[id(cause.evidence[0])] for cause in report.causes}
    sources = (
        replace(each, causes=tuple(dict.fromkeys(map(now.__getitem__, each.causes))))
        for each in report.sources
    )
    return replace(report, causes=located(causes, calls, loop), sources=tuple(sources))


def _priorities(detectors: Sequence[Detector]) -> dict[str, int]:
    """The priority of each kind of evidence, lowest for the most blocking; of two detectors that of the first."""
    return {d.kind: d.priority for d in reversed(by_priority(detectors))}


def promoted(evidence: Sequence[Evidence], priorities: Mapping[str, int]) -> Iterator[Evidence]:
    """The evidence, of which the most blocking kind represents failures."""
    kinds = {e.kind for e in evidence if e.kind != DETECTOR_ERROR.kind}
    first = min(kinds, key=lambda kind: (priorities.get(kind, 999), kind), default=None)
    for found in evidence:
        yield as_failure(found) if found.kind == first and found.failure is None else found


def as_failure(found: Evidence) -> Evidence:
    """Evidence with a failure made of its own words, so that it can be a root cause."""
    made = Failure(nodeid="", phase="check", message=found.snippet, file=found.file, line=found.line)
    return replace(found, failure=made)


def _verdict(observation: Observation, causes: Sequence[RootCause]) -> Verdict:
    """Green only when tests ran to the end and none failed."""
    if any(cause.kind != "internal-error" for cause in causes):
        return "red"
    counts = observation.counts
    ran = counts.passed + counts.xfailed + counts.xpassed or not observation.expects_tests
    is_good = {0: observation.has_output, None: observation.is_good_news}.get(observation.exit_code, False)
    is_bad = causes or observation.failures or counts.failed or counts.errors or observation.incomplete
    return "green" if is_good and ran and not is_bad else "error"


def _stall_reason(
    observation: Observation, verdict: Verdict, causes: Sequence[RootCause], detectors: Sequence[Detector]
) -> str:
    if causes:
        kind = causes[0].kind
        found = [evidence for cause in causes if cause.kind == kind for evidence in cause.evidence]
        named = next(
            (d.count_of(found) for d in by_priority(detectors) if d.kind == kind), f"{len(found)} {kind}"
        )
        return f"{named} detected"
    if verdict == "green":
        return "no-stall-detected"
    if not observation.exit_code and not observation.has_output:
        return "unknown"
    is_empty = observation.exit_code is None and observation.expects_tests and observation.counts == Counts()
    unknown = "no test ran" if observation.exit_code == 0 or is_empty else "no-patterns-matched"
    unknown = "the run is incomplete" if observation.incomplete else unknown
    return _MEANINGS.get(observation.exit_code or 0, unknown) if observation.expects_tests else unknown
