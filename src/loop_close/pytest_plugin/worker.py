"""The xdist worker: sends what was raised along with the report. A worker writes no file."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from loop_close.pytest_plugin.calls import call_recorder_of, send, spare
from loop_close.pytest_plugin.command import is_selectable
from loop_close.pytest_plugin.recording import ExceptionRecorder, collected, fixtures_of

#: The attribute that carries the exception from the worker to the controller.
ATTRIBUTE = "_loop_close"
#: The attribute of a report whose node id selects nothing, or more.
_UNSELECTABLE = "_loop_close_unselectable"
#: The key of the number and digest of a worker's tests in ``workeroutput``.
COLLECTED = "loop_close_collected"
#: The key in ``workerinput`` that says whether no file changed since the last green run.
IS_AS_GREEN = "loop_close_is_as_green"


class WorkerReporter:
    """Attaches plain values to failed reports before xdist sends them."""

    def __init__(self, config: pytest.Config) -> None:
        self._exceptions = ExceptionRecorder(str(config.rootpath))
        self._config = config
        self._calls = call_recorder_of(config)
        self._unselectable: set[str] = set()

    def pytest_sessionstart(self) -> None:
        if getattr(self._config, "workerinput", {}).get(IS_AS_GREEN):
            spare(self._config)
            self._calls = call_recorder_of(self._config)

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is not None:
            self._saw(item, call.when, call.excinfo.value)

    def _saw(self, node: Any, when: str, exc: BaseException) -> None:
        self._exceptions.saw(node.nodeid, when, exc, fixtures_of(node))
        if not is_selectable(node):
            self._unselectable.add(node.nodeid)

    def pytest_exception_interact(
        self, node: Any, call: pytest.CallInfo[Any], report: pytest.CollectReport | pytest.TestReport
    ) -> None:
        if report.when == "collect" and call.excinfo is not None:
            self._saw(node, "collect", call.excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._calls is not None:
            self._calls.saw(report)
        if self._exceptions.pending:
            self._attach(report)
        else:
            self._exceptions.forget_comparisons()

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> None:
        if op == "==":
            self._exceptions.compared(left, right)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if self._exceptions.pending:
            self._attach(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._config.workeroutput[COLLECTED] = collected(self._config, items)  # type: ignore[attr-defined]

    def pytest_sessionfinish(self) -> None:
        with contextlib.suppress(Exception):
            send(self._config)

    def _attach(self, report: Any) -> None:
        # What the program patched is still patched. Without our record the controller reads the report's words.
        if report.nodeid in self._unselectable:
            setattr(report, _UNSELECTABLE, True)
        with contextlib.suppress(Exception):
            raised = self._exceptions.take_exception(report)
            if raised is not None:
                from loop_close.readers.pytest_reports import to_wire

                setattr(report, ATTRIBUTE, to_wire(raised))


def received(report: Any) -> tuple[Any, bool]:
    """What a worker attached, taken off the report so that no other plugin meets it.

    :returns: what was raised, None if it sent nothing, and whether the node id selects the test.
    """
    attached = vars(report)
    return attached.pop(ATTRIBUTE, None), not attached.pop(_UNSELECTABLE, False)
