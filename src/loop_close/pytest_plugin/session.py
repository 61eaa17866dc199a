"""On the controller, or in a run without xdist: collect what happens, and write once, at the end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from loop_close import files, lazy
from loop_close.files import Targets
from loop_close.provenance import interpreter, source_of
from loop_close.pytest_plugin.calls import call_recorder_of, spare, without_own_frame
from loop_close.pytest_plugin.command import is_selectable, selection, targets_of
from loop_close.pytest_plugin.finish import ci_output, finish
from loop_close.pytest_plugin.recording import (
    COLLECTED,
    IS_AS_GREEN,
    ExceptionRecorder,
    collected,
    fixtures_of,
    received,
)
from loop_close.remember import Memory, begin

_MAX_WARNINGS = 200
_SECTIONS_IN_ALL = 32_000_000
_MAX_EXTRA_ROOTS = 3
#: Fixtures of pyfakefs: what is imported while they are set up gets the fake files, and is unloaded afterwards.
_FAKES = frozenset({"fs", "fs_class", "fs_module", "fs_session"})
_FAILED_SUBTESTS = lazy.pattern(r"contains \d+ failed subtests?")


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

    doors = ("cli", "mcp_server", "agent", "hosts", "nox", "tox_plugin")
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
        self.chosen: list[str] = []
        self.interrupted = ""
        self.crashed = False
        self.takes_ids = True
        self.exit_hook = ""
        self._error: BaseException | None = None
        self.lines: tuple[str, ...] = ()
        self.saved: Any = None
        self.green = ""
        self.memory: Memory | None = None
        self._calls = call_recorder_of(config)
        self.former: Mapping[Path, bytes] = {}
        self._session: pytest.Session | None = None
        self._exit_status: int | None = None
        self._exceptions = ExceptionRecorder(str(config.rootpath))
        self._pending = self._exceptions.pending
        self._sections_left = _SECTIONS_IN_ALL
        self._unread: list[Any] = []
        self._held: Any = None
        config.add_cleanup(self._end)

    def pytest_plugin_registered(self, plugin: object) -> None:
        if getattr(plugin, "__name__", "") == "_pytest.pytester":  # named by a test module, often
            _load_all()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session
        self.memory = begin_memory(self.config, self.targets)
        self.counts.watch(self.memory.watched | self.memory.merged)
        if known := [entry for entry in self.targets.settings.known if entry.test]:
            begins = tuple(entry.test.partition("*")[0] for entry in known)  # of most tests that says enough
            self.counts.is_named = lambda id_: id_.startswith(begins) and any(e.matches(id_) for e in known)
        if self.memory.is_as_green:
            spare(self.config)
            self._calls = call_recorder_of(self.config)
        self.former = self.targets.announce()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.collected = collected(self.config, items)
        if "pyfakefs" in sys.modules and any(not _FAKES.isdisjoint(fixtures_of(item)) for item in items):
            _load_all()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.chosen = ids

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.collected = max(self.collected, tuple(getattr(node, "workeroutput", {}).pop(COLLECTED, (0, ""))))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send it to a worker of xdist before it starts."""
        node.workerinput[IS_AS_GREEN] = self.memory is not None and self.memory.is_as_green

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
        self.failures = kept

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> None:
        self._exceptions.compared(op, left, right)

    def pytest_exception_interact(
        self, node: Any, call: pytest.CallInfo[Any], report: pytest.CollectReport | pytest.TestReport
    ) -> None:
        # Not pytest_runtest_makereport, which comes first but also for every phase of a test that passes.
        if call.excinfo is None:
            return
        self._exceptions.saw(report.nodeid, str(report.when), call.excinfo.value, fixtures_of(node))
        self.takes_ids = self.takes_ids and is_selectable(node)
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
        sent, is_taken = received(report)
        self.takes_ids = self.takes_ids and is_taken
        raised = self._exceptions.take_exception(report) if self._exceptions.pending else None
        if report.outcome == "failed" and not self._is_echo(report):
            from loop_close.readers import pytest_reports

            try:
                found = pytest_reports.read_report(report, pytest_reports.from_wire(sent) if sent else raised)
            except Exception as fault:  # a report that a plugin made otherwise must not end the run
                found = pytest_reports.unreadable(report, fault)
            if report.when != "collect" or not any(_is_same(found, f) for f in self.failures):
                self.failures.append(self._bounded(found))

    def _is_echo(self, report: Any) -> bool:
        """Whether pytest fails a test for its subtests alone; without xdist it decides so after this was called."""
        words = getattr(report, "longrepr", None)
        is_summary = isinstance(words, str) and _FAILED_SUBTESTS.fullmatch(words) is not None
        return is_summary and any(f.nodeid == report.nodeid and f.subtest for f in self.failures)

    def _bounded(self, failure: Any) -> Any:
        """The failure with as much captured output as the run may hold in all."""
        from dataclasses import replace

        from loop_close.readers import pytest_reports

        limit = min(pytest_reports.MAX_SECTIONS, self._sections_left)
        sections = pytest_reports.bounded_sections(failure.sections, limit)
        self._sections_left -= sum(len(text) for _, text in sections)
        return replace(failure, sections=sections)

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

    def pytest_warning_recorded(self, warning_message: Any, nodeid: str) -> None:
        # As plain values: the message may hold what it warns of. Only these are read, and there may be thousands.
        category, message = warning_message.category.__name__, str(warning_message.message)
        if len(self.warnings) < _MAX_WARNINGS and (
            category.startswith(("PytestUnraisable", "PytestUnhandled")) or "never awaited" in message
        ):
            self.warnings.append(
                (category, message, str(warning_message.filename), warning_message.lineno, nodeid)
            )

    # The outermost wrappers: what others do to the exit status, or raise, is known then.

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        before = session.exitstatus
        try:
            result = yield
        except BaseException as error:
            without_own_frame(error)
            self._note_exit_hook("pytest_sessionfinish", before)
            self._take_error(error)
            self._finish(session)
            raise
        self._note_exit_hook("pytest_sessionfinish", before)
        self._finish(session)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self) -> Iterator[None]:
        before = self._session.exitstatus if self._session is not None else 0
        try:
            result = yield
        except BaseException as error:
            without_own_frame(error)
            raise
        self._note_exit_hook("pytest_terminal_summary", before)
        return result

    def _note_exit_hook(self, hook: str, before: int) -> None:
        """Remember the innermost hook in which the exit status changed."""
        if not self.exit_hook and self._session is not None and self._session.exitstatus != before:
            self.exit_hook = hook

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
        self.saved, self.green = None, ""
        self.lines = finish(self, session)

    def _end(self) -> None:
        """After pytest's own summary: our lines. Also for a session that never began, or changed its exit status.

        Not ``pytest_unconfigure``, which is not called any more where another plugin's raises.
        """
        error = sys.exc_info()[1]
        is_new = isinstance(error, Exception) and error is not self._error
        if self._session is not None and (is_new or self._exit_status != int(self._session.exitstatus)):
            self._take_error(error)
            self._finish(self._session)
        commands, problems = ci_output(self.targets, self.saved, self.green)
        terminalreporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminalreporter is not None:
            is_green = self._exit_status == 0
            for line in (*self.lines, *problems):
                terminalreporter.write_line(line, green=is_green, red=not is_green)
            for line in commands:  # without colour: a CI system reads them only at the start of a line
                terminalreporter.write_line(line)
        self.lines = ()


def _is_same(found: Any, other: Any) -> bool:
    """Whether two workers report the same file that cannot be collected."""
    return bool((found.nodeid, found.phase, found.message) == (other.nodeid, other.phase, other.message))


# --- count tests by outcome as their reports come in


class OutcomeCounts:
    """The counts that pytest's last line shows, without its terminal.

    :ivar spared: node ids of tests that were skipped or expected to fail.
    :ivar is_named: whether the setting ``known`` names a test; None if it names none.
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
        self.spared: set[str] = set()
        self.watched: frozenset[str] = frozenset()
        self._names: frozenset[str] = frozenset()
        self.outcomes: dict[str, Any] = {}
        self.is_named: Callable[[str], bool] | None = None
        self.named_passed: set[str] = set()
        self._passed_too: list[Any] = []
        self._broken_setups: set[str] = set()
        self._uncollected: set[tuple[str, str]] = set()
        self._skipped_modules: set[str] = set()

    def watch(self, tests: frozenset[str]) -> None:
        """Take down the outcomes of these tests, and of those of the same names: a test may have been moved.

        Where a case is named by a credential, which the history redacts, those of all cases.
        """
        names = map(_name, tests)
        self.watched = tests
        self._names = frozenset(_function(name) if "<redacted " in name else name for name in names)

    def add(self, report: Any) -> None:
        """Count a report of any phase."""
        if self.watched:
            self._watch(report)
        if report.outcome == "passed":  # most of them
            if report.when == "call":
                self._pass(report)
                if self.is_named is not None and self.is_named(report.nodeid):
                    self.named_passed.add(report.nodeid)
        elif report.outcome == "failed":
            self._failure(report)
        elif report.outcome == "skipped":
            if hasattr(report, "wasxfail"):
                self.xfailed += 1
                self.spared.add(report.nodeid)
            elif not hasattr(report, "context"):  # a subtest is not a test of its own
                self._skip(report)

    def _watch(self, report: Any) -> None:
        """Take down what becomes of tests that failed before; one that failed is among the failures."""
        nodeid, outcome = report.nodeid, report.outcome
        if hasattr(report, "context"):
            return
        if outcome == "skipped" and report.when == "collect":
            below = (test for test in self.watched if test.startswith(f"{nodeid}::"))
            self.outcomes.update(dict.fromkeys(below, "skipped"))
        elif outcome in ("passed", "skipped") and not self._names.isdisjoint(
            (name := _name(nodeid), _function(name))
        ):
            is_expected = outcome == "skipped" and hasattr(report, "wasxfail")
            self.outcomes[nodeid] = "xfailed" if is_expected else outcome
        file = nodeid.partition("::")[0]
        if file in self.watched:  # it could not be collected before
            self.outcomes[file] = "passed"

    def _skip(self, report: Any) -> None:
        if report.when == "collect":
            reason = str(report.longrepr)
            if reason in self._skipped_modules:
                return  # collected twice, as a module and for its doctests; xdist reports it once
            self._skipped_modules.add(reason)
        self.skipped += 1
        self.spared.add(report.nodeid)

    def _pass(self, report: Any) -> None:
        if hasattr(report, "wasxfail"):
            self.xpassed += 1
        elif not hasattr(report, "context"):
            self.passed += 1
            if (
                self.failed and report.nodeid in self.failed
            ):  # in a subtest, or on another worker of --dist each
                self._passed_too.append(
                    report
                )  # asked in this order: pytest 9.2 spells a node id anew each time

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


def _name(nodeid: str) -> str:
    """The test's own name, with its case."""
    return nodeid.rpartition("::")[2]


def _function(name: str) -> str:
    return name.partition("[")[0]


def begin_memory(config: pytest.Config, targets: Targets) -> Memory:
    """Give the run its place in the history, unless the settings turn the history off."""
    source = config.getoption("loop_close_source", None) or source_of("pytest", os.environ)
    if targets.history is None:
        return begin(targets, source)
    try:
        files.check_inside(targets.root, targets.history)
    except files.UnusablePathError as error:
        memory = begin(targets._replace(history=None), source)
        memory.notes.append(f"{error}; this run is not recorded")
        return memory
    return begin(
        targets,
        source,
        _written(config),
        extra_roots=list(islice(_extra_roots(targets.root), _MAX_EXTRA_ROOTS)),
        interpreter=f"{interpreter()}-{sys.platform}",
        selection=selection(config),
    )


def _extra_roots(root: Path) -> Iterator[Path]:
    """Folders of the project outside of the root that tests import from, as with ``pythonpath = ..``."""
    from loop_close.project_files import top_of

    # A repository in the home folder counts here: only what tests import from is watched, not all that is in it.
    top = Path(top_of(str(root), anywhere=True))
    if top == root:
        return
    for entry in dict.fromkeys(sys.path):
        folder = Path(os.path.abspath(entry or "."))
        is_installed = "site-packages" in folder.parts or folder.is_relative_to(sys.prefix)
        if (
            folder.is_relative_to(top)
            and not folder.is_relative_to(root)
            and not is_installed
            and folder.is_dir()
        ):
            yield folder


def _written(config: pytest.Config) -> Iterator[Path | None]:
    """The files that other plugins write in the run: they are not part of the program."""
    for name in ("xmlpath", "log_file", "htmlpath", "report_log"):
        given = config.getoption(name, None)
        yield config.invocation_params.dir / given if given else None
