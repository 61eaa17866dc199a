"""Command line and pyproject.toml to settings and paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loop_close import files, targets
from loop_close.settings import DECLARED, Settings, SettingsError, check_setting, parse_settings
from loop_close.targets import Targets

_TABLE = pytest.StashKey[Mapping[str, Any]]()


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
    for key in (key for key, declared in DECLARED.items() if declared.metavar):
        value = config.getoption(f"loop_close_{key}", None)
        if value is not None:
            given[key] = int(value) if key == "budget" and value.isdecimal() else value
            check_setting(f"--loop-close-{key.replace('_', '-')}", key, given[key])
    return given


def targets_of(config: pytest.Config) -> Targets:
    """The files to write; whether they can be written shows when they are.

    Paths on the command line count from where pytest was started, as with ``--junitxml``; those in the settings
    from the root.

    :raises pytest.UsageError: for a setting or an option that is wrong.
    """
    settings = read_settings(config)
    try:
        return targets.targets_of(config.rootpath, settings, dict(_given_paths(config)))
    except files.UnusablePathError as error:
        raise pytest.UsageError(f"loop-close: {error}") from None


def _given_paths(config: pytest.Config) -> Iterator[tuple[str, Path]]:
    """The paths of the command line, by the name of their setting.

    :raises files.UnusablePathError: when one begins with the home folder of an unknown user.
    """
    for key in ("file", "json", "history"):
        value = config.getoption(f"loop_close_{key}", None)
        if value is not None:
            try:
                yield key, config.invocation_params.dir / Path(value).expanduser()
            except RuntimeError as error:
                raise files.UnusablePathError(f"{value}: {error}") from None
