"""The report as JSON, schema ``loop-close.report/1``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from loop_close.calls import Calls, Swallowed
from loop_close.causes.clues import swallowed_for
from loop_close.facts import differences, failure_place, innermost, links, values
from loop_close.memory import GROUPS, TAMPERING, Breaker, Edit, Progress, Signal, Step
from loop_close.model import (
    Collision,
    Evidence,
    MachineCount,
    Observation,
    OtherAttempt,
    Raised,
    Report,
    RootCause,
    SourceResult,
    Suspect,
)
from loop_close.progress.compare import same_code_as, worth_telling
from loop_close.prompt import plain_values, safe
from loop_close.prompt.block import all_reasons
from loop_close.prompt.loop import attempts_at, effect, tests_document
from loop_close.prompt.place import representative, rerun_of_source
from loop_close.prompt.sections import known_document
from loop_close.syntax.meaning import MODULE

SCHEMA = "loop-close.report/1"
_MAX_REJECTED = 20


def _location(record: Any) -> dict[str, Any]:
    return plain_values(record, "file", "line", "function")


def report_document(report: Report, next_prompt: str) -> dict[str, Any]:
    """The report as plain values, as ``schema/report-1.json`` describes them."""
    causes = {
        id(evidence): cause.id for cause in report.causes for evidence in (*cause.evidence, *cause.findings)
    }
    return {
        "schema": SCHEMA,
        "source": safe(report.observation.source),
        "run": _run(report.observation),
        "exit_code": report.observation.exit_code,
        "verdict": report.verdict,
        "stall_reason": report.stall_reason,
        "incomplete": safe("; ".join(filter(None, [report.observation.incomplete, *_rejected(report)]))),
        "exit_reason": safe(report.observation.exit_reason),
        "next_prompt": next_prompt,
        "counts": asdict(report.observation.counts),
        **_loop_document(report),
        "suspects": [{"cause": c.id, **_suspect(s)} for c in report.causes for s in c.suspects[:1]],
        "calls": _calls(report.observation),
        "root_causes": [_cause(c, report) for c in report.causes],
        "known": known_document(report.observation),
        "shared": shared_document(report),
        "sources": [_source_result(each, report) for each in report.sources],
        "evidence": [_evidence(e, causes) for e in report.evidence],
    }


def _rejected(report: Report) -> Iterator[str]:
    yield from (f"{name} was not read: {why}" for name, why in report.rejected[:_MAX_REJECTED])


def _run(observation: Observation) -> dict[str, Any]:
    """What made the run, and of what."""
    made = observation.provenance
    index, of = made.shard
    return {
        **plain_values(made, "runner", "environment", "interpreter", "platform", "agent"),
        "selection": safe(observation.selection),
        "shard": {"index": index, "of": of} if of else None,
        "id": safe(made.run_id),
        "commit": safe(made.commit),
        "collected": {"number": made.collected, "digest": made.digest},
    }


def _source_result(each: SourceResult, report: Report) -> dict[str, Any]:
    observations = [source.observation for source in report.sources]
    return {
        **plain_values(each, "source", "verdict"),
        "counts": asdict(each.observation.counts),
        "root_causes": list(each.causes),
        "failed": sorted({safe(f.nodeid) for f in each.observation.failures if f.nodeid}),
        "incomplete": safe(each.observation.incomplete),
        "run": _run(each.observation),
        "rerun": "" if each.verdict == "green" else rerun_of_source(each.observation, observations),
    }


def _cause(cause: RootCause, report: Report) -> dict[str, Any]:
    failure = representative(cause)
    file, line, function = failure_place(failure)
    tests = [safe(e.failure.nodeid) for e in cause.evidence if e.failure is not None]
    return {
        **plain_values(cause, "id", "kind"),
        "exception": safe(failure.raised.type) if failure.raised is not None else "",
        "message": safe(failure.message),
        "location": {"file": safe(file), "line": line, "function": safe(function)},
        "tests": sorted(set(tests)),
        "count": len(tests),
        "attempts": attempts_at(cause, report.progress),
        "suspects": [_suspect(suspect) for suspect in cause.suspects],
        "findings": [_evidence(each, {id(each): cause.id}) for each in cause.findings],
        "swallowed": [_swallowed(each) for each in swallowed_for(cause, report.observation.calls)],
    }


def _suspect(suspect: Suspect) -> dict[str, Any]:
    place = plain_values(suspect, "file", "line", "end_line", "function", "score")
    constant = {"constant": safe(suspect.constant)} if suspect.constant else {}
    return {**place, **constant, "reasons": [safe(reason) for reason in all_reasons(suspect)]}


def _swallowed(each: Swallowed) -> dict[str, Any]:
    """An exception that was handled and never reached the tests of the cause."""
    return {
        "exception": safe(each.type),
        "message": safe(each.message),
        "location": _location(each),
        "caught": safe(each.caught),
        "tests": sorted(map(safe, each.failed)),
        "passing": each.passed,
    }


def _calls(observation: Observation) -> dict[str, Any]:
    """How many tests were looked at for the calls that they made, and why none were."""
    calls = observation.calls or Calls()
    return {
        "failing": len(calls.failed),
        "omitted": calls.omitted,
        "passed_over": calls.passed_over,
        "passing": calls.passed,
        "remembered": calls.remembered,
        "why_off": safe(observation.why_no_calls),
    }


def _evidence(evidence: Evidence, causes: Mapping[int, str]) -> dict[str, Any]:
    """What was found.

    :param causes: the ids of root causes by the identity of their evidence, which cannot be hashed.
    """
    failure = evidence.failure
    found = plain_values(evidence, "kind", "file", "line", "label", "snippet")
    if failure is not None:
        found |= {"test": safe(failure.nodeid), **plain_values(failure, "phase", "subtest")}
        found["cause"] = causes.get(id(evidence), "")
        found["chain"] = [_link(link) for link in links(failure.raised)]
        found["differences"] = [plain_values(each, "path", "left", "right") for each in differences(failure)]
        found["values"] = [{"name": safe(name), "value": safe(value)} for name, value in values(failure)]
    return found


def _link(raised: Raised) -> dict[str, Any]:
    frame = innermost(raised)
    return {
        "exception": safe(raised.type),
        "message": safe(raised.message),
        **(_location(frame) if frame is not None else {"file": "", "line": 0, "function": ""}),
        "nearest": [safe(name) for name in raised.nearest],
        "members": [_link(member) for member in raised.members],
    }


def dump(document: Mapping[str, Any]) -> Iterator[str]:
    """JSON text in pieces: one line for each key, and for each item of a list of objects.

    Such lines can be searched with grep, and are several times faster to write than indented JSON.
    """
    yield "{\n"
    for number, (key, value) in enumerate(document.items()):
        yield f"{',' if number else ''}{json.dumps(key)}: "
        is_long = isinstance(value, list) and value and isinstance(value[0], dict)
        yield from _items(value) if is_long else [json.dumps(value, ensure_ascii=False)]
        yield "\n"
    yield "}\n"


def _items(values: list[Any]) -> Iterator[str]:
    for number, item in enumerate(values):
        yield f"{',' if number else '['}\n{json.dumps(item, ensure_ascii=False)}"
    yield "\n]"


# --- the loop: progress, attempts, edits, signals, breaker, decision

#: So many edits of an attempt are named.
_MOST_NAMED = 12
_SILENT = {
    "none": "nothing",
    "ineffective": "only comments, formatting, docstrings or prose",
    "unknown": "not known",
}


def _loop_document(report: Report) -> dict[str, Any]:
    """The keys that say where the loop is: ``progress``, ``attempts``, ``since_green`` and so on."""
    progress, ran = report.progress, report.edits_run
    return {
        "progress": _groups(report) if progress is None else _progress_document(progress),
        "since_green": _since_green(report),
        "attempts": attempts_document(progress),
        "edited_functions": ran.edited if ran is not None else None,
        "edits_not_run": [
            {"file": safe(file), "function": safe(function)}
            for file, function in (ran.not_run if ran is not None else ())
        ],
        "signals": [signal_document(s) for s in progress.signals if s.is_on] if progress is not None else [],
        "test_changes": tests_document(progress.tests if progress is not None else ()),
        "breaker": asdict(progress.breaker if progress is not None else Breaker()),
        "decision": decision(report),
        "elsewhere": [
            {**plain_values(each, "source", "run", "verdict"), "current": each.is_current}
            for each in report.others
            if each.is_due or each.verdict != "green"
        ],
    }


def _groups(report: Report) -> dict[str, Any]:
    """Without a history every failure is new."""
    new = sorted({safe(f.nodeid) for f in report.observation.failures if f.nodeid})
    return {group: new if group == "new" else [] for group in GROUPS}


def _progress_document(progress: Progress) -> dict[str, Any]:
    """The groups of tests, the position of the run in its episode, and why it counts as progress."""
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
    """The names of the edits, such as ``total in src/cart.py``; without one, the reason."""
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
    """How the files differ from those of the last green run; None if it is unknown."""
    since = report.since_green
    if since is None:
        return None
    return {
        "run": report.green_run,
        "kind": since.kind,
        "edits": [plain_values(edit, "file", "function", "change", "diff") for edit in since.edits],
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
    if any(each.is_due or each.verdict != "green" for each in report.others):
        return {"action": "continue", "reason": "elsewhere"}
    if any(each.verdict == "green" and each.observation.selection for each in report.sources):
        return {"action": "continue", "reason": "subset"}
    if progress is not None and progress.episode.tests and not progress.step.is_full:
        return {"action": "continue", "reason": "subset"}
    if progress is not None and progress.tampering is not None:
        return {"action": "continue", "reason": TAMPERING}
    return {"action": "stop", "reason": "done"}


# --- what only a shared history can say of a root cause


def shared_document(report: Report) -> dict[str, Any] | None:
    """What other agents' runs say of each root cause; None without a shared history."""
    shared = report.shared
    if shared is None:
        return None
    names = ("file", "function", "before", "after")
    return {
        "machine": safe(shared.machine),
        "attempts": [
            {
                **_plain(each),
                "edits": [dict(zip(names, map(safe, edit), strict=True)) for edit in each.edits],
            }
            for each in shared.attempts
        ],
        "machines": [_plain(each) for each in shared.machines],
        "collisions": [
            {**_plain(each), "machines": [safe(name) for name in each.machines]} for each in shared.collisions
        ],
    }


def _plain(record: OtherAttempt | MachineCount | Collision) -> dict[str, Any]:
    """The fields by the names that the report has for them, texts made safe."""
    values = {name.removeprefix("is_"): value for name, value in asdict(record).items()}
    return {name: safe(value) if isinstance(value, str) else value for name, value in values.items()}
