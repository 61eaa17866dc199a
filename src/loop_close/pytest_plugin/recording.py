"""What every process of a run records: the exceptions behind failures, and which tests were collected."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from loop_close import capture
from loop_close.capture import ProjectCode
from loop_close.capture.differences import Comparisons
from loop_close.capture.exceptions import describe
from loop_close.capture.values import Texts
from loop_close.model import Raised
from loop_close.project_files import ProjectFiles
from loop_close.pytest_plugin.calls import CallMerger, CallRecorder, packed, without_own_frame
from loop_close.readers.pytest_reports import from_wire, to_wire
from loop_close.text import digest

#: The attribute of a report that carries the exception behind it, from xdist's workers to their controller, too.
_ATTRIBUTE = "_loop_close"
#: A longer time, in seconds, is of a test that sets the clock.
CLOCK_SET = 86_400.0
#: What a worker calls its part of the record in ``workeroutput``.
OUTPUT = "loop_close"
#: How many tests there are, a digest of their node ids, and their files with the conftests.
Collected = tuple[int, str, list[str]]
_OF_DOCTEST = ("doctest", "_pytest.doctest")


class ExceptionRecorder:
    """Describes the exception behind a failed report, while its frames are still alive.

    All that it needs is loaded with it: tests fake files and modules, and unload what was imported during them.

    :param root: absolute path of the root.
    :param is_worker: the reports are sent to another process.
    """

    def __init__(self, root: str, *, is_worker: bool) -> None:
        capture.forget()  # pytest.main() again in one process: the files may have changed
        # Before the tests: they may leave the folder, or change the home.
        self._project = ProjectCode(root, ProjectFiles(root))
        self._comparisons = Comparisons(Texts(self._project))
        self._is_used = False  # since what was compared was last forgotten
        self._is_worker = is_worker

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        try:
            report = yield
        except BaseException as error:
            without_own_frame(error)
            raise
        if call.excinfo is not None and report.outcome == "failed":
            self._attach(report, call.excinfo.value)
        if self._is_used:  # what was compared until now belongs to no later exception
            self._comparisons.forget()
            self._is_used = False
        return report

    def pytest_exception_interact(self, call: pytest.CallInfo[Any], report: Any) -> None:
        if report.when == "collect" and call.excinfo is not None:
            self._attach(report, call.excinfo.value)

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> None:
        """An assertion compared the two, and fails: find now where they differ, while both are there."""
        self._is_used = True
        try:
            self._comparisons.saw(sys._getframe(), op, left, right)
        except KeyboardInterrupt:
            raise
        except BaseException:  # the program's objects may do anything when they are read
            return

    def _attach(self, report: Any, exc: BaseException) -> None:
        raised = self.describe(exc)
        with contextlib.suppress(Exception):  # without it the report's text is read
            setattr(report, _ATTRIBUTE, to_wire(raised) if raised and self._is_worker else raised)

    def describe(self, exc: BaseException) -> Raised | None:
        """The exception as a record; None when our own reading of it fails (the report's text remains)."""
        if type(exc).__module__ in _OF_DOCTEST:  # the report has the example, which no frame shows
            return None
        self._is_used = True
        try:
            return describe(exc, self._project, self._comparisons)
        except KeyboardInterrupt:
            raise
        except BaseException:  # an exception of the program's objects must not end the run
            return None


def exception_of(report: Any) -> Raised | None:
    """The exception behind a report, taken off it so that no other plugin meets it; None if it has none."""
    sent = vars(report).pop(_ATTRIBUTE, None)
    return from_wire(sent) if isinstance(sent, str) else sent


def collected(items: Sequence[pytest.Item]) -> Collected:
    """What there is before any test is left out."""
    plugins = items[0].config.pluginmanager.get_plugins() if items else ()
    names = (str(getattr(each, "__file__", "")) for each in plugins)
    loaded = {str(item.path) for item in items} | {name for name in names if name.endswith("conftest.py")}
    return len(items), digest("\n".join(sorted(item.nodeid for item in items))), sorted(loaded)


class WorkerRecorder:
    """In a worker of xdist: sends its part to the controller when its session ends, and writes no file.

    :ivar notes: what a user has to know of the selection, in a line each.
    """

    def __init__(self, config: pytest.Config, calls: CallRecorder | CallMerger) -> None:
        self._config: Any = config
        self._calls = calls
        self._collected: Collected = (0, "", [])
        self.notes: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._collected = collected(items)

    def pytest_sessionfinish(self) -> None:
        with contextlib.suppress(Exception):
            self._config.workeroutput[OUTPUT] = (*packed(self._calls), self._collected, self.notes)
