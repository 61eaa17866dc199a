"""The project that a command is about: its root, settings, history, and the files that it writes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from loop_close import files
from loop_close.checks import root_of
from loop_close.cli import UsageError
from loop_close.settings import OFF, Settings, SettingsError, parse_settings

if TYPE_CHECKING:
    import argparse

    from loop_close.files import Targets

__all__ = [
    "NO_RUN",
    "Project",
    "project_at",
    "project_of",
    "root_in",
    "root_of",
    "settings_of",
    "targets_of",
]

NO_RUN = "no runs recorded in this project: run loop-close check"


class Project(NamedTuple):
    """A project.

    :ivar history: where its history lies, or would; None if the settings turn it off.
    """

    root: Path
    settings: Settings
    history: Path | None


def project_of(options: argparse.Namespace) -> Project:
    """The project that the working directory belongs to.

    :raises UsageError: for invalid settings.
    """
    return project_at(Path.cwd(), getattr(options, "history", None))


def project_at(folder: Path, history: str | None = None) -> Project:
    """The project that a folder belongs to.

    :param history: where its history lies; None for what its settings say.
    :raises UsageError: for invalid settings.
    """
    root = root_of(folder)
    settings = settings_of(root)
    return Project(root, settings, _history(root, settings, history))


def settings_of(root: Path) -> Settings:
    """The project's settings.

    :raises UsageError: when they are wrong.
    """
    try:
        return parse_settings(files.settings_table(root))
    except (SettingsError, files.UnusablePathError) as error:
        raise UsageError(str(error)) from None


def _history(root: Path, settings: Settings, given: str | None) -> Path | None:
    if given is not None and "://" in given:
        raise UsageError("--history takes a file: commands read the history of this machine")
    if given is not None:
        return Path(given).expanduser()
    if settings.history == OFF:
        return None
    try:
        return files.check_inside(root, files.path_of_setting(root, "history", files.local_history(settings)))
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None


def targets_of(root: Path) -> Targets:
    """The files that the project's settings name.

    :raises UsageError: for settings that are wrong.
    """
    try:
        return files.targets_of(root, settings_of(root), {})
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None


def root_in(texts: Iterable[str]) -> str:
    """The working directory, if the logs name files in it; empty for logs from elsewhere, which have their own root."""
    here = os.getcwd()
    return here if any(here + os.sep in text for text in texts) else ""
