"""At the end of the session: observation, report, files, three lines. Nothing may leak from here."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from loop_close.files import FAULT
from loop_close.pytest_plugin.options import Targets
from loop_close.pytest_plugin.packages import is_extended, load_packages
from loop_close.settings import AUTO, ON

if TYPE_CHECKING:
    from loop_close.model import Observation, Report, Warned
    from loop_close.pytest_plugin.session import Recorder

_INTERNAL_ERROR, _USAGE_ERROR = 3, 4


def finish(recorder: Recorder, session: pytest.Session) -> tuple[str, ...]:
    """Write the prompt and the report; the lines for the terminal.

    A fault of ours costs one line: the raw evidence is written instead, and pytest's exit status stays.
    """
    try:
        return _close(recorder, session)
    except KeyboardInterrupt as interrupt:  # the tests are over; what is left is to say so
        return _fallback(recorder, session, interrupt)
    except Exception as fault:
        return _fallback(recorder, session, fault)


def _close(recorder: Recorder, session: pytest.Session) -> tuple[str, ...]:
    unloadable = load_packages(recorder.config)
    is_plain = not unloadable and not is_extended(recorder.config) and _is_plain(recorder, session)
    if is_plain and _keep_green(recorder, session):
        return _green(recorder)
    return _judged(recorder, session, unloadable)


def _judged(recorder: Recorder, session: pytest.Session, unloadable: list[str]) -> tuple[str, ...]:
    from loop_close import app
    from loop_close.pytest_plugin.extensions import extensions

    observation = observe(recorder, session)
    extended = extensions(recorder.config, unloadable)
    report = app.close(observation, detectors=extended.detectors, faults=extended.faults)
    targets = recorder.targets
    report = remembered(recorder, report)
    saved = app.save(
        report,
        root=targets.root,
        prompt_file=targets.prompt,
        json_file=targets.json,
        budget=targets.budget,
        detectors=extended.detectors,
        extra_sections=extended.sections,
    )
    found = problems((*report.notes, *saved.problems))
    return (*summary(saved.report, saved.prompt, targets, recorder.config), *found)


def _is_plain(recorder: Recorder, session: pytest.Session) -> bool:
    """Whether there is nothing to tell but how many tests passed, and no one to tell it to but the prompt."""
    from loop_close.pytest_plugin.command import selection

    tally = recorder.tally
    told = recorder.failures or recorder.warnings or recorder.crashed or recorder.targets.json is not None
    return (
        session.exitstatus == 0
        and (recorder.memory is None or (recorder.memory.is_fresh and not _asks_for_edits(recorder)))
        and not told
        and bool(tally.passed + tally.xfailed + tally.xpassed)
        and not _incomplete(recorder, session)
        and not selection(recorder.config)
    )


def _asks_for_edits(recorder: Recorder) -> bool:
    """Whether it is to be found out which edited functions the tests ran."""
    if recorder.memory is None or not recorder.memory.is_edited:
        return False
    from loop_close.pytest_plugin.calls import is_looking

    return is_looking(recorder.config)


def _keep_green(recorder: Recorder, session: pytest.Session) -> bool:
    """Remember the run; False where another run that went on meanwhile has left failures to compare with."""
    tally, memory = recorder.tally, recorder.memory
    if memory is None:
        return True
    from loop_close.pytest_plugin.recall import called

    called(recorder, session, "")
    return memory.keep_green(tally.passed, tally.skipped)


def _green(recorder: Recorder) -> tuple[str, ...]:
    """The result of :func:`_close` for a plain green run, without loading the modules that find that out."""
    from loop_close import files
    from loop_close.prompt.green import in_words

    tally = recorder.tally
    said = in_words(passed=tally.passed, skipped=tally.skipped, xfailed=tally.xfailed, xpassed=tally.xpassed)
    path = recorder.targets.prompt
    lines = [f"{said[0].lower()}{said[1:]}"]
    try:
        files.write_prompt(path, f"# {said}\n")
    except OSError as error:
        lines.append(f"cannot write {path.name}: {error.strerror or error}")
    lines += recorder.memory.notes if recorder.memory is not None else ()
    return tuple(f"loop-close: {line if line.isprintable() else ascii(line)}" for line in lines)


def remembered(recorder: Recorder, report: Report) -> Report:
    """The report with what it comes to against the runs before it."""
    memory = recorder.memory
    if memory is None:
        return report
    if report.observation.exit_code == _USAGE_ERROR:  # it says nothing about the program
        memory.abandon()
        return replace(report, notes=tuple(memory.notes))
    from loop_close.remember import Told

    told = Told(outcomes=recorder.tally.outcomes, selection=report.observation.selection)
    return memory.take_up(report, recorder.targets.settings, told)


def observe(recorder: Recorder, session: pytest.Session) -> Observation:
    """All that the run said, as one record."""
    from loop_close.files import FAILED
    from loop_close.model import Counts, Observation
    from loop_close.pytest_plugin.command import rerun_words, selection
    from loop_close.pytest_plugin.recall import called

    incomplete = _incomplete(recorder, session)
    calls, why_no_calls = called(recorder, session, incomplete)
    tally, config = recorder.tally, recorder.config
    counts = Counts(
        passed=tally.passed,
        failed=len(tally.failed),
        errors=tally.errors,
        skipped=tally.skipped,
        xfailed=tally.xfailed,
        xpassed=tally.xpassed,
        collected=session.testscollected,
        not_run=max(0, session.testscollected - tally.done()),
    )
    return Observation(
        exit_code=1 if recorder.crashed else int(session.exitstatus),
        source=recorder.memory.source if recorder.memory is not None else "pytest",
        failures=tuple(recorder.failures),
        warnings=tuple(_warnings(recorder)),
        counts=counts,
        incomplete=incomplete,
        selection=selection(config),
        rerun=rerun_words(config),
        can_rerun_last_failed=config.pluginmanager.has_plugin("lfplugin"),
        argument_file=FAILED if pytest.version_tuple >= (8, 2) else "",
        calls=calls if recorder.failures else None,
        asks_for_calls=_asks_for_calls(recorder.targets.settings.suspects),
        why_no_calls=why_no_calls if recorder.failures else "",
    )


def _asks_for_calls(setting: str) -> bool:
    """Whether it has to be told if nothing is known of them: ``auto`` is ``on`` where Python can tell."""
    return setting == ON or (setting == AUTO and hasattr(sys, "monitoring"))


def _incomplete(recorder: Recorder, session: pytest.Session) -> str:
    if recorder.config.getoption("collectonly", False):
        return "tests were collected and not run"
    # -x at the last test leaves nothing out; while files are collected it leaves out those that come after.
    left = recorder.tally.done() < session.testscollected or not session.testscollected
    stopped = recorder.interrupted or (str(session.shouldfail or session.shouldstop or "") if left else "")
    return stopped or ("an internal error ended it" if session.exitstatus == _INTERNAL_ERROR else "")


def _warnings(recorder: Recorder) -> list[Warned]:
    if not recorder.warnings:
        return []
    from loop_close.detectors.unhandled_async import is_of_interest

    kept = [warned for warned in recorder.warnings if is_of_interest(warned[0], warned[1])]
    return _warned(kept, str(recorder.config.rootpath)) if kept else []


def _warned(warnings: list[tuple[str, str, str, int, str]], root: str) -> list[Warned]:
    from loop_close.capture.project import Project
    from loop_close.model import Warned

    project = Project(root)
    found = set()
    for category, message, filename, lineno, nodeid in warnings:
        file = project.relative(filename) or ""
        line = lineno if file else 0
        found.add(Warned(category=category, message=message, nodeid=nodeid, file=file, line=line))
    return sorted(found, key=lambda w: (w.file, w.line, w.nodeid, w.message))


def summary(report: Report, prompt: str, targets: Targets, config: pytest.Config) -> tuple[str, ...]:
    """What is wrong and where to look first; then where to read on. A green run gets one line."""
    from loop_close.prompt.sections import in_short
    from loop_close.text.budget import estimate_tokens
    from loop_close.text.sanitize import one_line

    lines = [in_short(report)]
    if report.verdict != "green":
        path = os.path.relpath(targets.prompt, config.invocation_params.dir)
        lines.append(f"next prompt: {path} (about {estimate_tokens(prompt):,} tokens)")
    return tuple(one_line(f"loop-close: {line}", 240) for line in lines)


def problems(found: tuple[str, ...]) -> list[str]:
    from loop_close.text.sanitize import one_line

    return [one_line(f"loop-close: {problem}") for problem in found]


def _fallback(recorder: Recorder, session: pytest.Session, fault: BaseException) -> tuple[str, ...]:
    """Our own fault: the failures as they came, by the simplest means there are."""
    line = _escaped(f"{type(fault).__name__}: {fault}")[1:-1][:300]
    try:
        from loop_close import files

        rows = raw_evidence(recorder.failures, int(session.exitstatus), line)
        files.write_prompt(recorder.targets.prompt, "".join(rows))
    except Exception as second:
        line += f"; the raw evidence could not be written either ({type(second).__name__})"
    return (f"loop-close: internal error of loop-close: {line}; pytest's result is not affected",)


def raw_evidence(failures: list[Any], exit_code: int, fault: str) -> list[str]:
    """The failures as plain indented text, escaped so that nothing in them is markdown or a control."""
    rows = [f"{FAULT} (exit {exit_code})\n\nThe fault: {fault}\n\n{len(failures)} failures, as they came:\n"]
    for failure in failures[:500]:
        words = _escaped(failure.message)[:2000]
        rows.append(f"\n    {_escaped(failure.nodeid)} ({failure.phase})\n    {words}\n")
    return rows


def _escaped(text: str) -> str:
    """A Python literal of the text without credentials; when these cannot be told, without the text."""
    try:
        from loop_close.text.redact import redact

        return ascii(redact(text))
    except Exception as fault:
        return f"'({len(text)} characters, held back: {type(fault).__name__} while looking for credentials)'"
