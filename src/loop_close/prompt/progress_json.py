"""What the JSON report says of the loop: progress, attempts, edits, signals, breaker, decision."""

from __future__ import annotations

from typing import Any

from loop_close.memory import GROUPS, Edit, Progress, Signal, Step
from loop_close.model import Report
from loop_close.progress.steps import same_code_as, worth_telling
from loop_close.prompt.loop import effect
from loop_close.prompt.show import safe
from loop_close.prompt.tests import tests_document
from loop_close.syntax.meaning import MODULE

#: So many edits of an attempt are named.
_MOST_NAMED = 12
_SILENT = {
    "none": "nothing",
    "ineffective": "only comments, formatting, docstrings or prose",
    "unknown": "not known",
}


def standing_document(report: Report) -> dict[str, Any]:
    """The keys that say where the loop is: ``progress``, ``attempts``, ``since_green`` and so on."""
    progress, ran = report.progress, report.edits_run
    return {
        "progress": _groups(report) if progress is None else progress_document(progress),
        "since_green": _since_green(report),
        "attempts": attempts_document(progress),
        "edited_functions": ran.edited if ran is not None else None,
        "edits_not_run": [
            {"file": safe(file), "function": safe(function)}
            for file, function in (ran.not_run if ran is not None else ())
        ],
        "signals": [signal_document(s) for s in progress.signals if s.is_on] if progress is not None else [],
        "test_changes": tests_document(progress.tests if progress is not None else ()),
        "breaker": {
            "state": progress.breaker.state if progress is not None else "closed",
            "reason": progress.breaker.reason if progress is not None else "",
        },
        "decision": decision(report),
        "elsewhere": [
            {
                "source": safe(each.source),
                "run": each.run,
                "verdict": safe(each.verdict),
                "current": each.is_current,
            }
            for each in report.others
            if each.verdict != "green"
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


def attempts_document(progress: Progress | None) -> list[dict[str, Any]]:
    """What was edited before each run of the loop, and what it changed in the failures; the oldest first.

    Nothing in the first run of a loop.
    """
    if progress is None or progress.position < 2:
        return []
    return [
        {
            "run": step.run,
            "edited": _edited(step),
            "same_code_as": same_code_as(step, progress),
            "effect": effect(step),
            "failing": step.unresolved,
        }
        for step in worth_telling(progress)
    ]


def _edited(step: Step) -> list[str]:
    """The names of the edits, such as ``total in src/cart.py``; where there is none, why."""
    edits = [edit for edit in step.edits.edits if edit.is_effective]
    if step.edits.kind in _SILENT or not edits:  # a checker may be content with others
        return [_SILENT.get(step.edits.kind, _SILENT["ineffective"])]
    more = max(0, len(edits) - _MOST_NAMED) + step.edits.omitted
    return [*map(_named, edits[:_MOST_NAMED]), *([f"{more} more"] if more else [])]


def _named(edit: Edit) -> str:
    what = f"{edit.function} in " if edit.function not in ("", MODULE) else ""
    done = "" if edit.change == "edited" else f" ({edit.change})"
    return safe(f"{what}{edit.file}{done}")


def _since_green(report: Report) -> dict[str, Any] | None:
    """How the files differ from those of the last green run; None where that is not known."""
    since = report.since_green
    if since is None:
        return None
    return {
        "run": report.green_run,
        "kind": since.kind,
        "edits": [
            {
                "file": safe(edit.file),
                "function": safe(edit.function),
                "change": edit.change,
                "diff": safe(edit.diff),
            }
            for edit in since.edits
        ],
        "omitted": since.omitted,
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
    if any(each.verdict != "green" for each in report.others):
        return {"action": "continue", "reason": "elsewhere"}
    if progress is not None and progress.episode.tests and not progress.step.is_full:
        return {"action": "continue", "reason": "subset"}
    if progress is not None and progress.tampering is not None:
        return {"action": "continue", "reason": "test-tampering"}
    return {"action": "stop", "reason": "done"}
