"""Processes that the driver starts: run in groups of their own, ended with all that they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any, Self

from loop_close.cli.logs import Tail
from loop_close.process import birth_of

#: Bytes at most of what is kept of an output: its end.
KEPT = 4_000_000
_PAUSE = 0.05
_CHUNK = 65_536
#: Seconds that what was printed may take to come once the command has ended: who holds the pipe may be a daemon.
_REST = 0.5
_SHELL_OFFSET = 128

#: Takes what came on standard output (1) or standard error (2).
PassOn = Callable[[int, bytes], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A command that has ended.

    :ivar exit_code: 128 and the number of the signal where one ended it.
    :ivar output: the end of what it wrote to its standard output, where that was passed on.
    :ivar is_late: it was ended because its time was over.
    """

    exit_code: int
    output: str = ""
    is_late: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Child:
    """A command to run.

    :ivar data: its standard input; None for an empty one.
    :ivar pass_on: takes what it prints; None where it prints where we do.
    :ivar seconds: that it may take.
    :ivar forwards: it sends the signals that it gets on to what it runs, so that they are sent to it alone.
    :ivar started: told the number of its process.
    :ivar waited: called again and again while it runs.
    """

    words: Sequence[str]
    root: Path
    environment: Mapping[str, str]
    data: bytes | None = None
    pass_on: PassOn | None = None
    seconds: float = float("inf")
    forwards: bool = False
    started: Callable[[int], None] = lambda pid: None
    waited: Callable[[], None] = lambda: None


def run(child: Child, stop: Stop) -> Ended:
    """Run it to its end, or until somebody wants us to stop; then end all that it has started.

    :raises OSError: when it cannot be started.
    :raises InterruptionError: when we were told to stop.
    """
    stop.check()
    is_piped = child.pass_on is not None
    process = subprocess.Popen(
        list(child.words),
        cwd=child.root,
        env=dict(child.environment),
        stdin=subprocess.DEVNULL if child.data is None else subprocess.PIPE,
        stdout=subprocess.PIPE if is_piped else None,
        stderr=subprocess.PIPE if is_piped else None,
        start_new_session=True,
    )
    tail = Tail(KEPT)
    is_late = False
    try:
        child.started(process.pid)
        threads = _attended(process, child, tail)
        is_late = _wait(process, child, stop)
    finally:
        if process.poll() is None:
            end(process, stop, is_forwarding=child.forwards)
        sweep(process.pid)
    _join(threads)
    stop.check()
    code = process.returncode
    return Ended(exit_code=_SHELL_OFFSET - code if code < 0 else code, output=tail.text(), is_late=is_late)


def _attended(process: subprocess.Popen[bytes], child: Child, tail: Tail) -> list[threading.Thread]:
    """Threads that feed and read it; they end with its pipes."""
    work: list[Callable[[], None]] = []
    if process.stdin is not None and child.data is not None:
        stream, data = process.stdin, child.data
        work.append(lambda: _feed(stream, data))
    if child.pass_on is not None and process.stdout is not None and process.stderr is not None:
        out, err, pass_on = process.stdout, process.stderr, child.pass_on
        work.append(lambda: _drain(out, tail, lambda chunk: pass_on(1, chunk)))
        work.append(lambda: _drain(err, None, lambda chunk: pass_on(2, chunk)))
    threads = [threading.Thread(target=each, daemon=True) for each in work]
    for thread in threads:
        thread.start()
    return threads


def _feed(stream: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError):  # it does not read what it is given
        stream.write(data)
    with contextlib.suppress(OSError):
        stream.close()


def _drain(stream: IO[bytes], tail: Tail | None, pass_on: Callable[[bytes], None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        while chunk := os.read(stream.fileno(), _CHUNK):
            if tail is not None:
                tail.add(chunk)
            pass_on(chunk)
    with contextlib.suppress(OSError):
        stream.close()


def _wait(process: subprocess.Popen[bytes], child: Child, stop: Stop) -> bool:
    """Wait for its end; whether its time was over before."""
    due = time.monotonic() + child.seconds
    while process.poll() is None:
        if stop.asked:
            return False
        if time.monotonic() >= due:
            return True
        child.waited()
        time.sleep(_PAUSE)
    return False


def _join(threads: Sequence[threading.Thread]) -> None:
    due = time.monotonic() + _REST
    for thread in threads:
        thread.join(max(0.0, due - time.monotonic()))


# End a process with all that it has started.

#: Seconds until the next, stronger signal. pytest writes what it knows on the first one.
_GRACES = (("SIGINT", 5.0), ("SIGTERM", 2.0))
_SWEPT = 1.0
_POLL_INTERVAL = 0.02


def end(process: subprocess.Popen[bytes], stop: Stop, *, is_forwarding: bool) -> None:
    """End a process that leads its group: ask it to, then make it; at once where a person asks twice.

    :param is_forwarding: it sends the first signal on, which others of its group would get twice.
    """
    asked = stop.asked
    for name, grace in _GRACES if os.name == "posix" else ():
        number = getattr(signal, name)
        if is_forwarding and name == "SIGINT":
            process.send_signal(number)
        else:
            _send(process.pid, number)
        due = time.monotonic() + grace
        while process.poll() is None and time.monotonic() < due and stop.asked <= max(asked, 1):
            time.sleep(_POLL_INTERVAL)
        if process.poll() is not None or stop.asked > max(asked, 1):
            break
    if process.poll() is None:
        _send(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()
    process.wait()


def sweep(group: int) -> None:
    """End what is left of a group whose leader has ended, such as servers that it started."""
    if os.name != "posix" or not _send(group, signal.SIGTERM):
        return
    due = time.monotonic() + _SWEPT
    while _send(group, 0) and time.monotonic() < due:
        time.sleep(_POLL_INTERVAL)
    _send(group, signal.SIGKILL)


def end_leftover(pid: int, birth: str) -> bool:
    """End the group of a process that a driver left behind when it was killed.

    :param birth: when the process was started; another one may have its number by now.
    :returns: whether there was one.
    """
    if not birth or birth_of(pid) != birth:
        return False
    sweep(pid)
    return True


def _send(group: int, number: int) -> bool:
    """Signal a group; whether there is one that can be signalled."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


# Notice that somebody wants the driver to stop, without being ended by it.

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_AT_ONCE = 3


class InterruptionError(BaseException):
    """Somebody wants the driver to stop; the text names the signal. No fault: nobody may take it for one."""


class Stop:
    """While it is entered, signals that would end us are counted; those that are ignored stay so.

    :ivar asked: how often.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._last = ""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Go on unless somebody wants us to stop.

        :raises InterruptionError: when somebody does.
        """
        if self.asked:
            raise InterruptionError(self._last)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1
        self._last = signal.Signals(number).name
        if self.asked >= _AT_ONCE:  # whatever holds us up, such as a reader of our output that does not read
            raise InterruptionError(self._last)
