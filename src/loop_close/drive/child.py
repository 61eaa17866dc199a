"""Run a command in a group of its own, pass on what it prints, and leave nothing of it behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from loop_close.cli.logs import Tail
from loop_close.drive.group import end, sweep
from loop_close.drive.stopping import Stop

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
