"""The library: from text to a report, each step by itself. Nothing here touches a file, a clock or a process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from loop_close import detectors as registry
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.judge import as_failure, close, judge
from loop_close.model import Evidence, Observation, Report, Verdict
from loop_close.prompt.compose import compose
from loop_close.prompt.sections import built_in
from loop_close.readers.streams import observe
from loop_close.settings import DEFAULT_BUDGET, check_setting
from loop_close.text.redact import clean

__all__ = [
    "LoopClosureReport",
    "close_loop",
    "emit_no_stall_report",
    "emit_report",
    "list_detector_ids",
    "observe",
    "run_detectors",
]

_MAX_SNIPPET = 2_000
_MAX_LABEL = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopClosureReport:
    """The report of a run.

    :ivar stall_reason: such as ``3 test failures detected``; ``no-stall-detected`` for a green run,
        ``no-patterns-matched`` when the run failed and the output does not show why.
    :ivar next_prompt: markdown for the agent's next turn. Advice: nothing in it is to be run unseen.
    :ivar evidence: what the detectors found, most blocking kind first; labels and snippets are bounded and hold
        no credentials. The failure behind evidence is unredacted: show it by way of the prompt.
    :ivar exit_code: None when it is not known.
    """

    stall_reason: str
    next_prompt: str
    evidence: tuple[Evidence, ...]
    exit_code: int | None
    verdict: Verdict


def close_loop(
    stdout: object = "",
    stderr: object = "",
    exit_code: object = None,
    detectors: Iterable[str | Detector] | None = None,
    *,
    root: str = "",
    budget: int = DEFAULT_BUDGET,
) -> LoopClosureReport:
    """Read what a command printed, and say what is wrong and what to do next.

    Deterministic and without I/O, so that it may be called on any output, any time. The last 1,000,000
    characters of each stream count. What is not text counts as empty, what is not a whole number as an exit code
    that is not known; an unknown exit code is good news only where a tool's own summary says so.

    :param detectors: those to run, by id or as records; None for :data:`DEFAULT_DETECTORS`.
    :param root: the project's root as the output spells it; makes paths relative. Empty when not known.
    :param budget: tokens that the prompt may cost, as :func:`~loop_close.prompt.compose.estimate_tokens` counts them.
    :raises ValueError: for a detector id that does not exist, naming those that do, and for a budget below 400.
    """
    chosen = _chosen(detectors)
    observation = observe(stdout, stderr, exit_code, root=root)
    made = _report(close(observation, detectors=chosen), chosen, budget)
    return replace(made, evidence=tuple(_fit_to_pass_on(e) for e in made.evidence))


def run_detectors(observation: Observation, only: Iterable[str] | None = None) -> tuple[Evidence, ...]:
    """The evidence in an observation, most blocking kind first, then by file and line.

    :param observation: from :func:`observe`, or made by hand.
    :param only: ids of the detectors to run; None for all.
    :raises ValueError: for an id that does not exist, naming those that do.
    """
    if not isinstance(observation, Observation):
        raise TypeError(
            f"run_detectors needs an Observation, as observe() returns it, not {type(observation).__name__}"
        )
    found = registry.run_detectors(observation, _chosen(only))
    return tuple(_fit_to_pass_on(e) for e in found)


def emit_report(
    evidence: Iterable[Evidence], exit_code: int | None = None, *, budget: int = DEFAULT_BUDGET
) -> LoopClosureReport:
    """A report of evidence that was found before. Without any it is that of :func:`emit_no_stall_report`.

    The first kind with evidence, in the order of the registry, is the stall reason; kinds that the registry does
    not know come last.
    """
    found = tuple(evidence)
    if not found:
        return emit_no_stall_report(exit_code)
    order = {d.kind: d.priority for d in DEFAULT_DETECTORS}
    first = min(found, key=lambda e: (order.get(e.kind, 999), e.kind)).kind
    ordered = sorted(found, key=lambda e: (order.get(e.kind, 999), e.kind, e.file, e.line, e.snippet))
    standing = [as_failure(e) if e.kind == first and e.failure is None else e for e in ordered]
    failures = tuple(e.failure for e in standing if e.failure is not None)
    observation = Observation(
        exit_code=exit_code, source="output", failures=failures, rerun=(), expects_tests=False
    )
    report = judge(observation, standing)
    return replace(_report(report, DEFAULT_DETECTORS, budget), evidence=tuple(ordered))


def emit_no_stall_report(exit_code: int | None = 0) -> LoopClosureReport:
    """The report of a run in which nothing was found: good news on exit code 0, else a request to look."""
    observation = Observation(exit_code=exit_code, source="output", rerun=(), expects_tests=False)
    return _report(judge(observation, ()), DEFAULT_DETECTORS, DEFAULT_BUDGET)


def list_detector_ids() -> tuple[str, ...]:
    """The ids of the built-in detectors, most blocking first."""
    return tuple(d.id for d in DEFAULT_DETECTORS)


def _fit_to_pass_on(found: Evidence) -> Evidence:
    """With words that are bounded and hold no credentials; the failure behind it stays as it was read."""
    snippet, label = clean(found.snippet, _MAX_SNIPPET), clean(found.label, _MAX_LABEL)
    if (snippet, label) == (found.snippet, found.label):
        return found
    return replace(found, snippet=snippet, label=label)


def _chosen(detectors: Iterable[str | Detector] | None) -> tuple[Detector, ...]:
    if detectors is None:
        return DEFAULT_DETECTORS
    if isinstance(detectors, str):
        raise TypeError(f"detectors must be a sequence of ids, not one string: [{detectors!r}]")
    given = list(detectors)
    known = {d.id: d for d in DEFAULT_DETECTORS}
    for one in given:
        if not isinstance(one, str | Detector):
            raise TypeError(f"a detector must be an id or a loop_close.Detector, not {type(one).__name__}")
    unknown = sorted(d for d in given if isinstance(d, str) and d not in known)
    if unknown:
        named = ", ".join(map(repr, unknown))
        raise ValueError(f"unknown detector {named}; known detectors: {', '.join(known)}")
    return tuple(known[d] if isinstance(d, str) else d for d in given)


def _report(report: Report, detectors: Sequence[Detector], budget: int) -> LoopClosureReport:
    check_setting("budget", "budget", budget)
    return LoopClosureReport(
        stall_reason=report.stall_reason,
        next_prompt=compose(report, built_in(tuple(detectors)), budget=budget),
        evidence=report.evidence,
        exit_code=report.observation.exit_code,
        verdict=report.verdict,
    )
