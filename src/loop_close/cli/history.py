"""``loop-close history``, ``explain``, ``report`` and ``reset``: the runs that are remembered, and what they say."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from loop_close import files, gate
from loop_close.cli import NO_RUN, Streams, UsageError, as_usage_error, check_target, project_at
from loop_close.files import Targets
from loop_close.loop import fold
from loop_close.records import Run, Signal
from loop_close.signals import signals
from loop_close.store import Store, StoreError
from loop_close.text import one_line, reason_of

SCHEMA = "loop-close.history/2"
_LIMIT = 20
_HEADINGS = ("run", "when", "what", "result", "failing", "tests", "edited")
_T = TypeVar("_T")


@contextlib.contextmanager
def _opened(path: Path, *, readonly: bool) -> Iterator[Store]:
    with as_usage_error(StoreError), Store(path, readonly=readonly) as store:
        yield store


def read(project: Targets, work: Callable[[Store], _T]) -> _T:
    """What the work finds in the history of a project.

    :raises UsageError: when there is none, or it cannot be read.
    """
    if project.history is None:
        raise UsageError("this project keeps no history: [tool.loop-close] history is 'off'")
    if not project.history.is_file():
        raise UsageError(NO_RUN)
    with _opened(project.history, readonly=True) as store:
        found = work(store)
        if store.state == "damaged":
            raise UsageError(
                f"the history {project.history} is damaged; the next run renames it and begins a new one"
            )
    return found


def history(options: argparse.Namespace, streams: Streams) -> int:
    """Print the last runs, the newest last; always 0."""
    limit = options.limit or (None if options.json else _LIMIT)
    runs = read(project_at(), lambda store: store.runs(limit))
    if not runs:
        raise UsageError(NO_RUN)
    if options.json:
        streams.say(msgspec.json.encode({"schema": SCHEMA, "runs": runs}).decode())
    else:
        streams.say(table_of(runs))
    return 0


def failing_of(run: Run) -> int:
    """How many tests and findings failed in it."""
    return run.counts.failed + run.counts.errors or len(run.failures) + run.omitted


def edited_in(run: Run) -> list[str]:
    """The functions, or else files, that were edited before it."""
    return [each.function or each.file for each in run.edits.edits if each.is_effective]


def table_of(runs: Sequence[Run]) -> str:
    """The runs as aligned text, a line each."""
    rows = [_HEADINGS, *map(_cells, runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, cells, widths)).rstrip() for cells in rows)


def _cells(run: Run) -> tuple[str, ...]:
    edited = edited_in(run)
    more = len(edited) - 2 + run.edits.omitted
    named = ", ".join(edited[:2]) + (f" and {more} more" if more > 0 else "")
    counts = run.counts
    number = counts.passed + counts.failed + counts.skipped + counts.xfailed + counts.xpassed
    return (
        str(run.number),
        time.strftime("%Y-%m-%d %H:%M", time.localtime(run.began)),
        one_line(f"check {run.check}" if run.check else shlex.join(run.command), 40),
        run.result,
        str(failing_of(run)),
        str(number),
        one_line(named, 80),
    )


def explain(options: argparse.Namespace, streams: Streams) -> int:
    """Print the signals of the loop, with the runs and tests that show each; always 0."""
    found = read(project_at(), _signals)
    if options.json:
        streams.say(msgspec.json.encode(found).decode())
        return 0
    for signal in found:
        where = (
            f" (run{'s' * (len(signal.runs) > 1)} {', '.join(map(str, signal.runs))})" if signal.runs else ""
        )
        streams.say(one_line(f"{signal.kind}: {signal.explanation}{where}", 300))
        streams.say(*(f"  {one_line(test, 200)}" for test in signal.tests))
    if not found:
        streams.say("no signal in this loop")
    return 0


def _signals(store: Store) -> tuple[Signal, ...]:
    runs = store.loop_runs()
    last = runs[-1].objection if runs else None
    return signals(fold(runs), runs, [last] if last is not None else [])


def report(options: argparse.Namespace, streams: Streams) -> int:
    """Write the recorded runs as a page; always 0."""
    from loop_close.page import BEGINNING, latest_causes, page_of, timeline

    project = project_at()
    check_target(options.html, "--html", (BEGINNING,))
    runs, fired = read(project, lambda store: (store.runs(), _signals(store)))
    state, latest = gate.state(project.root), latest_causes(project.root, runs)
    shown = timeline(runs, project.root.name, state=state, signals=fired, latest=latest)
    try:
        files.write(Path(options.html), [page_of(shown)])
    except OSError as error:
        raise UsageError(f"--html: cannot write {options.html}: {reason_of(error)}") from None
    streams.say(f"written: {options.html} ({os.stat(options.html).st_size:,} bytes)")
    return 0


def reset(options: argparse.Namespace, streams: Streams) -> int:
    """Forget all runs, and print how many there were. The tests as they were stay: they are not part of the history."""
    project = project_at()
    count = 0
    with contextlib.suppress(OSError):  # it names a run by its number
        (project.root / files.UNDO).unlink(missing_ok=True)
    if project.history is not None and project.history.is_file():
        with _opened(project.history, readonly=False) as store:
            count = store.reset()
            for note in store.notes:
                streams.complain(note)
    streams.say(f"{count} run{'s' * (count != 1)} forgotten")
    return 0
