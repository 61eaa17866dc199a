"""``loop-close merge`` and ``emit``: reports of shards and jobs as one prompt, or in the formats of CI systems."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from loop_close.cli import USAGE, Streams, UsageError, check_target, opened, project_at
from loop_close.merge import join
from loop_close.parts import RejectedError, in_report, read_paths


def merge(options: argparse.Namespace, streams: Streams) -> int:
    """Read, merge, write. 0 when all is green and whole, else 1; 64 where a file cannot be written.

    The result is not a run of the loop: nothing is remembered.
    """
    from loop_close import app, files
    from loop_close.prompt.sections import in_short

    for option, path in (("-o", options.output), ("--json", options.json)):
        if path:
            check_target(path, option)
    written = [os.path.realpath(path) for path in (options.output, options.json) if path]
    try:
        parts = read_paths(options.paths, written)
    except RejectedError as error:
        raise UsageError(str(error)) from None
    report = join(parts, expected=options.expect)
    targets = project_at()
    if options.output:
        targets = targets._replace(prompt=Path(os.path.abspath(options.output)))
    if options.json:
        targets = targets._replace(json=Path(os.path.abspath(options.json)))
    try:
        saved = app.write_report(report, targets, inputs=in_report(parts))
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None
    lacks = report.observation.incomplete
    for line in filter(None, (in_short(saved.report), lacks, *saved.report.notes, *saved.problems)):
        streams.complain(line)
    if saved.problems:
        return USAGE
    return 0 if saved.report.verdict == "green" else 1


def emit(options: argparse.Namespace, streams: Streams) -> int:
    """Read a report, write it in another format. 0 when that is done, whatever the report says."""
    from loop_close.emit import FORMATS, ReportError, document_of, parsed, summary

    with opened(options.report, streams) as file:
        content = file.read().decode("utf-8-sig", "replace")
    try:
        document = document_of(parsed(content), options.prefix)
    except ReportError as error:
        raise UsageError(f"cannot read {options.report}: {error}") from None
    if options.format == "github-summary":
        text = summary(document, _held())
        if not text:
            streams.complain(f"nothing was added: the step summary is full, with {_held():,} bytes")
    else:
        text = FORMATS[options.format](document)
    streams.put(text)
    return 0


def _held() -> int:
    """The bytes of the step summary, to which a shell may append what is printed."""
    try:
        return os.stat(os.environ.get("GITHUB_STEP_SUMMARY", "")).st_size
    except OSError:
        return 0
