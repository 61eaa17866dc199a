"""The steps of the one sequence around the comparison with earlier runs: detect and group; compose and save."""

from __future__ import annotations

import contextlib
import linecache
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import strftime
from typing import TYPE_CHECKING, Any

from loop_close import files
from loop_close.capture import MAX_LINE, index_of
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.facts import known_calls
from loop_close.files import Targets
from loop_close.judge import report_of, without_known
from loop_close.lazy import dataclass
from loop_close.memory import Edit, Progress
from loop_close.model import Observation, OtherRun, Provenance, Report, RootCause, SourceLines, Suspect
from loop_close.process import locked
from loop_close.progress.fingerprints import id_of
from loop_close.prompt.compose import Section, compose
from loop_close.prompt.place import edited_in
from loop_close.prompt.report_json import dump, report_document
from loop_close.prompt.sections import built_in
from loop_close.syntax import body_start, edited_lines, lines_of
from loop_close.syntax.meaning import MODULE

if TYPE_CHECKING:
    from loop_close.parts import Part
    from loop_close.remember import Memory, RunContext

# Of a longer function these many lines are kept, of a module these around the one in question.
_MOST_LINES = 2_000
_AROUND = 5
# Tokens of the prompt that the terminal shows where the file cannot be written.
_SHORT = 600
# So many reports are kept, none larger than this, in bytes.
_MOST_REPORTS, _MOST_BYTES = 64, 50_000_000
_LOCK = "lock"
# Seconds that a run waits for others that end at the same time.
_LONGEST = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveResult:
    """What was written.

    :ivar report: the report with the source code that the prompt shows, over all sources.
    :ivar own: that of the run alone.
    :ivar prompt: the next prompt's text.
    :ivar short: a shorter one to be shown where the prompt could not be written; empty if it was.
    :ivar problems: what could not be written, in a line each.
    """

    report: Report
    own: Report
    prompt: str
    short: str = ""
    problems: tuple[str, ...] = ()

    @property
    def short_lines(self) -> list[str]:
        """The shorter prompt to be shown; none of a green run, whose summary says all."""
        is_shown = self.short and self.report.verdict != "green"
        return self.short.rstrip("\n").split("\n") if is_shown else []


def save(
    report: Report,
    targets: Targets,
    *,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    extra_sections: Sequence[Section] = (),
    others: Callable[[], tuple[OtherRun, ...]] | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> SaveResult:
    """Compose the prompt and write it, with the JSON report where it is wanted or kept.

    A red run keeps its report in the state folder, so that nothing the budget cuts is lost. It stays there until
    another run is complete.

    :param others: the last runs of other sources. What they say of the same files is in the prompt as well. Runs that
        end at the same time write one after the other, so that the last one knows all.
    :param inputs: what the JSON report of a merged run holds to be merged again.
    """
    # What is ignored is what the parser says of odd escapes in source that is shown.
    with warnings.catch_warnings(action="ignore"):
        report = with_source_lines(with_edit_ranks(report, targets.root), targets.root)
        known = others() if others is not None else ()
        if others is None or not (known or report.observation.provenance.environment):
            return _save(report, targets, detectors, extra_sections, inputs, keeps=others is not None)
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                folder = files.state_folder(targets.root)
                stack.enter_context(locked(folder / _LOCK, _LONGEST))
            others_now = tuple(_with_result(each, targets.root) for each in others())  # again, under the lock
            report = replace(report, others=others_now)
            return _save(report, targets, detectors, extra_sections, inputs, keeps=True)


def conclude(
    observation: Observation,
    targets: Targets,
    memory: Memory | None,
    context: RunContext,
    *,
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    extra_sections: Sequence[Section] = (),
    faults: Sequence[str] = (),
    passed: Collection[str] = (),
    today: str = "",
    is_misuse: bool = False,
) -> SaveResult:
    """From what a run showed to the next prompt: the run is judged and recorded, and the prompt written.

    :param memory: None for a run without a history.
    :param faults: as in :func:`loop_close.judge.report_of`; ``passed`` as in :func:`loop_close.judge.without_known`.
    :param today: as ``2027-01-31``; the date of the clock by default.
    :param is_misuse: the run says nothing about the program, so it is not recorded.
    """
    if observation.provenance == Provenance():
        from loop_close.provenance import provenance_of

        observation = replace(observation, provenance=provenance_of(targets.root, os.environ))
    report = report_of(observation, detectors=detectors, faults=faults)
    if known := targets.settings.known:
        entries, waiting = memory.known_entries(known) if memory is not None else (known, ())
        day = today or strftime("%Y-%m-%d")
        report = without_known(report, entries, day, waiting=waiting, passed=passed, detectors=detectors)
    if memory is not None and is_misuse:
        memory.abandon()
        report = replace(report, notes=tuple(memory.notes))
    elif memory is not None:
        report = memory.record_run(report, targets.settings, context)
    # What is not recorded takes the place of no report, so that nobody takes it for a run of the source either.
    others = memory.others if memory is not None and not is_misuse else None
    return save(report, targets, detectors=detectors, extra_sections=extra_sections, others=others)


def summary_lines(saved: SaveResult, path: str) -> list[str]:
    """What is wrong and where to look first; then where to read on. A green run gets one line.

    :param path: of the prompt, as it is to be shown.
    """
    from loop_close.prompt.compose import estimate_tokens
    from loop_close.prompt.sections import in_short, of_others

    lines = [in_short(saved.own), *of_others(saved.report, saved.own.observation.source)]
    if saved.report.verdict != "green" and not saved.short:
        lines.append(f"next prompt: {path} (about {estimate_tokens(saved.prompt):,} tokens)")
    return lines


def terminal_lines(saved: SaveResult, targets: Targets) -> list[str]:
    """What a command shows of a run: the summary, and what went wrong, in a line each."""
    lines = summary_lines(saved, targets.name)
    return [*lines, *saved.short_lines, *saved.own.notes, *saved.problems]


def _save(
    own: Report,
    targets: Targets,
    detectors: Sequence[Detector],
    extra_sections: Sequence[Section],
    inputs: Mapping[str, Any] | None,
    *,
    keeps: bool,
) -> SaveResult:
    """Write all of it.

    :param keeps: the report is kept for prompts over several sources.
    """
    root, budget = targets.root, targets.settings.budget
    sections = (*built_in(tuple(detectors)), *extra_sections)
    problems: list[str] = []
    alone, own = own, _completed(own, root)
    report = _narrowed(_over_sources(own, root), root)
    kept = _keep_failed(report, own, root, problems)
    if not kept:
        report = replace(report, observation=replace(report.observation, failed_option=""))
    full = bool(report.causes) and kept
    text = compose(report, sections, budget=budget, full_report=files.REPORT if full else "")
    is_kept = keeps and _is_worth_keeping(own)
    # Who merges reports wants the run itself.
    packed = (inputs or _to_merge(alone.observation)) if targets.json is not None or is_kept else {}
    whole = packed if inputs or own is alone or not is_kept else _to_merge(own.observation)
    document = report_document(report, text) if full or packed else {}
    if full and not _try(lambda: files.write(root / files.REPORT, dump(document)), files.REPORT, problems):
        text = document["next_prompt"] = compose(report, sections, budget=budget)
    if targets.json is not None:
        _try(lambda: targets.write_json(dump({**document, **packed})), targets.json.name, problems)
    is_written = _try(lambda: targets.write_prompt(text), targets.prompt.name, problems)
    if is_kept:
        of_own = report_document(own, "") if report.sources else {**document, "next_prompt": ""}
        _try(lambda: keep_report(root, own.observation.source, {**of_own, **whole}), files.REPORTS, problems)
    elif keeps:
        _try(lambda: files.forget_source(root, own.observation.source), files.REPORTS, problems)
    short = "" if is_written else compose(report, sections, budget=min(budget, _SHORT))
    return SaveResult(report=report, own=alone, prompt=text, short=short, problems=tuple(problems))


def _completed(own: Report, root: Path) -> Report:
    """The report of a run of some tests, beside other sources, with what the source's run before says of the rest.

    Where files were edited since, it only says what had passed.
    """
    made, progress = own.observation, own.progress
    if not own.others or not made.tests or progress is None or made.incomplete or made.provenance.shard[1]:
        return own
    before = OtherRun(source=made.source, run=progress.run - 1, verdict="", is_current=True)
    parts = reports_of(root, [before])
    if progress.step.is_full or not parts:
        return own
    from loop_close.merge import completed, with_passed

    if progress.step.edits.kind != "none":
        return replace(own, observation=with_passed(made, parts[0].observation))
    found = report_of(completed(made, parts[0].observation))
    whole = replace(own, observation=found.observation, evidence=found.evidence, causes=found.causes)
    return with_source_lines(with_edit_ranks(whole, root), root)


def _over_sources(own: Report, root: Path) -> Report:
    """The report with what other sources say of the same files; a fault in theirs costs a note."""
    if not any(each.is_current for each in own.others):
        return own
    from loop_close.merge import over

    try:
        return over(own, reports_of(root, own.others))
    except Exception as fault:
        from loop_close.text import fault_text

        note = f"reports of other sources could not be read: {fault_text(fault)}"
        return replace(own, notes=(*own.notes, note))


def _narrowed(report: Report, root: Path) -> Report:
    """A report of several sources, with what they show about each other, and with source code."""
    if not report.sources:
        return report
    from loop_close.matrix import narrowed
    from loop_close.merge import explained

    report = narrowed(report, lambda file: index_of(str(root / file)))
    return explained(with_source_lines(report, root))


def _is_worth_keeping(own: Report) -> bool:
    """Whether prompts over several sources may need the report: a red one, and a green one if there are others."""
    made = own.observation.provenance
    return own.verdict != "green" or bool(own.others or made.environment or made.run_id or made.shard[1])


def keep_report(root: Path, source: str, document: Mapping[str, Any]) -> None:
    """Write the report of a source in the place of its last one. The oldest of very many sources are removed.

    :raises OSError: when it cannot be written.
    """
    folder = files.reports_folder(root)
    files.write_private(files.of_source(root, source), "".join(dump(document)))
    kept = [*folder.glob("*.json")]
    if len(kept) > _MOST_REPORTS:
        for path in sorted(kept, key=lambda each: each.stat().st_mtime_ns)[: len(kept) - _MOST_REPORTS]:
            path.unlink(missing_ok=True)


def reports_of(root: Path, others: Iterable[OtherRun]) -> list[Part]:
    """The kept reports of these runs, of those that ran on the current files; a damaged one is passed over."""
    if (root / files.REPORTS).is_symlink():
        return []
    found = (_part(files.of_source(root, each.source), each) for each in others if each.is_current)
    return [part for part in found if part is not None]


def _with_result(other: OtherRun, root: Path) -> OtherRun:
    """The run, with what it showed where it has to run again: the prompt names its command."""
    is_asked = other.is_due or (other.verdict != "green" and not (other.is_current or other.left))
    found = reports_of(root, [replace(other, is_current=True)]) if is_asked else ()
    if not found:
        return other
    seen = found[0].observation  # without an environment, the list of what failed is that of the last run
    return replace(
        other, observation=seen if seen.provenance.environment else replace(seen, failed_option="")
    )


def _part(path: Path, run: OtherRun) -> Part | None:
    from loop_close.parts import RejectedError, part_of

    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        part = part_of(run.source, path.read_text(encoding="utf-8"), is_alone=True)
    except (OSError, ValueError, RejectedError):
        return None
    is_that_run = part.run == run.run and part.observation.source == run.source
    return part if is_that_run else None


def _to_merge(observation: Observation) -> Mapping[str, Any]:
    """What ``loop-close merge`` needs: the run may be a part of more."""
    from loop_close.parts import packed

    return {"observation": packed(observation)}


def with_edit_ranks(report: Report, root: Path) -> Report:
    """The report with its suspects ranked again by the edits of the episode, which show only once it is recorded."""
    progress = report.progress
    if not report.causes or progress is None or not any(s.edits.edits for s in progress.episode.steps):
        return report
    from loop_close.causes import locate

    *steps, last = progress.episode.steps
    ran = _lines_run(report)
    kept = tuple(edit for edit in last.edits.edits if ran is None or not _is_apart(edit, ran, root))
    steps.append(replace(last, edits=replace(last.edits, edits=kept)))
    episode = replace(progress.episode, steps=tuple(steps))
    return replace(report, causes=locate.located(report.causes, report.observation.calls, episode))


def _lines_run(report: Report) -> set[tuple[str, int]] | None:
    """The lines that failing tests ran, by file and number; None if that is not known of all of them."""
    calls = known_calls(report.observation)
    if calls is None:
        return None
    return {(calls.functions[index].file, line) for hits in calls.failed.values() for index, line in hits}


def _is_apart(edit: Edit, ran: Collection[tuple[str, int]], root: Path) -> bool:
    """Whether no failing test ran what the last edit put into a function, so that it changes nothing for them."""
    path = str(root / edit.file)
    index = index_of(path) if edit.change == "edited" and edit.function not in ("", MODULE) else None
    lines = edited_lines(index, edit.function, _lines(path), edit.diff) if index is not None else None
    return lines is not None and not any((edit.file, line) in ran for line in lines)


def with_source_lines(report: Report, root: Path) -> Report:
    """The report with the source of the first suspects of each root cause."""
    causes = (_with_lines(cause, report.progress, root) for cause in report.causes)
    return replace(report, causes=tuple(causes))


def _with_lines(cause: RootCause, progress: Progress | None, root: Path) -> RootCause:
    """The cause; its suspects with their missing lines, and some with their source."""
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
    if suspect.function == MODULE and not suspect.constant:
        first, last = max(1, first - _AROUND), last + _AROUND
    elif not suspect.constant:
        last = max(last, _span(path, suspect)[1])
    lines = _lines(path)[first - 1 : last]
    if len(lines) > _MOST_LINES:
        odd, at = suspect.odd[0], edited_in(lines, suspect, progress)
        middle = at if at is not None else odd - first if odd else body_start(lines)
        cut = max(0, min(middle - _MOST_LINES // 2, len(lines) - _MOST_LINES))
        first, lines = first + cut, lines[cut : cut + _MOST_LINES]
    return replace(suspect, source=SourceLines(start=first, lines=tuple(lines)) if lines else None)


def _lines(path: str) -> list[str]:
    return [text.rstrip("\r\n")[:MAX_LINE] for text in linecache.getlines(path)]


def _keep_failed(report: Report, own: Report, root: Path, problems: list[str]) -> bool:
    """Write down which tests failed, or are left from the runs before; False when there are none or they are not kept.

    An environment of tox or nox has a list of its own as well, also in a merge. After a complete run without a root
    cause the report of the run before is removed.
    """
    failed, seen = _failed_of(report), own.observation
    of_sources = {
        each.source: (each.observation, {failure.nodeid for failure in each.observation.failures} - {""})
        for each in own.sources
    } or {seen.source: (seen, _failed_of(own))}
    try:
        if report.causes or failed:
            files.state_folder(root)
            files.write_failed(root, failed)
        for source, (made, tests) in of_sources.items():
            if made.provenance.environment:
                files.write_failed(root, tests, source)
        if not report.causes and not report.observation.incomplete:
            files.forget_report(root) if failed else files.forget_run(root)
    except OSError as error:
        problems.append(f"cannot write the full report: {error.strerror or error}")
        return False
    return bool(report.causes or failed)


def _failed_of(report: Report) -> set[str]:
    """The tests that failed, with those that are known to fail and did not run where that is what keeps it red."""
    failed = {failure.nodeid for failure in report.observation.failures} - {""}
    if report.progress is not None and (report.observation.incomplete or not (failed or report.causes)):
        failed |= {id_of(test) for test in report.progress.not_run if "::" in test}
    return failed


def _try(write: Callable[[], None], name: str, problems: list[str]) -> bool:
    try:
        write()
    except files.UnusablePathError as error:
        problems.append(f"not written: {error}")
        return False
    except OSError as error:
        problems.append(f"cannot write {name}: {error.strerror or error}")
        return False
    return True
