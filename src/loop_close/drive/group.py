"""End a process with all that it has started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time

from loop_close.drive.stopping import Stop
from loop_close.process import birth_of

#: Seconds until the next, stronger signal. pytest writes what it knows on the first one.
_GRACES = (("SIGINT", 5.0), ("SIGTERM", 2.0))
_SWEPT = 1.0
_PAUSE = 0.02


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
            time.sleep(_PAUSE)
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
        time.sleep(_PAUSE)
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
