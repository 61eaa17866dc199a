"""``loop-close status``: whether each source is green, failing or stuck after its last run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from loop_close.cli.driven_tests import left_open
from loop_close.cli.memory import read
from loop_close.cli.place import Place, from_here, place_of
from loop_close.cli.standing import Standing, last_runs, standings
from loop_close.cli.streams import Streams
from loop_close.cli.summary import Summary, edits_document, loop_words, shown, signal_document
from loop_close.memory import GROUPS, ChangedTest
from loop_close.prompt.green import known_words
from loop_close.prompt.loop import plain_line, tests_document

_ACCEPT = "to see the changes to tests, and to accept them: loop-close accept"
_CODES = {"green": 0, "failing": 1, "stuck": 3}
_MOVED = {"fixed": "fixed", "new": "new", "changed": "changed", "unresolved": "unresolved"}
_REST = {"not_run": "not run", "not_fixed": "skipped or gone"}


def status(options: argparse.Namespace, streams: Streams) -> int:
    """Print where the sources stand, the worst first: 0 all green, 1 one is not, 3 one is stuck."""
    place = place_of(options)
    found = worst_first(place, options.source)
    left = left_open(place.root)
    text = json.dumps(document_of(found, left), indent=2) if options.json else _text(found, left)
    try:
        streams.say(text)
    except BrokenPipeError:  # who reads only the beginning still wants to know by the exit code
        streams.forget_output()
    return _CODES[found[0].verdict] or int(bool(left))


def worst_first(place: Place, source: str | None = None) -> list[Standing]:
    """Where the source stands, or each of them; never empty.

    :raises UsageError: when nothing is remembered, or cannot be read.
    """
    known = read(place.history, lambda memory: (last_runs(memory, source), memory.accepted()), source)
    return sorted(standings(known[0], place, known[1]), key=lambda s: (-_CODES[s.verdict], -s.last.started))


def _text(standings: Sequence[Standing], left: Sequence[ChangedTest]) -> str:
    blocks = ["\n".join(_lines(standing)) for standing in standings]
    told = {change.fingerprint for standing in standings for change in standing.summary.tests}
    more = [change for change in left if change.fingerprint not in told]
    if more:
        lines = [f"  {shown(plain_line(change), 600)}" for change in more]
        blocks.append("\n".join(["drive: tests are not as they were when the last loop began", *lines]))
    is_open = left or any(each.is_open for s in standings for each in s.summary.tests)
    return "\n\n".join([*blocks, *([_ACCEPT] if is_open else [])])


def _lines(standing: Standing) -> Iterator[str]:
    summary = standing.summary
    yield f"{shown(standing.last.source)}: {_headline(standing)}"
    is_known = summary.failing != 0 or any(summary.counts.values())
    if standing.finished is not None and summary.verdict != "green" and is_known:
        yield f"  {_counts(summary)}"
    if summary.breaker.state != "closed":
        yield f"  {loop_words(summary.breaker)}"
    if summary.not_run:
        yield f"  {summary.not_run}"
    for signal in summary.fired:
        if signal.kind == "test-tampering" and summary.tests:
            continue
        yield f"  {shown(signal.kind)}: {shown(signal.explanation)}"
    for change in summary.tests:
        if change.state in ("open", "asked"):
            told = "changed" if change.is_open else "look"
            yield f"  {told}: {shown(plain_line(change), 600)}"
    if standing.last.state != "done":
        state = "is running" if standing.last.state == "running" else "was killed before it finished"
        yield f"  run {standing.last.number} {state}"
    if standing.prompt is not None:
        yield f"  prompt: {shown(from_here(standing.prompt))}"


def _headline(standing: Standing) -> str:
    if standing.finished is None:
        return "no run has finished yet"
    summary = standing.summary
    reason = "" if summary.verdict == "green" or not summary.reason else f": {summary.reason}"
    known = f" but for {known_words(summary.known)}" if summary.known and summary.verdict == "green" else ""
    return f"{summary.verdict}{known} in run {standing.finished.number}{reason}"


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
    best = f"; fewest so far: {least}, in run {run}" if run and least < (summary.failing or 0) else ""
    return f"{summary.failing} failing{moved}{best}"


def document_of(standings: Sequence[Standing], left: Sequence[ChangedTest] = ()) -> dict[str, Any]:
    """The same as plain values, as ``--json`` prints them.

    :param left: what the last ``drive`` found done to tests, and is still open.
    """
    verdict = standings[0].verdict
    return {
        "schema": "loop-close.status/1",
        "verdict": "failing" if left and verdict == "green" else verdict,
        "left_by_drive": tests_document(left),
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
        "known": summary.known,
        **{name: summary.counts.get(name, 0) for name in GROUPS},
        "best": {"failing": least, "run": run} if run else None,
        "breaker": {"state": summary.breaker.state, "reason": shown(summary.breaker.reason)},
        "signals": [signal_document(signal) for signal in summary.fired],
        "test_changes": tests_document(summary.tests),
        **edits_document(summary),
        "prompt": None if standing.prompt is None else from_here(standing.prompt),
    }
