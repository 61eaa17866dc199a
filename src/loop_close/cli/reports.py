"""``loop-close merge`` and ``emit``: JSON reports to one next prompt, or to the formats of CI systems."""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from loop_close.cli.logs import chunks
from loop_close.cli.project import begin_memory, targets_of
from loop_close.cli.streams import Streams, UsageError
from loop_close.memory import MERGED
from loop_close.merge import Merged, Part, RejectedError, joined, part_of, part_of_junit

#: So many files of a folder are read.
_MOST_FILES = 10_000
#: No report is larger, in bytes.
_MOST_BYTES = 200_000_000


def merge(options: argparse.Namespace, streams: Streams) -> int:
    """Read, merge, write. 0 when all is green and whole, else 1."""
    parts, rejected = [], []
    for path in _reports_in(options.paths):
        try:
            parts.append(_part(path))
        except RejectedError as error:
            rejected.append((str(path), str(error)))
        except OSError as error:
            rejected.append((str(path), error.strerror or str(error)))
    merged = joined(parts, rejected)
    for name, why in merged.rejected:
        streams.complain(f"{name} was not read: {why}")
    return _write(merged, options, streams)


def _reports_in(paths: list[str]) -> Iterator[Path]:
    """The files, and of folders all JSON and XML files below them, sorted."""
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise UsageError(f"{name} does not exist")
        if not path.is_dir():
            yield path
            continue
        found = [
            Path(folder, file)
            for folder, _, files in os.walk(path)
            for file in files
            if file.endswith((".json", ".xml"))
        ]
        if not found:
            raise UsageError(f"{name} holds no JSON report and no JUnit XML")
        yield from sorted(found)[:_MOST_FILES]


def _part(path: Path) -> Part:
    size = path.stat().st_size
    if not path.is_file():  # a pipe would wait for a writer
        raise RejectedError("it is not a regular file")
    if size > _MOST_BYTES:
        raise RejectedError(f"it is larger than {_MOST_BYTES:,} bytes")
    if path.suffix == ".xml":
        return _junit(path)
    return part_of(str(path), path.read_text(encoding="utf-8", errors="replace"))


def _junit(path: Path) -> Part:
    from loop_close.readers.junit_xml import merge_junit, read_junit
    from loop_close.readers.streams import observe_texts, with_junit

    with path.open("rb") as file:
        junit = merge_junit([read_junit(str(path), chunks(file), os.getcwd())])
    if junit.problems:
        raise RejectedError("; ".join(junit.problems))
    nothing = replace(
        observe_texts([], None, root=os.getcwd()), is_good_news=True
    )  # a report says itself how it ended
    return part_of_junit(str(path), with_junit(nothing, junit))


def _write(merged: Merged, options: argparse.Namespace, streams: Streams) -> int:
    from loop_close import app, files
    from loop_close.prompt.sections import in_short
    from loop_close.remember import RunContext

    targets = targets_of(Path.cwd())
    if options.output:
        targets = targets._replace(prompt=Path(os.path.abspath(options.output)))
    if options.json:
        targets = targets._replace(json=Path(os.path.abspath(options.json)))
    memory = begin_memory(targets, MERGED, sees_files=False)  # the reports' files may be others
    report = memory.record_run(merged.report, targets.settings, RunContext(tells_outcomes=False))
    report = replace(report, sources=merged.report.sources)
    try:
        saved = app.save(report, targets)
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None
    for line in (in_short(saved.report), *report.notes, *saved.problems):
        streams.complain(line)
    return 0 if saved.report.verdict == "green" else 1


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
