"""Keep the history within its bounds."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from loop_close.lazy import NamedTuple
from loop_close.store.project import remove_free_calls
from loop_close.store.records import to_text
from loop_close.store.runs import STAMP, GreenRun, last_green

#: After so many states of the files, a source that has not run or was not green since is no longer compared with
#: its files of then.
WINDOW = 500
# The most that one pruning removes, beside a tenth of all.
_FEW_RUNS, _MANY_RUNS = 8, 100
_MARKS, _SNAPSHOTS, _BLOBS, _PAGES = 20_000, 200, 1_000, 256

# In the order of their names; ``project`` stays, as it counts on.
_EMPTIED = (
    *("accepted", "baselines", "blobs", "calls", "changes", "episodes", "failures", "files", "marks"),
    *("outbox", "runs", "sources"),
)


def prune(connection: sqlite3.Connection, bounds: Bounds) -> None:
    """Take away what is too much, a part of it at a time; in a transaction."""
    (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM runs").fetchone()
    connection.execute("UPDATE project SET pruned = ?", (newest,))
    _let_go(connection, newest - bounds.runs)
    greens = _green_runs(connection, newest - bounds.runs)
    _remove_runs(connection, greens, lambda count: min(count - bounds.runs, count // 10 + _MANY_RUNS))
    remove_free_calls(connection)
    if not _collect(connection, greens, newest) and _live_bytes(connection) > bounds.bytes:
        _lighten(connection, greens, newest, bounds)
    give_back(connection)


def _green_runs(connection: sqlite3.Connection, oldest: int) -> tuple[GreenRun, ...]:
    """The green runs that red ones are compared with: of each source in use the last, and the last of all tests.

    :param oldest: a source whose last run has no later row is not in use.
    """
    rows = connection.execute(
        "SELECT source, last, (SELECT id FROM runs WHERE runs.source = sources.source ORDER BY number DESC LIMIT 1)"
        " AS newest FROM sources WHERE newest > ?",
        (oldest,),
    ).fetchall()
    found = (
        last_green(connection, to_text(source), last + 1, chosen)
        for source, last, _ in rows
        for chosen in (None, ("",))
    )
    return tuple(dict.fromkeys(green for green in found if green is not None))


def _free(greens: tuple[GreenRun, ...]) -> str:
    """The condition for runs that nothing needs any more."""
    needed = ", ".join(str(green.id) for green in greens)
    return f"state <> 'running' AND number < keeps AND id NOT IN ({needed})"


def _lighten(
    connection: sqlite3.Connection, greens: tuple[GreenRun, ...], newest: int, bounds: Bounds
) -> None:
    """Remove runs because of their size; where there are none, older states of files, then contents, then calls."""
    if _remove_runs(connection, greens, lambda count: count // 10 + _FEW_RUNS):
        remove_free_calls(connection)
        _collect(connection, greens, newest)
        return
    _remove_changes(connection, greens, 0)
    _remove_blobs(connection)
    for table in ("blobs", "calls"):
        _remove_largest(connection, table, _live_bytes(connection) - bounds.bytes)


def _collect(connection: sqlite3.Connection, greens: tuple[GreenRun, ...], newest: int) -> bool:
    """Remove what no run needs any more; whether there is more of it than one pruning takes."""
    marks = _remove_marks(connection, greens, newest)
    _remove_changes(connection, greens, WINDOW)
    return marks == _MARKS or _remove_blobs(connection) == _BLOBS


def give_back(connection: sqlite3.Connection, *, everything: bool = False) -> None:
    """Give free pages back to the disk, a part of them at a time or all."""
    most = pages(connection, "page_count") // 10 + _PAGES
    free = pages(connection, "freelist_count")
    # One at a time: sqlite3 takes a single step of the pragma, whatever the number in it.
    for _ in range(free if everything else min(free, most)):
        connection.execute("PRAGMA incremental_vacuum(1)")


def remove_all(connection: sqlite3.Connection) -> int:
    """Leave nothing, not even whose the file was; how many runs there were."""
    (count,) = connection.execute("SELECT count(*) FROM runs").fetchone()
    for table in _EMPTIED:
        connection.execute(f"DELETE FROM {table}")
    connection.execute("UPDATE project SET floor = snapshot + 1, root = ''")
    give_back(connection, everything=True)
    return int(count)


def _live_bytes(connection: sqlite3.Connection) -> int:
    used = pages(connection, "page_count") - pages(connection, "freelist_count")
    return used * page_size(connection)


def _let_go(connection: sqlite3.Connection, oldest: int) -> None:
    """Keep no runs for the episode of a source that has long not run; its next run has them kept again."""
    connection.execute(
        "UPDATE sources SET keeps = last + 1 WHERE keeps <= last AND ? >= coalesce((SELECT id FROM runs"
        " WHERE runs.source = sources.source ORDER BY number DESC LIMIT 1), 0)",
        (oldest,),
    )


def _remove_runs(
    connection: sqlite3.Connection, greens: tuple[GreenRun, ...], how_many: Callable[[int], int]
) -> int:
    """Remove the oldest, so many of those that there are; the number of those that could be."""
    (count,) = connection.execute("SELECT count(*) FROM runs").fetchone()
    rows = connection.execute(
        f"SELECT id FROM runs JOIN sources USING(source) WHERE {_free(greens)} ORDER BY id LIMIT ?",
        (max(how_many(count), 0),),
    ).fetchall()
    connection.executemany("DELETE FROM failures WHERE run = ?", rows)
    connection.executemany("DELETE FROM runs WHERE id = ?", rows)
    return len(rows)


def _remove_marks(connection: sqlite3.Connection, greens: tuple[GreenRun, ...], newest: int) -> int:
    """Remove those that no run has.

    What was last seen before the oldest free run may be in those that are kept from before it, or, as that is not
    said to the run, in the first ones after it.
    """
    (oldest,) = connection.execute(
        f"SELECT id FROM runs JOIN sources USING(source) WHERE {_free(greens)} ORDER BY id LIMIT 1"
    ).fetchone() or (newest + 1,)
    return connection.execute(
        "DELETE FROM marks WHERE id IN (SELECT id FROM marks WHERE last < ?"
        " AND id NOT IN (SELECT mark FROM failures WHERE run < ?) LIMIT ?)",
        (oldest, oldest + STAMP, _MARKS),
    ).rowcount


def _remove_changes(connection: sqlite3.Connection, greens: tuple[GreenRun, ...], window: int) -> None:
    """Remove what lies before the last finished run, and the last green one, of every source that is still in use."""
    (current, floor) = connection.execute("SELECT snapshot, floor FROM project").fetchone()
    rows = connection.execute(
        "SELECT (SELECT snapshot FROM runs WHERE runs.source = sources.source"
        " AND state = 'done' ORDER BY number DESC LIMIT 1) FROM sources"
    ).fetchall()
    states = (*(last for (last,) in rows), *(green.snapshot for green in greens))
    needed = (each for each in states if each is not None and each >= current - window)
    new = min(min(needed, default=current), floor + _SNAPSHOTS)
    if new > floor:
        connection.execute("DELETE FROM changes WHERE snapshot <= ?", (new,))
        connection.execute("UPDATE project SET floor = ?", (new,))


def _remove_blobs(connection: sqlite3.Connection) -> int:
    return connection.execute(
        "DELETE FROM blobs WHERE id IN (SELECT id FROM blobs WHERE digest NOT IN"
        " (SELECT digest FROM files UNION ALL SELECT before FROM changes WHERE before IS NOT NULL"
        " UNION ALL SELECT after FROM changes WHERE after IS NOT NULL UNION ALL SELECT content FROM baselines)"
        " LIMIT ?)",
        (_BLOBS,),
    ).rowcount


def _remove_largest(connection: sqlite3.Connection, table: str, excess: int) -> None:
    """Remove rows of the table, the largest first, until so many bytes are gone."""
    rows = []
    for row, size in connection.execute(
        f"SELECT id, length(data) FROM {table} ORDER BY 2 DESC LIMIT ?", (_BLOBS,)
    ):
        if excess <= 0:
            break
        rows.append((row,))
        excess -= size
    connection.executemany(f"DELETE FROM {table} WHERE id = ?", rows)


# --- how large the history may grow, and whether it has; what is loaded for every run

_EVERY = 64


class Bounds(NamedTuple):
    """How large the history may grow.

    :ivar runs: how many are kept; up to 64 more until the next pruning.
    :ivar bytes: the size of the file; as long as it is above, every run prunes.
    """

    runs: int
    bytes: int


def is_due(connection: sqlite3.Connection, bounds: Bounds) -> bool:
    """Whether to prune now; takes no time."""
    newest, pruned = connection.execute(
        "SELECT (SELECT coalesce(max(id), 0) FROM runs), pruned FROM project"
    ).fetchone()
    size = pages(connection, "page_count") * page_size(connection)
    return bool(newest >= pruned + _EVERY) or size > bounds.bytes


def page_size(connection: sqlite3.Connection) -> int:
    """Bytes of a page of the file."""
    return pages(connection, "page_size")


def pages(connection: sqlite3.Connection, what: str) -> int:
    """A number that SQLite gives of the file by name, such as ``page_count``."""
    (number,) = connection.execute(f"PRAGMA {what}").fetchone()
    return int(number)
