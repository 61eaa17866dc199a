"""Run the project's tests in a process group of their own, and stop them when the call is cancelled."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from loop_close.cli.logs import Tail
from loop_close.cli.testing import environment, remembered

#: Told again and again while a run is on, so that a host that waits knows that it goes on: seconds so far.
Tell = Callable[[float], Awaitable[None]]

_POLL = 0.02
_TELL = 5.0
_TAIL = 64_000
#: How long tests may take to stop once the time is over, after SIGINT and after SIGTERM: pytest still writes what
#: it knows on the first, loop-close run what the command printed on both.
_LAST_WORDS = (5.0, 2.0)
#: The same when the caller went away. A client of the official package kills the server 4 seconds after it has
#: closed its input.
_CANCELLED = (1.0, 0.5)
#: How long what was printed may take to come once the command has ended.
_REST = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """A run of the tests.

    :ivar exit_code: that of the command; None where it had to be killed.
    :ivar output: the end of what it printed.
    """

    exit_code: int | None
    timed_out: bool
    output: str


async def run_tests(words: Sequence[str], root: Path, seconds: float, tell: Tell) -> Ran:
    """Run a command under ``loop-close run``, which remembers it and writes the prompt.

    :param seconds: after which it is ended.
    :raises OSError: when it cannot be started.
    """
    process = await _started(words, root)
    tail = Tail(_TAIL)
    graces = _CANCELLED
    async with process, anyio.create_task_group() as tasks:
        try:
            assert process.stdout is not None
            drained = anyio.Event()
            tasks.start_soon(_drain, process.stdout, tail, drained)
            tasks.start_soon(_tell, tell)
            with anyio.move_on_after(seconds) as limit:
                await _ended(process)
                await _rest(drained)
            graces = _LAST_WORDS
        finally:
            if process.returncode is None:
                with anyio.CancelScope(shield=True):
                    await _end(process, graces)
            tasks.cancel_scope.cancel()
    return Ran(exit_code=_exit_code(process), timed_out=limit.cancelled_caught, output=tail.text())


async def _started(words: Sequence[str], root: Path) -> Process:
    return await anyio.open_process(
        remembered(words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=root,
        env=environment(),
        start_new_session=True,
    )


async def _drain(stream: ByteReceiveStream, tail: Tail, drained: anyio.Event) -> None:
    async for chunk in stream:
        tail.add(chunk)
    drained.set()


async def _rest(drained: anyio.Event) -> None:
    # Not for ever: who holds the pipe may be a daemon that a test has left behind.
    with anyio.move_on_after(_REST):
        await drained.wait()


async def _tell(tell: Tell) -> None:
    begun = anyio.current_time()
    while True:
        await anyio.sleep(_TELL)
        await tell(anyio.current_time() - begun)


async def _ended(process: Process) -> None:
    # Not process.wait(): that waits for whoever holds the pipe, too.
    while process.returncode is None:
        await anyio.sleep(_POLL)


async def _end(process: Process, graces: Sequence[float]) -> None:
    """Let the command say what it knows, then end all that is left of its group."""
    with contextlib.suppress(ProcessLookupError):
        for number, grace in zip((signal.SIGINT, signal.SIGTERM), graces, strict=True):
            if process.returncode is None and os.name == "posix":
                process.send_signal(number)  # loop-close run sends it on
                with anyio.move_on_after(grace):
                    await _ended(process)
        _kill(process)
    await _ended(process)


def _kill(process: Process) -> None:
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _exit_code(process: Process) -> int | None:
    code = process.returncode
    return code if code is not None and code >= 0 else None
