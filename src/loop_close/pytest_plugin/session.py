"""Without xdist, or on its controller: collect what happens, and write once, at the end."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from loop_close.capture.exceptions import message_of
from loop_close.files import Targets
from loop_close.model import Failure, Phase
from loop_close.pytest_plugin import BEGUN, RECORDER, VARIABLE, is_worker
from loop_close.pytest_plugin.calls import CallMerger, CallRecorder, start_monitor, without_own_frame
from loop_close.pytest_plugin.command import replaces_failures, targets_of
from loop_close.pytest_plugin.finish import begin, ci_output, finish, show_prompt, without_failures
from loop_close.pytest_plugin.recording import (
    CLOCK_SET,
    OUTPUT,
    Collected,
    ExceptionRecorder,
    WorkerRecorder,
    collected,
    exception_of,
)

_MAX_WARNINGS = 200
_INTERRUPTED, _INTERNAL_ERROR, _USAGE_ERROR = 2, 3, 4


def start(config: pytest.Config) -> None:
    """Check what was asked for and begin to listen, before any conftest is loaded.

    :raises pytest.UsageError: for settings or paths that cannot be.
    """
    is_sent = is_worker(config.known_args_namespace)
    targets = targets_of(config)
    exceptions = ExceptionRecorder(str(config.rootpath), is_worker=is_sent)
    calls = start_monitor(config, targets.settings.suspects)
    config.pluginmanager.register(exceptions, "loop-close-exceptions")
    recorder = WorkerRecorder(config, calls) if is_sent else Recorder(config, targets, exceptions, calls)
    config.pluginmanager.register(recorder, RECORDER)


class Recorder:
    """Holds hooks and what they saw.

    :ivar session: None for a pytest that ended before it.
    :ivar reports: those that matter, in their order, each with the exception behind it.
    :ivar failures: what failed beside tests: faults of the whole session.
    :ivar warnings: as plain values, because the message may hold what it warns of.
    :ivar collected: what there was before any test was left out.
    :ivar chosen: the tests that the workers of xdist run.
    :ivar longest_setup: in seconds; that of a fixture of wider scope counts for the test that used it first.
    :ivar interrupted: what ended the run early.
    :ivar error: what escaped from pytest's own code; ``is_crashed``: Python ends with it.
    :ivar begun_file: where ``loop-close check``, tox or nox waits for the report; empty for a plain run.
    :ivar begun: the run in the history; ``former`` what the files held before it: None if it never began.
    :ivar fault: our own, told at the end.
    :ivar notes: what a user has to know of the selection, in a line each.
    """

    def __init__(
        self,
        config: pytest.Config,
        targets: Targets,
        exceptions: ExceptionRecorder,
        calls: CallRecorder | CallMerger,
    ) -> None:
        self.config = config
        self.targets = targets
        self.calls = calls
        self.session: pytest.Session | None = None
        self.reports: list[tuple[Any, Any]] = []
        self.failures: list[Failure] = []
        self.warnings: list[tuple[str, str, str, int]] = []
        self.collected: Collected = (0, "", [])
        self.chosen: list[str] = []
        self.deselected = 0
        self.longest_setup = 0.0
        self.interrupted = ""
        self.error: BaseException | None = None
        self.is_crashed = False
        self.begun_file = config.stash.get(BEGUN, "")
        self.begun: Any = None
        self.former: Mapping[Path, bytes] | None = None
        self.fault: Exception | None = None
        self.notes: list[str] = []
        self.saved: Any = None
        self._exceptions = exceptions
        self._lines: tuple[str, ...] = ()
        self._pid = os.getpid()
        self._is_in_place = not self.begun_file and replaces_failures(config, targets.settings.terminal)
        self._finished: tuple[int | None, BaseException | None] = None, None
        config.add_cleanup(self._end)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session
        if self.begun_file:
            return
        try:
            self.begun = begin(self.config, self.targets)
            self.former = self.targets.announce()
        except Exception as fault:
            self.fault = fault

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.deselected += len(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.collected = collected(items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        if self.begun_file:  # the command line of the workers does not ask for us
            os.environ[VARIABLE] = os.path.dirname(self.begun_file)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        os.environ.pop(VARIABLE, None)  # the workers were started: what tests start is to report to nobody

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.chosen = ids

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        if isinstance(self.calls, CallMerger):
            self.calls.workers += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        sent = getattr(node, "workeroutput", {}).pop(OUTPUT, None)
        if sent is not None and isinstance(self.calls, CallMerger):
            data, why_not, tracked, count, notes = sent
            self.calls.add(data, why_not, tracked)
            self.collected = max(self.collected, tuple(count))
            self.notes += notes

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Called three times for each test. A setup or teardown that passes does not matter, but for its time.
        if report.when == "setup" and self.longest_setup < report.duration < CLOCK_SET:
            self.longest_setup = report.duration
        if report.outcome != "passed":
            self.reports.append((report, exception_of(report)))
        elif report.when == "call":
            self.reports.append((report, None))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed":
            self.reports.append((report, exception_of(report)))

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._failed(excinfo.value)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._interrupted_by(excinfo.value)

    def _interrupted_by(self, exc: BaseException) -> None:
        self.error = exc
        if type(exc) is KeyboardInterrupt:
            raised = self._exceptions.describe(exc)
            self.interrupted = "interrupted by Ctrl-C"
            for frame in raised.frames[-1:] if raised is not None else ():  # a test may have hung there
                self.interrupted += f" at {frame.file}:{frame.line} in {frame.function}"
        else:
            name = "pytest.exit: " if isinstance(exc, pytest.exit.Exception) else ""
            self.interrupted = f"{name}{exc}" if str(exc) else "interrupted"

    def _failed(self, exc: BaseException) -> None:
        """Record a fault of the whole session, or of what pytest loads before it."""
        self.error = exc
        raised = self._exceptions.describe(exc)
        message = raised.message if raised is not None else message_of(exc)
        is_loading = self.session is None and exit_code_of(exc) == _USAGE_ERROR
        phase: Phase = "collect" if is_loading else "session"
        self.failures.append(Failure(nodeid="", phase=phase, message=message, raised=raised))

    def pytest_warning_recorded(self, warning_message: Any) -> None:
        # Only these are read, and there may be thousands.
        category, message = warning_message.category.__name__, str(warning_message.message)
        if len(self.warnings) < _MAX_WARNINGS and (
            category.startswith(("PytestUnraisable", "PytestUnhandled")) or "never awaited" in message
        ):
            self.warnings.append((category, message, str(warning_message.filename), warning_message.lineno))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> Iterator[None]:
        """The prompt first; without one that is printed, pytest shows all that it does without us."""
        hidden: Any = nullcontext()
        if self._is_in_place:
            # pytest looks for warnings until its summary is over
            with warnings.catch_warnings(action="ignore"):
                self._finish(exitstatus)
            lines = show_prompt(self, terminalreporter)
            if lines is not None:
                self._lines, hidden = lines, without_failures(terminalreporter)
        with hidden:
            try:
                result = yield
            except BaseException as error:
                without_own_frame(error)
                raise
        return result

    # The outermost wrapper: what others do to the exit status, or raise, is known then.

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        try:
            result = yield
        except BaseException as error:
            without_own_frame(error)
            self._take_error(error)
            self._finish(session.exitstatus)
            raise
        self._finish(session.exitstatus)
        return result

    def _take_error(self, error: BaseException) -> None:
        """Record the error that ends pytest, once."""
        if error is self.error:
            return
        if isinstance(error, pytest.exit.Exception | KeyboardInterrupt):
            self._interrupted_by(error)
        elif isinstance(error, Exception):
            self.is_crashed = self.session is not None and not isinstance(error, pytest.UsageError)
            self._failed(error)

    def _finish(self, exit_code: int) -> None:
        """Write all, unless it was written and nothing happened since."""
        if os.getpid() != self._pid:  # a child of a test that goes on to the end of the run
            return
        wrong = sys.exc_info()[1]  # a usage error in the collection, such as a file that does not exist
        if isinstance(wrong, pytest.UsageError):
            self._take_error(wrong)
        if self._finished[0] != exit_code or self._finished[1] is not self.error:
            self._finished = int(exit_code), self.error
            self.saved = None
            self._lines = finish(self, int(exit_code))

    def _end(self) -> None:
        """After pytest's own summary: our lines. Also for a pytest without a session, or that changed its exit status.

        Not ``pytest_unconfigure``, which is not called any more where another plugin's raises.
        """
        if os.getpid() != self._pid:
            return
        error = sys.exc_info()[1]  # a usage error before the session reaches no hook
        # Ours say all themselves.
        if isinstance(error, Exception) and not str(error).startswith("loop-close: "):
            self._take_error(error)
        if self.session is None:
            if isinstance(self.error, Exception):
                self._finish(exit_code_of(self.error))
        else:
            self._finish(self.session.exitstatus)
        commands, problems = ci_output(self.targets, self.saved)
        lines, self._lines = (*self._lines, *problems), ()
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if self.session is None:
            sys.stderr.write("".join(f"{line}\n" for line in (*lines, *commands)))
        elif terminal is not None:
            is_green = self._finished[0] == 0
            for line in lines:
                terminal.write_line(line, green=is_green, red=not is_green)
            for line in commands:  # without colour: a CI system reads them only at the start of a line
                terminal.write_line(line)


def exit_code_of(error: BaseException) -> int:
    """What pytest exits with for an error before its session (``_pytest.config.main``, ``wrap_session``)."""
    if isinstance(error, pytest.exit.Exception):
        return _INTERRUPTED if error.returncode is None else int(error.returncode)
    is_usage = isinstance(error, pytest.UsageError) or type(error).__name__ == "ConftestImportFailure"
    return _USAGE_ERROR if is_usage else _INTERNAL_ERROR
