"""The command line of the run: its settings and files, what it chose, and ``--loop-close-failed``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loop_close import files
from loop_close.files import Targets
from loop_close.provenance import agent_of
from loop_close.settings import (
    AUTO,
    DECLARED,
    PROMPT,
    SettingsError,
    check_setting,
    is_url,
    option_of,
    parse_settings,
)

#: Options that take one part of all tests: of pytest-split, pytest-shard and pytest-test-groups.
_SHARDS = (("splits", "group"), ("num_shards", "shard_id"), ("test_group_count", "test_group"))


def scope(config: pytest.Config, deselected: int = 0) -> str:
    """How tests were chosen on the command line, for people to read; empty where nothing was chosen or left out.

    :param deselected: how many tests were left out, by whatever option or plugin.
    """
    options = {
        "keyword": "-k {!r}",
        "markexpr": "-m {!r}",
        "ignore": "--ignore {!r}",
        "ignore_glob": "--ignore-glob {!r}",
        "inifilename": "-c {!r}",
        "override_ini": "-o {!r}",
        "lf": "--lf",
        "stepwise": "--sw",
        "loop_close_failed": "--loop-close-failed",
    }
    given = ((config.getoption(option, None), shown) for option, shown in options.items())
    parts = [shown.format(value) for value, shown in given if value]
    number, of = shard_of(config)
    parts += [f"shard {number} of {of}"] if of else []
    here = config.invocation_params.dir
    paths = [str(path) for path in config.getoption("file_or_dir", None) or ()]
    parts += [path.replace(f"{config.rootpath}{os.sep}", "") for path in paths]
    if not paths and here != config.rootpath:
        parts.append(f"in {os.path.relpath(here, config.rootpath)}")
    if not parts and deselected:
        parts.append(f"{deselected} deselected")
    return _shown(" ".join(parts))


def shard_of(config: pytest.Config) -> tuple[int, int]:
    """Which part of all tests runs, from 1, and of how many; zeros for all of them."""
    for names in _SHARDS:
        of, number = (config.getoption(name, None) for name in names)
        if isinstance(of, int) and isinstance(number, int) and of > 1:
            return (number + 1 if names[1] == "shard_id" else number), of
    return 0, 0


def _shown(word: str) -> str:
    """The words without credentials and controls."""
    if not word:
        return ""
    from loop_close.text.redact import clean  # late: most runs choose nothing

    return clean(word).replace("\n", " ")


# --- command line and pyproject.toml to settings and paths


def targets_of(config: pytest.Config) -> Targets:
    """The settings, with the command line's over them, and the files to write; these may turn out not to be writable.

    Paths on the command line count from where pytest was started, as with ``--junitxml``; those in the settings
    from the root.

    :raises pytest.UsageError: naming the setting or option that is wrong and what it takes.
    """
    given: dict[str, Any] = {}
    try:
        settings = parse_settings(files.settings_table(config.rootpath))
        for key in (key for key, declared in DECLARED.items() if declared.metavar):
            value = getattr(config.known_args_namespace, f"loop_close_{key}", None)
            if value is not None:
                given[key] = int(value) if key == "budget" and value.isdecimal() else value
                check_setting(option_of(key), key, given[key])
        # With a server the file stays the one that the settings name.
        url = given.pop("history") if is_url(given.get("history")) else ""
        paths: dict[str, Path] = {
            key: config.invocation_params.dir / os.path.expanduser(given[key])
            for key in ("file", "json", "history")
            if key in given
        }
        return files.targets_of(config.rootpath, replace(settings, **given), paths, url)
    except (SettingsError, files.UnusablePathError) as error:
        raise pytest.UsageError(f"loop-close: {error}") from None


def replaces_failures(config: pytest.Config, setting: str) -> bool:
    """Whether the terminal gets the prompt in place of pytest's failures.

    :param setting: as in the settings. ``auto``: if an agent reads it that asked for no style of tracebacks.
    """
    if setting != AUTO:
        return setting == PROMPT
    given = map(str, config.invocation_params.args)
    return bool(agent_of(os.environ)[1]) and not any(word.startswith("--tb") for word in given)


# --- ``--loop-close-failed``: run exactly the tests known to fail

#: The name of the node ids in the ``workerinput`` of xdist.
_INPUT = "loop_close_failed"


class FailedTests:
    """Selects the tests, whatever other options and plugins leave out or choose.

    :param nodeids: of the tests that failed, or of what could not be collected; empty for all tests.
    :param notes: takes what a user has to know of the selection, in a line each.
    """

    def __init__(self, config: pytest.Config, nodeids: list[str], notes: list[str]) -> None:
        self._config = config
        self._nodeids = frozenset(nodeids)
        self._notes = notes
        paths = {config.rootpath / nodeid.partition("::")[0] for nodeid in nodeids}
        # Where the files are not all known by the node ids, as outside of the root, the command line's are collected.
        self._is_narrow = bool(paths) and all(path.exists() and "[" not in str(path) for path in paths)
        if self._is_narrow:
            config.args[:] = sorted(map(str, paths))
        limits = getattr(config.pluginmanager.get_plugin("_cov"), "options", None)
        if nodeids and getattr(limits, "cov_fail_under", None):  # it is for all tests
            limits.cov_fail_under = 0  # type: ignore[union-attr]
        if not nodeids:
            notes.append("no failing test is recorded: all run")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        chains = {item: _chain(item) for item in items}
        wanted = [item for item in items if not self._nodeids.isdisjoint(chains[item])]
        missing = sorted(self._nodeids.difference(*map(chains.__getitem__, wanted)))
        if not (wanted or self._is_narrow):
            if missing:
                self._notes.append("none of the tests that failed was found: all run")
            yield
            return
        chosen = {*wanted}
        others = [item for item in items if item not in chosen]
        items[:] = wanted
        yield
        items[:] = wanted  # another plugin may have left some out, as pytest-split does
        if others:
            self._config.hook.pytest_deselected(items=others)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            self._notes.append(f"failed before and is not collected now: {missing[0]}{more}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_INPUT] = sorted(self._nodeids)


def _chain(item: pytest.Item) -> set[str]:
    """The ids of the test, of its function and of all collectors above it."""
    from loop_close.facts import test_function  # late: no other run needs it here

    return {test_function(item.nodeid), *(node.nodeid for node in item.listchain())}


def select_failed(config: pytest.Config, notes: list[str]) -> None:
    """Take part in the collection where the option is given.

    :param notes: takes what a user has to know of the selection, in a line each.
    :raises pytest.UsageError: when the list of failing tests cannot be read.
    """
    try:
        if hasattr(config, "workerinput"):
            nodeids = config.workerinput.get(_INPUT, [])
        else:
            nodeids = files.read_failed(config.rootpath)
    except (OSError, ValueError) as error:
        said = f"loop-close: cannot read {files.FAILED}: {error}; run all tests instead"
        raise pytest.UsageError(said) from None
    config.pluginmanager.register(FailedTests(config, nodeids, notes), "loop-close-failed")
