"""The episode of each source: what is known last of the tests that failed."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from loop_close.store.columns import from_json, from_text, to_json
from loop_close.store.records import RecordError, to_plain, to_record

if TYPE_CHECKING:
    from loop_close.memory import Episode

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
