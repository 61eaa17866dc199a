"""The steps of the one sequence around the comparison with earlier runs: detect and group; compose and save."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loop_close import files
from loop_close.capture.sources import MAX_LINE, index_of
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.judge import close, located
from loop_close.memory import Progress
from loop_close.model import Report, RootCause, Source, Suspect
from loop_close.prompt.compose import compose
from loop_close.prompt.place import edited_in
from loop_close.prompt.report_json import dump, report_document
from loop_close.prompt.rerun import selected_tests
from loop_close.prompt.section import Section
from loop_close.prompt.sections import built_in
from loop_close.syntax.heads import body_start
from loop_close.syntax.index import lines_of
from loop_close.syntax.meaning import MODULE

__all__ = ["Saved", "close", "save", "with_sources"]

# Of a longer function these many lines are kept, of a module these around the one in question.
_MOST_LINES = 200
_AROUND = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What was written.

    :ivar report: the report with the sources that the prompt shows.
    :ivar prompt: the next prompt's text.
    :ivar problems: what could not be written, in a line each.
    """

    report: Report
    prompt: str
    problems: tuple[str, ...] = ()


def save(
    report: Report,
    *,
    root: Path,
    prompt_file: Path,
    json_file: Path | None,
    budget: int,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    extra_sections: Sequence[Section] = (),
) -> Saved:
    """Compose the prompt and write it, with the JSON report where it is wanted or kept.

    A red run keeps its report in the state folder, so that nothing the budget cuts is lost.
    """
    # What is ignored is what the parser says of odd escapes in source that is shown.
    with warnings.catch_warnings(action="ignore"):
        report = with_sources(report, root)
        sections = (*built_in(tuple(detectors)), *extra_sections)
        problems: list[str] = []
        kept = _keep_failed(report, root, problems)
        if not kept:
            report = replace(report, observation=replace(report.observation, argument_file=""))
        text = compose(report, sections, budget=budget, full_report=files.REPORT if kept else "")
        if kept and not _try_write(root / files.REPORT, report, text, problems):
            text = compose(report, sections, budget=budget)
        if json_file is not None:
            _try_write(json_file, report, text, problems)
        try:
            files.write_prompt(prompt_file, text)
        except OSError as error:
            problems.append(f"cannot write {prompt_file.name}: {error.strerror or error}")
        return Saved(report=report, prompt=text, problems=tuple(problems))


def with_sources(report: Report, root: Path) -> Report:
    """The report with what the loop's history says of suspects, and the source of the first of each root cause."""
    causes, progress = report.causes, report.progress
    # Without an edit the ranking is the one that the report was closed with.
    if progress is not None and any(step.edits.edits for step in progress.episode.steps):
        causes = located(causes, report.observation, progress.episode)
    return replace(report, causes=tuple(_with_lines(cause, progress, root) for cause in causes))


def _with_lines(cause: RootCause, progress: Progress | None, root: Path) -> RootCause:
    """The cause, its suspects with the lines that no count has told, those whose source is shown with it."""
    found = [each if each.end_line else _placed(each, progress, root) for each in cause.suspects]
    return replace(cause, suspects=(*(_with_source(s, progress, root) for s in found[:2]), *found[2:]))


def _placed(suspect: Suspect, progress: Progress | None, root: Path) -> Suspect:
    """The suspect with the lines of its definition; outside of functions, with the line that was edited."""
    path = str(root / suspect.file)
    if suspect.function == MODULE:
        at = edited_in(_lines(path), suspect, progress)
        return suspect if at is None else replace(suspect, line=at + 1)
    first, last = _span(path, suspect)
    return replace(suspect, line=first, end_line=last) if first else suspect


def _span(path: str, suspect: Suspect) -> tuple[int, int]:
    """The lines of its definition as they are written: a bracket may be closed below its last code; zeros for none."""
    index = index_of(path)
    return lines_of(index, suspect.function, suspect.line) if index is not None else (0, 0)


def _with_source(suspect: Suspect, progress: Progress | None, root: Path) -> Suspect:
    """The suspect with its source; of a long one, with that around the line to be shown."""
    if not suspect.line:
        return suspect
    path = str(root / suspect.file)
    first, last = suspect.line, max(suspect.end_line, suspect.line)
    if suspect.function == MODULE:
        first, last = max(1, first - _AROUND), last + _AROUND
    else:
        last = max(last, _span(path, suspect)[1])
    lines = _lines(path)[first - 1 : last]
    if len(lines) > _MOST_LINES:
        odd, at = suspect.odd[0], edited_in(lines, suspect, progress)
        middle = odd - first if odd else at or body_start(lines)
        cut = max(0, min(middle - _MOST_LINES // 2, len(lines) - _MOST_LINES))
        first, lines = first + cut, lines[cut : cut + _MOST_LINES]
    return replace(suspect, source=Source(start=first, lines=tuple(lines)) if lines else None)


def _lines(path: str) -> list[str]:
    return [text.rstrip("\r\n")[:MAX_LINE] for text in linecache.getlines(path)]


def _keep_failed(report: Report, root: Path, problems: list[str]) -> bool:
    """Write down which tests failed; False when there are none or nothing can be kept."""
    if not report.causes:
        return False
    try:
        files.state_folder(root)
        files.write(root / files.FAILED, (f"{test}\n" for test in selected_tests(report.observation)))
    except OSError as error:
        problems.append(f"cannot write the full report: {error.strerror or error}")
        return False
    return True


def _try_write(path: Path, report: Report, text: str, problems: list[str]) -> bool:
    try:
        files.write(path, dump(report_document(report, text)))
    except OSError as error:
        problems.append(f"cannot write {path.name}: {error.strerror or error}")
        return False
    return True
