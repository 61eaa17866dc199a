"""``loop-close history``: the runs that are remembered, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loop_close.cli.memory import ALL, Remembered, read
from loop_close.cli.place import place_of
from loop_close.cli.streams import Streams
from loop_close.cli.summary import Summary, short_words, shown, summary_of
from loop_close.cli.table import Table, can_show, is_narrow, show_table
from loop_close.memory import Run
from loop_close.store.contract import RunRow
from loop_close.store.records import to_plain

SCHEMA = "loop-close.history/1"
_LIMIT = 20
_BARS = "▁▂▃▄▅▆▇"
_NUMBERS = frozenset(("run", "fail", "fix", "new", "chg"))
_HEADINGS = ("run", "source", "when", "verdict", "fail", "fix", "new", "chg", "stuck", "signals")


def history(options: argparse.Namespace, streams: Streams) -> int:
    """Print the last runs, the newest last; always 0."""
    place = place_of(options)
    if options.json:
        pieces = read(place.history, lambda m: _documents(m, options), options.source)
        _put_document(pieces, streams)
        return 0
    limit = options.limit or _LIMIT
    rows = read(place.history, lambda memory: memory.rows(options.source, limit), options.source)
    today = time.strftime("%Y-%m-%d")
    is_short = is_narrow(streams)
    lines = [_cells(row, summary_of(row), today, is_short) for row in rows]
    show_table(Table(headings=_HEADINGS, rows=lines, numbers=_NUMBERS), streams)
    for line in _trends(rows, streams):
        streams.say(line)
    return 0


def _cells(row: RunRow, summary: Summary, today: str, is_short: bool) -> list[str]:
    moved = [str(summary.counts.get(name, "")) for name in ("fixed", "new", "changed")]
    return [
        str(row.number),
        shown(row.source, 12 if is_short else 24),
        _when(row.started, today, is_short),
        summary.verdict,
        "" if summary.failing is None else str(summary.failing),
        *moved,
        short_words(summary.breaker) if row.state == "done" else "",
        ", ".join(shown(signal.kind) for signal in summary.fired),
    ]


def _when(started: float, today: str, is_short: bool) -> str:
    """The local time: of today's runs the hour, of others of this year the day, of older ones the date."""
    try:
        moment = time.localtime(started)
    except (ValueError, OverflowError, OSError):  # a damaged time
        return "?"
    date = time.strftime("%Y-%m-%d", moment)
    if date == today:
        return time.strftime("%H:%M", moment)
    if date[:4] != today[:4]:
        return date[:7] if is_short else date
    return time.strftime("%m-%d" if is_short else "%m-%d %H:%M", moment)


def _trends(rows: Sequence[RunRow], streams: Streams) -> Iterator[str]:
    """For every source how many tests failed after each of its runs."""
    for source in dict.fromkeys(row.source for row in rows):
        known = [summary_of(row).failing for row in rows if row.source == source]
        numbers = [number for number in known if number is not None]
        if len(numbers) > 1:
            yield f"{shown(source, 24)}: failing {_trend(numbers, can_show(streams, _BARS))}"


def _trend(numbers: Sequence[int], has_bars: bool) -> str:
    if not has_bars:
        return " ".join(map(str, numbers))
    return f"{bars(numbers)} {numbers[0]} → {numbers[-1]}"


def bars(numbers: Sequence[int]) -> str:
    """A bar for each, from nothing to the largest."""
    top, highest = max((*numbers, 1)), len(_BARS) - 1
    return "".join(_BARS[-(-max(number, 0) * highest // top)] for number in numbers)


def _documents(memory: Remembered, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = memory.rows(options.source, options.limit or ALL)
    recorded = {(run.source, run.number): run for run in _recorded(memory, {row.source for row in rows})}
    return [run_document(row, recorded.get((row.source, row.number))) for row in rows]


def _recorded(memory: Remembered, sources: Iterable[str]) -> Iterator[Run]:
    for source in sources:
        yield from memory.recorded(source)


def run_document(row: RunRow, run: Run | None) -> dict[str, Any]:
    """A run as it is remembered, as plain values.

    :param run: None for one that has not ended.
    """
    return {
        "source": row.source,
        "number": row.number,
        "state": row.state,
        "started": row.started,
        "ended": row.ended,
        "record": None if run is None else to_plain(run),
        "summary": row.summary,
    }


def _put_document(documents: Sequence[dict[str, Any]], streams: Streams) -> None:
    """A line a run: to be looked at, and to be taken apart by tools that go by lines."""
    streams.say(f'{{"schema": "{SCHEMA}", "runs": [')
    for number, document in enumerate(documents, 1):
        streams.say(json.dumps(document) + ("," if number < len(documents) else ""))
    streams.say("]}")
