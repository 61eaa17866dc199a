"""Processes: which one this is, whether another still runs, a lock between them, and how ours are started."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# The second field of the line holds a name of any 15 characters, the others a number each.
_MOST = 4096


def birth_of(pid: int) -> str:
    """When a process was started, in a unit of the system; empty if the system does not report it.

    Numbers of processes come round again, in containers at once. On Linux it is the 22nd field of
    ``/proc/PID/stat`` (proc(5)).
    """
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        fields = (
            file.read(_MOST).rpartition(b")")[2].split()
        )  # the second field is a name, which may hold spaces
        return fields[19].decode("ascii", "replace")
    return ""


def host() -> str:
    """The machine's name: numbers of processes mean nothing on another one."""
    import platform  # late: it takes 3 ms to load

    return platform.node()


# --- one process at a time: what is read, changed and written back is not lost

_STEP = 0.01
#: No link is followed, and no other program is waited for; not every system has both.
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextlib.contextmanager
def locked(path: Path, longest: float, *, is_folder: bool = False) -> Iterator[bool | None]:
    """Hold a lock on a file, which is made and stays, or on a folder. The system ends the lock with the process.

    :param longest: seconds to wait for it.
    :returns: True if it is held, False if another process holds it, None if there are no such locks here.
    """
    try:
        number = os.open(path, _FLAGS | (os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT), 0o666)
    except OSError:
        yield None
        return
    try:
        yield _is_taken(number, longest)
    finally:
        os.close(number)


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


# --- processes of ours

#: The words of ``loop-close check`` by this interpreter. -P: a module of the project must not take the place of ours.
OUR_CHECK = (sys.executable, "-P", "-m", "loop_close", "check")


def environment() -> dict[str, str]:
    """Our environment, with the folder of this Python on the path: the ``loop-close`` there is this one.

    It comes first unless an environment was activated: then that one was meant.
    """
    path, ours = os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable)
    is_activated = any(name in os.environ for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    return {**os.environ, "PATH": os.pathsep.join((path, ours) if is_activated else (ours, path))}
