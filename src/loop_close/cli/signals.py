"""Send on to a process the signals that are sent to us, each once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from types import FrameType
from typing import Self

from loop_close.cli.channel import Channel

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
#: Those that keys of a terminal send, to all processes in its foreground: to the command as well as to us.
_KEYS = ("SIGINT", "SIGQUIT")


class Signals:
    """While it is entered, signals do not end us but go to the process.

    What is ignored stays so, as ``nohup`` wants it. A signal that comes before there is a process waits for it.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: dict[int, object] = {}
        self._blocked: set[int] = set()
        self._channels: Sequence[Channel] = ()

    def __enter__(self) -> Self:
        for number in _numbers((*_FORWARDED, *_KEYS)):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._forward)
        return self

    def __exit__(self, *raised: object) -> None:
        self.look()
        if self._blocked:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._blocked)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal gave

    def attend(self, process: subprocess.Popen[bytes], channels: Sequence[Channel]) -> None:
        """From now on there is a process, and its terminals follow the size of ours."""
        self._process, self._channels = process, channels
        for number in self._early:
            self._send(number)
        if hasattr(signal, "sigtimedwait"):
            # Blocked only now, as the process would inherit it. Taken by hand, they tell who sent them.
            self._blocked = {n for n in _numbers(_KEYS) if n in self._before}
            signal.pthread_sigmask(signal.SIG_BLOCK, self._blocked)
        if any(channel.is_terminal for channel in channels):
            self._before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, self._resize)

    def look(self) -> None:
        """See to the signals that tell who sent them; to be called a few times a second."""
        while self._blocked and (told := signal.sigtimedwait(self._blocked, 0)) is not None:
            if told.si_code <= 0:  # by a process; those of the terminal have reached the command as well
                self._send(told.si_signo)

    def _forward(self, number: int, frame: FrameType | None) -> None:
        if number not in _numbers(_KEYS) or not _is_in_foreground():
            self._send(number)

    def _send(self, number: int) -> None:
        if self._process is None:
            self._early.append(number)
            return
        with contextlib.suppress(OSError):
            self._process.send_signal(number)

    def _resize(self, number: int, frame: FrameType | None) -> None:
        for channel in self._channels:
            channel.resize()
        self._send(number)  # the terminal's own may have come before the size was there


def _numbers(names: Sequence[str]) -> list[signal.Signals]:
    """Those that the platform has."""
    return [signal.Signals[name] for name in names if hasattr(signal, name)]


def _is_in_foreground() -> bool:
    """Whether we are in the foreground of a terminal, which then signals the process as well."""
    with contextlib.suppress(OSError), open("/dev/tty", "rb") as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False
