"""The end of the session: report, files, extensions, CI output, and the lines for the terminal.

No exception may leave this module.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loop_close import files
from loop_close.files import FAULT, Targets, restore, shows_failing_tests
from loop_close.provenance import GROUP, agent_of, ci_system, packages
from loop_close.settings import GITHUB, GITLAB

if TYPE_CHECKING:
    from loop_close.app import Begun, SaveResult
    from loop_close.emit.report import Document
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

    words = ["pytest", *map(str, config.invocation_params.args)]
    return Begun(targets, words, agent_of(os.environ)[0])


def _lines(recorder: Recorder, exit_code: int) -> tuple[str, ...]:
    from loop_close.pytest_plugin.observation import part_of

    config, targets = recorder.config, recorder.targets
    part = part_of(recorder, exit_code)
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
    extended = extensions(config)
    recorder.saved = begun.conclude([part], scope=part.observation.selection, **extended)
    return _summary(recorder.saved, recorder)


def _says_nothing(recorder: Recorder, exit_code: int) -> bool:
    """Whether pytest was called wrongly, as with a file that does not exist, or no test has the name or mark given."""
    if exit_code == _USAGE_ERROR:
        return isinstance(recorder.error, pytest.UsageError)
    is_chosen = any(recorder.config.getoption(option, "") for option in ("keyword", "markexpr"))
    return is_chosen and exit_code == _NO_TESTS


def _summary(saved: SaveResult, recorder: Recorder) -> tuple[str, ...]:
    """What is wrong, where to read on, and what went wrong with that, as the terminal shows it.

    If the prompt could not be written, a shorter one is printed.
    """
    from loop_close.app import summary_lines

    path = os.path.relpath(recorder.targets.prompt, recorder.config.invocation_params.dir)
    found = (*saved.report.notes, *dict.fromkeys(recorder.notes), *saved.problems)
    return (*_ours(summary_lines(saved, path), 240), *saved.short.splitlines(), *_ours(found))


def _ours(lines: Iterable[str], limit: int = 1_000) -> list[str]:
    from loop_close.text import one_line

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


# --- what conftests and installed packages add: detectors and sections

_PLAIN_TYPES: dict[str, type] = {"str": str, "int": int, "bool": bool}


def extensions(config: pytest.Config) -> dict[str, Any]:
    """Detectors, sections and faults for :func:`loop_close.app.conclude`: every plugin is asked once.

    One that fails is named and left out; the others count.
    """
    from loop_close.detectors import DEFAULT_DETECTORS, Detector
    from loop_close.prompt.compose import Section

    faults = load_packages(config)
    root = str(config.rootpath) + os.sep  # a conftest goes by its path
    known = {detector.id: detector for detector in DEFAULT_DETECTORS}
    for detector in _asked(config.hook.pytest_loop_close_detectors, Detector, root, faults):
        if known.setdefault(detector.id, detector) is not detector:
            faults.append(f"the detector id {detector.id!r} is taken; this one was left out")
    sections = _asked(config.hook.pytest_loop_close_sections, Section, root, faults)
    return {"detectors": (*known.values(),), "extra_sections": (*sections,), "faults": (*faults,)}


def _asked(hook: Any, kind: type, root: str, faults: list[str]) -> list[Any]:
    """What every implementation of a hook gives, one after the other, so that one fault costs only itself."""
    found: list[Any] = []
    for implementation in hook.get_hookimpls():
        try:
            for item in implementation.function() or ():
                if not isinstance(item, kind):
                    raise TypeError(f"gave {type(item).__name__}, not loop_close.{kind.__name__}")
                _check_fields(item)
                found.append(item)
        except (Exception, SystemExit) as fault:
            plugin = implementation.plugin_name.removeprefix(root)
            faults.append(f"{hook.name} of {plugin}: {type(fault).__name__}: {fault}")
    return found


def _check_fields(item: Any) -> None:
    """Refuse a record whose fields are not of the types they say: it would fail later, at another place."""
    for name, kind in type(item).__annotations__.items():
        if not isinstance(getattr(item, name), _PLAIN_TYPES.get(str(kind), object)):
            raise TypeError(f"{type(item).__name__}.{name} takes {kind}")


# --- which installed packages and conftests add to loop-close, as pytest's plugins


def load_packages(config: pytest.Config) -> list[str]:
    """Register the entry points of the group ``loop_close``, as pytest does for its own; each for itself.

    :returns: what could not be loaded, in a line each.
    """
    manager = config.pluginmanager
    faults = []
    for package in packages(lambda name: manager.has_plugin(name) or manager.is_blocked(name)):
        try:
            manager.register(package.load(), package.name)
        except (Exception, SystemExit) as fault:
            faults.append(f"{GROUP} entry point {package.name!r}: {type(fault).__name__}: {fault}")
    return faults


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
        from loop_close.emit.formats import error_annotations, gitlab
        from loop_close.emit.report import document_of
        from loop_close.prompt.report_json import report_document

        root = targets.root
        document = document_of(report_document(saved.report, ""), _folder(root, _REPOSITORY[system]))
        if system == GITLAB:
            files.write(files.state_folder(root) / Path(CODE_QUALITY).name, [gitlab(document)])
        else:
            commands += error_annotations(document)
            _append_summary(document)
    except Exception as fault:  # nothing here may cost the run its prompt
        return commands, _ours([f"cannot write {name}: {getattr(fault, 'strerror', None) or fault}"])
    return commands, []


def _folder(root: Path, variable: str) -> str:
    """The root's path in the repository; empty if it is the repository's root, or not in it."""
    top, here = os.path.realpath(os.environ.get(variable, root)), os.path.realpath(root)
    return Path(here).relative_to(top).as_posix() if Path(here).is_relative_to(top) else ""


def _append_summary(document: Document) -> None:
    """Append to the step summary, if there is one.

    :raises OSError: when it cannot be written.
    """
    from loop_close.emit.formats import summary

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
