"""Runs as they were remembered, from a history or from what ``loop-close history --json`` printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from loop_close.cli.history import SCHEMA
from loop_close.cli.memory import NoRunError, Remembered, read
from loop_close.cli.parser import UsageError
from loop_close.memory import Run
from loop_close.store.records import RecordError, to_record

_SQLITE = b"SQLite format 3\0"
_NAME, _, _VERSION = SCHEMA.partition("/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """A run that has ended.

    :ivar verdict: what it came to then; empty where that is not known.
    """

    run: Run
    verdict: str


def recorded_in(path: Path, source: str | None) -> list[Recorded]:
    """The runs of a history, by source and number.

    :raises UsageError: when it cannot be read, or has none.
    """
    return read(path, lambda memory: list(_of_history(memory, source)), source)


def recorded_by(name: str, standard_input: BinaryIO, source: str | None) -> list[Recorded]:
    """The runs of a file, by source and number.

    :param name: of a history or JSON; ``-`` for JSON from the standard input.
    :raises UsageError: when it cannot be read, or has none.
    """
    try:
        if name != "-" and _is_database(name):
            return recorded_in(Path(name), source)
        content = standard_input.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from None
    found = _of_document(name, _parsed(name, content))
    return _chosen(name, found, source)


def _is_database(name: str) -> bool:
    with open(name, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _of_history(memory: Remembered, source: str | None) -> Iterator[Recorded]:
    for name in memory.sources() if source is None else (source,):
        verdicts = {row.number: _verdict(row.summary) for row in memory.rows(name)}
        for run in memory.recorded(name):
            yield Recorded(run=run, verdict=verdicts.get(run.number, ""))


def _verdict(summary: object) -> str:
    verdict = summary.get("verdict") if isinstance(summary, dict) else None
    return verdict if isinstance(verdict, str) else ""


def _parsed(name: str, content: bytes) -> list[Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{name} is neither a history database nor the output of loop-close history --json: {error}"
        ) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == SCHEMA and isinstance(document.get("runs"), list):
        runs: list[Any] = document["runs"]
        return runs
    if isinstance(schema, str) and schema.startswith(f"{_NAME}/") and schema != SCHEMA:
        raise UsageError(f"{name} has schema {schema}; this version reads {SCHEMA}")
    raise UsageError(
        f"{name} is not the output of loop-close history --json: it needs schema {SCHEMA} and runs"
    )


def _of_document(name: str, documents: Sequence[Any]) -> list[Recorded]:
    found: dict[tuple[str, int], Recorded] = {}
    for position, document in enumerate(documents):
        try:
            recorded = _of_run(document)
        except RecordError as error:
            raise UsageError(f"{name}: runs[{position}]: {error}") from None
        if recorded is None:
            continue
        key = recorded.run.source, recorded.run.number
        if key in found:
            raise UsageError(f"{name}: runs[{position}]: run {key[1]} of {key[0]} appears twice")
        found[key] = recorded
    return [found[key] for key in sorted(found)]


def _of_run(document: Any) -> Recorded | None:
    """The run; None for one that has not ended."""
    if not isinstance(document, dict):
        raise RecordError(f"expected a run, got {type(document).__name__}")
    missing = [key for key in ("source", "number", "record") if key not in document]
    if missing:
        raise RecordError(f"{missing[0]} is missing")
    record = document["record"]
    if record is None:
        return None
    if not isinstance(record, dict):
        raise RecordError(f"record: expected an object, got {type(record).__name__}")
    own = {"number": document["number"], "source": document["source"]}
    return Recorded(run=to_record(Run, {**record, **own}), verdict=_verdict(document.get("summary")))


def _chosen(name: str, found: list[Recorded], source: str | None) -> list[Recorded]:
    chosen = [each for each in found if source in (None, each.run.source)]
    if not chosen:
        raise NoRunError(f"{name} has no finished run{'' if source is None else f' of {source!r}'}")
    return chosen
