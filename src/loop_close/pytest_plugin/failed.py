"""``--loop-close-failed``: run exactly the tests that failed in the last run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from loop_close import files

#: What the controller of xdist calls the node ids in ``workerinput``.
_INPUT = "loop_close_failed"


class FailedTests:
    """Selects the tests, whatever other options and plugins leave out or choose.

    :param nodeids: of the tests that failed, or of the files that could not be collected; empty for all tests.
    """

    def __init__(self, config: pytest.Config, nodeids: list[str]) -> None:
        self._root = config.rootpath
        self._nodeids = frozenset(nodeids)
        self._config = config
        self.notes: list[str] = []

    def narrow(self) -> None:
        """Have pytest collect only the files in question, instead of what the command line names."""
        names = sorted({nodeid.partition("::")[0] for nodeid in self._nodeids})
        paths = [str(self._root / name) for name in names]
        found = [path for path in paths if os.path.exists(path)]
        if found:
            self._config.args[:] = found
        elif names:
            self.notes.append("none of the files of the tests that failed exist any more: all tests ran")
            self._nodeids = frozenset()
        else:
            self.notes.append("no failing test is recorded: all tests ran")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Any:
        if not self._nodeids:
            yield
            return
        wanted = [item for item in items if self._is_wanted(item.nodeid)]
        others = [item for item in items if not self._is_wanted(item.nodeid)]
        items[:] = list(wanted)
        yield
        # Another plugin may have put them into another order, or left some out, as pytest-split does.
        order = {item: number for number, item in enumerate(items)}
        items[:] = sorted(wanted, key=lambda item: order.get(item, len(order)))
        if others:
            self._config.hook.pytest_deselected(items=others)
        self._report_missing(wanted)

    def _is_wanted(self, nodeid: str) -> bool:
        return nodeid in self._nodeids or nodeid.partition("::")[0] in self._nodeids

    def _report_missing(self, wanted: list[pytest.Item]) -> None:
        found = {item.nodeid for item in wanted}
        missing = sorted(n for n in self._nodeids if "::" in n and n not in found)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            self.notes.append(f"failed before and not found: {missing[0]}{more}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_INPUT] = sorted(self._nodeids)


def select_failed(config: pytest.Config) -> None:
    """Take part in the collection where the option is given.

    :raises pytest.UsageError: when the list of failing tests cannot be read.
    """
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(
            FailedTests(config, config.workerinput.get(_INPUT, [])), "loop-close-failed"
        )
        return
    try:
        nodeids = files.read_failed(config.rootpath)
    except (OSError, ValueError) as error:
        raise pytest.UsageError(
            f"loop-close: cannot read {files.FAILED}: {error}; run all tests instead"
        ) from None
    plugin = FailedTests(config, nodeids)
    plugin.narrow()
    config.pluginmanager.register(plugin, "loop-close-failed")


def notes_of(config: pytest.Config) -> Iterator[str]:
    """What a user has to know of the selection, in a line each."""
    plugin = config.pluginmanager.get_plugin("loop-close-failed")
    yield from plugin.notes if isinstance(plugin, FailedTests) else ()
