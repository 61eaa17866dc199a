"""One process at a time, as far as that can be had: what is read, changed and written back is not lost."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

#: In seconds: an agent waits for a hook.
_LONGEST = 0.5
_STEP = 0.01


@contextlib.contextmanager
def locked(path: Path, longest: float | None = None) -> Iterator[bool]:
    """Hold a lock, with a file that stays; whoever cannot have it in time goes on without.

    A process that ends gives it back, however it ends.

    :param longest: seconds to wait for it, half a second by default.
    :returns: whether it is held: not where the system or the file system has no such locks, or somebody else
        holds it all the time.
    """
    number = _opened(path)
    try:
        yield number >= 0 and _is_taken(number, _LONGEST if longest is None else longest)
    finally:
        if number >= 0:
            os.close(number)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):  # not every system has each
        flags |= getattr(os, name, 0)
    try:
        return os.open(path, flags, 0o666)
    except OSError:
        return -1


def _is_taken(number: int, longest: float) -> bool:
    try:
        import fcntl
    except ImportError:  # not every system has it
        return False
    end = time.monotonic() + longest
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(_STEP)
        except OSError:
            return False
        else:
            return True
