"""Which process this is, and whether another one is still there."""

from __future__ import annotations

import os
from typing import TypeGuard

# The second field of the line holds a name of any 15 characters, the others a number each.
_MOST = 4096


def is_pid(value: object) -> TypeGuard[int]:
    """Whether it can be the number of a process."""
    return type(value) is int and 0 < value < 1 << 31


def birth_of(pid: int) -> str:
    """When a process was started, in a unit of the system; empty where the system does not tell.

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
    except OSError:  # it is somebody else's
        return True
    return os.name == "posix" or bool(now)


def host() -> str:
    """The machine's name: numbers of processes mean nothing on another one."""
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform  # late: it takes 3 ms to load

    return platform.node()
