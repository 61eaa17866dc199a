"""On the controller, or in a run without xdist: collect what happens, and write once, at the end."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from loop_close.files import Targets
from loop_close.pytest_plugin import BEGUN, VARIABLE
from loop_close.pytest_plugin.calls import call_recorder_of, without_own_frame
from loop_close.pytest_plugin.command import targets_of
from loop_close.pytest_plugin.finish import begin, ci_output, finish
from loop_close.pytest_plugin.recording import (
    COLLECTED,
    ExceptionRecorder,
    collected,
    fixtures_of,
    received,
)

_MAX_WARNINGS = 200
#: Fixtures of pyfakefs: what is imported while they are set up gets the fake files, and is unloaded afterwards.
_FAKES = frozenset({"fs", "fs_class", "fs_module", "fs_session"})
_FAILED_SUBTESTS = re.compile(r"contains \d+ failed subtests?")


def start(config: pytest.Config) -> None:
    """Check what was asked for and begin to listen.

    :raises pytest.UsageError: for settings or paths that cannot be.
    """
    config.pluginmanager.register(Recorder(config, targets_of(config)), "loop-close-recorder")


def _load_all() -> None:
    """Load all lazy modules now: pytester unloads what an inner run imported, so a module would exist twice."""
    from importlib import import_module
    from pkgutil import walk_packages

    import loop_close

    doors = ("cli", "mcp", "seeds", "hosts", "nox", "tox", "drive")
    for module in walk_packages(loop_close.__path__, "loop_close."):
        if module.name.split(".")[1] not in (*doors, "__main__"):
            import_module(module.name)


class Recorder:
    """Holds hooks and what they saw, as records; no object of pytest is kept but the config."""

    def __init__(self, config: pytest.Config, targets: Targets) -> None:
        self.config = config
        self.targets = targets
        self.counts = OutcomeCounts()
        self.failures: list[Any] = []
        self.warnings: list[Any] = []
        self.collected: tuple[int, str] = (0, "")
        self.interrupted = ""
        self.crashed = False
        self.deselected = 0
        self._error: BaseException | None = None
        self.lines: tuple[str, ...] = ()
        self.saved: Any = None
        #: Where ``loop-close check``, tox or nox waits for the report; empty for a plain run.
        self.begun_file = config.stash.get(BEGUN, "")
        self._pid = os.getpid()
        self.begun: Any = None
        self.fault: Exception | None = None
        self._calls = call_recorder_of(config)
        self.former: Mapping[Path, bytes] = {}
        self._session: pytest.Session | None = None
        self._exit_status: int | None = None
        self._exceptions = ExceptionRecorder(str(config.rootpath))
        self._pending = self._exceptions.pending
        self._unread: list[Any] = []
        self._held: Any = None
        config.add_cleanup(self._end)

    def pytest_plugin_registered(self, plugin: object) -> None:
        if getattr(plugin, "__name__", "") == "_pytest.pytester":  # named by a test module, often
            _load_all()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session
        if self.begun_file:
            return
        try:
            self.begun = begin(self.config, self.targets)
            self.former = self.targets.announce()
        except Exception as fault:  # told at the end
            self.fault = fault

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.deselected += len(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.collected = collected(items)
        if "pyfakefs" in sys.modules and any(not _FAKES.isdisjoint(fixtures_of(item)) for item in items):
            _load_all()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        if self.begun_file:  # the command line of the workers does not ask for us
            os.environ[VARIABLE] = os.path.dirname(self.begun_file)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        if self.begun_file:  # the workers were started: what tests start is to report to nobody
            os.environ.pop(VARIABLE, None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.collected = max(self.collected, tuple(getattr(node, "workeroutput", {}).pop(COLLECTED, (0, ""))))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Called three times for each test. A setup or teardown that passes does not matter.
        if report.when == "call" or report.outcome != "passed" or self._pending:
            self._log(report)

    def _log(self, report: pytest.TestReport) -> None:
        self.counts.add(report)
        if self._calls is not None:
            self._calls.saw(report)
        if report.outcome == "passed" and not self._pending:
            self._exceptions.forget_comparisons()
            return
        self._release()
        if str(report.outcome) == "rerun":
            self._forget_subtests(report.nodeid)
        if report.outcome == "failed" and not self._pending and not hasattr(report, "node"):
            self._held = report  # what was raised is shown next, by pytest_exception_interact
        else:
            self._take(report)

    def _forget_subtests(self, nodeid: str) -> None:
        """Those of an attempt after which pytest-rerunfailures runs the test again."""
        kept = [each for each in self.failures if each.nodeid != nodeid or not each.subtest]
        self.counts.failed_subtests -= len(self.failures) - len(kept)
        self.counts.failed.discard(nodeid)
        self.counts.outcomes.pop(nodeid, None)
        self.failures = kept

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> None:
        self._exceptions.compared(op, left, right)

    def pytest_exception_interact(
        self, node: Any, call: pytest.CallInfo[Any], report: pytest.CollectReport | pytest.TestReport
    ) -> None:
        # Not pytest_runtest_makereport, which comes first but also for every phase of a test that passes.
        if call.excinfo is None:
            return
        self._exceptions.saw(report.nodeid, str(report.when), call.excinfo.value)
        if report is self._held:
            self._release()

    def _release(self) -> None:
        """Read the report that was held for its exception, with or without it."""
        held, self._held = self._held, None
        if held is not None:
            self._take(held)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed":
            self.counts.add(report)
            self._take(report)

    def _take(self, report: Any) -> None:
        """Turn a failed report into a record at once.

        What the program patched is still patched while its failure is reported (``open``, ``sys.modules``): where
        that stands in the way, the report is read at the end of the run.
        """
        self._exceptions.restore_modules()
        try:
            self._read(report)
        except KeyboardInterrupt:
            raise
        except BaseException:
            self._unread.append(report)
        self._exceptions.keep_modules()

    def _read(self, report: Any) -> None:
        sent = received(report)
        raised = self._exceptions.take_exception(report) if self._exceptions.pending else None
        if report.outcome == "failed" and not self._is_echo(report):
            from loop_close.readers import pytest_reports

            try:
                found = pytest_reports.read_report(
                    report, pytest_reports.from_wire(sent) if sent else raised, str(self.config.rootpath)
                )
            except Exception as fault:  # a report that a plugin made otherwise must not end the run
                found = pytest_reports.unreadable(report, fault)
            same = (
                found.nodeid,
                "collect",
                found.message,
            )  # two workers report a file that cannot be collected
            if all((each.nodeid, each.phase, each.message) != same for each in self.failures):
                self.failures.append(found)

    def _is_echo(self, report: Any) -> bool:
        """Whether pytest fails a test for its subtests alone; without xdist it decides so after this was called."""
        words = getattr(report, "longrepr", None)
        is_summary = isinstance(words, str) and _FAILED_SUBTESTS.fullmatch(words) is not None
        return is_summary and any(f.nodeid == report.nodeid and f.subtest for f in self.failures)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # A fault here would take the place of pytest's own report of the error.
        with contextlib.suppress(Exception):
            self.session_failure(excinfo.value)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._interrupted_by(excinfo.value)

    def _interrupted_by(self, exc: BaseException) -> None:
        if type(exc) is KeyboardInterrupt:
            self.interrupted = "interrupted by Ctrl-C"
            with contextlib.suppress(Exception):
                raised = self._exceptions.describe(exc)
                for frame in raised.frames[-1:] if raised is not None else ():  # a test may have hung there
                    self.interrupted += f" at {frame.file}:{frame.line} in {frame.function}"
        else:
            name = "pytest.exit: " if type(exc).__name__ == "Exit" else ""
            self.interrupted = f"{name}{exc}" if str(exc) else "interrupted"

    def session_failure(self, exc: BaseException) -> None:
        """Record a fault of the whole session."""
        from loop_close.capture.exceptions import message_of
        from loop_close.model import Failure

        raised = self._exceptions.describe(exc)
        message = raised.message if raised is not None else message_of(exc)
        self.failures.append(Failure(nodeid="", phase="session", message=message, raised=raised))

    def pytest_warning_recorded(self, warning_message: Any) -> None:
        # As plain values: the message may hold what it warns of. Only these are read, and there may be thousands.
        category, message = warning_message.category.__name__, str(warning_message.message)
        if len(self.warnings) < _MAX_WARNINGS and (
            category.startswith(("PytestUnraisable", "PytestUnhandled")) or "never awaited" in message
        ):
            self.warnings.append((category, message, str(warning_message.filename), warning_message.lineno))

    # The outermost wrapper: what others do to the exit status, or raise, is known then.

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        try:
            result = yield
        except BaseException as error:
            without_own_frame(error)
            self._take_error(error)
            self._finish(session)
            raise
        self._finish(session)
        return result

    def _take_error(self, error: BaseException | None) -> None:
        """Record the error that ends the session, once."""
        if error is None or error is self._error:
            return
        self._error = error
        if isinstance(error, pytest.exit.Exception | KeyboardInterrupt):
            self._interrupted_by(error)
        elif isinstance(error, Exception):
            self.crashed = not isinstance(error, pytest.UsageError)
            self.session_failure(error)

    def _finish(self, session: pytest.Session) -> None:
        if os.getpid() != self._pid:  # a child of a test that goes on to the end of the run
            return
        self._exit_status = int(session.exitstatus)
        error = sys.exc_info()[1]  # a usage error in the collection, such as a file that does not exist
        if isinstance(error, pytest.UsageError):
            self._take_error(error)
        self.counts.settle()
        self._exceptions.restore_modules()
        self._release()
        unread, self._unread = self._unread, []
        for report in unread:
            self._take(report)
        self.saved = None
        self.lines = finish(self, session)

    def _end(self) -> None:
        """After pytest's own summary: our lines. Also for a session that never began, or changed its exit status.

        Not ``pytest_unconfigure``, which is not called any more where another plugin's raises.
        """
        if os.getpid() != self._pid:
            return
        error = sys.exc_info()[1]
        is_new = isinstance(error, Exception) and error is not self._error
        if self._session is not None and (is_new or self._exit_status != int(self._session.exitstatus)):
            self._take_error(error)
            self._finish(self._session)
        commands, problems = ci_output(self.targets, self.saved)
        terminalreporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminalreporter is not None:
            is_green = self._exit_status == 0
            for line in (*self.lines, *problems):
                terminalreporter.write_line(line, green=is_green, red=not is_green)
            for line in commands:  # without colour: a CI system reads them only at the start of a line
                terminalreporter.write_line(line)
        self.lines = ()


# --- count tests by outcome as their reports come in


class OutcomeCounts:
    """The counts that pytest's last line shows, and the outcome of each test.

    :ivar outcomes: by node id, as in :data:`loop_close.records.Outcome`; the worst of all phases and subtests.
    """

    def __init__(self) -> None:
        self.passed = 0
        self.skipped = 0
        self.xfailed = 0
        self.xpassed = 0
        self.errors = 0
        self.failures = 0
        self.failed_subtests = 0
        self.failed: set[str] = set()
        self.outcomes: dict[str, Any] = {}
        self._passed_too: list[Any] = []
        self._broken_setups: set[str] = set()
        self._uncollected: set[tuple[str, str]] = set()
        self._skipped_modules: set[str] = set()

    def add(self, report: Any) -> None:
        """Count a report of any phase."""
        if report.outcome == "passed":  # most of them
            if report.when == "call":
                self._pass(report)
        elif report.outcome == "failed":
            self._failure(report)
        elif report.outcome == "skipped":
            if hasattr(report, "wasxfail"):
                self.xfailed += 1
                self.outcomes.setdefault(report.nodeid, "xfailed")
            elif not hasattr(report, "context"):  # a subtest is not a test of its own
                self._skip(report)

    def _skip(self, report: Any) -> None:
        if report.when == "collect":
            reason = str(report.longrepr)
            if reason in self._skipped_modules:
                return  # collected twice, as a module and for its doctests; xdist reports it once
            self._skipped_modules.add(reason)
        self.skipped += 1
        self.outcomes.setdefault(report.nodeid, "skipped")

    def _pass(self, report: Any) -> None:
        nodeid = report.nodeid
        if hasattr(report, "wasxfail"):
            self.xpassed += 1
            self.outcomes.setdefault(nodeid, "xpassed")
        elif not hasattr(report, "context"):
            self.passed += 1
            self.outcomes.setdefault(nodeid, "passed")
            if self.failed and nodeid in self.failed:  # in a subtest, or on another worker of --dist each
                self._passed_too.append(report)

    def _failure(self, report: Any) -> None:
        if report.when == "collect":
            same = (report.nodeid, str(report.longrepr))
            self.errors += same not in self._uncollected  # xdist reports it from every worker
            self._uncollected.add(same)
        elif report.when in ("setup", "teardown"):
            self.errors += 1
            if report.when == "setup":
                self._broken_setups.add(report.nodeid)
        else:
            if hasattr(report, "context"):
                self.failed_subtests += 1
            else:
                self.failures += 1
            self.failed.add(report.nodeid)
        self.outcomes[report.nodeid] = "failed"

    def settle(self) -> None:
        """Count as failed what pytest fails for its subtests after it was reported as passed."""
        changed = [report for report in self._passed_too if report.outcome == "failed"]
        self._passed_too = [report for report in self._passed_too if report.outcome != "failed"]
        self.passed -= len(changed)
        self.failures += len(changed)

    def done(self) -> int:
        """How many tests have an outcome."""
        others = self.passed - len(self._passed_too) + self.skipped + self.xfailed + self.xpassed
        return others + len(self.failed | self._broken_setups)
