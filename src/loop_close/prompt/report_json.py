"""The report as JSON, schema ``loop-close.report/1``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict

from loop_close.facts import differences, failure_place, innermost, links, values
from loop_close.model import (
    Evidence,
    Observation,
    Raised,
    Report,
    RootCause,
    SourceResult,
    Suspect,
)
from loop_close.prompt import safe
from loop_close.prompt.cause import all_reasons
from loop_close.prompt.loop import attempts_at
from loop_close.prompt.place import place_in_words, probable_place
from loop_close.prompt.sections import alone, in_short
from loop_close.records import Loop, State
from loop_close.text import one_line, with_texts

SCHEMA = "loop-close.report/1"
_MOST_NAMED = 20


def report_document(report: Report, next_prompt: str) -> dict[str, Any]:
    """The report as plain values, as ``schema/report-1.json`` describes them; every text of it made safe."""
    causes = {
        id(evidence): cause.id for cause in report.causes for evidence in (*cause.evidence, *cause.findings)
    }
    seen = report.observation
    document = {
        "schema": SCHEMA,
        "summary": in_short(report),
        "source": seen.source,
        "number": report.run,
        "run": _run(seen),
        "exit_code": seen.exit_code,
        "verdict": report.verdict,
        "stall_reason": report.stall_reason,
        "incomplete": seen.incomplete,
        "next_prompt": "",
        "counts": asdict(seen.counts),
        "loop": _values(report.loop),
        "signals": _values(report.signals),
        "state": _values(report.state),
        "since": _values(report.since),
        "undo": None,  # loop-close check writes it there, once this is green
        "edited_functions": len(report.edited) if report.edited is not None else None,
        "edits_not_run": [
            {"file": file, "function": function}
            for file, function, is_run in report.edited or ()
            if not is_run
        ][:_MOST_NAMED],
        "calls": _calls(seen),
        "root_causes": [_cause(c, report) for c in report.causes],
        "shared": _shared(report),
        "sources": [_source_result(each) for each in report.sources],
        "evidence": [_evidence(e, causes) for e in report.evidence],
    }
    return {**safe_values(document), "next_prompt": next_prompt}


def safe_values(value: Any) -> Any:
    """Plain values with every text in them made safe."""
    return with_texts(value, lambda text, field: safe(text))


def _fields(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _location(record: object) -> dict[str, Any]:
    return _fields(record, "file", "line", "function")


def _run(observation: Observation) -> dict[str, Any]:
    """What made the run, and of what."""
    made = observation.provenance
    index, of = made.shard
    return {
        **_fields(made, "runner", "environment", "interpreter", "platform", "commit"),
        "selection": observation.selection,
        "shard": {"index": index, "of": of} if of else None,
        "id": made.run_id,
        "collected": {"number": made.collected, "digest": made.digest},
    }


def _source_result(each: SourceResult) -> dict[str, Any]:
    return {
        **_fields(each, "source", "verdict"),
        "summary": in_short(alone(each)),
        "counts": asdict(each.observation.counts),
        "root_causes": each.causes,
        "failed": sorted({f.nodeid for f in each.observation.failures if f.nodeid}),
        "incomplete": each.observation.incomplete,
        "run": _run(each.observation),
        "rerun": "" if each.verdict == "green" else each.observation.rerun,
    }


def _cause(cause: RootCause, report: Report) -> dict[str, Any]:
    failure, tests = cause.failures[0], [each.nodeid for each in cause.failures]
    file, line, function = failure_place(failure)
    return {
        **_fields(cause, "id", "kind"),
        "title": place_in_words(cause, one_line),
        "exception": failure.exception,
        "message": failure.message,
        "place": asdict(probable_place(cause)),
        "location": {"file": file, "line": line, "function": function},
        "tests": sorted(set(tests)),
        "count": len(tests),
        "attempts": attempts_at(cause, report.loop),
        "suspects": [_suspect(suspect) for suspect in cause.suspects],
        "findings": [_evidence(each, {id(each): cause.id}) for each in cause.findings],
    }


def _suspect(suspect: Suspect) -> dict[str, Any]:
    place = _fields(suspect, "file", "line", "end_line", "function", "score")
    constant = {"constant": suspect.constant} if suspect.constant else {}
    return {**place, **constant, "reasons": [*all_reasons(suspect)]}


def _calls(observation: Observation) -> dict[str, Any]:
    """How many tests were looked at for the calls that they made, and why none were."""
    calls = observation.calls
    return {
        **_fields(calls, "omitted", "remembered"),
        "failing": len(calls.failed),
        "passing": calls.passed,
        "why_off": observation.why_no_calls,
    }


def _evidence(evidence: Evidence, causes: Mapping[int, str]) -> dict[str, Any]:
    """What was found.

    :param causes: the ids of root causes by the identity of their evidence, which cannot be hashed.
    """
    failure = evidence.failure
    found = _fields(evidence, "kind", "file", "line", "label", "snippet")
    if failure is not None:
        found |= {"test": failure.nodeid, **_fields(failure, "phase", "subtest")}
        found["cause"] = causes.get(id(evidence), "")
        found["chain"] = [_link(link) for link in links(failure.raised)]
        found["differences"] = [asdict(each) for each in differences(failure)]
        found["values"] = [{"name": name, "value": value} for name, value in values(failure)]
        if failure.again is not None:
            found["again"] = _values(failure.again)
    return found


def _link(raised: Raised) -> dict[str, Any]:
    frame = innermost(raised)
    return {
        "exception": raised.type,
        "message": raised.message,
        **(_location(frame) if frame is not None else {"file": "", "line": 0, "function": ""}),
        "nearest": raised.nearest,
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


def _values(record: object) -> Any:
    """A record, or several, as the values of JSON."""
    return msgspec.json.decode(msgspec.json.encode(record))


def state_document(state: State, loop: Loop) -> dict[str, Any]:
    """Whether the work is done, and where the loop stands: what ``status --json`` and MCP's ``loop_status`` give."""
    return {
        **asdict(state),
        "checks": _values(state.checks),
        "accepted": list(state.accepted),
        "loop": {
            **_fields(loop, "base", "stalled", "best", "fixed", "flaky"),
            "runs": len(loop.steps),
            "attempts": len(loop.attempts),
            "failing": [_fields(each, "source", "test", "since", "had_passed") for each in loop.failing],
        },
    }


# --- what only a shared history can say of a root cause


def _shared(report: Report) -> list[dict[str, Any]] | None:
    """What other agents tried for each root cause; None without a shared history."""
    if report.shared is None:
        return None
    names = ("file", "function", "before", "after")
    return [
        {
            **{name.removeprefix("is_"): value for name, value in asdict(each).items()},
            "edits": [dict(zip(names, edit, strict=True)) for edit in each.edits],
        }
        for each in report.shared
    ]
