"""``loop-close emit``: a JSON report in the formats of CI systems."""

from __future__ import annotations

import argparse
import io
import os
from pathlib import Path

from loop_close.cli.parser import UsageError
from loop_close.cli.streams import Streams

#: No report is larger, in bytes.
_MOST_BYTES = 200_000_000


def emit(options: argparse.Namespace, streams: Streams) -> int:
    """Read a report, write it in another format. 0 when that is done, whatever the report says."""
    from loop_close import files
    from loop_close.emit import BEGINNINGS, emitted
    from loop_close.emit.report import ReportError, checked, parsed

    try:
        document = checked(parsed(_read(options.report, streams)), options.prefix)
    except ReportError as error:
        raise UsageError(f"{options.report} cannot be read: {error}") from None
    if options.output is None or options.output == "-":
        text = emitted(options.format, document, _held())
        if isinstance(streams.output, io.TextIOWrapper):
            streams.output.reconfigure(encoding="utf-8")  # as each of the formats is, whatever the locale
        streams.put(text)
        return 0
    target = Path(options.output)
    try:
        files.check_writable(target, lambda path: files.begins_with(path, BEGINNINGS))
        files.write(target, [emitted(options.format, document)])
    except files.UnusablePathError as error:
        raise UsageError(f"-o: {error}") from None
    except OSError as error:
        raise UsageError(f"-o: cannot write {target}: {error.strerror or error}") from None
    return 0


def _read(name: str, streams: Streams) -> str:
    """The text of the report.

    :raises UsageError: when it cannot be read, or is too large.
    """
    try:
        if name == "-":
            content = streams.input.read(_MOST_BYTES + 1)
        else:
            with open(name, "rb") as file:
                content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror or error}") from None
    if len(content) > _MOST_BYTES:
        raise UsageError(f"{name} cannot be read: it is larger than {_MOST_BYTES:,} bytes")
    return content.decode("utf-8-sig", "replace")


def _held() -> int:
    """The bytes of the step summary, to which a shell may append what is printed."""
    try:
        return os.stat(os.environ.get("GITHUB_STEP_SUMMARY", "")).st_size
    except OSError:
        return 0
