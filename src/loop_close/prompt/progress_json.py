"""What the JSON report says of the loop: progress, signals, breaker, decision."""

from __future__ import annotations

from typing import Any

from loop_close.memory import GROUPS, Progress, Signal
from loop_close.model import Report
from loop_close.prompt.show import safe


def standing_document(report: Report) -> dict[str, Any]:
    """The keys ``progress``, ``signals``, ``breaker``, ``decision`` and ``elsewhere``."""
    progress = report.progress
    return {
        "progress": _groups(report) if progress is None else progress_document(progress),
        "signals": [signal_document(s) for s in progress.signals if s.is_on] if progress is not None else [],
        "breaker": {
            "state": progress.breaker.state if progress is not None else "closed",
            "reason": progress.breaker.reason if progress is not None else "",
        },
        "decision": decision(report),
        "elsewhere": [
            {"source": safe(source), "run": run, "verdict": safe(verdict)}
            for source, run, verdict in report.elsewhere
        ],
    }


def _groups(report: Report) -> dict[str, Any]:
    """Without a memory every failure is new."""
    new = sorted({safe(f.nodeid) for f in report.observation.failures if f.nodeid})
    return {group: new if group == "new" else [] for group in GROUPS}


def progress_document(progress: Progress) -> dict[str, Any]:
    """The groups of tests, where the run stands in its episode, and why it counts as progress."""
    groups = {group: [safe(test) for test in getattr(progress, group)] for group in GROUPS}
    least, run = progress.episode.best
    return {
        **groups,
        "run": progress.run,
        "position": progress.position,
        "advanced": progress.step.advanced,
        "failing": progress.step.unresolved,
        "best": {"failing": least, "run": run},
        "edit": progress.step.edits.kind,
    }


def signal_document(signal: Signal) -> dict[str, Any]:
    """A signal as plain values."""
    return {
        "kind": signal.kind,
        "runs": list(signal.runs),
        "tests": [safe(test) for test in signal.tests],
        "explanation": safe(signal.explanation),
    }


def decision(report: Report) -> dict[str, str]:
    """Whether to go on: stuck is never done, and neither is a green run whose tests were made to pass."""
    progress = report.progress
    if progress is not None and progress.breaker.state == "open":
        return {"action": "stop", "reason": "stuck"}
    if report.verdict != "green":
        return {"action": "continue", "reason": ""}
    if report.elsewhere:
        return {"action": "continue", "reason": "elsewhere"}
    if progress is not None and progress.episode.tests and not progress.step.is_full:
        return {"action": "continue", "reason": "subset"}
    is_tampered = progress is not None and any(
        s.is_on and s.kind == "test-tampering" for s in progress.signals
    )
    return (
        {"action": "continue", "reason": "test-tampering"}
        if is_tampered
        else {"action": "stop", "reason": "done"}
    )
