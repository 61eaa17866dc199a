"""Command line and pyproject.toml to settings and paths that can be written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from loop_close import files
from loop_close.settings import OFF, Settings, SettingsError, check_setting, parse_settings

_OPTIONS = {
    "file": "--loop-close-file",
    "json": "--loop-close-json",
    "budget": "--loop-close-budget",
    "history": "--loop-close-history",
    "suspects": "--loop-close-suspects",
}
_TABLE = pytest.StashKey[Mapping[str, Any]]()


@dataclass(frozen=True, kw_only=True, slots=True)
class Targets:
    """Where to write.

    :ivar history: None where nothing is to be remembered.
    """

    root: Path
    prompt: Path
    json: Path | None
    budget: int
    history: Path | None
    settings: Settings


def settings_table(config: pytest.Config) -> Mapping[str, Any]:
    """``[tool.loop-close]`` as it stands in the file, which is read once.

    :raises files.UnusablePathError: when the file is no TOML.
    """
    if _TABLE not in config.stash:
        config.stash[_TABLE] = files.settings_table(config.rootpath)
    return config.stash[_TABLE]


def read_settings(config: pytest.Config) -> Settings:
    """The project's settings with the command line's over them.

    :raises pytest.UsageError: naming the setting that is wrong and what it takes.
    """
    try:
        settings = parse_settings(settings_table(config))
        return replace(settings, **_given(config))
    except (SettingsError, files.UnusablePathError) as error:
        raise pytest.UsageError(f"loop-close: {error}") from None


def _given(config: pytest.Config) -> dict[str, Any]:
    """The settings given on the command line, checked."""
    given: dict[str, Any] = {}
    for key, option in _OPTIONS.items():
        value = config.getoption(f"loop_close_{key}", None)
        if value is not None:
            given[key] = int(value) if key == "budget" and value.isdecimal() else value
            check_setting(option, key, given[key])
    return given


def targets_of(config: pytest.Config) -> Targets:
    """The files to write, checked before any test runs.

    Paths on the command line count from where pytest was started, as with ``--junitxml``; those in the settings
    from the root.

    :raises pytest.UsageError: when one cannot be written.
    """
    settings = read_settings(config)
    try:
        prompt = _path(config, "file", settings.file)
        report = _path(config, "json", settings.json) if settings.json else None
        history = _path(config, "history", settings.history) if settings.history != OFF else None
        files.check_targets(prompt, report)
    except files.UnusablePathError as error:
        raise pytest.UsageError(f"loop-close: {error}") from None
    return Targets(
        root=config.rootpath,
        prompt=prompt,
        json=report,
        budget=settings.budget,
        history=history,
        settings=settings,
    )


def _path(config: pytest.Config, key: str, value: str) -> Path:
    """Where a setting leads; one of the project itself stays below the project's root.

    :raises files.UnusablePathError: when it does not.
    """
    if config.getoption(f"loop_close_{key}", None) is not None:
        try:
            return config.invocation_params.dir / Path(value).expanduser()
        except RuntimeError as error:  # ~ of nobody
            raise files.UnusablePathError(f"{value}: {error}") from None
    return files.path_of_setting(config.rootpath, key, value)
