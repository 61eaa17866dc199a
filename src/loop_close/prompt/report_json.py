"""The report as JSON, schema ``loop-close.report/1``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict

from loop_close.calls import Calls, Swallowed
from loop_close.causes.clues import swallowed_for
from loop_close.facts import differences, failure_place, innermost, links, values
from loop_close.model import (
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
from loop_close.prompt import plain_values, safe
from loop_close.prompt.cause import all_reasons
from loop_close.prompt.loop import attempts_at
from loop_close.prompt.place import representative
from loop_close.records import Loop, State

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
        "number": report.run,
        "run": _run(report.observation),
        "exit_code": report.observation.exit_code,
        "verdict": report.verdict,
        "stall_reason": report.stall_reason,
        "incomplete": safe("; ".join(filter(None, [report.observation.incomplete, *_rejected(report)]))),
        "exit_reason": safe(report.observation.exit_reason),
        "next_prompt": next_prompt,
        "counts": asdict(report.observation.counts),
        "loop": _values(report.loop),
        "signals": _values(report.signals),
        "state": _values(report.state),
        "since": _values(report.since),
        **_edits_run(report),
        "suspects": [{"cause": c.id, **_suspect(s)} for c in report.causes for s in c.suspects[:1]],
        "calls": _calls(report.observation),
        "root_causes": [_cause(c, report) for c in report.causes],
        "shared": shared_document(report),
        "sources": [_source_result(each) for each in report.sources],
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


def _source_result(each: SourceResult) -> dict[str, Any]:
    return {
        **plain_values(each, "source", "verdict"),
        "counts": asdict(each.observation.counts),
        "root_causes": list(each.causes),
        "failed": sorted({safe(f.nodeid) for f in each.observation.failures if f.nodeid}),
        "incomplete": safe(each.observation.incomplete),
        "run": _run(each.observation),
        "rerun": "" if each.verdict == "green" else each.observation.rerun,
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
        "attempts": attempts_at(cause, report.loop),
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


def _edits_run(report: Report) -> dict[str, Any]:
    """How many functions were edited, and which of them no test ran."""
    ran = report.edits_run
    return {
        "edited_functions": ran.edited if ran is not None else None,
        "edits_not_run": [
            {"file": safe(file), "function": safe(function)}
            for file, function in (ran.not_run if ran is not None else ())
        ],
    }


def _values(record: object) -> Any:
    """A record, or several, as the values of JSON."""
    return msgspec.json.decode(msgspec.json.encode(record))


def state_document(state: State, loop: Loop | None) -> dict[str, Any]:
    """Whether the work is done, and where the loop stands: what ``status --json`` and MCP's ``loop_status`` give.

    :param loop: None without a history; then the document says so with null.
    """
    return {
        **asdict(state),
        "checks": _values(state.checks),
        "accepted": list(state.accepted),
        "loop": _loop_in_short(loop) if loop is not None else None,
    }


def _loop_in_short(loop: Loop) -> dict[str, Any]:
    return {
        "base": loop.base,
        "runs": len(loop.steps),
        "attempts": len(loop.attempts),
        "stalled": loop.stalled,
        "best": loop.best,
        "failing": [
            {"source": each.source, "test": each.test, "since": each.since, "had_passed": each.had_passed}
            for each in loop.failing
        ],
        "fixed": list(loop.fixed),
        "flaky": list(loop.flaky),
    }


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
    }


def _plain(record: OtherAttempt | MachineCount) -> dict[str, Any]:
    """The fields by the names that the report has for them, texts made safe."""
    values = {name.removeprefix("is_"): value for name, value in asdict(record).items()}
    return {name: safe(value) if isinstance(value, str) else value for name, value in values.items()}
