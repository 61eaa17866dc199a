"""Processes: which one this is, whether another still runs, and a lock between them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

# The second field of the line holds a name of any 15 characters, the others a number each.
_MOST = 4096


def is_pid(value: object) -> TypeGuard[int]:
    """Whether it can be the number of a process."""
    return type(value) is int and 0 < value < 1 << 31


def birth_of(pid: int) -> str:
    """When a process was started, in a unit of the system; empty if the system does not report it.

    Numbers of processes come round again, in containers at once. On Linux it is the 22nd field of
    ``/proc/PID/stat`` (proc(5)).
    """
    if not is_pid(pid):
        return ""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read(_MOST)
    except OSError:
        return ""
    fields = stat.rpartition(b")")[2].split()  # the second field is a name, which may hold spaces
    return fields[19].decode("ascii", "replace") if len(fields) > 19 else ""


def is_alive(pid: int, birth: str) -> bool:
    """Whether the process of that number and birth runs on this machine; when in doubt, it does."""
    if not is_pid(pid):
        return False
    now = birth_of(pid)
    if birth and now:
        return birth == now
    try:
        os.kill(pid, 0) if os.name == "posix" else None
    except ProcessLookupError:
        return False
    except OSError:  # another user's process
        return True
    return os.name == "posix" or bool(now)


def host() -> str:
    """The machine's name: numbers of processes mean nothing on another one."""
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform  # late: it takes 3 ms to load

    return platform.node()


# --- one process at a time: what is read, changed and written back is not lost

#: In seconds: an agent waits for a hook.
_LONGEST = 0.5
_STEP = 0.01


@contextlib.contextmanager
def locked(path: Path, longest: float | None = None, *, is_folder: bool = False) -> Iterator[bool | None]:
    """Hold a lock on a file, which is made and stays, or on a folder. The system ends the lock with the process.

    :param longest: seconds to wait for it, half a second by default.
    :returns: True if it is held, False if another process holds it, None if there are no such locks here.
    """
    number = _opened(path, os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT)
    try:
        yield _is_taken(number, _LONGEST if longest is None else longest) if number >= 0 else None
    finally:
        if number >= 0:
            os.close(number)


def _opened(path: Path, flags: int) -> int:
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):  # not every system has each
        flags |= getattr(os, name, 0)
    try:
        return os.open(path, flags, 0o666)
    except OSError:
        return -1


def _is_taken(number: int, longest: float) -> bool | None:
    try:
        import fcntl
    except ImportError:  # not every system has it
        return None
    end = time.monotonic() + longest
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_STEP)
        except OSError:
            return None
        else:
            return True
