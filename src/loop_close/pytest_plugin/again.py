"""Failing tests that were not tracked, to save time, run once more: each alone, in a copy of the process."""

from __future__ import annotations

import contextlib
import os
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Seconds for all of them.
LIMIT = 5.0
#: Options that end the run at a failure, or stop in it.
_STOPS = ("maxfail", "usepdb", "trace")


def is_wanted(session: pytest.Session, exitstatus: int) -> bool:
    """Whether tests may run again: the run was not ended early, is of this process, and can be copied."""
    is_over = int(exitstatus) == pytest.ExitCode.TESTS_FAILED and not (
        session.shouldfail or session.shouldstop
    )
    is_own = "PYTEST_XDIST_WORKER" not in os.environ and hasattr(os, "fork")
    return is_over and is_own and not any(getattr(session.config.option, name, None) for name in _STOPS)


def each_alone(items: Iterable[pytest.Item], work: Callable[[pytest.Item], object]) -> Iterator[Any]:
    """The results of the function, called for each item in a copy of the process, which nothing comes out of.

    It ends at the limit, or at Ctrl-C: then what still runs is killed, with the processes that it started.
    """
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


def run_quietly(item: pytest.Item, saw: Callable[[object], None]) -> None:
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
