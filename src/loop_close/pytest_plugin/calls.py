"""The monitor in a session: it starts before conftests are imported, and gets tests and fixtures."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from loop_close.files import UnusablePathError, read_failed
from loop_close.pytest_plugin.command import settings_table
from loop_close.settings import AUTO, OFF, ON

if TYPE_CHECKING:
    from loop_close.calls import Calls
    from loop_close.pytest_plugin.session import Recorder
    from loop_close.trace.session import Monitor


#: What a worker calls its counts in ``workeroutput``, with the reason why these are missing or not complete.
_OUTPUT = "loop_close_calls"
_NAME = "loop-close-calls"


def start_monitor(config: pytest.Config) -> None:
    """Start the monitor if it is wanted and tests are going to run in this process or in workers."""
    options = config.known_args_namespace
    setting = setting_of(config)
    if setting == OFF:
        return
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    if not is_worker and (getattr(options, "numprocesses", None) or getattr(options, "tx", None)):
        config.pluginmanager.register(CallMerger(), _NAME)
        return
    try:
        _watch(config, is_whole=setting == ON)
    except Exception as fault:
        config.pluginmanager.register(DisabledCalls(f"call tracking failed: {fault}"), _NAME)


def _watch(config: pytest.Config, *, is_whole: bool) -> None:
    from loop_close.trace.session import Monitor

    likely: list[str] = []
    with contextlib.suppress(OSError, ValueError):
        likely = read_failed(config.rootpath)
    monitor = Monitor(str(config.rootpath), likely, is_whole=is_whole)
    config.add_cleanup(monitor.stop)  # however pytest ends, even before a session
    plugin = DisabledCalls(monitor.why_off) if monitor.why_off else CallRecorder(monitor)
    config.pluginmanager.register(plugin, _NAME)


def setting_of(config: pytest.Config) -> str:
    """The setting; errors in the settings are reported where all of them are read."""
    given = getattr(config.known_args_namespace, "loop_close_suspects", None)
    if given is not None:
        return str(given)
    table: object = {}
    with contextlib.suppress(UnusablePathError):
        table = settings_table(config)
    return str(table.get("suspects", AUTO)) if isinstance(table, Mapping) else AUTO


def call_recorder_of(config: pytest.Config) -> CallRecorder | None:
    """The recorder of the calls of this process; None if there is none."""
    found = config.pluginmanager.get_plugin(_NAME)
    return found if isinstance(found, CallRecorder) else None


def collected(config: pytest.Config) -> tuple[Calls | None, str]:
    """What the tests called, and why that is not known or not in full, empty when it is or was not wanted."""
    found = config.pluginmanager.get_plugin(_NAME)
    return (None, "") if found is None else found.collected()


def send(config: Any) -> None:
    """From a worker to the controller, at the end of its session: the counts, or why there are none."""
    calls, why_not = collected(config)
    data = b""
    if calls is not None:
        from loop_close.trace.counts import encode

        try:
            data = encode(calls)
        except UnicodeEncodeError:
            why_not = "a file or function name is not a string"
    config.workeroutput[_OUTPUT] = data, why_not


class DisabledCalls:
    """Stands where calls cannot be looked at.

    :param why: the reason.
    """

    def __init__(self, why: str) -> None:
        self._why = why

    def collected(self) -> tuple[Calls | None, str]:
        """No calls, and the reason."""
        return None, self._why


class CallMerger:
    """On the controller of xdist: adds up what the workers counted."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._reasons: set[str] = set()
        self._workers = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        self._workers += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        data, why_not = getattr(node, "workeroutput", {}).pop(_OUTPUT, (b"", ""))
        self._parts += [data] if data else []
        self._reasons |= {why_not} - {""}

    def collected(self) -> tuple[Calls | None, str]:
        """The sum; of a worker that died, or was stopped with the run, nothing is known."""
        from loop_close.trace.counts import decode, merge_calls

        reasons = sorted(self._reasons)
        lost = self._workers - len(self._parts)
        if not self._parts and reasons:
            return None, reasons[0]  # the same as without workers
        said = [f"{lost} of {self._workers} workers sent no call data"] if lost else []
        calls = merge_calls(map(decode, self._parts)) if self._parts else None
        return calls, ": ".join([*said, *reasons[:1]])


class CallRecorder:
    """Tells the monitor which test runs, and which fixtures it shares with others."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._items: list[pytest.Item] = []
        self._again: list[Calls] = []
        self.saw = monitor.saw
        self.stop = monitor.stop

    def collected(self) -> tuple[Calls | None, str]:
        """What was counted, and an empty text; None with the reason where the monitor failed."""
        calls = self._monitor.calls()
        if calls is not None and self._again:
            from loop_close.trace.counts import merge_calls

            number = len(self._again)
            own = calls._replace(omitted=calls.omitted - number, passed_over=calls.passed_over - number)
            calls = merge_calls([own, *self._again])
        return calls, self._monitor.why_off

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._monitor.collected(report.nodeid, is_failed=report.failed)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._items = session.items

    # Errors pass through the wrappers and leave without them: see ``without_own_frame``.

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        request = getattr(item, "_request", None)  # now, as pytest takes it away at the end
        monitor = self._monitor
        monitor.begin_test(item.nodeid)
        try:
            result = yield
        except BaseException as error:
            without_own_frame(error)
            raise
        finally:
            monitor.end_test(fixtures_of(item, request))
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        monitor = self._monitor
        is_shared = fixturedef.scope != "function"
        if is_shared:
            monitor.begin_setup()
        try:
            result = yield
        except BaseException as error:
            without_own_frame(error)
            if is_shared:
                monitor.end_setup(fixturedef, is_broken=True)
            raise
        if is_shared:
            monitor.end_setup(fixturedef, is_broken=False)
        else:
            monitor.mark()
        return result

    # Others may still run for the fixture. What they run counts as the next teardown, or as the test.
    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_post_finalizer(self, fixturedef: Any) -> None:
        self._monitor.torn_down(fixturedef, is_shared=fixturedef.scope != "function")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._monitor.untracked:
            with contextlib.suppress(Exception):
                self._run_again(session, exitstatus)
        self.stop()  # the tests are over, and much is imported from here on

    def _run_again(self, session: pytest.Session, exitstatus: int) -> None:
        from loop_close.pytest_plugin.again import each_alone, is_wanted
        from loop_close.trace.counts import decode

        if is_wanted(session, exitstatus):
            items = {item.nodeid: item for item in self._items}
            untracked = [items[nodeid] for nodeid in self._monitor.untracked if nodeid in items]
            found = map(decode, each_alone(untracked, self._calls_in_copy))
            self._again += [each for each in found if each.failed]  # and does not pass when it is alone

    def _calls_in_copy(self, item: pytest.Item) -> bytes:
        from loop_close.calls import Calls
        from loop_close.pytest_plugin.again import run_quietly
        from loop_close.trace.counts import encode

        self._monitor.start_over()
        run_quietly(item, self.saw)
        return encode(self._monitor.calls() or Calls())


def without_own_frame(error: BaseException) -> None:
    """Take the frame of the wrapper that calls this off the traceback of the error that it is about to raise again.

    ``raise`` alone adds no second one. Without this every error of a fixture would show our frame.
    """
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def fixtures_of(item: Any, request: Any) -> Iterator[tuple[Any, bool]]:
    """The fixtures that a test asked for, each with whether it got the value.

    Only its request knows those that it asked for by ``getfixturevalue``, and which of several of one name.

    :param request: None for items of plugins, which may have none.
    """
    got = getattr(request, "_fixture_defs", {})
    visible = getattr(request, "_arg2fixturedefs", {})
    for name, fixture in got.items():
        if name in getattr(fixture, "argnames", ()):  # it asks for the one that it overrides
            yield from ((each, True) for each in visible.get(name, ())[:-1])
        yield fixture, True
    for name in getattr(item, "fixturenames", ()):
        if name not in got:
            yield from ((each, False) for each in visible.get(name, ())[-1:])


# --- what the tests called


def collect_calls(recorder: Recorder) -> tuple[Calls | None, str]:
    """What the tests called; why that is not known, or not in full, empty when it is or was not wanted.

    Where the monitor could not look, what coverage.py wrote down of each test.
    """
    try:
        calls, why_not = collected(recorder.config)
        if calls is None and why_not and recorder.failures:
            from loop_close.trace.contexts import calls_from_contexts, data_file

            root = str(recorder.config.rootpath)
            failed = {failure.nodeid for failure in recorder.failures} - {""}
            if (path := data_file(root, os.environ)).is_file():
                calls, reason = calls_from_contexts(path, root, failed)
                why_not = "" if calls is not None else f"{why_not}; {reason}"
        return calls, why_not
    except Exception as fault:  # all else that there is to say is worth more
        from loop_close.text import fault_text

        return None, f"internal error of loop-close: {fault_text(fault)}"
