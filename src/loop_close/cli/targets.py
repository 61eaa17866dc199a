"""What ``loop-close run`` writes, and where: checked before, announced, and told apart from what others wrote."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from loop_close import files
from loop_close.cli.parser import UsageError
from loop_close.settings import Settings, SettingsError, parse_settings

_BEGINNING = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Targets:
    """Where to write.

    :ivar json: None where no JSON report is wanted.
    """

    root: Path
    prompt: Path
    json: Path | None
    budget: int

    @property
    def name(self) -> str:
        """The prompt's path as the project writes it."""
        return self.prompt.relative_to(self.root).as_posix()


def targets_of(root: Path) -> Targets:
    """By the project's settings.

    :raises UsageError: for settings that are wrong, and paths that cannot be written.
    """
    try:
        settings = parse_settings(files.settings_table(root))
        return _checked(root, settings)
    except (SettingsError, files.UnusablePathError) as error:
        raise UsageError(str(error)) from None


def _checked(root: Path, settings: Settings) -> Targets:
    prompt = _below(root, "file", settings.file)
    report = _below(root, "json", settings.json) if settings.json else None
    files.check_targets(prompt, report)
    return Targets(root=root, prompt=prompt, json=report, budget=settings.budget)


def _below(root: Path, key: str, value: str) -> Path:
    return Path(os.path.abspath(files.path_of_setting(root, key, value)))


def is_told(targets: Targets, exit_code: int) -> bool:
    """Whether the command wrote the prompt itself, which then knows more than its output tells.

    That of a run that was killed tells nothing, and good news is none where the command failed after all.
    """
    try:
        with targets.prompt.open("rb") as file:
            begun = file.read(_BEGINNING).decode("utf-8", "replace")
    except OSError:
        return False
    nothing = (files.RUNNING, *(["# No stall detected"] if exit_code else []))
    return bool(begun.strip()) and not begun.startswith(tuple(nothing))
