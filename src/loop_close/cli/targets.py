"""What ``loop-close run`` writes, and where: checked before, announced, and told apart from what others wrote."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files
from loop_close.cli.parser import UsageError
from loop_close.cli.place import settings_of
from loop_close.settings import OFF, Settings

if TYPE_CHECKING:
    from loop_close.remember import Memory


@dataclass(frozen=True, kw_only=True, slots=True)
class Targets:
    """Where to write.

    :ivar json: None where no JSON report is wanted.
    :ivar history: None where nothing is to be remembered.
    """

    root: Path
    prompt: Path
    json: Path | None
    history: Path | None
    budget: int
    settings: Settings

    @property
    def name(self) -> str:
        """The prompt's path as the project writes it."""
        return self.prompt.relative_to(self.root).as_posix()


def targets_of(root: Path) -> Targets:
    """By the project's settings.

    :raises UsageError: for settings that are wrong, and paths that cannot be written.
    """
    settings = settings_of(root)
    try:
        return _checked(root, settings)
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None


def _checked(root: Path, settings: Settings) -> Targets:
    prompt = _below(root, "file", settings.file)
    report = _below(root, "json", settings.json) if settings.json else None
    files.check_targets(prompt, report)
    history = _below(root, "history", settings.history) if settings.history != OFF else None
    return Targets(
        root=root, prompt=prompt, json=report, history=history, budget=settings.budget, settings=settings
    )


def _below(root: Path, key: str, value: str) -> Path:
    return Path(os.path.abspath(files.path_of_setting(root, key, value)))


def begin_memory(targets: Targets, source: str, *, is_own: bool = True) -> Memory:
    """The run's place in the history, taken before it starts.

    :param is_own: False for a command that remembers its run itself.
    """
    from loop_close.remember import begin

    ours = (targets.prompt, targets.json, targets.history)
    return begin(targets.root, source, targets.history if is_own else None, ours)


def is_told(targets: Targets, exit_code: int) -> bool:
    """Whether the command wrote the file itself: a prompt that has more than its output, or anything else.

    A prompt of a run that was killed has nothing, and a green one does not count where the command failed after all.
    """
    path = targets.prompt
    try:
        is_ours = files.is_prompt(path)
    except OSError:
        return False
    return not is_ours or (files.is_finished(path) and not (exit_code and files.is_green(path)))
