"""``loop-close report``: the recorded runs as a page or a picture."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.cli import Streams, UsageError
from loop_close.cli.memory import NoRunError, read
from loop_close.cli.project import NO_RUN, Project, project_of

if TYPE_CHECKING:
    from loop_close.emit.timeline import Timeline


def report(options: argparse.Namespace, streams: Streams) -> int:
    """Write what is asked for; always 0. Of a history without a run, a page that says so."""
    if options.html is None and options.svg is None:
        raise UsageError("name a file to write: --html PATH, --svg PATH, or both")
    asked = {"html": options.html, "svg": options.svg, "source": options.source, "limit": options.limit}
    write_report(project_of(options), streams=streams, **asked)
    for path in filter(None, (options.html, options.svg)):
        streams.say(f"written: {path} ({os.stat(path).st_size:,} bytes)")
    return 0


def write_report(
    project: Project,
    *,
    streams: Streams,
    html: str | None = None,
    svg: str | None = None,
    source: str | None = None,
    limit: int | None = None,
) -> None:
    """Write the page and the picture, each to a path or not at all.

    :param source: only runs of this source; ``limit``: only the last of them. None for all, and for the default.
    :raises UsageError: when a path is not ours to write, the history cannot be read, or has no run of the source.
    """
    from loop_close.emit.charts import svg as svg_of
    from loop_close.page import page_of

    makers: dict[str, tuple[str | None, Callable[[Timeline], str]]] = {
        "--html": (html, page_of),
        "--svg": (svg, svg_of),
    }
    chosen = [(option, path, make) for option, (path, make) in makers.items() if path is not None]
    for option, path, _ in chosen:
        check_target(option, path)
    if html is not None and svg is not None and os.path.realpath(html) == os.path.realpath(svg):
        raise UsageError(f"--html and --svg: {html} cannot be both; name two files")
    timeline = _timeline(project, source, limit, streams)
    for option, path, make in chosen:
        try:
            files.write(Path(path), [make(timeline)])
        except OSError as error:
            raise UsageError(f"{option}: cannot write {path}: {error.strerror or error}") from None


def check_target(option: str, path: str) -> None:
    """Make sure that a file of ours can be written there.

    :raises UsageError: when it cannot, or another program's file is there.
    """
    if path == "-":
        raise UsageError(f"{option}: name a file; this is not written to standard output")
    from loop_close.emit.charts import SVG_BEGINNING
    from loop_close.page import BEGINNING

    try:
        files.check_writable(Path(path), lambda each: files.begins_with(each, (BEGINNING, SVG_BEGINNING)))
    except files.UnusablePathError as error:
        raise UsageError(f"{option}: {error}") from None


def _timeline(project: Project, source: str | None, limit: int | None, streams: Streams) -> Timeline:
    from loop_close.emit.timeline import timeline_of
    from loop_close.page import RUNS, read_timeline

    try:
        return read_timeline(project.history, project.root, source, limit or RUNS, read)
    except NoRunError as error:
        if str(error) != NO_RUN:  # there are runs, of other sources
            raise
        streams.complain(str(error))
        return timeline_of((), project.root.name)
