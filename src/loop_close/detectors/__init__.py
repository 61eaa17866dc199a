"""Detectors say what is wrong. This is their registry, and the one place that runs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from loop_close.detectors import findings
from loop_close.detectors.contract import Detector, check_evidence
from loop_close.model import Evidence, Observation
from loop_close.text import fault_text

__all__ = ["DEFAULT_DETECTORS", "DETECTOR_ERROR", "Detector", "by_priority", "run_detectors"]

#: Most blocking first; the first kind that has evidence is the stall reason.
DEFAULT_DETECTORS: tuple[Detector, ...] = (
    findings.INTERNAL_ERROR,
    findings.SYNTAX_ERROR,
    findings.MISSING_MODULE,
    findings.COLLECTION_ERROR,
    findings.TYPECHECK_ERROR,
    findings.TEST_FAILURE,
    findings.NOT_IMPLEMENTED,
    findings.CRASH,
    findings.TIMEOUT,
    findings.UNHANDLED_ASYNC,
    findings.LINT_ERROR,
    findings.COVERAGE_BELOW,
    findings.INCOMPLETE_FUNCTION,
    findings.TODO_MARKER,
    findings.FIXME_MARKER,
    findings.STACK_TRACE,
)

_MAX_FOUND = 10_000

#: Not a detector that looks for anything: it names what is said of one that raised.
DETECTOR_ERROR = Detector(
    id="detector-error",
    label="failed extension",
    priority=1000,
    description="a detector, section or hook of a third party raised an exception",
    hint="An extension failed; what it would have added is not in this prompt.",
    detect=lambda observation: (),
)


def by_priority(detectors: Iterable[Detector]) -> tuple[Detector, ...]:
    """Most blocking first; ties by id, so that the order of registration does not show."""
    return tuple(sorted(detectors, key=lambda d: (d.priority, d.id)))


def run_detectors(
    observation: Observation, detectors: Sequence[Detector] = DEFAULT_DETECTORS
) -> tuple[Evidence, ...]:
    """All evidence, most blocking kind first, then by file and line.

    A detector that raises becomes ``detector-error`` evidence naming it; the others go on.
    """
    found = [pair for detector in by_priority(detectors) for pair in _run(detector, observation)]
    settled = _settle(found)
    return tuple(e for _, e in sorted(settled, key=lambda pair: _sort_key(*pair)))


def _run(detector: Detector, observation: Observation) -> list[tuple[Detector, Evidence]]:
    try:
        return [(detector, evidence) for evidence in _found(detector, observation)]
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # whatever a third party's code does, pytest.fail() and exit() too
        text = f"detector {detector.id!r} raised {fault_text(fault)}"
        evidence = Evidence(kind=DETECTOR_ERROR.kind, snippet=text, label=detector.id)
        return [(DETECTOR_ERROR, evidence)]


def _found(detector: Detector, observation: Observation) -> list[Evidence]:
    limit = _MAX_FOUND + 100 * len(observation.failures)
    found = list(islice(detector.detect(observation), limit + 1))
    if len(found) > limit:
        raise ValueError(f"yielded more than {limit} findings")
    for evidence in found:
        check_evidence(evidence)
    return found


def _settle(found: list[tuple[Detector, Evidence]]) -> Iterator[tuple[Detector, Evidence]]:
    """Let one detector keep each failure: the most specific, then the most blocking."""
    best: dict[int, Detector] = {}
    for detector, evidence in found:
        if evidence.failure is not None:
            now = best.setdefault(id(evidence.failure), detector)
            if (detector.is_fallback, detector.priority) < (now.is_fallback, now.priority):
                best[id(evidence.failure)] = detector
    for detector, evidence in found:
        if evidence.failure is None or best[id(evidence.failure)] is detector:
            yield detector, evidence


def _sort_key(detector: Detector, evidence: Evidence) -> tuple[object, ...]:
    failure = evidence.failure
    test = (failure.nodeid, failure.phase, failure.subtest) if failure else ("", "", "")
    return detector.priority, evidence.kind, evidence.file, evidence.line, *test, evidence.snippet
