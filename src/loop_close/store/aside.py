"""Put a file that cannot be used out of the way, with what belongs to it, and overwrite nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

#: What SQLite writes beside a database. They go first: one that stayed would be taken for the next file's own.
BESIDE = ("-journal", "-wal", "-shm")


def set_aside(path: Path) -> Path:
    """Rename the file and what SQLite left beside it; the new name.

    :raises OSError: when it cannot be renamed.
    """
    target = next(name for name in _names(path) if not any(map(os.path.lexists, _family(name))))
    for old, new in zip(_family(path), _family(target), strict=True):
        with contextlib.suppress(FileNotFoundError):
            os.rename(old, new)
    return target


def _names(path: Path) -> Iterator[Path]:
    return (path.with_name(f"{path.name}.broken-{number}") for number in count(1))


def _family(path: Path) -> list[str]:
    return [*(f"{path}{end}" for end in BESIDE), str(path)]


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold off other processes that would set aside in the folder; where the system has no such lock, do not.

    The folder itself is locked: that leaves no file behind, and the lock ends with the process.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
