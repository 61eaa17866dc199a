"""The pytest plugin: ``pytest --loop-close``.

This module is imported by every pytest run once the distribution is installed, so it does next to nothing:
options, hook specifications, and, only when asked for, the rest.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("loop-close", "next prompt for coding agents (loop-close)")
    group.addoption(
        "--loop-close",
        action="store_true",
        help="write the next prompt for a coding agent: what is broken, by root cause, and where the fault probably is",
    )
    group.addoption(
        "--loop-close-file",
        metavar="PATH",
        help="path of the next prompt (default: nextprompt.md in the root folder)",
    )
    group.addoption("--loop-close-json", metavar="PATH", help="also write the report as JSON to this path")
    group.addoption(
        "--loop-close-budget",
        metavar="TOKENS",
        help="how many tokens the next prompt may cost (default: 2000; estimated)",
    )
    group.addoption(
        "--loop-close-history",
        metavar="PATH|off",
        help="path of the history of runs; off: keep none (default: .loop-close/history.sqlite3 in the root folder)",
    )
    group.addoption(
        "--loop-close-suspects",
        metavar="auto|on|off",
        help="track which functions each test calls, to find the probable fault; auto: if possible (Python 3.12),"
        " on: report it if not possible, off: never (default: auto)",
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from loop_close import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Errors from here on may end pytest before any session: say so in the prompt."""
    if not getattr(early_config.known_args_namespace, "loop_close", False):
        return (yield)
    from loop_close.pytest_plugin import calls

    calls.start_monitor(early_config)
    if "PYTEST_XDIST_WORKER" in os.environ:  # only the controller writes
        return (yield)
    from loop_close.pytest_plugin import before_session

    try:
        result = yield
    except Exception as error:
        before_session.report(early_config, error)
        raise
    early_config.pluginmanager.register(before_session.Watch(early_config), "loop-close-watch")
    return result


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("loop_close", False):
        return
    if hasattr(config, "workerinput"):
        from loop_close.pytest_plugin.worker import Courier

        config.pluginmanager.register(Courier(config), "loop-close-worker")
    else:
        from loop_close.pytest_plugin.session import start

        start(config)
