"""The places that a report names, with their source, read from the files."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from loop_close.capture import MAX_LINE, index_of
from loop_close.facts import LINTERS
from loop_close.model import Evidence, Report, RootCause, SourceLines, Suspect
from loop_close.prompt.place import IN_SOURCE
from loop_close.syntax import lines_of
from loop_close.syntax.meaning import MODULE

# Of a longer function these many lines are kept, of a module these around the one in question.
_MOST_LINES = 2_000
_AROUND = 5
# What is found in so many suspects of a root cause stands with it.
_WITH_FINDINGS = 3


def with_source_lines(report: Report, root: Path) -> Report:
    """The report with the source of the first suspects of each root cause."""
    return replace(report, causes=tuple(_with_lines(cause, root) for cause in report.causes))


def with_findings(report: Report) -> Report:
    """The report; what else was found in the suspects of a root cause stands with it.

    These are errors of type checkers, which are no root causes then, and evidence without a failure, such as an empty
    body. Rules of linters explain nothing. The suspects have to have the lines of their definitions.
    """
    hosts: dict[str, str] = {}
    found: dict[str, list[Evidence]] = {}
    for cause in report.causes:
        is_explaining = all(f.phase == "check" and f.tool not in LINTERS for f in cause.failures)
        if is_explaining and (host := _host(cause.evidence, report, but=cause)):
            hosts[cause.id] = host
            found.setdefault(host, []).extend(cause.evidence)
    for evidence in report.evidence:
        is_loose = evidence.failure is None and evidence.kind not in IN_SOURCE
        if is_loose and (host := _host([evidence], report)):
            found.setdefault(host, []).append(evidence)
    causes = (
        replace(each, findings=tuple(found.get(each.id, ())))
        for each in report.causes
        if each.id not in hosts
    )
    sources = (
        replace(each, causes=tuple(dict.fromkeys(hosts.get(cause, cause) for cause in each.causes)))
        for each in report.sources
    )
    return replace(report, causes=tuple(causes), sources=tuple(sources))


def _host(found: Sequence[Evidence], report: Report, but: RootCause | None = None) -> str:
    """The first root cause that all of it was found in the suspects of; empty for none."""
    for cause in report.causes:
        suspects = cause.suspects[:_WITH_FINDINGS]
        if cause is not but and all(
            any(s.file == each.file and s.line <= each.line <= s.end_line for s in suspects) for each in found
        ):
            return cause.id
    return ""


def _with_lines(cause: RootCause, root: Path) -> RootCause:
    """The cause; its suspects with their missing lines, and the source of the first two."""
    found = tuple(each if each.end_line else _placed(each, root) for each in cause.suspects)
    return replace(cause, suspects=found, excerpts=tuple(_source_of(each, root) for each in found[:2]))


def _placed(suspect: Suspect, root: Path) -> Suspect:
    """The suspect with the lines of its definition."""
    first, last = _span(str(root / suspect.file), suspect)
    return replace(suspect, line=first, end_line=last) if first else suspect


def _span(path: str, suspect: Suspect) -> tuple[int, int]:
    """The lines of its definition as they are written: a bracket may be closed below its last code; zeros for none."""
    index = index_of(path)
    return lines_of(index, suspect.function, suspect.line) if index is not None else (0, 0)


def _source_of(suspect: Suspect, root: Path) -> SourceLines:
    """The source of a suspect; of a long one, that around the line to be shown."""
    if not suspect.line:
        return SourceLines()
    path = str(root / suspect.file)
    first, last = suspect.line, max(suspect.end_line, suspect.line)
    if suspect.function == MODULE and not suspect.constant:
        first, last = max(1, first - _AROUND), last + _AROUND
    elif not suspect.constant:
        last = max(last, _span(path, suspect)[1])
    lines = _lines(path)[first - 1 : last]
    if len(lines) > _MOST_LINES:
        cut = max(0, min(suspect.odd[0] - first - _MOST_LINES // 2, len(lines) - _MOST_LINES))
        first, lines = first + cut, lines[cut : cut + _MOST_LINES]
    return SourceLines(start=first, lines=tuple(lines)) if lines else SourceLines()


def _lines(path: str) -> list[str]:
    return [text.rstrip("\r\n")[:MAX_LINE] for text in linecache.getlines(path)]
