"""Runs of each source, their failures, and the source's episode."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from loop_close.lazy import NamedTuple
from loop_close.store import HistoryError, RunHandle, RunRow
from loop_close.store.project import rows_among
from loop_close.store.records import (
    RecordError,
    from_json,
    from_text,
    json_text,
    packed,
    to_json,
    to_plain,
    to_record,
    to_text,
    to_whole,
)

if TYPE_CHECKING:
    from loop_close.memory import Episode, FailureRecord, Run


_MOST_KILLED = 100
#: The most sources that are read, and that are reported: as many as have a report.
_MOST_SOURCES = 1_000
_MOST_TOLD = 64
#: So many runs back the last green one is looked for.
_MOST_BACK = 500
_MOST_WINDOWS = 1_000
_LAST_ROW = (1 << 63) - 1
_MERGED = "merge"  # as in loop_close.memory, which a green run does without
_SHOWN = "number, source, state, started, ended, exit_code, passed, skipped, failures, summary"
_OWN = "id = ? AND source = ? AND number = ? AND started = ?"
_NEWEST = (
    "SELECT max(coalesce((SELECT max(id) FROM runs), 0),"
    " coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0))"
)


class RunWindow(NamedTuple):
    """What a run saw of the project's files.

    :ivar window: when it began and ended; ``snapshot`` the state of the files then, None if it is unknown.
    :ivar is_full: all tests were meant to run.
    :ivar is_good: it reported success; ``is_skipped``: as there was nothing to run.
    """

    source: str
    number: int
    window: tuple[float, float]
    snapshot: int | None
    is_full: bool
    is_good: bool = False
    is_skipped: bool = False


class GreenRun(NamedTuple):
    """A green run.

    :ivar id: its row; ``snapshot`` the state of the files then, None if it is unknown.
    :ivar not_run_since: the green run that it was compared with, where no test ran some of what was edited since then;
        else 0.
    """

    id: int
    number: int
    snapshot: int | None
    not_run_since: int = 0


class LastRow(NamedTuple):
    """The last run of a source that has ended: its row, and the state of the files then, None if not known."""

    id: int
    source: str
    number: int
    snapshot: int | None
    verdict: str


# Kept in columns of their own.
_ELSEWHERE = ("number", "source", "marks")


def next_number(connection: sqlite3.Connection, source: str) -> int:
    """A number that no run of the source had."""
    row = connection.execute("SELECT last FROM sources WHERE source = ?", (from_text(source),)).fetchone()
    number = to_whole(row[0]) + 1 if row else 1
    _count(connection, source, number)
    return number


def _count(connection: sqlite3.Connection, source: str, number: int) -> None:
    connection.execute(
        "INSERT INTO sources(source, last, keeps) VALUES(?, ?, 1)"
        " ON CONFLICT(source) DO UPDATE SET last = max(last, excluded.last)",
        (from_text(source), number),
    )


def add_row(
    connection: sqlite3.Connection,
    begun: RunHandle,
    snapshot: int | None,
    process: tuple[int, str, str] = (0, "", ""),
) -> int:
    """Note that the run is under way; the row's id.

    :param process: its id, when it was born, and its machine.
    """
    pid, birth, host = process
    to_whole(connection.execute(_NEWEST).fetchone()[0])  # there must be a number after it
    cursor = connection.execute(
        "INSERT INTO runs(source, number, state, started, pid, birth, host, snapshot)"
        " VALUES(?, ?, 'running', ?, ?, ?, ?, ?)",
        (
            from_text(begun.source),
            begun.number,
            begun.started,
            pid,
            from_text(birth),
            from_text(host),
            snapshot,
        ),
    )
    return int(cursor.lastrowid or 0)


def killed_before(connection: sqlite3.Connection, source: str, number: int) -> tuple[int, ...]:
    """The killed runs before that one which no episode has yet."""
    rows = connection.execute(
        "SELECT number FROM runs WHERE source = ? AND number < ? AND state = 'killed' AND is_told = 0"
        " ORDER BY number DESC LIMIT ?",
        (from_text(source), number, _MOST_KILLED),
    )
    return tuple(sorted(to_whole(each) for (each,) in rows))


def snapshots(connection: sqlite3.Connection, begun: RunHandle) -> tuple[int | None, int | None]:
    """The state of the files in the source's previous run, and in this one."""
    before = connection.execute(
        "SELECT snapshot FROM runs WHERE source = ? AND number < ? AND state = 'done'"
        " ORDER BY number DESC LIMIT 1",
        (from_text(begun.source), begun.number),
    ).fetchone()
    now = connection.execute(f"SELECT snapshot FROM runs WHERE {_OWN}", _own(begun)).fetchone()
    return before and before[0], now and now[0]


def first_snapshot(connection: sqlite3.Connection, source: str) -> int | None:
    """The state of the files in the first run that the source's episode needs; None if it is unknown."""
    row = connection.execute(
        "SELECT r.snapshot FROM runs r JOIN sources s ON r.source = s.source WHERE s.source = ? AND r.number >= s.keeps"
        " ORDER BY r.number LIMIT 1",
        (from_text(source),),
    ).fetchone()
    return row[0] if row else None


def last_green(
    connection: sqlite3.Connection, source: str, before: int, selections: Collection[str] | None = None
) -> GreenRun | None:
    """The source's last green run with a number below ``before``; of those that chose tests in one of these ways.

    :param selections: as runs are remembered with them, ``""`` for all tests; None for any.
    """
    # The verdict is part of a text: only rows that may be green are read.
    rows = connection.execute(
        "SELECT id, number, snapshot, summary, record FROM runs WHERE source = ? AND number < ? AND number >= ?"
        " AND state = 'done' AND failures = 0 AND coalesce(exit_code, 0) = 0 ORDER BY number DESC",
        (from_text(source), before, before - _MOST_BACK),
    )
    for row, number, snapshot, summary, record in rows:
        outcome = _dictionary(summary)
        if outcome.get("verdict") != "green":
            continue
        plain = _dictionary(record)
        is_whole = plain.get("is_full", True) or plain.get("selection", "")
        if selections is None or (is_whole and plain.get("selection", "") in selections):
            return GreenRun(int(row), to_whole(number), snapshot, _not_run_since(outcome.get("edits_run")))
    return None


def _not_run_since(edits_run: object) -> int:
    """What a summary says of edited functions that no test ran."""
    since = edits_run.get("since") if isinstance(edits_run, dict) and edits_run.get("not_run") else 0
    return since if isinstance(since, int) else 0


def windows(
    connection: sqlite3.Connection, first: int, before: int = _LAST_ROW
) -> tuple[tuple[float, float], ...]:
    """When the runs went on whose row is ``first`` or a later one, and earlier than ``before``; the last ones."""
    rows = connection.execute(
        "SELECT started, ended FROM runs WHERE id >= ? AND id < ? AND state = 'done' AND ended IS NOT NULL"
        " ORDER BY id DESC LIMIT ?",
        (first, before, _MOST_WINDOWS),
    )
    return tuple((float(started), float(ended)) for started, ended in rows)


def has_others(connection: sqlite3.Connection, source: str) -> bool:
    """Whether another source is known."""
    row = connection.execute(
        "SELECT 1 FROM sources WHERE source <> ? LIMIT 1", (from_text(source),)
    ).fetchone()
    return row is not None


def failed_in_merge(connection: sqlite3.Connection, source: str) -> tuple[str, ...]:
    """The tests that failed in the last merge; none where the source is that of merges."""
    row = connection.execute(
        "SELECT summary FROM runs WHERE source = ? AND state = 'done' ORDER BY number DESC LIMIT 1",
        (_MERGED,),
    ).fetchone()
    failed = _dictionary(row[0]).get("failed") if row is not None and source != _MERGED else None
    tests = failed.values() if isinstance(failed, dict) else ()
    return tuple(sorted({str(test) for each in tests if isinstance(each, list) for test in each}))


def last_of_others(connection: sqlite3.Connection, source: str) -> tuple[LastRow, ...]:
    """The last run that has ended of each other source, by name; of many those that are not green, then the newest."""
    rows = connection.execute(
        "SELECT id, source, number, snapshot, summary FROM runs WHERE id IN (SELECT (SELECT r.id FROM runs r"
        " WHERE r.source = s.source AND r.state = 'done' ORDER BY r.number DESC LIMIT 1) FROM sources s"
        " WHERE s.source <> ?) ORDER BY id DESC LIMIT ?",
        (from_text(source), _MOST_SOURCES),
    ).fetchall()
    found = (
        LastRow(int(row), to_text(name), to_whole(number), snapshot, str(_dictionary(summary).get("verdict")))
        for row, name, number, snapshot, summary in rows
    )
    kept = sorted(found, key=lambda last: last.verdict == "green")[:_MOST_TOLD]
    return tuple(sorted(kept, key=lambda last: last.source))


def advanced_since(connection: sqlite3.Connection, begun: RunHandle) -> list[tuple[str, int | None]]:
    """The runs of other sources that advanced since the source's previous run, the newest first, with their files."""
    from loop_close.memory import ELSEWHERE

    own = from_text(begun.source)
    rows = connection.execute(
        "SELECT source, summary, snapshot FROM runs WHERE id < ? AND state = 'done' AND source <> ? AND id >"
        " (SELECT MAX(id) FROM runs WHERE source = ? AND id < ? AND state = 'done') ORDER BY id DESC LIMIT ?",
        (begun.id, own, own, begun.id, _MOST_SOURCES),
    )
    return [
        (to_text(name), snapshot)
        for name, text, snapshot in rows
        if _dictionary(text).get("advanced", "") not in ("", ELSEWHERE)
    ]


def window_before(connection: sqlite3.Connection, begun: RunHandle) -> tuple[float, float]:
    """From when to when the last run of any source went on that ended before this one began; zeros for none."""
    row = connection.execute(
        "SELECT started, ended FROM runs WHERE id < ? AND state = 'done' ORDER BY id DESC LIMIT 1",
        (begun.id,),
    ).fetchone()
    return (float(row[0]), float(row[1])) if row and row[1] is not None else (0.0, 0.0)


def _own(begun: RunHandle) -> tuple[Any, ...]:
    return begun.id, from_text(begun.source), begun.number, begun.started


def take_back(connection: sqlite3.Connection, begun: RunHandle) -> None:
    """Remove the row, and give its number to the next run if there was none since."""
    gone = connection.execute(f"DELETE FROM runs WHERE state <> 'done' AND {_OWN}", _own(begun)).rowcount
    if gone:
        connection.execute(
            "UPDATE sources SET last = last - 1 WHERE source = ? AND last = ?",
            (from_text(begun.source), begun.number),
        )


def last_interpreter(connection: sqlite3.Connection, source: str) -> str:
    """What ran the tests in the source's last run that has ended; empty if it is unknown.

    Of a source that never ran here: what ran them where the last merged report is from.
    """
    row = connection.execute(
        "SELECT source = ?, record, summary FROM runs WHERE id = (SELECT id FROM runs WHERE source IN (?, ?)"
        " AND state = 'done' ORDER BY source = ? DESC, number DESC LIMIT 1)",
        (from_text(source), from_text(source), _MERGED, from_text(source)),
    ).fetchone()
    if row is None or row[0]:
        found = _dictionary(row[1]).get("interpreter", "") if row else ""
    else:
        merged = _dictionary(row[2]).get("sources")
        rows = [each for each in merged if isinstance(each, list)] if isinstance(merged, list) else []
        found = next((each[2] for each in rows if len(each) == 3 and each[0] == source), "")
    return found if isinstance(found, str) else ""


def finish(
    connection: sqlite3.Connection, begun: RunHandle, run: Run, summary: Mapping[str, Any], now: float
) -> int:
    """Take down what came of the run; the row's id."""
    return finish_plain(connection, begun, to_plain(run), summary, now)


def finish_plain(
    connection: sqlite3.Connection,
    begun: RunHandle,
    plain: dict[str, Any],
    summary: Mapping[str, Any],
    now: float,
) -> int:
    """The same for a run that is plain values already."""
    row = _row_of(connection, begun)
    marks = plain.get("marks", [])
    record = {name: value for name, value in plain.items() if name not in _ELSEWHERE}
    failures = len(marks) + plain.get("omitted_marks", 0)
    connection.execute(
        "UPDATE runs SET state = 'done', ended = ?, exit_code = ?, passed = ?, skipped = ?, failures = ?,"
        " summary = ?, record = ? WHERE id = ?",
        (
            *(now, plain.get("exit_code"), plain.get("passed", 0), plain.get("skipped", 0), failures),
            *(from_json(dict(summary)), from_json(record), row),
        ),
    )
    if marks:
        keep_marks(connection, row, marks)
    connection.execute(
        "UPDATE runs SET is_told = 1 WHERE source = ? AND number < ? AND state = 'killed' AND is_told = 0",
        (from_text(begun.source), begun.number),
    )
    return row


def _row_of(connection: sqlite3.Connection, begun: RunHandle) -> int:
    """The run's row; a new one when someone forgot it or the file was quarantined meanwhile.

    :raises HistoryError: when another run has its number by now.
    """
    row = connection.execute(f"SELECT id FROM runs WHERE {_OWN}", _own(begun)).fetchone()
    if row:
        return int(row[0])
    (taken,) = connection.execute(
        "SELECT count(*) FROM runs WHERE source = ? AND number = ?", (from_text(begun.source), begun.number)
    ).fetchone()
    if taken:
        raise HistoryError("the history was reset during the test run")
    _count(connection, begun.source, begun.number)
    return add_row(connection, begun, None)


def shown(connection: sqlite3.Connection, source: str | None, limit: int) -> tuple[RunRow, ...]:
    """The last rows, newest last."""
    where = "" if source is None else "WHERE source = ?"
    order = "id" if source is None else "number"
    rows = connection.execute(
        f"SELECT {_SHOWN} FROM runs {where} ORDER BY {order} DESC LIMIT ?",
        ([] if source is None else [from_text(source)]) + [limit],
    ).fetchall()
    return tuple(map(_shown_row, reversed(rows)))


def count(connection: sqlite3.Connection, source: str | None) -> int:
    """How many runs there are, of the source or of all."""
    where = "" if source is None else "WHERE source = ?"
    values = [] if source is None else [from_text(source)]
    (number,) = connection.execute(f"SELECT count(*) FROM runs {where}", values).fetchone()
    return int(number)


def shown_last(connection: sqlite3.Connection) -> tuple[RunRow, ...]:
    """The last row of every source, by its name."""
    rows = connection.execute(
        f"SELECT {_SHOWN} FROM runs WHERE id IN (SELECT (SELECT r.id FROM runs r WHERE r.source = s.source"
        " ORDER BY r.number DESC LIMIT 1) FROM sources s) ORDER BY source"
    )
    return tuple(map(_shown_row, rows))


def _shown_row(row: tuple[Any, ...]) -> RunRow:
    values = dict(zip(_SHOWN.split(", "), row, strict=True))
    values["source"] = to_text(values["source"])
    values["summary"] = _dictionary(values["summary"])
    return to_record(RunRow, values)


def _dictionary(value: Any) -> dict[str, Any]:
    plain = {} if value is None else to_json(value)
    if not isinstance(plain, dict):
        raise RecordError("no summary of a run")
    return plain


def recorded(connection: sqlite3.Connection, source: str, limit: int) -> tuple[Run, ...]:
    """The last runs that have ended, as they were, newest last."""
    rows = connection.execute(
        "SELECT id, number, state, record FROM runs WHERE source = ? AND state <> 'running'"
        " ORDER BY number DESC LIMIT ?",
        (from_text(source), limit),
    ).fetchall()[::-1]
    marks = marks_of(connection, [row[0] for row in rows])
    return tuple(_run(source, row, marks.get(row[0], ())) for row in rows)


def recorded_as(connection: sqlite3.Connection, known: str) -> Run | None:
    """The run with that name, see :func:`known_by`; None if it is gone, or has not ended."""
    number, _, rest = known.partition(" ")
    started, _, source = rest.partition(" ")
    row = connection.execute(
        "SELECT id, number, state, record FROM runs"
        " WHERE source = ? AND number = ? AND started = ? AND state <> 'running'",
        (from_text(source), int(number), float(started)),
    ).fetchone()
    return _run(source, row, marks_of(connection, [row[0]]).get(row[0], ())) if row is not None else None


def has_run(connection: sqlite3.Connection, known: str) -> bool:
    """Whether there is a run with that name, see :func:`known_by`."""
    number, _, rest = known.partition(" ")
    started, _, source = rest.partition(" ")
    (count,) = connection.execute(
        "SELECT count(*) FROM runs WHERE source = ? AND number = ? AND started = ?",
        (from_text(source), int(number), float(started)),
    ).fetchone()
    return bool(count)


def known_by(source: str, number: int, started: float) -> str:
    """The name of a run: it differs from all others, also from those of another history."""
    return f"{number} {started!r} {source}"


def run_windows(connection: sqlite3.Connection, limit: int, prefix: str = "") -> tuple[RunWindow, ...]:
    """The last runs that ended by themselves, the newest first, with their files.

    :param prefix: how the names of their sources begin.
    """
    rows = connection.execute(
        "SELECT source, number, started, ended, snapshot, record, failures, instr(summary, '\"skipped\":') FROM runs"
        " WHERE state = 'done' AND substr(CAST(source AS TEXT), 1, ?) = ? ORDER BY id DESC LIMIT ?",
        (len(prefix), prefix, limit),
    ).fetchall()
    return tuple(
        RunWindow(
            source=to_text(source),
            number=to_whole(number),
            window=(float(started), float(ended or started)),
            snapshot=snapshot,
            is_full=bool(made.get("is_full", True)),
            is_good=made.get("is_good") is True and not failures,
            is_skipped=bool(skipped),
        )
        for source, number, started, ended, snapshot, record, failures, skipped in rows
        for made in [_dictionary(record)]
    )


def _run(source: str, row: tuple[Any, ...], marks: tuple[Any, ...]) -> Run:
    from loop_close.memory import Run

    _, number, state, record = row
    plain = {"is_killed": True} if state == "killed" else _dictionary(record)
    run = to_record(Run, {**plain, "number": number, "source": source})
    return replace(run, marks=marks)


def forget(connection: sqlite3.Connection, source: str) -> int:
    """Remove all there is of the source; how many runs those were."""
    name = (from_text(source),)
    connection.execute("DELETE FROM failures WHERE run IN (SELECT id FROM runs WHERE source = ?)", name)
    count = connection.execute("DELETE FROM runs WHERE source = ?", name).rowcount
    for table in ("baselines", "calls", "episodes", "outbox", "sources"):
        connection.execute(f"DELETE FROM {table} WHERE source = ?", name)
    return count


# --- failures: each is kept once, however many runs have it

#: A mark says to within so many runs when it was last seen: to say it after each would cost a write for every one.
STAMP = 16


def keep_marks(connection: sqlite3.Connection, run: int, marks: list[dict[str, Any]]) -> None:
    """Note that these are the failures of the run, in this order."""
    from hashlib import blake2b  # late, as in other modules: it loads OpenSSL

    texts = [json_text(mark) for mark in marks]
    digests = [blake2b(text.encode(), digest_size=16).digest() for text in texts]
    rows = rows_among(
        connection, "SELECT digest, id, last FROM marks WHERE digest IN", list(dict.fromkeys(digests))
    )
    known = {digest: (number, last) for digest, number, last in rows}
    stale = [(run, number) for number, last in known.values() if last + STAMP < run]
    connection.executemany("UPDATE marks SET last = ? WHERE id = ?", stale)
    numbers = {digest: number for digest, (number, _) in known.items()}
    numbers |= _added(connection, run, {d: m for d, m in zip(digests, texts, strict=True) if d not in known})
    connection.execute("DELETE FROM failures WHERE run = ?", (run,))
    connection.executemany(
        "INSERT INTO failures(run, position, mark) VALUES(?, ?, ?)",
        [(run, position, numbers[digest]) for position, digest in enumerate(digests)],
    )


def _added(connection: sqlite3.Connection, run: int, marks: dict[bytes, str]) -> dict[bytes, int]:
    """The new marks with their ids; no other process writes meanwhile."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM marks").fetchone()
    numbers = {digest: last + index for index, digest in enumerate(marks, 1)}
    connection.executemany(
        "INSERT INTO marks(id, digest, last, data) VALUES(?, ?, ?, ?)",
        [(numbers[digest], digest, run, packed(text)) for digest, text in marks.items()],
    )
    return numbers


def marks_of(connection: sqlite3.Connection, runs: list[int]) -> dict[int, tuple[FailureRecord, ...]]:
    """The failures of the runs, by run."""
    from loop_close.memory import FailureRecord

    read: dict[int, FailureRecord] = {}
    found: dict[int, list[FailureRecord]] = {}
    for run in runs:
        rows = connection.execute(
            "SELECT mark, data FROM failures JOIN marks ON id = mark WHERE run = ? ORDER BY position", (run,)
        )
        for number, data in rows:
            if number not in read:
                read[number] = to_record(FailureRecord, to_json(data))
            found.setdefault(run, []).append(read[number])
    return {run: tuple(marks) for run, marks in found.items()}


# --- the episode of each source: what is known last of the tests that failed

# So many of an episode's last runs are kept whatever the bounds.
_KEPT_STEPS = 100


def episode_of(connection: sqlite3.Connection, source: str) -> Episode:
    """The source's episode, empty at first."""
    from loop_close.memory import (
        Episode,
    )  # late: its records take longer to make than all else of a green run

    row = connection.execute("SELECT data FROM episodes WHERE source = ?", (from_text(source),)).fetchone()
    return to_record(Episode, to_json(row[0])) if row else Episode()


def watched_by(connection: sqlite3.Connection, source: str) -> tuple[str, ...]:
    """The tests that the source's episode knows; quicker than to read all of it."""
    row = connection.execute("SELECT watched FROM episodes WHERE source = ?", (from_text(source),)).fetchone()
    names = to_json(row[0]) if row else []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RecordError("no names of tests")
    return tuple(names)


def keep_episode(connection: sqlite3.Connection, source: str, number: int, episode: Episode) -> None:
    """Make it the source's episode after the run of that number."""
    keeps = min((step.run for step in episode.steps[-_KEPT_STEPS:]), default=number + 1)
    _keep(connection, source, list(episode.tests), to_plain(episode), keeps)


def keep_green_episode(connection: sqlite3.Connection, source: str, number: int) -> None:
    """Begin a new episode after the green run of that number, in which all tests were meant.

    What failed in earlier episodes stays known: a failure may come back after each green run.
    """
    row = connection.execute("SELECT data FROM episodes WHERE source = ?", (from_text(source),)).fetchone()
    before = to_json(row[0]) if row else {}
    returned = before.get("returned", []) if isinstance(before, dict) else []
    plain = {"green": number, "is_green_full": True, **({"returned": returned} if returned else {})}
    _keep(connection, source, [], plain, number + 1)


def _keep(
    connection: sqlite3.Connection, source: str, watched: list[str], plain: dict[str, Any], keeps: int
) -> None:
    connection.execute(
        "REPLACE INTO episodes(source, watched, data) VALUES(?, ?, ?)",
        (from_text(source), from_json(watched), from_json(plain)),
    )
    connection.execute("UPDATE sources SET keeps = ? WHERE source = ?", (keeps, from_text(source)))
