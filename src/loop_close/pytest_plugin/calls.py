"""The monitor in a session: it starts before conftests are imported, and gets tests and fixtures."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from loop_close.files import UnusablePathError, read_failed
from loop_close.monitor.imports import TestCode
from loop_close.pytest_plugin.command import settings_table
from loop_close.settings import AUTO, OFF, ON

if TYPE_CHECKING:
    from loop_close.calls import Calls
    from loop_close.monitor.session import Monitor
    from loop_close.pytest_plugin.session import Recorder


#: What a worker calls its counts in ``workeroutput``, or the reason why there are none.
_OUTPUT = "loop_close_calls"
_WHY = "why"
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
    from loop_close.monitor.session import Monitor

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
    calls, sent = collected(config)
    if calls is not None:
        from loop_close.monitor.wire import to_wire

        plain = {**to_wire(calls), _WHY: sent}
        try:
            repr(plain).encode("utf-8")
        except UnicodeEncodeError:  # the whole output of the worker would be lost
            sent = "a file or function name is not a string"
        else:
            config.workeroutput[_OUTPUT] = plain
            return
    config.workeroutput[_OUTPUT] = sent


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
        self._parts: list[Any] = []
        self._reasons: list[str] = []
        self._workers = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        self._workers += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        sent = getattr(node, "workeroutput", {}).pop(_OUTPUT, "")
        if isinstance(sent, str):
            self._reasons += [sent] if sent else []
        else:
            self._parts.append(sent)

    def collected(self) -> tuple[Calls | None, str]:
        """The sum; of a worker that died, or was stopped with the run, nothing is known."""
        from loop_close.monitor.wire import from_wire, merge_calls

        reasons = sorted({*self._reasons, *(part[_WHY] for part in self._parts)} - {""})
        lost = self._workers - len(self._parts)
        if not self._parts and reasons:
            return None, reasons[0]  # the same as without workers
        said = [f"{lost} of {self._workers} workers sent no call data"] if lost else []
        calls = merge_calls(map(from_wire, self._parts)) if self._parts else None
        return calls, ": ".join([*said, *reasons[:1]])


class CallRecorder:
    """Tells the monitor which test runs, and which fixtures it shares with others."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._items: list[pytest.Item] = []
        self._again: list[dict[str, Any]] = []
        self.saw = monitor.saw
        self.stop = monitor.stop

    def collected(self) -> tuple[Calls | None, str]:
        """What was counted, and why that is not all; None with the reason where the monitor failed."""
        is_part = "PYTEST_XDIST_WORKER" in os.environ or bool(self._again)
        calls = self._monitor.calls(ItemCodes(self._items).of, is_part=is_part)
        if calls is not None and self._again:
            from loop_close.monitor.wire import from_wire, merge_calls

            number = len(self._again)
            own = calls._replace(omitted=calls.omitted - number, passed_over=calls.passed_over - number)
            calls = merge_calls([own, *map(from_wire, self._again)])
        return calls, self._monitor.why_off or self._monitor.why_not_all

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
            used = fixtures_of(item, request) if monitor.tests.is_sharing else ()
            monitor.end_test(item.nodeid, used)
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
                monitor.end_setup(fixturedef, True)
            raise
        if is_shared:
            monitor.end_setup(fixturedef, False)
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

        if is_wanted(session, exitstatus):
            items = {item.nodeid: item for item in self._items}
            untracked = [items[nodeid] for nodeid in self._monitor.untracked if nodeid in items]
            found = each_alone(untracked, self._calls_in_copy)
            self._again += [each for each in found if each["failed"]]  # and does not pass when it is alone

    def _calls_in_copy(self, item: pytest.Item) -> dict[str, Any]:
        from loop_close.calls import Calls
        from loop_close.monitor.wire import to_wire
        from loop_close.pytest_plugin.again import run_quietly

        self._monitor.start_over()
        run_quietly(item, self.saw)
        return to_wire(self._monitor.calls(ItemCodes([item]).of, is_part=True) or Calls())


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


# --- the code of tests with that of their fixtures, found without calling anything

#: What sets up the tests of a class.
_SETUPS = ("setUp", "setUpClass", "asyncSetUp", "setup_method", "setup_class")


class ItemCodes:
    """Looks tests up by their node ids."""

    def __init__(self, items: Iterable[pytest.Item]) -> None:
        self._all = items
        self._known: dict[Any, TestCode] = {}

    @cached_property
    def _items(self) -> dict[str, pytest.Item]:
        return {item.nodeid: item for item in self._all}  # not asked for where all is green

    def of(self, nodeid: str) -> TestCode | None:
        """The code of a test; None if it is not a collected test."""
        item = self._items.get(nodeid)
        if item is None:
            return None
        names = getattr(item, "fixturenames", ())
        key = item.parent, getattr(item, "originalname", None) or item.name, tuple(names)
        if key not in self._known:
            self._known[key] = TestCode(str(item.path), tuple(_codes(item, key[1])))
        return self._known[key]


def _codes(item: Any, name: str) -> Iterator[CodeType]:
    from loop_close.capture.objects import unwrap  # late: a green run has no use for it

    cls: Any = getattr(item, "cls", None)
    module: Any = getattr(item, "module", None)
    found = [_named(cls, each) for each in (name, *_SETUPS)] if issubclass(type(cls), type) else []
    found += [vars(module).get(name)] if not found and issubclass(type(module), ModuleType) else []
    fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    found += [each.func for several in fixtures.values() for each in several[-1:]]
    for each in found:
        function = unwrap(each)
        if type(function) is FunctionType:
            yield function.__code__


def _named(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


# --- what the tests called


def collect_calls(recorder: Recorder) -> tuple[Calls | None, str]:
    """What the tests called; why that is not known, or not in full, empty when it is or was not wanted.

    Where the monitor could not look, what coverage.py wrote down of each test.
    """
    try:
        calls, why_not = collected(recorder.config)
        if calls is None and why_not and recorder.failures:
            from loop_close.monitor.contexts import calls_from_contexts, data_file

            root = str(recorder.config.rootpath)
            failed = {failure.nodeid for failure in recorder.failures} - {""}
            calls, reason = calls_from_contexts(data_file(root, os.environ), root, failed)
            why_not = "" if calls is not None else "; ".join(filter(None, (why_not, reason)))
        return calls, why_not
    except Exception as fault:  # all else that there is to say is worth more
        from loop_close.text import fault_text

        return None, f"internal error of loop-close: {fault_text(fault)}"
