"""The monitor in a session: it starts before conftests are imported, and gets tests and fixtures.

Failing tests that were not tracked, to save time, run once more at the end: each alone, in a copy of the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from loop_close.calls import Calls
from loop_close.files import read_failed
from loop_close.pytest_plugin import is_worker
from loop_close.settings import OFF, ON
from loop_close.trace.counts import decode, encode, merge_calls

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from loop_close.trace.session import Monitor

#: Seconds for all tests that run once more.
LIMIT = 5.0
#: Options that end the run at a failure, or stop in it.
_STOPS = ("maxfail", "usepdb", "trace")


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


def packed(calls: CallRecorder | CallMerger) -> tuple[bytes, str]:
    """What a worker sends to the controller: the counts, empty for none, and why these are missing or not complete."""
    counts, why_not = calls.collected()
    try:
        return encode(counts) if counts is not None else b"", why_not
    except UnicodeEncodeError:
        return b"", "a file or function name is not a string"


class CallMerger:
    """Adds up what the workers of xdist counted; also used if nothing is counted.

    :param why_not: why nothing is.
    :ivar workers: how many there are.
    """

    def __init__(self, why_not: str = "") -> None:
        self._parts: list[bytes] = []
        self._reasons = {why_not} - {""}
        self.workers = 0

    def add(self, data: bytes, why_not: str) -> None:
        """Take what :func:`packed` returned in a worker."""
        self._parts += [data] if data else []
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


def collect_calls(
    calls: CallRecorder | CallMerger, root: str, failed: Collection[str]
) -> tuple[Calls | None, str]:
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
        return found, why_not
    except Exception as fault:  # all else that there is to say is worth more
        from loop_close.text import fault_text

        return None, f"internal error of loop-close: {fault_text(fault)}"


class CallRecorder:
    """Tells the monitor which test runs, and which fixtures it shares with others."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._again: list[Calls] = []

    def collected(self) -> tuple[Calls | None, str]:
        """What was counted, and an empty text; None with the reason where the monitor failed."""
        calls = self._monitor.calls()
        if calls is not None and self._again:
            number = len(self._again)
            own = calls._replace(omitted=calls.omitted - number, passed_over=calls.passed_over - number)
            calls = merge_calls([own, *self._again])
        return calls, self._monitor.why_off

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
        self._monitor.stop()  # the tests are over, and much is imported from here on

    def _run_again(self, session: pytest.Session, exitstatus: int) -> None:
        if _may_run_again(session, exitstatus):
            items = {item.nodeid: item for item in session.items}
            untracked = [items[nodeid] for nodeid in self._monitor.untracked if nodeid in items]
            found = map(decode, _each_alone(untracked, self._calls_in_copy))
            self._again += [each for each in found if each.failed]  # and does not pass when it is alone

    def _calls_in_copy(self, item: pytest.Item) -> bytes:
        self._monitor.start_over()
        _run_quietly(item, self._monitor.saw)
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


# --- run a test once more


def _may_run_again(session: pytest.Session, exitstatus: int) -> bool:
    """Whether tests may run again: the run was not ended early, is of this process, and can be copied."""
    is_over = int(exitstatus) == pytest.ExitCode.TESTS_FAILED and not (
        session.shouldfail or session.shouldstop
    )
    is_own = not hasattr(session.config, "workerinput") and hasattr(os, "fork")
    return is_over and is_own and not any(getattr(session.config.option, name, None) for name in _STOPS)


def _each_alone(items: Iterable[pytest.Item], work: Callable[[pytest.Item], object]) -> Iterator[Any]:
    """The results of the function, called for each item in a copy of the process, which nothing comes out of.

    It ends at the limit, or at Ctrl-C: then what still runs is killed, with the processes that it started.
    """
    from multiprocessing import get_context  # late: most runs have no use for it

    fork, end = get_context("fork"), monotonic() + LIMIT
    for item in items:
        if (left := end - monotonic()) <= 0:
            return
        receiver, sender = fork.Pipe(duplex=False)
        process = fork.Process(target=_run, args=(sender, work, item))
        with warnings.catch_warnings():
            # A copy has one thread. Where it waits for another, the limit ends it.
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            process.start()
        sender.close()
        try:
            if receiver.poll(left):
                yield receiver.recv()
        except EOFError:  # the test ended its process
            continue
        except KeyboardInterrupt:  # the run itself is over
            return
        finally:
            with contextlib.suppress(OSError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.kill()
            process.join()
            receiver.close()


def _run(sender: Connection, work: Callable[[pytest.Item], object], item: pytest.Item) -> None:
    """In the copy: no exit handler of the program or of pytest runs in it."""
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        sender.send(work(item))
    finally:
        os._exit(0)


def _run_quietly(item: pytest.Item, saw: Callable[[object], None]) -> None:
    """Run a test once; no other plugin that reports tests, or runs them again, hears of it.

    :param saw: takes each of its reports.
    """
    manager = item.config.pluginmanager
    capture: Any = manager.get_plugin("capturemanager")
    if capture is not None:  # its temporary files are those of the run
        manager.unregister(capture)
        capture = type(capture)("no")
        capture.start_global_capturing()
        manager.register(capture, "capturemanager")
    logs: Any = manager.get_plugin("logging-plugin")
    if logs is not None:
        logs.log_file_handler.setStream(open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    manager.register(_Quietly(manager.get_plugin("runner"), saw), "loop-close-again")
    item.ihook.pytest_runtest_protocol(item=item, nextitem=None)


class _Quietly:
    """Takes the place of what runs a test; the wrappers of others, such as for warnings, stay."""

    def __init__(self, runner: Any, saw: Callable[[object], None]) -> None:
        self._runner = runner
        self._saw = saw

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool:
        self._runner.runtestprotocol(item, log=False, nextitem=None)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        report = yield
        self._saw(report)
        return report
