"""What every process of a run records: the exceptions behind failures, and which tests were collected."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from loop_close.project_files import ProjectFiles
from loop_close.provenance import digest_of
from loop_close.pytest_plugin.calls import call_recorder_of, send

if TYPE_CHECKING:
    from loop_close.model import Raised


_MAX_PENDING = 16
_OF_DOCTEST = ("doctest", "_pytest.doctest")


class ExceptionRecorder:
    """Describes the exception behind a failed report, while its frames are still alive.

    The hook that hands out the exception and the one that logs the report come one right after the other, in
    either order; an exception is kept for as long as that takes, a few at a time.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._project: Any = None
        self._project_files = ProjectFiles(
            root
        )  # before the tests: they may leave the folder, or change the home
        self._comparisons: Any = None
        self._modules: dict[str, ModuleType] = {}
        self._loaded = -1  # how many modules there were when they were last searched for ours
        self.pending: dict[tuple[str, str], BaseException] = {}

    def saw(self, nodeid: str, when: str, exc: BaseException) -> None:
        """Keep an exception until :meth:`take_exception`."""
        self.pending[nodeid, when] = exc
        if len(self.pending) > _MAX_PENDING:
            # Reports that were never logged, by plugins that run tests again.
            del self.pending[next(iter(self.pending))]

    def take_exception(self, report: Any) -> Raised | None:
        """What was raised, for a failed report; forgets it in any case."""
        exc = self.pending.pop((report.nodeid, report.when), None)
        found = self.describe(exc) if exc is not None and report.outcome == "failed" else None
        # A plugin that runs tests again logs all phases of a run at its end.
        if not any(nodeid == report.nodeid for nodeid, _ in self.pending):
            self.forget_comparisons()
        return found

    def compared(self, operator: str, left: Any, right: Any) -> None:
        """An assertion compared the two, and fails: find now where they differ, while both are there."""
        self.restore_modules()
        try:
            from loop_close.capture.differences import Comparisons
            from loop_close.capture.values import Texts

            if self._comparisons is None:
                self._comparisons = Comparisons(Texts(self._files()))
            self._comparisons.saw(sys._getframe(), operator, left, right)
        except KeyboardInterrupt:
            raise
        except BaseException:  # the program's objects may do anything when they are read
            return
        finally:
            self.keep_modules()

    def forget_comparisons(self) -> None:
        """A phase of a test is over: what was compared in it belongs to no later exception."""
        if self._comparisons is not None:
            self._comparisons.forget()

    def describe(self, exc: BaseException) -> Raised | None:
        """The exception as a record; None when our own reading of it fails (the report's text remains)."""
        self.restore_modules()
        try:
            from loop_close.capture.exceptions import describe

            if type(exc).__module__ in _OF_DOCTEST:  # the report has the example, which no frame shows
                return None
            return describe(exc, self._files(), self._comparisons)
        except KeyboardInterrupt:
            raise
        except BaseException:  # an exception of the program's objects must not end the run
            return None
        finally:
            self.keep_modules()

    def keep_modules(self) -> None:
        """Remember which of our modules are loaded, for :meth:`restore_modules`; never what a test put there.

        Thousands of tests may fail: they are searched only if there are more or fewer than the last time.
        """
        with contextlib.suppress(Exception):  # a test may have replaced ``sys.modules``, or its keys
            if len(sys.modules) == self._loaded:
                return
            for name, module in list(sys.modules.items()):
                if type(name) is str and name.startswith("loop_close.") and type(module) is ModuleType:
                    self._modules.setdefault(name, module)
            self._loaded = len(sys.modules)

    def restore_modules(self) -> None:
        """Put back our modules that are gone.

        Tests restore ``sys.modules`` to what it was before they began, and we load modules when the first one fails.
        Loaded twice, their classes would be two.
        """
        with contextlib.suppress(Exception):
            for name, module in self._modules.items():
                sys.modules.setdefault(name, module)

    def _files(self) -> Any:
        """The files of the project, as they are in this session."""
        if self._project is None:
            from loop_close import capture
            from loop_close.capture import ProjectCode

            capture.forget()  # pytest.main() again in one process: the files may have changed
            self._project = ProjectCode(self._root, self._project_files)
        return self._project


def fixtures_of(item: pytest.Item) -> frozenset[str]:
    """The fixtures a test asked for; parameters of ``parametrize`` are values, not fixtures."""
    names = getattr(item, "fixturenames", ())
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return frozenset(names) - frozenset(parameters)


def collected(items: Sequence[pytest.Item]) -> tuple[int, str]:
    """How many tests there are before any are left out, and a digest of their node ids."""
    return len(items), digest_of(item.nodeid for item in items)


# --- the xdist worker: it sends what was raised along with the report, and writes no file


#: The attribute that carries the exception from the worker to the controller.
ATTRIBUTE = "_loop_close"
#: The key of the number and digest of a worker's tests in ``workeroutput``.
COLLECTED = "loop_close_collected"


class WorkerReporter:
    """Attaches plain values to failed reports before xdist sends them."""

    def __init__(self, config: pytest.Config) -> None:
        self._exceptions = ExceptionRecorder(str(config.rootpath))
        self._config = config
        self._calls = call_recorder_of(config)

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is not None:
            self._saw(item, call.when, call.excinfo.value)

    def _saw(self, node: Any, when: str, exc: BaseException) -> None:
        self._exceptions.saw(node.nodeid, when, exc)

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
        self._exceptions.compared(op, left, right)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if self._exceptions.pending:
            self._attach(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._config.workeroutput[COLLECTED] = collected(items)  # type: ignore[attr-defined]

    def pytest_sessionfinish(self) -> None:
        with contextlib.suppress(Exception):
            send(self._config)

    def _attach(self, report: Any) -> None:
        # What the program patched is still patched. Without our record the controller reads the report's words.
        with contextlib.suppress(Exception):
            raised = self._exceptions.take_exception(report)
            if raised is not None:
                from loop_close.readers.pytest_reports import to_wire

                setattr(report, ATTRIBUTE, to_wire(raised))


def received(report: Any) -> Any:
    """What a worker attached, taken off the report so that no other plugin meets it; None if it sent nothing."""
    return vars(report).pop(ATTRIBUTE, None)
