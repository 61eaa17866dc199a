"""The steps of the one sequence around the comparison with earlier runs: detect and group; compose and save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loop_close import files
from loop_close.capture.sources import source_between
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.judge import close, located
from loop_close.model import Report, RootCause
from loop_close.prompt.compose import compose
from loop_close.prompt.report_json import dump, report_document
from loop_close.prompt.rerun import selected_tests
from loop_close.prompt.section import Section
from loop_close.prompt.sections import built_in

__all__ = ["Saved", "close", "save"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What was written.

    :ivar prompt: the next prompt's text.
    :ivar problems: what could not be written, in a line each.
    """

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
    report = replace(report, causes=_located(report, root))
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
        files.write(prompt_file, [text])
    except OSError as error:
        problems.append(f"cannot write {prompt_file.name}: {error.strerror or error}")
    return Saved(prompt=text, problems=tuple(problems))


def _located(report: Report, root: Path) -> tuple[RootCause, ...]:
    """The root causes with what the loop's history says of their suspects, and the source of the first of each."""
    causes = report.causes
    if report.progress is not None:
        causes = located(causes, report.observation, report.progress.episode)
    return tuple(_with_source(cause, root) for cause in causes)


def _with_source(cause: RootCause, root: Path) -> RootCause:
    if not cause.suspects or not cause.suspects[0].line:
        return cause
    first, *others = cause.suspects
    shown = first.odd[0] or first.line
    source = source_between(str(root / first.file), first.line, max(first.end_line, first.line), shown)
    return replace(cause, suspects=(replace(first, source=source), *others))


def _keep_failed(report: Report, root: Path, problems: list[str]) -> bool:
    """Write down which tests failed; False when there are none or nothing can be kept."""
    if not report.causes:
        return False
    try:
        files.state_folder(root)
        files.write(root / files.FAILED, (f"{test}\n" for test in selected_tests(report.observation)))
    except OSError as error:
        problems.append(f"cannot keep the full report: {error.strerror or error}")
        return False
    return True


def _try_write(path: Path, report: Report, text: str, problems: list[str]) -> bool:
    try:
        files.write(path, dump(report_document(report, text)))
    except OSError as error:
        problems.append(f"cannot write {path.name}: {error.strerror or error}")
        return False
    return True
