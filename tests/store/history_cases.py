"""Histories for tests: short to begin, to run and to look at."""

import contextlib
import os
import sqlite3
import struct

from loop_close.memory import Episode, FailureRecord, KnownTest, Run, Step
from loop_close.store.sqlite import open_history

HERE = {"birth": "b1", "host": "here"}


def only_the_first(pid, birth):
    return pid == 1


def begin(
    history, source="pytest", files=(), contents=(), *, pid=1, now=1.0, is_alive=only_the_first, **process
):
    entries = None if files is None else {path: entry(digest) for path, digest in dict(files).items()}
    process = {**HERE, **process}
    return history.begin(source, entries, dict(contents), pid=pid, now=now, is_alive=is_alive, **process)


def entry(digest, mtime=1):
    return (len(digest), mtime, digest)


def mark(index=0, **fields):
    return FailureRecord(test=f"test_a.py::test_{index}", exact=f"e{index}", **fields)


def save(history, begun, failures=1, *, steps=1, now=2.0, **fields):
    """Save the run with an episode of so many steps."""
    marks = tuple(fields.pop("marks", map(mark, range(failures))))
    run = Run(number=begun.number, source=begun.source, marks=marks, **fields)
    first = max(begun.number - steps + 1, 1)
    episode = Episode(
        first=first,
        steps=tuple(Step(run=number) for number in range(first, begun.number + 1)),
        tests={each.test: KnownTest(status="failing", mark=each, since=1) for each in marks},
    )
    with history.transaction(begun) as transaction:
        transaction.save(run, episode, {"failed": len(marks)}, now=now)
    return run


def red(path, failures=1, source="pytest", **kinds):
    """A whole run: begun and saved; what begin said."""
    with open_history(path) as history:
        begun = begin(history, source, **kinds)
        save(history, begun, failures)
        return begun


def chained_journal(path, victim):
    """A journal that is to be played back, after which SQLite removes the file that it names."""
    magic, size = bytes.fromhex("d9d505f920a163d7"), 4096
    page = path.read_bytes()[:size]
    header = (magic + struct.pack(">5I", 1, 0, path.stat().st_size // size, 512, size)).ljust(512, b"\0")
    check = sum(page[at] for at in range(size - 200, 0, -200))
    name = os.fsencode(victim)
    end = struct.pack(">I", (1 << 30) // size + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    record = struct.pack(">I", 1) + page + struct.pack(">I", check)
    path.with_name(f"{path.name}-journal").write_bytes(header + record + end)


def numbers(rows):
    return [row.number for row in rows]


@contextlib.contextmanager
def database(path):
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def ask(path, query, *parameters):
    with database(path) as connection:
        return connection.execute(query, parameters).fetchall()
