"""Run a command: pass on what it prints, keep the end of it, and end the command with all that it has started."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO, Any, ClassVar, Self

from loop_close.log_files import Tail
from loop_close.process import birth_of
from loop_close.records import Record
from loop_close.text import reason_of

_PAUSE = 0.1
_CHUNK = 65_536
#: As many bytes as pipes may hold: what was written before the command ended, where others go on to write.
_LATE = 2_000_000
# What shells answer for a command that is not there, for one that cannot be run, and before the number of a signal.
_NOT_FOUND, _NOT_EXECUTABLE, _SHELL_OFFSET = 127, 126, 128
#: Signals that ask a command to end, with the seconds until the next, stronger one. pytest still writes its result
#: after the first, ``loop-close run`` what the command printed after both.
_GRACES = (("SIGINT", 5.0), ("SIGTERM", 2.0))
#: Seconds that passing on its output may take after its end; in the foreground as long as it likes.
_REST, _PATIENCE = 0.5, 1e7
#: Seconds for what a command leaves running, between the signal that asks it to end and the one that kills it.
_SWEEP_SECONDS = 1.0


class Ended(Record, frozen=True, kw_only=True):
    """A command that has ended.

    :ivar exit_code: as a shell shows it: 128 and the number of the signal that ended the command.
    :ivar outputs: the end of what it wrote to each channel.
    :ivar is_late: it was ended at its time limit.
    """

    exit_code: int
    outputs: tuple[str, ...] = ()
    is_late: bool = False


def not_started(name: str, error: OSError) -> tuple[int, str]:
    """The exit code of a command that cannot be started, and what a shell prints of it; the readers know it."""
    if isinstance(error, FileNotFoundError):
        return _NOT_FOUND, f"sh: 1: {name}: not found"
    return _NOT_EXECUTABLE, f"sh: 1: {name}: cannot execute: {reason_of(error)}"


def run(
    words: Sequence[str],
    stop: Stop,
    *,
    root: Path | None = None,
    environment: Mapping[str, str] | None = None,
    data: bytes = b"",
    channels: Sequence[Channel] = (),
    seconds: float = float("inf"),
    is_foreground: bool = False,
    started: Callable[[subprocess.Popen[bytes]], None] = lambda process: None,
) -> Ended:
    """Run a command to its end, to its time limit, or until we have to stop.

    :param root: its working directory; None for ours. ``environment``: None for ours.
    :param data: bytes for its standard input.
    :param channels: for standard output and error, or one for both; none if it prints where we do.
    :param seconds: its time limit.
    :param is_foreground: it reads our input, and belongs to our process group; passing on its output may take as long
        as it likes. Otherwise it leads a group of its own, which is ended with it.
    :param started: called with the process.
    :raises OSError: when it cannot be started.
    :raises InterruptionError: when we have to stop.
    """
    stop.check()
    source = None if is_foreground else subprocess.PIPE if data else subprocess.DEVNULL
    ends = (channels[0].theirs, channels[-1].theirs) if channels else (None, None)
    has_ended = threading.Event()
    threads = [
        # One for each: a reader of ours that does not read must not keep us from seeing the time limit.
        threading.Thread(target=channel.pump, args=(has_ended,), daemon=True)
        for channel in channels
    ]
    for thread in threads:
        thread.start()
    try:
        process = subprocess.Popen(
            list(words),
            cwd=root,
            env=environment,
            stdin=source,
            stdout=ends[0],
            stderr=ends[1],
            start_new_session=not is_foreground,
        )
    finally:
        for channel in channels:
            os.close(channel.theirs)  # our copy: the stream ends when the command closes its own
    is_late = False
    try:
        started(process)
        if process.stdin is not None:
            threading.Thread(target=_feed, args=(process.stdin, data), daemon=True).start()
        is_late = _wait(process, seconds, stop)
    finally:
        if is_foreground:
            process.kill()  # if it has not ended
        else:
            _end(process, stop)
            sweep(process.pid)
    has_ended.set()
    due = time.monotonic() + (_PATIENCE if is_foreground else _REST)
    for thread in threads:
        thread.join(max(0.0, due - time.monotonic()))
    stop.check()
    code = process.returncode  # negative for a signal
    return Ended(
        exit_code=_SHELL_OFFSET - code if code < 0 else code,
        outputs=tuple(channel.tail.text() for channel in channels),
        is_late=is_late,
    )


def _feed(stream: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), stream:  # the command does not read its input
        stream.write(data)


def _wait(process: subprocess.Popen[bytes], seconds: float, stop: Stop) -> bool:
    """Wait for the end of the command; whether its time limit came first."""
    due = time.monotonic() + seconds
    while process.poll() is None and not stop.asked:
        if time.monotonic() >= due:
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PAUSE)
    return False


class Channel:
    """A stream of a command on its way to us: a pipe, or a pseudo-terminal.

    :param pass_on: takes the bytes as they come.
    :param terminal: the number of a stream of ours: if that is a terminal, the command gets one of the same size.
    :ivar tail: the end of all that came.
    :ivar problem: why the rest could not be passed on; empty if no one reads it any more.
    """

    def __init__(self, pass_on: Callable[[bytes], object] = len, *, terminal: int = -1) -> None:
        self.tail = Tail()
        self.problem = ""
        self._take = pass_on
        is_terminal = terminal >= 0 and os.isatty(terminal) and sys.platform != "win32"
        self.ours, self.theirs = _terminal(terminal) if is_terminal else os.pipe()

    def pump(self, ended: threading.Event) -> None:
        """Pass on until the stream ends, or the command has ended and what it left behind holds the stream open."""
        late = 0
        with contextlib.suppress(OSError, ValueError), selectors.DefaultSelector() as selector:
            selector.register(self.ours, selectors.EVENT_READ)
            while late < _LATE:
                has_ended = ended.is_set()  # asked first: what it wrote until then is there to be read
                # Only on POSIX can a pipe be waited for with a limit.
                is_ready = os.name != "posix" or bool(selector.select(0 if has_ended else _PAUSE))
                size = self._pass_on() if is_ready else -1
                if not size or (has_ended and not is_ready):
                    break
                late += size if has_ended else 0
        os.close(self.ours)

    def _pass_on(self) -> int:
        """Move what is there.

        :returns: the number of bytes; 0 at the end.
        :raises OSError: at the end, too: Linux says EIO when the last writer of a pseudo-terminal is gone. If no one
            reads the bytes any more, the command notices it, as it would without us.
        """
        chunk = os.read(self.ours, _CHUNK)
        self.tail.add(chunk)
        try:
            self._take(chunk)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.problem = f"cannot pass on the output of the command: {reason_of(error)}"
            raise
        return len(chunk)


def _terminal(like: int) -> tuple[int, int]:
    """A pseudo-terminal of the size of ours that changes nothing that is written to it."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    with contextlib.suppress(OSError):
        fcntl.ioctl(ours, termios.TIOCSWINSZ, fcntl.ioctl(like, termios.TIOCGWINSZ, b"\0" * 8))
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST  # a line feed stays a line feed: the real terminal makes of it what it does
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    return ours, theirs


def own_channels() -> list[Channel]:
    """Channels to our standard output and error; one for both if they are the same file, which keeps the order."""
    numbers = (1,) if os.path.sameopenfile(1, 2) else (1, 2)
    return [Channel(partial(write_all, number), terminal=number) for number in numbers]


def write_all(target: int, data: bytes) -> None:
    """Write to a file by its number, which may be one that does not wait."""
    while data:
        try:
            data = data[os.write(target, data) :]
        except BlockingIOError:  # who started us may have opened it so
            select.select([], [target], [])


# --- end a command with all that it has started

_POLL_INTERVAL = 0.02


def _end(process: subprocess.Popen[bytes], stop: Stop) -> None:
    """Ask a command that has not ended, and its group, to end, then kill it; at once if we are interrupted twice."""
    most = max(stop.asked, 1)
    for name, grace in _GRACES if os.name == "posix" else ():
        if process.poll() is None:
            _send(process.pid, getattr(signal, name))
        due = time.monotonic() + grace
        while process.poll() is None and time.monotonic() < due and stop.asked <= most:
            time.sleep(_POLL_INTERVAL)
    process.kill()  # it alone, if it has not ended: :func:`sweep` ends what is left of its group
    process.wait()


def sweep(group: int) -> None:
    """End what is left of a process group whose leader has ended, such as servers that it started."""
    if os.name != "posix" or not _send(group, signal.SIGTERM):
        return
    due = time.monotonic() + _SWEEP_SECONDS
    while _send(group, 0) and time.monotonic() < due:
        time.sleep(_POLL_INTERVAL)
    _send(group, signal.SIGKILL)


def end_leftover(pid: int, birth: str) -> bool:
    """End the group of a process that a driver left behind when it was killed.

    :param birth: when the process was started: another one may have its number by now.
    :returns: whether it was still running.
    """
    if not birth or birth_of(pid) != birth:
        return False
    sweep(pid)
    return True


def _send(group: int, number: int) -> bool:
    """Signal a group; whether there is such a group that we may signal."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


# --- signals that do not end us

_AT_ONCE = 3


class InterruptionError(BaseException):
    """A signal asked us to stop; the text names it. Not an :class:`Exception`: it is not an error."""


class _Handler:
    """While it is entered, signals do not end us but are noted; ignored signals stay ignored, as ``nohup`` wants it."""

    NAMES: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.Signals[name] for name in self.NAMES if hasattr(signal, name)):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        raise NotImplementedError


class Stop(_Handler):
    """Counts the signals that ask us to stop.

    :ivar asked: how many came.
    """

    NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self._last = ""

    def check(self) -> None:
        """Do nothing if no signal came.

        :raises InterruptionError: if one did.
        """
        if self.asked:
            raise InterruptionError(self._last)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1
        self._last = signal.Signals(number).name
        if self.asked >= _AT_ONCE:  # whatever blocks us, such as a reader of our output that does not read
            raise InterruptionError(self._last)


#: One that nothing asks.
NEVER = Stop()

#: What keys of a terminal send, to all processes in its foreground: to a command as well as to us.
_KEYS = ("SIGINT", "SIGQUIT")


class SignalForwarder(_Handler):
    """Passes signals on to a command, each once. One that comes before the process exists waits for it."""

    NAMES = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", *_KEYS)

    def __init__(self) -> None:
        super().__init__()
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def attend(self, process: subprocess.Popen[bytes]) -> None:
        """Forward to this process from now on."""
        self._process = process
        for number in self._early:
            self._send(number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if signal.Signals(number).name not in _KEYS or not _is_in_foreground():
            self._send(number)

    def _send(self, number: int) -> None:
        if self._process is None:
            self._early.append(number)
            return
        with contextlib.suppress(OSError):
            self._process.send_signal(number)


def _is_in_foreground() -> bool:
    """Whether we are in the foreground of a terminal, which then signals the process as well."""
    with contextlib.suppress(OSError), open("/dev/tty", "rb") as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False
