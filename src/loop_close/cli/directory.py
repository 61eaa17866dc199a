"""``loop-close analyze DIRECTORY``: many logs, each a run of its own, to one summary of their root causes."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close.cli.parser import UsageError
from loop_close.cli.progress import Bar
from loop_close.cli.streams import Streams

if TYPE_CHECKING:
    from loop_close.summary import LogSummary

#: Files that a process reads before it hands on what it found: a few milliseconds of work.
_CHUNK = 8
_DIED = "the process that read it died, perhaps for want of memory"


def is_asked_for(options: argparse.Namespace) -> bool:
    """Whether the options ask for a summary.

    :raises UsageError: when they do, and other options are only for logs of one run.
    """
    if not options.by and not any(map(os.path.isdir, options.files)):
        if options.jobs is not None:
            raise UsageError("--jobs is for a directory, or for --by cause")
        return False
    if not options.files or "-" in options.files:
        raise UsageError("a summary is of files and directories: name them")
    for name in ("junit", "exit_code", "budget"):
        if getattr(options, name) not in (None, []):
            option = f"--{name.replace('_', '-')}"
            why = "name XML files as logs" if name == "junit" else "each log is a run of its own"
            raise UsageError(f"{option} cannot be used for a summary: {why}")
    missing = next((name for name in options.files if not os.path.exists(name)), None)
    if missing is not None:
        raise UsageError(f"cannot read {missing}: No such file or directory")
    return True


def summarized(options: argparse.Namespace, streams: Streams, target: Path | None) -> tuple[str, bool]:
    """The text of the summary, and whether all logs are green.

    :param target: the file to be written, which is not read.
    """
    from loop_close.log_files import summary_of_files
    from loop_close.parallel import map_in_processes, usable_cpus
    from loop_close.summary import LogSummary, combine_summaries, summary_json, summary_text

    total = LogSummary()
    is_watched = streams.errors.isatty()
    written = _written(target, streams)
    number = sum(1 for _ in _files(options.files, written)) if is_watched else 0
    results = map_in_processes(
        partial(summary_of_files, root=os.getcwd()),
        _files(options.files, written),
        lost=_lost,
        jobs=options.jobs or usable_cpus(),
        size=_CHUNK,
    )
    with closing(results), Bar(streams.errors, number, "files") as bar:
        for result in results:
            total = combine_summaries(total, result)
            bar.show(total.files, f", {total.red:,} red, {len(total.causes):,} root causes")
    return (summary_json if options.json else summary_text)(total), total.is_green


def _written(target: Path | None, streams: Streams) -> os.stat_result | None:
    """The file to which the summary goes, as it is before; None where it is none so far."""
    with contextlib.suppress(OSError):
        return os.stat(streams.output.fileno() if target is None else target)
    return None


def _is_written(path: str, written: os.stat_result | None) -> bool:
    with contextlib.suppress(OSError):
        return written is not None and os.path.samestat(os.stat(path), written)
    return False


def _files(given: list[str], written: os.stat_result | None) -> Iterator[tuple[str, str]]:
    """Path and name of each file: a single directory's by their names in it, others by what was given."""
    from loop_close.log_files import log_names

    for argument in dict.fromkeys(given):
        if not os.path.isdir(argument):
            yield os.path.realpath(argument), argument
            continue
        prefix = "" if len(given) == 1 else f"{argument.rstrip('/')}/"
        for name in log_names(argument):
            path = os.path.join(argument, name)
            if not _is_written(path, written):
                yield path, f"{prefix}{name}"


def _lost(file: tuple[str, str]) -> LogSummary:
    from loop_close.summary import unread_log

    return unread_log(file[1], _DIED)
