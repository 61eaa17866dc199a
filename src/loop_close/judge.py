"""From an observation to a report: evidence, root causes, verdict, stall reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from loop_close.detectors import DEFAULT_DETECTORS, DETECTOR_ERROR, Detector, by_priority, run_detectors
from loop_close.facts import TEST_PHASES, failure_order
from loop_close.model import (
    Evidence,
    Failure,
    KnownFailure,
    KnownState,
    Observation,
    Report,
    RootCause,
    Verdict,
)
from loop_close.settings import KnownEntry
from loop_close.text.redact import clean

#: pytest's exit code where tests failed and nothing else went wrong.
_TESTS_FAILED = 1
_LONGEST_MESSAGE = 300
_MEANINGS = {
    2: "run interrupted",
    3: "internal error",
    4: "usage error",
    5: "no tests collected",
    6: "maximum number of warnings exceeded",
}


def report_of(
    observation: Observation,
    *,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    faults: Sequence[str] = (),
) -> Report:
    """The report of an observation. Pure: the same observation gives the same report.

    :param faults: what went wrong with extensions, in a line each; they become ``detector-error`` evidence.
    """
    failures = sorted(observation.failures, key=lambda each: (*failure_order(each), each.file, each.line))
    ordered = replace(observation, failures=tuple(failures))
    broken = tuple(Evidence(kind=DETECTOR_ERROR.kind, snippet=text) for text in faults)
    return judge(ordered, run_detectors(ordered, detectors) + broken, detectors)


def judge(
    observation: Observation, evidence: Sequence[Evidence], detectors: Sequence[Detector] = DEFAULT_DETECTORS
) -> Report:
    """The report of the evidence: root causes, verdict, stall reason.

    Evidence without a failure (comments, warnings) is a cause only where an exit code or its absence says
    that something is wrong and nothing else explains it.
    """
    priorities = _priorities(detectors)
    is_explained = any(found.failure is not None for found in evidence)
    if not is_explained and observation.exit_code != 0 and not observation.known_failing:
        evidence = tuple(promoted(evidence, priorities))
    return _report(observation, evidence, _root_causes(evidence, observation, priorities), detectors)


def _report(
    observation: Observation,
    evidence: Sequence[Evidence],
    causes: tuple[RootCause, ...],
    detectors: Sequence[Detector],
) -> Report:
    verdict = _verdict(observation, causes)
    return Report(
        observation=observation,
        verdict=verdict,
        stall_reason=_stall_reason(observation, verdict, causes, detectors),
        evidence=tuple(evidence),
        causes=causes,
    )


def _priorities(detectors: Sequence[Detector]) -> dict[str, int]:
    """The priority of each kind of evidence, lowest for the most blocking; of two detectors that of the first."""
    return {d.kind: d.priority for d in reversed(by_priority(detectors))}


def _root_causes(
    evidence: Sequence[Evidence], observation: Observation, priorities: Mapping[str, int]
) -> tuple[RootCause, ...]:
    """The root causes with their suspects; those that the tests' calls show to be one are joined."""
    if all(found.failure is None for found in evidence):
        return ()
    from loop_close.causes import group, in_order, locate  # late: a green run does without

    causes = group(evidence, priorities)
    if len(causes) > 1 and observation.calls is not None:
        causes = in_order(locate.joined(causes, observation.calls), priorities)
    return locate.located(causes, observation.calls)


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


def without_known(
    report: Report,
    entries: Sequence[KnownEntry],
    today: str,
    *,
    waiting: Sequence[KnownEntry] = (),
    passed: Collection[str] = (),
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
) -> Report:
    """The report with the failures set apart that are known: what is left is judged without them.

    Only failures of tests that ran can be known. A root cause with other tests as well stays with these alone. Where
    no failure is left, the exit code for failing tests is explained, and the verdict is green.

    :param entries: the entries that count; ``waiting`` those that no person has accepted yet.
    :param today: as ``2027-01-31``: an entry whose last day has passed does not count.
    :param passed: of a run of all tests, those that passed: an entry all of whose tests did is not needed.
    """
    found: dict[tuple[str, KnownState, KnownEntry], list[tuple[Failure, str]]] = {}
    known: set[int] = set()
    for cause in report.causes:
        for failure in (e.failure for e in cause.evidence if e.failure is not None):
            entry, state = _entry_for(failure, cause.id, entries, waiting, today)
            if entry is not None:
                found.setdefault((failure.nodeid, state, entry), []).append((failure, cause.id))
                known |= {id(failure)} if state == "known" else set()
    listed = [_known_failure(*key, failing) for key, failing in found.items()]
    listed += _not_needed(entries, passed, {test for test, _, _ in found})
    if not listed:
        return report
    observation = _without(report.observation, known, listed)
    if not known:
        return replace(report, observation=observation)
    kept = [(c, tuple(e for e in c.evidence if id(e.failure) not in known)) for c in report.causes]
    evidence = [e for e in report.evidence if id(e.failure) not in known]
    if not any(e for _, e in kept):  # the traces are of those that do not count
        evidence = [e for e in evidence if e.kind != "stack-trace"]
    causes: tuple[RootCause, ...] = ()
    if left := [replace(c, evidence=e) for c, e in kept if e]:
        from loop_close.causes import in_order, locate  # late: a green run does without

        causes = locate.located(in_order(left, _priorities(detectors)), observation.calls)
    return _report(observation, evidence, causes, detectors)


def _entry_for(
    failure: Failure, cause: str, entries: Sequence[KnownEntry], waiting: Sequence[KnownEntry], today: str
) -> tuple[KnownEntry | None, KnownState]:
    """The entry that names the failure, one that counts before others, and what it means."""
    if not failure.nodeid or failure.phase not in TEST_PHASES:
        return None, "known"
    matching = [each for each in entries if each.matches(failure.nodeid, cause)]
    live = next((each for each in matching if not each.is_over(today)), None)
    if live is not None:
        return live, "known"
    new = next((each for each in waiting if each.matches(failure.nodeid, cause)), None)
    if new is not None:
        return new, "expired" if new.is_over(today) else "not-accepted"
    return next(iter(matching), None), "expired"


def _known_failure(
    test: str, state: KnownState, entry: KnownEntry, failing: Sequence[tuple[Failure, str]]
) -> KnownFailure:
    return KnownFailure(
        test=test,
        phases=tuple("subtest" if failure.subtest else failure.phase for failure, _ in failing),
        cause=failing[0][1],
        message=clean(failing[0][0].message, _LONGEST_MESSAGE),
        issue=entry.issue,
        until=entry.until,
        state=state,
    )


def _not_needed(
    entries: Sequence[KnownEntry], passed: Collection[str], failing: Collection[str]
) -> Iterator[KnownFailure]:
    """The entries whose tests ran, and passed, all of them."""
    for entry in entries:
        if entry.test and any(map(entry.matches, passed)) and not any(map(entry.matches, failing)):
            yield KnownFailure(test=entry.test, issue=entry.issue, until=entry.until, state="not-needed")


def _without(observation: Observation, known: Collection[int], listed: Sequence[KnownFailure]) -> Observation:
    """What was observed, the failures that do not count left out of it and of its numbers."""
    phases = [phase for each in listed if each.state == "known" for phase in each.phases]
    subtests, called = phases.count("subtest"), phases.count("call")
    counts, failures = observation.counts, tuple(f for f in observation.failures if id(f) not in known)
    failed = max(0, counts.failed - called)
    if subtests:  # newer versions of pytest count the test around them as failed, too
        failed = min(failed, len({failure.nodeid for failure in failures}))
    return replace(
        observation,
        failures=failures,
        known=tuple(sorted(listed, key=lambda each: (each.test, each.state, each.cause))),
        counts=replace(
            counts,
            failed=failed,
            failed_subtests=max(0, counts.failed_subtests - subtests),
            errors=max(0, counts.errors - (len(phases) - called - subtests)),
        ),
    )


def _verdict(observation: Observation, causes: Sequence[RootCause]) -> Verdict:
    """Green only when tests ran to the end and none failed."""
    if any(cause.kind != "internal-error" for cause in causes):
        return "first-failure"
    counts, known = observation.counts, bool(observation.known_failing)
    ran = counts.passed + counts.xfailed + counts.xpassed or known or not observation.expects_tests
    is_good = observation.exit_code == 0 or (observation.exit_code is None and observation.is_good_news)
    if known and observation.expects_tests and not observation.exit_reason:
        is_good = is_good or observation.exit_code == _TESTS_FAILED
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
            (d.count_of(found) for d in by_priority(detectors) if d.kind == kind), f"{len(found)} {kind}"
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
