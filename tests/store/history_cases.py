"""Histories for tests: short to begin, to run and to look at."""

import contextlib
import os
import sqlite3
import struct

from loop_close.memory import Episode, FailureRecord, KnownTest, Run, Step
from loop_close.store.prune import Bounds
from loop_close.store.records import to_plain
from loop_close.store.sqlite import MAX_BYTES, MAX_RUNS, SqliteHistory, open_history

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


class Shared(SqliteHistory):
    """A history that shares its runs: finished ones are read from PostgreSQL as well, and have to be the same.

    But for those of a source that was reset: others keep what they know of runs whose numbers begin again.
    """

    def __init__(self, path, url):
        from shared_reading import ReadableStore

        from loop_close.sharing import Sharing

        super().__init__(path, Bounds(runs=MAX_RUNS, bytes=MAX_BYTES), 10.0)
        self.sharing = Sharing(url, path.parent.parent, {"project": "contract"})
        self.store = ReadableStore(url)
        self.was_reset = set()

    def close(self):
        super().close()
        self.sharing.close()
        self.store.close()

    def begin(self, *words, **named):
        begun = super().begin(*words, **named)
        self.sharing.announce(begun)
        return begun

    def keep_green(self, begun, **fields):
        plain = {k: v for k, v in fields.items() if k not in ("calls", "baseline")} | {
            "exit_code": 0,
            "is_good": True,
        }
        to_share = self.sharing.entry(begun, plain, {"verdict": "green"})
        is_kept = super().keep_green(begun, to_share=to_share, **fields)
        self._send()
        return is_kept

    @contextlib.contextmanager
    def transaction(self, begun):
        with super().transaction(begun) as transaction:
            saved = transaction.save

            def save(run, episode, summary, **named):
                marks = tuple(run.marks)
                row = self.sharing.entry(
                    begun, to_plain(run), summary, failures=len(marks) + run.omitted_marks
                )
                row[1]["ended"] = named.get("now", row[1]["ended"])
                saved(run, episode, summary, to_share=row, **named)

            transaction.save = save
            yield transaction
        self._send()

    def reset(self, source=None):
        self.was_reset |= {row.source for row in super().latest()} if source is None else {source}
        return super().reset(source)

    def _send(self):
        self.sharing.send(self)
        assert self.sharing.note == ""
        assert self.unsent(9) == []

    def recorded(self, source, limit):
        found = super().recorded(source, limit)
        shared = {run.number: run for run in self.store.recorded(self.sharing.agent, source, 9_999)}
        assert [shared[run.number] for run in found if not run.is_killed] == [
            r for r in found if not r.is_killed
        ]
        return found

    def runs(self, source=None, limit=50):
        found = super().runs(source, limit)
        shared = {(r.source, r.number): r for r in self.store.runs(self.sharing.agent, source, 9_999)}
        ended = [row for row in found if row.state == "done" and row.source not in self.was_reset]
        assert [shared[row.source, row.number] for row in ended] == ended
        return found
