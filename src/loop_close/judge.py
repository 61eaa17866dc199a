"""From what was observed to what it comes to: evidence, root causes, verdict, stall reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from loop_close.detectors import DEFAULT_DETECTORS, DETECTOR_ERROR, Detector, in_order, run_detectors
from loop_close.memory import Episode
from loop_close.model import Evidence, Failure, Observation, Report, RootCause, Verdict

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


def joined(
    causes: Sequence[RootCause], observation: Observation, priorities: Mapping[str, int]
) -> Sequence[RootCause]:
    """The root causes, those as one that the tests' calls show to be one."""
    if len(causes) < 2 or observation.calls is None:
        return causes
    from loop_close.causes import in_order
    from loop_close.causes.suspects import locate

    return in_order(locate.joined(causes, observation.calls), priorities)


def located(
    causes: Sequence[RootCause], observation: Observation, episode: Episode | None = None
) -> tuple[RootCause, ...]:
    """The root causes with their suspects.

    :param episode: what is remembered of the loop, this run included.
    """
    if not causes:
        return ()
    from loop_close.causes.suspects import locate

    return locate.located(causes, observation.calls, episode)


def close(
    observation: Observation,
    *,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    faults: Sequence[str] = (),
) -> Report:
    """From what was observed to what it comes to. Pure: the same observation gives the same report.

    :param faults: what went wrong with extensions, in a line each; they become ``detector-error`` evidence.
    """
    ordered = replace(observation, failures=tuple(sorted(observation.failures, key=failure_order)))
    broken = tuple(Evidence(kind=DETECTOR_ERROR.kind, snippet=text) for text in faults)
    return judge(ordered, run_detectors(ordered, detectors) + broken, detectors)


def judge(
    observation: Observation, evidence: Sequence[Evidence], detectors: Sequence[Detector] = DEFAULT_DETECTORS
) -> Report:
    """What the evidence comes to: root causes, verdict, stall reason.

    Evidence that stands on no failure (comments, warnings) is a cause only where an exit code or its absence says
    that something is wrong and nothing else explains it.
    """
    priorities = {d.kind: d.priority for d in reversed(in_order(detectors))}
    causes = group(evidence, priorities)
    if not causes and observation.exit_code != 0:
        evidence = tuple(promoted(evidence, priorities))
        causes = group(evidence, priorities)
    causes = located(joined(causes, observation, priorities), observation)
    verdict = _verdict(observation, causes)
    return Report(
        observation=observation,
        verdict=verdict,
        stall_reason=_stall_reason(observation, verdict, causes, detectors),
        evidence=tuple(evidence),
        causes=causes,
    )


def promoted(evidence: Sequence[Evidence], priorities: Mapping[str, int]) -> Iterator[Evidence]:
    """The evidence, what is most blocking of it standing for failures."""
    kinds = {e.kind for e in evidence if e.kind != DETECTOR_ERROR.kind}
    first = min(kinds, key=lambda kind: (priorities.get(kind, 999), kind), default=None)
    for found in evidence:
        yield as_failure(found) if found.kind == first and found.failure is None else found


def as_failure(found: Evidence) -> Evidence:
    """Evidence with a failure made of its own words, so that it can be a root cause."""
    made = Failure(nodeid="", phase="check", message=found.snippet, file=found.file, line=found.line)
    return replace(found, failure=made)


def failure_order(failure: Failure) -> tuple[str, ...]:
    """The order in which failures are reported, whatever order they came in."""
    return failure.nodeid, failure.phase, failure.subtest, failure.message


def _verdict(observation: Observation, causes: Sequence[RootCause]) -> Verdict:
    """Green only when tests ran to the end and none failed."""
    if any(cause.kind != "internal-error" for cause in causes):
        return "first-failure"
    counts = observation.counts
    ran = counts.passed + counts.xfailed + counts.xpassed or not observation.expects_tests
    is_good = observation.exit_code == 0 or (observation.exit_code is None and observation.is_good_news)
    is_bad = causes or observation.failures or counts.failed or counts.errors or observation.incomplete
    if is_good and ran and not is_bad:
        return "green"
    return "error"


def _stall_reason(
    observation: Observation, verdict: Verdict, causes: Sequence[RootCause], detectors: Sequence[Detector]
) -> str:
    if causes:
        kind = causes[0].kind
        found = [evidence for cause in causes if cause.kind == kind for evidence in cause.evidence]
        named = next(
            (d.count_of(found) for d in in_order(detectors) if d.kind == kind), f"{len(found)} {kind}"
        )
        return f"{named} detected"
    if verdict == "green":
        return "no-stall-detected"
    if observation.exit_code is None and not observation.has_output:
        return "unknown"
    if observation.exit_code == 0:
        return "the run is incomplete" if observation.incomplete else "no test ran"
    unknown = "the run is incomplete" if observation.incomplete else "no-patterns-matched"
    return _MEANINGS.get(observation.exit_code or 0, unknown) if observation.expects_tests else unknown
