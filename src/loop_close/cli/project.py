"""The project that a command is about: its root, settings, history, the files it writes, its test command."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.cli import UsageError
from loop_close.lazy import dataclass
from loop_close.settings import OFF, Settings, SettingsError, parse_settings

if TYPE_CHECKING:
    import argparse

    from loop_close.files import Targets


NO_RUN = "no runs recorded in this project: run pytest --loop-close first"


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project.

    :ivar history: where its history lies, or would.
    """

    root: Path
    settings: Settings
    history: Path


def project_of(options: argparse.Namespace) -> Project:
    """The project that the working directory belongs to.

    :raises UsageError: for invalid settings, and for settings that turn the history off.
    """
    return project_at(Path.cwd(), options.history)


def project_at(folder: Path, history: str | None = None) -> Project:
    """The project that a folder belongs to.

    :param history: where its history lies; None for what its settings say.
    :raises UsageError: for invalid settings, and for settings that turn the history off.
    """
    root = root_of(folder)
    settings = settings_of(root)
    return Project(root=root, settings=settings, history=_history(root, settings, history))


def root_of(folder: Path) -> Path:
    """The nearest folder that has a state folder or our settings; the folder itself if there is none.

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
    except (
        files.UnusablePathError,
        OSError,
    ):  # errors of the root are reported later; other folders do not matter
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
    if given is not None and "://" in given:
        raise UsageError("--history takes a file: commands read the history of this machine")
    if given is not None:
        return Path(given).expanduser()
    if settings.history == OFF:
        raise UsageError("this project keeps no history: [tool.loop-close] history is 'off'")
    try:
        return files.check_inside(root, files.path_of_setting(root, "history", files.local_history(settings)))
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None


def from_here(path: Path) -> str:
    """The path as one would write it in the working directory."""
    return os.path.relpath(path)


# --- what ``loop-close run`` writes, and where: checked before, announced, and distinguished from the files of others


def targets_of(root: Path) -> Targets:
    """The files that the project's settings name.

    :raises UsageError: for settings that are wrong.
    """
    try:
        return files.targets_of(root, settings_of(root), {})
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None


def has_own_prompt(targets: Targets, exit_code: int) -> bool:
    """Whether the command wrote the file itself: a prompt that has more than its output, or anything else.

    A prompt of a run that was killed has nothing, and a green one does not count where the command failed after all.
    """
    path = targets.prompt
    try:
        is_ours = files.is_prompt(path)
    except OSError:
        return False
    is_news = files.is_finished(path) and not (exit_code and files.is_green(path))
    return not is_ours or is_news or files.is_green_but_for_known(path)


# --- the command that runs the tests, as words; and the process that runs it and remembers the run


def words_of(command: str, what: str) -> list[str]:
    """The words of a command, as a shell splits them; nothing in them is expanded.

    :param what: names the option or the setting that has the command.
    :raises UsageError: for a command with a quote that is not closed, or without a word.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{what} is not a valid command line: {error}") from None
    if not words:
        raise UsageError(f"{what} is empty")
    return words


def remembered(words: Sequence[str]) -> list[str]:
    """The words that run the command under ``loop-close run``, which remembers it and writes the prompt."""
    # -P: a module of the project must not take the place of one of ours.
    return [sys.executable, "-P", "-m", "loop_close", "run", "--", *words]


def environment() -> dict[str, str]:
    """Ours, with the folder of this Python on the path: the pytest there has the plugin.

    It comes first unless an environment was activated: then that one was meant.
    """
    path, ours = os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable)
    is_activated = any(name in os.environ for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    return {**os.environ, "PATH": os.pathsep.join((path, ours) if is_activated else (ours, path))}


def root_in(texts: Iterable[str]) -> str:
    """The working directory, if the logs name files in it; empty for logs from elsewhere, which have their own root."""
    here = os.getcwd()
    return here if any(here + os.sep in text for text in texts) else ""
