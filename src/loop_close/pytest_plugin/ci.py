"""In CI: the step summary and annotations of GitHub Actions, the code quality report of GitLab."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.settings import GITHUB, GITLAB

if TYPE_CHECKING:
    from loop_close.app import SaveResult
    from loop_close.files import Targets


#: The report for ``artifacts:reports:codequality`` in GitLab.
CODE_QUALITY = f"{files.STATE_FOLDER}/gl-code-quality.json"
#: The variable that names the folder of the repository.
_REPOSITORY = {GITHUB: "GITHUB_WORKSPACE", GITLAB: "CI_PROJECT_DIR"}


def publish(system: str, targets: Targets, saved: SaveResult) -> tuple[list[str], list[str]]:
    """Write what a CI system shows of the run.

    :param system: ``github`` or ``gitlab``.
    :param targets: the project's root, and its history.
    :param saved: the report of the run.
    :returns: lines that the CI system reads from the log, and what went wrong, in a line each.
    """
    try:
        return _publish(system, targets, saved)
    except Exception as fault:  # nothing here may cost the run its prompt
        return [], [f"no output for CI: {type(fault).__name__}: {fault}"]


def _publish(system: str, targets: Targets, saved: SaveResult) -> tuple[list[str], list[str]]:
    if system == GITHUB and saved.report.verdict == "green":
        from loop_close.prompt.sections import in_short

        green = f"loop-close: {in_short(saved.report)}\n"
        return [], _try("the step summary", lambda: _append(lambda held: "\n\n" * bool(held) + green))
    from loop_close.emit import document_of, error_annotations, gitlab, summary
    from loop_close.prompt.report_json import report_document

    root = targets.root
    document = document_of(report_document(saved.report, ""), _folder(root, _REPOSITORY[system]))
    if system == GITLAB:
        return [], _try(CODE_QUALITY, lambda: _write(root, gitlab(document)))
    problems = _try("the step summary", lambda: _append(lambda held: summary(document, held)))
    return error_annotations(document).splitlines(), problems


def _folder(root: Path, variable: str) -> str:
    """The root's path in the repository; empty if it is the repository's root, or not in it."""
    top, here = os.path.realpath(os.environ.get(variable, root)), os.path.realpath(root)
    return Path(here).relative_to(top).as_posix() if Path(here).is_relative_to(top) else ""


def _try(name: str, write: Callable[[], None]) -> list[str]:
    try:
        write()
    except OSError as error:
        return [f"cannot write {name}: {error.strerror or error}"]
    return []


def _write(root: Path, text: str) -> None:
    files.write(files.state_folder(root) / Path(CODE_QUALITY).name, [text])


def _append(text: Callable[[int], str]) -> None:
    """Append to the step summary, if there is one.

    :param text: what to append, by the number of bytes that it holds already.
    :raises OSError: when it cannot be written.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if not path:
        return
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait for a reader
        raise OSError(f"{path} is not a regular file")
    with open(path, "ab") as file:
        held = file.tell()
        added = text(held).encode("utf-8", "replace")
        if not added:
            raise OSError(f"it is full, with {held:,} bytes")
        file.write(added)
