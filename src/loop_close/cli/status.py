"""``loop-close status``: where every source stands after its last run, and whether to go on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loop_close import files
from loop_close.cli.memory import Remembered, read
from loop_close.cli.place import Place, from_here, place_of
from loop_close.cli.streams import Streams
from loop_close.cli.summary import Summary, shown, signal_document, state_name, summary_of
from loop_close.memory import GROUPS
from loop_close.store.contract import RunRow

_CODES = {"green": 0, "failing": 1, "stuck": 3}
_MOVED = {"fixed": "fixed", "new": "new", "changed": "changed", "unresolved": "unresolved"}
_REST = {"not_run": "not run", "not_fixed": "skipped or gone"}
_BEGINNING = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Where a source stands.

    :ivar last: its last run, whatever became of it.
    :ivar finished: the last that ended; None where none did.
    :ivar prompt: where the prompt of that run lies; None where it was written over since, or is gone.
    """

    last: RunRow
    finished: RunRow | None
    summary: Summary
    prompt: str | None

    @property
    def verdict(self) -> str:
        """``green``, ``failing`` or ``stuck``: what nobody can tell is not green."""
        if self.summary.breaker.state == "open" or self.summary.verdict == "stuck":
            return "stuck"
        is_tampered = any(signal.kind == "test-tampering" for signal in self.summary.fired)
        is_green = self.summary.verdict == "green" and self.last.state != "killed" and not is_tampered
        return "green" if is_green else "failing"


def status(options: argparse.Namespace, streams: Streams) -> int:
    """Print where the sources stand, the worst first: 0 all green, 1 one is not, 3 one is stuck."""
    place = place_of(options)
    pairs = read(place.history, lambda memory: _last_runs(memory, options.source), options.source)
    standings = sorted(_standings(pairs, place), key=lambda s: (-_CODES[s.verdict], -s.last.started))
    text = json.dumps(_document(standings), indent=2) if options.json else _text(standings)
    try:
        streams.say(text)
    except BrokenPipeError:  # who reads only the beginning still wants to know by the exit code
        streams.forget_output()
    return _CODES[standings[0].verdict]


def _last_runs(memory: Remembered, source: str | None) -> list[tuple[RunRow, RunRow | None]]:
    sources = memory.sources() if source is None else (source,)
    return [_last_of(memory, name) for name in sources]


def _last_of(memory: Remembered, source: str) -> tuple[RunRow, RunRow | None]:
    last = memory.rows(source, 1)[-1]
    rows = (last,) if last.state == "done" else memory.rows(source)
    return last, next((row for row in reversed(rows) if row.state == "done"), None)


def _standings(pairs: Sequence[tuple[RunRow, RunRow | None]], place: Place) -> Iterator[Standing]:
    newest = max(pairs, key=lambda pair: _end(pair[1]))[1]
    for last, finished in pairs:
        yield Standing(
            last=last,
            finished=finished,
            summary=summary_of(finished or last),
            prompt=_prompt(place) if finished is not None and finished is newest else None,
        )


def _end(row: RunRow | None) -> float:
    return 0.0 if row is None else row.ended or row.started


def _prompt(place: Place) -> str | None:
    """The prompt, where it is one that a finished run wrote."""
    path = place.root / place.settings.file
    try:
        with path.open("rb") as file:
            begun = file.read(_BEGINNING).decode("utf-8", "replace")
    except OSError:
        return None
    is_told = begun.startswith(files.OUR_PROMPTS) and not begun.startswith(files.RUNNING)
    return from_here(path) if is_told else None


def _text(standings: Sequence[Standing]) -> str:
    return "\n\n".join("\n".join(_lines(standing)) for standing in standings)


def _lines(standing: Standing) -> Iterator[str]:
    summary = standing.summary
    yield f"{shown(standing.last.source)}: {_headline(standing)}"
    if standing.finished is not None and summary.verdict != "green":
        yield f"  {_counts(summary)}"
    if summary.breaker.state != "closed":
        yield f"  breaker {state_name(summary.breaker.state)}: {shown(summary.breaker.reason)}"
    for signal in summary.fired:
        yield f"  {shown(signal.kind)}: {shown(signal.explanation)}"
    if standing.last.state != "done":
        state = "is under way" if standing.last.state == "running" else "was killed before its end"
        yield f"  run {standing.last.number} {state}"
    if standing.prompt is not None:
        yield f"  prompt: {shown(standing.prompt)}"


def _headline(standing: Standing) -> str:
    if standing.finished is None:
        return "no run has ended yet"
    summary = standing.summary
    reason = "" if summary.verdict == "green" or not summary.reason else f": {summary.reason}"
    return f"{summary.verdict} in run {standing.finished.number}{reason}"


def _counts(summary: Summary) -> str:
    """``3 failing: 1 fixed, 2 unresolved; at best 2, in run 4``."""
    named = {**_MOVED, **_REST}
    parts = [
        f"{summary.counts.get(name, 0)} {words}"
        for name, words in named.items()
        if name in _MOVED or summary.counts.get(name)
    ]
    moved = f": {', '.join(parts)}" if summary.counts else ""
    least, run = summary.best
    best = f"; at best {least}, in run {run}" if run and least < (summary.failing or 0) else ""
    return f"{summary.failing} failing{moved}{best}"


def _document(standings: Sequence[Standing]) -> dict[str, Any]:
    return {
        "schema": "loop-close.status/1",
        "verdict": standings[0].verdict,
        "sources": [_source_document(standing) for standing in standings],
    }


def _source_document(standing: Standing) -> dict[str, Any]:
    summary, finished = standing.summary, standing.finished
    least, run = summary.best
    return {
        "source": shown(standing.last.source),
        "run": finished.number if finished is not None else None,
        "verdict": summary.verdict if finished is not None else None,
        "standing": standing.verdict,
        "last_run": standing.last.number,
        "state": standing.last.state,
        "stall_reason": summary.reason,
        "failing": summary.failing,
        **{name: summary.counts.get(name, 0) for name in GROUPS},
        "best": {"failing": least, "run": run} if run else None,
        "breaker": {"state": summary.breaker.state, "reason": shown(summary.breaker.reason)},
        "signals": [signal_document(signal) for signal in summary.fired],
        "prompt": standing.prompt,
    }
