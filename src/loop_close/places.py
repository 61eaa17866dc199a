"""The places that a report names, read from the files: ranked by the edits of the loop, with their source."""

from __future__ import annotations

import linecache
from pathlib import Path

from msgspec.structs import replace

from loop_close.capture import MAX_LINE, index_of
from loop_close.model import Report, RootCause, SourceLines, Suspect
from loop_close.prompt.place import edited_in
from loop_close.records import Loop
from loop_close.syntax import lines_of
from loop_close.syntax.meaning import MODULE

# Of a longer function these many lines are kept, of a module these around the one in question.
_MOST_LINES = 2_000
_AROUND = 5


def with_edit_ranks(report: Report) -> Report:
    """The report with its suspects ranked again by the edits of the loop, which show only once it is recorded."""
    loop = report.loop
    if not report.causes or loop is None or not any(step.edits.edits for step in loop.steps):
        return report
    from loop_close.causes import located

    return replace(report, causes=located(report.causes, report.observation.calls, loop))


def with_source_lines(report: Report, root: Path) -> Report:
    """The report with the source of the first suspects of each root cause."""
    causes = (_with_lines(cause, report.loop, root) for cause in report.causes)
    return replace(report, causes=tuple(causes))


def _with_lines(cause: RootCause, loop: Loop | None, root: Path) -> RootCause:
    """The cause; its suspects with their missing lines, and some with their source."""
    found = [each if each.end_line else _placed(each, loop, root) for each in cause.suspects]
    return replace(cause, suspects=(*(_with_source(s, loop, root) for s in found[:2]), *found[2:]))


def _placed(suspect: Suspect, loop: Loop | None, root: Path) -> Suspect:
    """The suspect with the lines of its definition; outside of functions, with the line that was edited."""
    path = str(root / suspect.file)
    if suspect.function == MODULE:
        at = edited_in(_lines(path), suspect, loop)
        return suspect if at is None else replace(suspect, line=at + 1)
    first, last = _span(path, suspect)
    return replace(suspect, line=first, end_line=last) if first else suspect


def _span(path: str, suspect: Suspect) -> tuple[int, int]:
    """The lines of its definition as they are written: a bracket may be closed below its last code; zeros for none."""
    index = index_of(path)
    return lines_of(index, suspect.function, suspect.line) if index is not None else (0, 0)


def _with_source(suspect: Suspect, loop: Loop | None, root: Path) -> Suspect:
    """The suspect with its source; of a long one, with that around the line to be shown."""
    if not suspect.line:
        return suspect
    path = str(root / suspect.file)
    first, last = suspect.line, max(suspect.end_line, suspect.line)
    if suspect.function == MODULE and not suspect.constant:
        first, last = max(1, first - _AROUND), last + _AROUND
    elif not suspect.constant:
        last = max(last, _span(path, suspect)[1])
    lines = _lines(path)[first - 1 : last]
    if len(lines) > _MOST_LINES:
        odd, at = suspect.odd[0], edited_in(lines, suspect, loop)
        middle = at if at is not None else odd - first if odd else 0
        cut = max(0, min(middle - _MOST_LINES // 2, len(lines) - _MOST_LINES))
        first, lines = first + cut, lines[cut : cut + _MOST_LINES]
    return replace(suspect, source=SourceLines(start=first, lines=tuple(lines)) if lines else None)


def _lines(path: str) -> list[str]:
    return [text.rstrip("\r\n")[:MAX_LINE] for text in linecache.getlines(path)]
