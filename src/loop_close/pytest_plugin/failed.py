"""``--loop-close-failed``: run exactly the tests that failed in the last run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from loop_close import files
from loop_close.provenance import interpreter, runner_of, source_of
from loop_close.pytest_plugin.command import reaches_outside

#: The name of the node ids in the ``workerinput`` of xdist, and of the notes in ``workeroutput``.
_INPUT = "loop_close_failed"


class FailedTests:
    """Selects the tests, whatever other options and plugins leave out or choose.

    :param nodeids: of the tests that failed, or of what could not be collected; empty for all tests.
    """

    def __init__(self, config: pytest.Config, nodeids: list[str]) -> None:
        self._nodeids = frozenset(nodeids)
        self._config = config
        self._paths: frozenset[Path] = frozenset()
        self._collected: set[str] = set()
        self._closed: set[str] = set()
        self.notes: list[str] = []

    def narrow(self) -> None:
        """Have pytest collect only the files in question, instead of what the command line names.

        Outside of the root the node ids do not tell the files: what the command line names is collected.
        """
        if not self._nodeids:
            self.notes.append("no failing test is recorded: all tests ran")
        elif not reaches_outside(self._config):
            paths = {self._config.rootpath / nodeid.partition("::")[0] for nodeid in self._nodeids}
            self._paths = frozenset(path for path in paths if path.exists())
            if self._paths:
                self._config.args[:] = sorted({*map(self._argument, self._paths)})

    def _argument(self, path: Path) -> str:
        """The path, or the nearest folder that can be named: brackets in an argument are those of a test."""
        if "[" not in str(path):
            return str(path)
        parts = Path(os.path.relpath(path, self._config.invocation_params.dir)).parts
        return str(Path(*takewhile(lambda part: "[" not in part, parts)))

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out the other files of a folder that is collected for one of its files."""
        is_other = self._paths and self._paths.isdisjoint((collection_path, *collection_path.parents))
        return True if is_other and not collection_path.is_dir() else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        (self._collected if report.passed else self._closed).add(report.nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Any:
        wanted = [item for item in items if not self._nodeids.isdisjoint(_chain(item))]
        missing = self._missing(wanted)
        if not self._paths and len(missing) == len(self._nodeids):
            if missing:
                self.notes.append("none of the tests that failed was found: all tests ran")
            yield
            return
        chosen = {*wanted}
        others = [item for item in items if item not in chosen]
        items[:] = wanted
        yield
        # Another plugin may have put them into another order, or left some out, as pytest-split does.
        order = {item: number for number, item in enumerate(items)}
        items[:] = sorted(wanted, key=lambda item: order.get(item, len(order)))
        if others:
            self._config.hook.pytest_deselected(items=others)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            self.notes.append(f"failed before and not found: {missing[0]}{more}")

    def _missing(self, wanted: list[pytest.Item]) -> list[str]:
        """The tests that are not collected any more, but for those in a file or class that could not be collected."""
        found = self._collected.union(*map(_chain, wanted))
        closed = tuple(f"{nodeid}{separator}" for nodeid in self._closed for separator in ("::", "/"))
        left = sorted(self._nodeids - found - self._closed)
        return [nodeid for nodeid in left if not nodeid.startswith(closed)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_INPUT] = sorted(self._nodeids)

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_INPUT] = self.notes

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.notes += getattr(node, "workeroutput", {}).get(_INPUT, ())


def _chain(item: pytest.Item) -> set[str]:
    """The ids of the test and of all collectors above it."""
    return {node.nodeid for node in item.listchain()}


def select_failed(config: pytest.Config) -> None:
    """Take part in the collection where the option is given.

    :raises pytest.UsageError: when the list of failing tests cannot be read.
    """
    try:
        if hasattr(config, "workerinput"):
            nodeids = config.workerinput.get(_INPUT, [])
        else:
            nodeids = files.read_failed(config.rootpath, _own_list(config))
    except (OSError, ValueError) as error:
        raise pytest.UsageError(
            f"loop-close: cannot read {files.FAILED}: {error}; run all tests instead"
        ) from None
    plugin = FailedTests(config, nodeids)
    plugin.narrow()
    config.pluginmanager.register(plugin, "loop-close-failed")


def _own_list(config: pytest.Config) -> str:
    """The source, where it is an environment of a runner: it has a list of its own; else empty."""
    if not runner_of(os.environ)[1]:
        return ""
    plain = str(config.getoption("loop_close_source", None) or source_of("pytest", os.environ))
    own = f"{plain}:{interpreter()}-{sys.platform}"  # so it is called where another interpreter has the plain name
    return own if files.of_source(config.rootpath, own, files.LIST).is_file() else plain


def notes_of(config: pytest.Config) -> Iterator[str]:
    """What a user has to know of the selection, in a line each."""
    plugin = config.pluginmanager.get_plugin("loop-close-failed")
    yield from dict.fromkeys(plugin.notes) if isinstance(plugin, FailedTests) else ()
