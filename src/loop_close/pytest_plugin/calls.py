"""The monitor in a session: it starts before conftests are imported, and gets tests and fixtures."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from loop_close.calls import NO_CALLS, Calls
from loop_close.files import read_failed
from loop_close.pytest_plugin import is_worker
from loop_close.settings import OFF, ON
from loop_close.trace.counts import decode, encode, merge_calls

if TYPE_CHECKING:
    from loop_close.trace.session import Monitor


def start_monitor(config: pytest.Config, setting: str) -> CallRecorder | CallMerger:
    """Start the monitor if it is wanted and tests are going to run in this process.

    :param setting: as in the settings: ``auto``, ``on`` or ``off``.
    :returns: what knows in the end what the tests called.
    """
    options = config.known_args_namespace
    has_workers = getattr(options, "numprocesses", None) or getattr(options, "tx", None)
    if setting == OFF or (has_workers and not is_worker(options)):
        return CallMerger()
    try:
        from loop_close.trace.session import Monitor

        likely: list[str] = []
        with contextlib.suppress(OSError, ValueError):
            likely = read_failed(config.rootpath)
        monitor = Monitor(str(config.rootpath), likely, is_whole=setting == ON)
        config.add_cleanup(monitor.stop)  # however pytest ends, even before a session
    except Exception as fault:
        return CallMerger(f"call tracking failed: {fault}")
    if monitor.why_off:
        return CallMerger(monitor.why_off)
    recorder = CallRecorder(monitor)
    config.pluginmanager.register(recorder, "loop-close-calls")
    return recorder


def packed(calls: CallRecorder | CallMerger) -> tuple[bytes, str, list[str]]:
    """What a worker sends to the controller.

    :returns: the counts, empty for none; why these are missing or not complete; the tests that they are of.
    """
    counts, why_not = calls.collected()
    if counts is None:
        return b"", why_not, []
    try:
        return encode(counts), why_not, sorted(calls.tracked or ())
    except UnicodeEncodeError:
        return b"", "a file or function name is not a string", []


class CallMerger:
    """Adds up what the workers of xdist counted; also used if nothing is counted.

    :param why_not: why nothing is.
    :ivar workers: how many there are.
    :ivar tracked: the tests whose lines they recorded; None if they recorded none.
    """

    def __init__(self, why_not: str = "") -> None:
        self.tracked: set[str] | None = None
        self._parts: list[bytes] = []
        self._reasons = {why_not} - {""}
        self.workers = 0

    def add(self, data: bytes, why_not: str, tracked: Iterable[str]) -> None:
        """Take what :func:`packed` returned in a worker."""
        if data:
            self._parts.append(data)
            self.tracked = {*(self.tracked or ()), *tracked}
        self._reasons |= {why_not} - {""}

    def collected(self) -> tuple[Calls | None, str]:
        """The sum, and why that is not all; of a worker that died, or was stopped with the run, nothing is known."""
        reasons = sorted(self._reasons)
        if not self._parts and reasons:
            return None, reasons[0]  # the same as without workers
        lost = self.workers - len(self._parts)
        said = [f"{lost} of {self.workers} workers sent no call data"] if lost else []
        calls = merge_calls(map(decode, self._parts)) if self._parts else None
        return calls, ": ".join([*said, *reasons[:1]])


def collect_calls(calls: CallRecorder | CallMerger, root: str, failed: Collection[str]) -> tuple[Calls, str]:
    """What the tests called; why that is not known, or not in full, empty when it is or was not wanted.

    Where the monitor could not look, what coverage.py wrote down of each test.

    :param failed: the failing tests, by node id.
    """
    try:
        found, why_not = calls.collected()
        if found is None and why_not and failed:
            from loop_close.trace.contexts import calls_from_contexts, data_file

            if (path := data_file(root, os.environ)).is_file():
                found, reason = calls_from_contexts(path, root, {*failed})
                why_not = "" if found is not None else f"{why_not}; {reason}"
        if found is None:
            return NO_CALLS, why_not
        return found._replace(omitted=len({*failed} - found.failed.keys())), why_not
    except Exception as fault:  # all else that there is to say is worth more
        from loop_close.text import fault_text

        return NO_CALLS, f"internal error of loop-close: {fault_text(fault)}"


class CallRecorder:
    """Tells the monitor which test runs, and which fixtures it shares with others."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    @property
    def tracked(self) -> set[str] | None:
        """The tests whose lines are recorded; None where the monitor failed."""
        return None if self._monitor.why_off else self._monitor.tracked

    def collected(self) -> tuple[Calls | None, str]:
        """What was counted, and an empty text; None with the reason where the monitor failed."""
        return self._monitor.calls(), self._monitor.why_off

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._monitor.collected(report.nodeid, is_failed=report.failed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._monitor.saw(report)

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
        elif monitor.test is not None:
            monitor.mark()
        return result

    # Others may still run for the fixture. What they run counts as the next teardown, or as the test.
    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_post_finalizer(self, fixturedef: Any) -> None:
        is_shared = fixturedef.scope != "function"
        if is_shared or self._monitor.test is not None:
            self._monitor.torn_down(fixturedef, is_shared=is_shared)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._monitor.stop()  # the tests are over, and much is imported from here on


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
