"""The pytest plugin: ``pytest --loop-close``.

This module is imported by every pytest run once the distribution is installed, so it does next to nothing:
options, hook specifications, and, only when asked for, the rest.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

import pytest

from loop_close.settings import options

#: The file of a pytest that ``loop-close check``, tox or nox started, which says that it began: see :func:`_begun`.
BEGUN = pytest.StashKey[str]()
VARIABLE = "LOOP_CLOSE"
#: The name of the plugin that records what happens.
RECORDER = "loop-close-recorder"
#: With these pytest shows something and runs no test.
_LOOKS = (
    *("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test"),
    *("cacheshow", "markers", "help", "version"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("loop-close", "next prompt for coding agents (loop-close)")
    group.addoption(
        "--loop-close",
        action="store_true",
        help="write the next prompt for a coding agent: what is broken, by root cause, and where the fault probably is",
    )
    group.addoption(
        "--loop-close-failed",
        action="store_true",
        help="run exactly the tests that are known to fail, with --loop-close, which it implies; all if none is",
    )
    for name, metavar, text in options():
        group.addoption(name, metavar=metavar, help=text)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from loop_close import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def is_wanted(options: object) -> bool:
    """Whether the run is to be reported: it was asked for, and tests are going to run.

    :param options: the parsed command line.
    """
    is_asked = getattr(options, "loop_close", False) or getattr(options, "loop_close_failed", False)
    return bool(is_asked) and not looks(options)


def looks(options: object) -> bool:
    """Whether pytest only shows something, and runs no test."""
    return any(getattr(options, name, None) for name in _LOOKS)


class OwnModules:
    """Finds our modules ahead of pytest's import hook.

    The hook rewrites the assertions in all modules of a plugin's distribution, for better messages in tests. That is of
    no use in ours, and took longer than all else that a small run does here.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """The module's spec; None for modules of others, which are found as without us."""
        return PathFinder.find_spec(name, path) if name.startswith("loop_close.") else None

    @classmethod
    def start(cls, config: pytest.Config) -> None:
        """Find them from now until pytest ends."""
        sys.meta_path.insert(0, cls)
        config.add_cleanup(cls._stop)

    @classmethod
    def _stop(cls) -> None:
        with contextlib.suppress(ValueError):  # a program may have put its own finders in the place of all
            sys.meta_path.remove(cls)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin to record: errors from here on may end pytest before any session."""
    options = early_config.known_args_namespace
    # Taken out, so that a pytest that a test starts reports to nobody. Workers of xdist get it from their controller.
    if folder := os.environ.pop(VARIABLE, ""):
        # The next pytest of the command may run in this process as well.
        early_config.add_cleanup(lambda: os.environ.update({VARIABLE: folder}))
        if not looks(options):
            if not is_worker(options):
                early_config.stash[BEGUN] = _begun(folder)
            options.loop_close = True
    if is_wanted(options):
        OwnModules.start(early_config)
        from loop_close.pytest_plugin.session import start

        start(early_config)


def is_worker(options: Any) -> bool:
    """Whether this pytest is a worker of xdist, before its configuration says so.

    A worker has the options of its controller, and is called by a module that execnet gives this name. Its variable is
    there, too, in each program that a test in it starts.
    """
    has_workers = getattr(options, "numprocesses", None) or getattr(options, "tx", None)
    frame = sys._getframe() if has_workers and "PYTEST_XDIST_WORKER" in os.environ else None
    while frame is not None and frame.f_globals.get("__name__") != "__channelexec__":
        frame = frame.f_back
    return frame is not None


def _begun(folder: str) -> str:
    """Say in the folder that this pytest began: without a report of the same name it did not come to its end.

    :returns: the path without its suffix; what cannot be written is told when the report is.
    """
    number = 1
    while os.path.exists(f"{(stem := os.path.join(folder, f'{os.getpid()}-{number}'))}.begun"):
        number += 1
    with contextlib.suppress(OSError), open(f"{stem}.begun", "xb"):
        pass
    return stem


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    manager = config.pluginmanager
    if not manager.has_plugin(RECORDER):
        return
    recorder: Any = manager.unregister(name=RECORDER)
    manager.register(recorder, RECORDER)  # as the last one: now its wrappers are around those of all others
    if config.getoption("loop_close_failed", False):
        from loop_close.pytest_plugin.command import select_failed

        select_failed(config, recorder.notes)
