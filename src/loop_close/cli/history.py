"""``loop-close history``, ``explain``, ``report`` and ``reset``: the runs that are remembered, and what they say."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from loop_close import files, gate
from loop_close.cli import Streams, UsageError, columns_of
from loop_close.cli.project import NO_RUN, Project, project_of
from loop_close.loop import fold
from loop_close.records import Run, Signal
from loop_close.signals import KINDS, signals
from loop_close.store import Store, StoreError
from loop_close.text import one_line

SCHEMA = "loop-close.history/2"
_LIMIT = 20
_HEADINGS = ("run", "when", "what", "result", "failing", "tests", "edited")
_NUMBERS = frozenset(("run", "failing", "tests"))
_T = TypeVar("_T")


def read(project: Project, work: Callable[[Store], _T]) -> _T:
    """What the work finds in the history of a project.

    :raises UsageError: when there is none, or it cannot be read.
    """
    if project.history is None:
        raise UsageError("this project keeps no history: [tool.loop-close] history is 'off'")
    if not project.history.is_file():
        raise UsageError(NO_RUN)
    try:
        with Store.open(project.history, readonly=True) as store:
            found = work(store)
            is_damaged = store.state == "damaged"
    except StoreError as error:
        raise UsageError(str(error)) from None
    if is_damaged:
        raise UsageError(
            f"the history {project.history} is damaged; the next run renames it and begins a new one"
        )
    return found


def history(options: argparse.Namespace, streams: Streams) -> int:
    """Print the last runs, the newest last; always 0."""
    limit = options.limit or (None if options.json else _LIMIT)
    runs = read(project_of(options), lambda store: store.runs(limit))
    if not runs:
        raise UsageError(NO_RUN)
    if options.json:
        document = {"schema": SCHEMA, "runs": runs}
        streams.say(msgspec.json.encode(document).decode())
        return 0
    today = time.strftime("%Y-%m-%d")
    width = columns_of(streams.output) if streams.output.isatty() else None
    streams.put(_table([_cells(run, today) for run in runs], width))
    return 0


def failing_of(run: Run) -> int:
    """How many tests and findings failed in it."""
    return run.counts.failed + run.counts.errors or len(run.failures) + run.omitted


def result_of(run: Run) -> str:
    """How it ended, in a word: ``green``, ``red``, ``void``, ``unfinished``, ``done``."""
    if not run.is_finished or run.exit_code is None:
        return "unfinished"
    if run.is_done:
        return "done"
    if run.check and run.changed:
        return "void"
    return "green" if run.is_green else "red"


def _cells(run: Run, today: str) -> list[str]:
    what = f"check {run.check}" if run.check else shlex.join(run.command)
    edited = [each.function or each.file for each in run.edits.edits if each.is_effective]
    more = len(edited) - 2 + run.edits.omitted
    named = ", ".join(edited[:2]) + (f" and {more} more" if more > 0 else "")
    counts = run.counts
    number = counts.passed + counts.failed + counts.skipped + counts.xfailed + counts.xpassed
    return [
        str(run.number),
        _when(run.began, today),
        one_line(what, 40),
        result_of(run),
        str(failing_of(run)) if run.is_finished else "",
        str(number) if run.is_finished else "",
        one_line(named, 80),
    ]


def _when(began: float, today: str) -> str:
    """The local time: of today's runs the hour, of others of this year the day, of older ones the date."""
    try:
        moment = time.localtime(began)
    except (ValueError, OverflowError, OSError):  # a damaged time
        return "?"
    date = time.strftime("%Y-%m-%d", moment)
    if date == today:
        return time.strftime("%H:%M", moment)
    return date if date[:4] != today[:4] else time.strftime("%m-%d %H:%M", moment)


def _table(rows: Sequence[Sequence[str]], width: int | None) -> str:
    """The rows as aligned text, its lines cut at the width."""
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    lines = []
    for cells in (_HEADINGS, *rows):
        padded = [
            cell.rjust(size) if heading in _NUMBERS else cell.ljust(size)
            for heading, cell, size in zip(_HEADINGS, cells, widths, strict=True)
        ]
        line = "  ".join(padded).rstrip()
        lines.append(line if width is None or len(line) <= width else f"{line[: max(width - 3, 0)]}...")
    return "".join(f"{line}\n" for line in lines)


def explain(options: argparse.Namespace, streams: Streams) -> int:
    """Print the signals of the loop, with the runs and tests that show each; always 0."""
    kinds = [options.signal] if options.signal else list(KINDS)
    if kinds[0] not in KINDS:
        raise UsageError(f"unknown signal {kinds[0]}; signals: {', '.join(KINDS)}")
    found = {each.kind: each for each in read(project_of(options), _signals)}
    if options.json:
        streams.say(msgspec.json.encode([found[kind] for kind in kinds if kind in found]).decode())
        return 0
    shown = [found[kind] for kind in kinds if kind in found]
    for signal in shown:
        where = f" (runs {', '.join(map(str, signal.runs))})" if signal.runs else ""
        streams.say(one_line(f"{signal.kind}: {signal.explanation}{where}", 300))
        for test in signal.tests:
            streams.say(f"  {one_line(test, 200)}")
    if not shown:
        streams.say(f"no {options.signal or 'signal'} in this loop")
    return 0


def _signals(store: Store) -> tuple[Signal, ...]:
    runs = store.loop_runs()
    last = runs[-1].objection if runs else None
    return signals(fold(runs), runs, [last] if last is not None else [])


def report(options: argparse.Namespace, streams: Streams) -> int:
    """Write the recorded runs as a page; always 0."""
    write_page(project_of(options), options.html, options.limit)
    streams.say(f"written: {options.html} ({os.stat(options.html).st_size:,} bytes)")
    return 0


def write_page(project: Project, path: str, limit: int | None = None) -> None:
    """Write the page of the recorded runs.

    :raises UsageError: when the path is not ours to write, or the history cannot be read.
    """
    from loop_close.page import BEGINNING, RUNS, page_of, read_timeline

    try:
        files.check_writable(Path(path), lambda each: files.begins_with(each, (BEGINNING,)))
    except files.UnusablePathError as error:
        raise UsageError(f"--html: {error}") from None
    runs, fired = read(project, lambda store: (store.runs(), _signals(store)))
    state = gate.state(project.root)
    shown = read_timeline(runs, project.root, limit=limit or RUNS, state=state, signals=fired)
    try:
        files.write(Path(path), [page_of(shown)])
    except OSError as error:
        raise UsageError(f"--html: cannot write {path}: {error.strerror or error}") from None


def reset(options: argparse.Namespace, streams: Streams) -> int:
    """Forget all runs, and print how many there were. The tests as they were stay: they are not part of the history."""
    project = project_of(options)
    count = 0
    if project.history is not None and project.history.is_file():
        try:
            with Store.open(project.history) as store:
                count = store.reset()
                for note in store.notes:
                    streams.complain(note)
        except StoreError as error:
            raise UsageError(str(error)) from None
    streams.say(f'{{"forgotten": {count}}}' if options.json else f"{count} run{'s' * (count != 1)} forgotten")
    return 0
