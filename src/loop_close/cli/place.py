"""Which project a command is about: its root, its settings, its history."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.cli.usage import UsageError
from loop_close.settings import OFF, Settings, SettingsError, parse_settings

if TYPE_CHECKING:
    import argparse

NO_RUN = "no runs recorded in this project: run pytest --loop-close first"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A project.

    :ivar history: where its history lies, or would.
    """

    root: Path
    settings: Settings
    history: Path


def place_of(options: argparse.Namespace) -> Place:
    """The project that the working directory belongs to.

    :raises UsageError: for settings that are wrong, and where nothing is remembered by them.
    """
    return place_at(Path.cwd(), options.history)


def place_at(folder: Path, history: str | None = None) -> Place:
    """The project that a folder belongs to.

    :param history: where its history lies; None for what its settings say.
    :raises UsageError: for settings that are wrong, and where nothing is remembered by them.
    """
    root = root_of(folder)
    settings = settings_of(root)
    return Place(root=root, settings=settings, history=_history(root, settings, history))


def root_of(folder: Path) -> Path:
    """The nearest folder that has a state folder or our settings; the folder itself where there is none.

    A repository is never left: what lies around it is another project.
    """
    return next((each for each in _upwards(folder) if is_root(each)), folder)


def _upwards(folder: Path) -> Iterator[Path]:
    for each in (folder, *folder.parents):
        yield each
        if (each / ".git").exists():
            return


def is_root(folder: Path) -> bool:
    """Whether it has a state folder or our settings."""
    try:
        return (folder / files.STATE_FOLDER).is_dir() or bool(files.settings_table(folder))
    except (files.UnusablePathError, OSError):  # of the root it is told later; others are not ours to judge
        return False


def settings_of(root: Path) -> Settings:
    """The project's settings.

    :raises UsageError: when they are wrong.
    """
    try:
        return parse_settings(files.settings_table(root))
    except (SettingsError, files.UnusablePathError) as error:
        raise UsageError(str(error)) from None


def _history(root: Path, settings: Settings, given: str | None) -> Path:
    if given is not None:
        return Path(given).expanduser()
    if settings.history == OFF:
        raise UsageError("this project keeps no history: [tool.loop-close] history is 'off'")
    try:
        return files.check_inside(root, files.path_of_setting(root, "history", settings.history))
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None


def from_here(path: Path) -> str:
    """The path as one would write it in the working directory."""
    return os.path.relpath(path)
