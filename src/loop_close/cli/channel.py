"""One stream of a process on its way to ours: a pseudo-terminal where ours is a terminal, else a pipe."""

from __future__ import annotations

import contextlib
import os
import select
import sys

from loop_close.cli.logs import Tail

_CHUNK = 65_536


def channels() -> list[Channel]:
    """For standard output and standard error; one for both where they are the same file."""
    return [Channel(1)] if os.path.sameopenfile(1, 2) else [Channel(1), Channel(2)]


class Channel:
    """What a process writes at one end comes out at the other, and goes to a stream of ours.

    :ivar tail: the end of all that came.
    :ivar problem: why the rest could not be passed on; empty where nothing is to be told.
    """

    def __init__(self, target: int) -> None:
        self.tail = Tail()
        self.problem = ""
        self._target = target
        self.is_terminal = os.isatty(target) and sys.platform != "win32"
        self.ours, self.theirs = _terminal() if self.is_terminal else os.pipe()
        self._open = {self.ours, self.theirs}
        self.resize()

    def resize(self) -> None:
        """Give the process's terminal the size of ours."""
        if not self.is_terminal:
            return
        import fcntl
        import termios

        with contextlib.suppress(OSError):
            size = fcntl.ioctl(self._target, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.ours, termios.TIOCSWINSZ, size)

    def started(self) -> None:
        """Leave their end to the process: the stream ends when it closes it."""
        self._close(self.theirs)

    def pass_on(self) -> int:
        """Move what is there; the number of bytes, 0 at the end.

        Where nobody takes the bytes any more, that is the end too: the process is to notice, as it would without
        us, and not to write for nobody.
        """
        try:
            chunk = os.read(self.ours, _CHUNK)
        except OSError:  # Linux says EIO when the last writer of a pseudo-terminal is gone
            return 0
        self.tail.add(chunk)
        try:
            _write_all(self._target, chunk)
        except BrokenPipeError:
            return 0
        except OSError as error:
            self.problem = f"cannot pass on the output of the command: {error.strerror or error}"
            return 0
        return len(chunk)

    def close(self) -> None:
        """Both ends; again is no fault."""
        self._close(self.ours)
        self._close(self.theirs)

    def _close(self, end: int) -> None:
        if end in self._open:
            self._open.remove(end)
            os.close(end)


def _terminal() -> tuple[int, int]:
    """A pseudo-terminal that changes nothing that is written to it."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST  # a line feed stays a line feed: the real terminal makes of it what it does
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    return ours, theirs


def _write_all(target: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(target, data) :]
        except BlockingIOError:  # whoever opened it for us may have made it so
            select.select([], [target], [])
