"""Which runs under way will never end, because their process is gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from loop_close.process import is_pid
from loop_close.store.columns import to_text, to_whole
from loop_close.store.records import RecordError

# A process on another machine cannot be looked for; no run of tests takes this long.
_LONGEST = 24 * 3600.0


def sort_out(
    connection: sqlite3.Connection,
    process: tuple[int, str, str],
    now: float,
    is_alive: Callable[[int, str], bool],
) -> tuple[int, ...]:
    """Take down as killed what will not end any more; the numbers of what other processes have under way."""
    rows = connection.execute(
        "SELECT id, number, pid, birth, host, started FROM runs WHERE state = 'running' ORDER BY id"
    ).fetchall()
    dead, running = [], []
    for row, number, pid, birth, host, started in rows:
        check_pid(pid)
        other = (pid, to_text(birth), to_text(host))
        if not lives(other, process, now - started, is_alive):
            dead.append((now, row))
        elif other != process:
            running.append(to_whole(number))
    connection.executemany("UPDATE runs SET state = 'killed', ended = ? WHERE id = ?", dead)
    return tuple(running)


def check_pid(value: object) -> None:
    """Make sure that it is the number of a process: it becomes part of a path.

    :raises RecordError: when it is none.
    """
    if not is_pid(value):
        raise RecordError("no number of a process")


def lives(
    other: tuple[int, str, str],
    process: tuple[int, str, str],
    age: float,
    is_alive: Callable[[int, str], bool],
) -> bool:
    """Whether a run may still end.

    :param other: its process: number, birth and host; ``process``: our own.
    :param age: for how many seconds it has been under way.
    """
    pid, birth, host = other
    if host != process[2]:
        return abs(age) < _LONGEST
    if pid == process[0]:  # its number came round again
        return birth == process[1]
    return is_alive(pid, birth)
