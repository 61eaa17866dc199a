"""The tools ``loop_status`` and ``loop_history``: what is remembered, read and not changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loop_close.cli.memory import NoRunError, read
from loop_close.cli.place import NO_RUN, place_at
from loop_close.cli.status import document_of, worst_first
from loop_close.cli.summary import loop_words, shown, signal_document, summary_of
from loop_close.mcp_server.answers import Answer
from loop_close.memory import Breaker
from loop_close.store.contract import RunRow

_RUNS = 20
_NAMED = 5


def loop_status(source: str | None = None) -> Answer:
    """Where the sources stand, the worst first; that no run is remembered is an answer too."""
    try:
        document = status_document(source)
    except NoRunError:
        if source is not None:
            raise
        document = {"schema": "loop-close.status/1", "verdict": "none", "sources": []}
    lines = [line for each in document["sources"] for line in _source_lines(each)]
    return Answer(text="\n".join(lines) or NO_RUN, document=document)


def status_document(source: str | None = None) -> dict[str, Any]:
    """What ``loop-close status --json`` prints.

    :raises UsageError: when nothing is remembered, or cannot be read.
    """
    return document_of(worst_first(place_at(Path.cwd()), source))


def _source_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """A source as ``status`` tells it, shortened."""
    reason = f": {document['stall_reason']}" if document["stall_reason"] else ""
    known = (
        f"{document['verdict']} in run {document['run']}{reason}"
        if document["run"]
        else "no run has finished"
    )
    yield f"{document['source']}: {document['standing']} ({known})"
    if document["failing"]:
        named = ("fixed", "new", "changed", "unresolved")
        moved = ", ".join(f"{document[name]} {name}" for name in named if any(map(document.get, named)))
        yield f"  {document['failing']} failing{': ' if moved else ''}{moved}"
    if document["breaker"]["state"] != "closed":
        yield f"  {loop_words(Breaker(**document['breaker']))}"
    if not_run := document["edits_not_run"]:
        names = ", ".join(f"{each['function']} ({each['file']})" for each in not_run[:_NAMED])
        more = f" and {len(not_run) - _NAMED} more" if len(not_run) > _NAMED else ""
        yield f"  not run by any test, of {document['edited_functions']} edited functions: {names}{more}"
    for signal in document["signals"]:
        yield f"  {signal['kind']}: {signal['explanation']}"
    if document["state"] != "done":
        yield f"  run {document['last_run']}: {document['state']}"
    if document["prompt"]:
        yield f"  prompt: {document['prompt']}"


def loop_history(source: str | None = None, limit: int = _RUNS) -> Answer:
    """The last runs, the newest last."""
    place = place_at(Path.cwd())
    try:
        rows = read(place.history, lambda memory: memory.rows(source, limit), source)
    except NoRunError:
        if source is not None:
            raise
        rows = ()
    runs = [_run_document(row) for row in rows]
    text = "\n".join(map(_run_line, runs)) or NO_RUN
    return Answer(text=text, document={"schema": "loop-close.runs/1", "runs": runs})


def _run_document(row: RunRow) -> dict[str, Any]:
    """A run as a line of ``history`` tells it; its whole record is for ``history --json``."""
    summary = summary_of(row)
    return {
        "source": shown(row.source),
        "run": row.number,
        "state": row.state,
        "started": row.started,
        "ended": row.ended,
        "verdict": summary.verdict,
        "stall_reason": summary.reason,
        "failing": summary.failing,
        "moved": dict(summary.counts),
        "breaker": {"state": summary.breaker.state, "reason": shown(summary.breaker.reason)},
        "signals": [signal_document(signal)["kind"] for signal in summary.fired],
    }


def _run_line(document: Mapping[str, Any]) -> str:
    moved = ", ".join(f"{number} {name}" for name, number in document["moved"].items() if number)
    failing = "" if document["failing"] is None else f", {document['failing']} failing"
    signals = f"; {', '.join(document['signals'])}" if document["signals"] else ""
    breaker = Breaker(**document["breaker"])
    loop = f"; {loop_words(breaker)}" if breaker.state != "closed" else ""
    counts = f" ({moved})" if moved else ""
    return (
        f"{document['source']}, run {document['run']}: {document['verdict']}{failing}{counts}{loop}{signals}"
    )
