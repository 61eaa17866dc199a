"""The end of the session: report, files, detectors of others, CI output, and the lines for the terminal.

No exception may leave this module.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from loop_close import files
from loop_close.files import FAULT, Targets, restore, shows_failing_tests
from loop_close.provenance import ci_system
from loop_close.settings import GITHUB, GITLAB, OFF
from loop_close.text import one_line, reason_of

if TYPE_CHECKING:
    from loop_close.app import Begun, SaveResult
    from loop_close.detectors import Detector
    from loop_close.parts import Part
    from loop_close.prompt.report_json import Document
    from loop_close.pytest_plugin.session import Recorder

_USAGE_ERROR, _NO_TESTS = 4, 5
#: The report for ``artifacts:reports:codequality`` in GitLab.
CODE_QUALITY = f"{files.STATE_FOLDER}/gl-code-quality.json"
#: The variable that names the folder of the repository.
_REPOSITORY = {GITHUB: "GITHUB_WORKSPACE", GITLAB: "CI_PROJECT_DIR"}


def finish(recorder: Recorder, exit_code: int) -> tuple[str, ...]:
    """Write the prompt and the report; the lines for the terminal.

    An internal error costs one line: the prompt says so, and pytest's exit status stays.
    """
    try:
        if recorder.fault is not None:
            raise recorder.fault
        return _lines(recorder, exit_code)
    except (Exception, KeyboardInterrupt) as fault:  # the tests are over; what is left is to say so
        return _fallback(recorder, exit_code, fault)


def begin(config: pytest.Config, targets: Targets) -> Begun:
    """Give a plain run its place in the history, unless the settings turn the history off."""
    from loop_close.app import Begun

    return Begun(targets, ["pytest", *map(str, config.invocation_params.args)])


def _lines(recorder: Recorder, exit_code: int) -> tuple[str, ...]:
    from loop_close.pytest_plugin.observation import part_of

    config, targets = recorder.config, recorder.targets
    part = looked_at(recorder, part_of(recorder, exit_code))
    if recorder.begun_file:
        from loop_close.parts import write

        write(Path(recorder.begun_file), part)
        return ()
    former = targets.contents() if recorder.former is None else recorder.former
    begun = recorder.begun or begin(config, targets)
    if _says_nothing(recorder, exit_code):
        begun.abandon()
        if shows_failing_tests(former, targets):
            restore(former)
            return (f"loop-close: no test ran; {targets.prompt.name} still shows the last run",)
    detectors, faults = detectors_of(config)
    recorder.saved = begun.conclude([part], scope=part.observation.scope, detectors=detectors, faults=faults)
    return _summary(recorder.saved, recorder)


def looked_at(recorder: Recorder, part: Part) -> Part:
    """The part with what a second look at failing tests saw, unless it is off."""
    settings, seen = recorder.targets.settings, part.observation
    if OFF in (settings.second_look, settings.suspects) or not seen.failures:
        return part
    try:
        from loop_close.app import loop_with  # late: a green run does without
        from loop_close.pytest_plugin.second_look import second_look

        return replace(part, observation=second_look(recorder, seen, loop_with(part, recorder.targets)))
    except (Exception, KeyboardInterrupt) as fault:  # what the first run said is worth more
        recorder.notes.append(f"no second look: {type(fault).__name__}: {fault}")
        return part


def _says_nothing(recorder: Recorder, exit_code: int) -> bool:
    """Whether pytest was called wrongly, as with a file that does not exist, or no test has the name or mark given."""
    if exit_code == _USAGE_ERROR:
        return isinstance(recorder.error, pytest.UsageError)
    is_chosen = any(recorder.config.getoption(option, "") for option in ("keyword", "markexpr"))
    return is_chosen and exit_code == _NO_TESTS


def _summary(saved: SaveResult, recorder: Recorder) -> tuple[str, ...]:
    """What is wrong, where to read on, and what went wrong with that, as the terminal shows it.

    If the prompt could not be written, it is printed.
    """
    from loop_close.app import summary_lines

    path = os.path.relpath(recorder.targets.prompt, recorder.config.invocation_params.dir)
    found = (*saved.report.notes, *_beside(saved, recorder))
    first, *more = summary_lines(saved, path)
    first += f"; {recorder.deselected:,} deselected" * bool(recorder.deselected)
    return (*_ours([first, *more], 240), *saved.shown.splitlines(), *_ours(found))


def _beside(saved: SaveResult, recorder: Recorder) -> tuple[str, ...]:
    """What a user has to know that the prompt does not say, in a line each."""
    return (*dict.fromkeys(recorder.notes), *saved.problems)


def show_prompt(recorder: Recorder, terminal: Any) -> tuple[str, ...] | None:
    """Print the prompt, if the run is not green. If it is, our line takes the place of pytest's counts, if it has all.

    :param terminal: pytest's reporter.
    :returns: the lines that are left for the end of the run; None if it is not printed, or not in full.
    """
    saved = recorder.saved
    if saved is None:
        return None
    try:
        if saved.report.verdict == "green":
            from loop_close.prompt.sections import GREEN  # late: it is loaded with the report

            has_more = any(n for kind, n in terminal.stats.items() if kind not in ("", *GREEN, "deselected"))
            if not (has_more or recorder.session is None or recorder.session.exitstatus):
                terminal.summary_stats = lambda: None
            return None
        terminal.ensure_newline()
        terminal.write(f"{saved.prompt}\n")
    except Exception:  # what pytest shows comes next
        return None
    return (*_ours(_beside(saved, recorder)),)


@contextlib.contextmanager
def without_failures(terminal: Any) -> Iterator[None]:
    """Without what pytest's reporter itself shows of failures and errors: all else that was asked for stays.

    Not by ``--tb=no``: it also takes the output of passing tests away, which ``-rP`` shows.
    """
    characters = getattr(terminal, "reportchars", "")
    terminal.reportchars = characters.replace("f", "").replace("E", "")
    terminal.summary_failures = terminal.summary_errors = lambda: None
    try:
        yield
    finally:
        terminal.reportchars = characters
        del terminal.summary_failures, terminal.summary_errors


def _ours(lines: Iterable[str], limit: int = 1_000) -> list[str]:
    return [one_line(f"loop-close: {line}", limit) for line in lines]


def _fallback(recorder: Recorder, exit_code: int, fault: BaseException) -> tuple[str, ...]:
    """Our own fault: the prompt and the terminal say so, by the simplest means there are."""
    from loop_close.text.redact import redact

    line = ascii(redact(f"{type(fault).__name__}: {fault}"))[1:-1][:300]
    try:
        if not recorder.begun_file:  # a check misses the report, and says so
            text = f"{FAULT} (exit {exit_code})\n\nThe fault: {line}\n\nRead what pytest printed.\n"
            recorder.targets.write_prompt(text)
    except Exception as second:
        line += f"; that could not be written to the prompt either ({type(second).__name__})"
    return (f"loop-close: internal error of loop-close: {line}; pytest's result is not affected",)


def detectors_of(config: pytest.Config) -> tuple[tuple[Detector, ...], tuple[str, ...]]:
    """The detectors, with those of conftests and other plugins; and the faults of these, in a line each.

    Each plugin is asked for itself, so that a fault costs only its own.
    """
    from loop_close.detectors import DEFAULT_DETECTORS, Detector

    hook: Any = config.hook.pytest_loop_close_detectors
    known = {detector.id: detector for detector in DEFAULT_DETECTORS}
    faults = []
    for implementation in hook.get_hookimpls():
        try:
            for detector in implementation.function() or ():
                if not isinstance(detector, Detector):
                    raise TypeError(f"gave {type(detector).__name__}, not loop_close.Detector")
                if not isinstance(detector.priority, int):
                    raise TypeError("Detector.priority takes int")
                if known.setdefault(detector.id, detector) is not detector:
                    raise ValueError(f"the detector id {detector.id!r} is taken")
        except (Exception, SystemExit) as fault:
            # of a conftest its path
            plugin = implementation.plugin_name.removeprefix(f"{config.rootpath}{os.sep}")
            faults.append(f"{hook.name} of {plugin}: {type(fault).__name__}: {fault}")
    return (*known.values(),), (*faults,)


# --- in CI: the step summary and annotations of GitHub Actions, the code quality report of GitLab


def ci_output(targets: Targets, saved: SaveResult | None) -> tuple[list[str], list[str]]:
    """Write for the CI system that runs this, if it is one that we know.

    :param saved: the report; None if there is none.
    :returns: lines that the CI system reads from the log, and what went wrong, in a line each.
    """
    system = ci_system(targets.settings.ci, os.environ)
    if not system or saved is None:
        return [], []
    commands: list[str] = []
    name = CODE_QUALITY if system == GITLAB else "the step summary"
    try:
        from loop_close.emit import document_of, error_annotations, gitlab
        from loop_close.prompt.report_json import report_document

        root = targets.root
        document = document_of(report_document(saved.report, ""), _folder(root, _REPOSITORY[system]))
        if system == GITLAB:
            files.write(files.state_folder(root) / Path(CODE_QUALITY).name, [gitlab(document)])
        else:
            commands += error_annotations(document).splitlines()
            _append_summary(document)
    except Exception as fault:  # nothing here may cost the run its prompt
        return commands, _ours([f"cannot write {name}: {reason_of(fault)}"])
    return commands, []


def _folder(root: Path, variable: str) -> str:
    """The root's path in the repository; empty if it is the repository's root, or not in it."""
    top, here = os.path.realpath(os.environ.get(variable, root)), os.path.realpath(root)
    return Path(here).relative_to(top).as_posix() if Path(here).is_relative_to(top) else ""


def _append_summary(document: Document) -> None:
    """Append to the step summary, if there is one.

    :raises OSError: when it cannot be written.
    """
    from loop_close.emit import summary

    path = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if not path:
        return
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait for a reader
        raise OSError(f"{path} is not a regular file")
    with open(path, "ab") as file:
        held = file.tell()
        text = summary(document, held)
        if not text:
            raise OSError(f"it is full, with {held:,} bytes")
        file.write(text.encode("utf-8", "replace"))
