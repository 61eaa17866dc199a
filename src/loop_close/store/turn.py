"""The moment in which a run is added to its episode."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from time import time  # here: a program under test may put another one in its place
from typing import TYPE_CHECKING, Any

from loop_close.store import baseline as tests
from loop_close.store import counts, episodes, runs
from loop_close.store.columns import moment_of
from loop_close.store.contract import Begun, NewBaseline, NewCalls
from loop_close.store.database import Database

if TYPE_CHECKING:
    from loop_close.memory import Episode, Run


class SqliteTurn:
    """A :class:`~loop_close.store.contract.Turn`.

    :ivar episode: the source's episode so far; ``killed`` the runs that are not in it and never will end.
    """

    episode: Episode
    killed: tuple[int, ...]

    def __init__(self, database: Database, begun: Begun) -> None:
        self.is_saved = False
        self._database = database
        self._begun = begun
        self.episode, self.killed = database.hold(
            lambda connection: (
                episodes.episode_of(connection, begun.source),
                runs.killed_before(connection, begun.source, begun.number),
            )
        )

    def save(
        self,
        run: Run,
        episode: Episode,
        summary: Mapping[str, Any],
        *,
        calls: NewCalls | None = None,
        baseline: NewBaseline | None = None,
        now: float | None = None,
    ) -> None:
        """Remember the run and what the episode came to.

        :param summary: a plain JSON value, given back in :class:`~loop_close.store.contract.RunRow`.
        :param calls: what its tests called.
        :param baseline: what later runs are compared with from now on.
        :param now: when the run ended; this moment by default.
        :raises HistoryError: when it cannot be written; the turn is over then.
        """
        ended = moment_of(time() if now is None else now)

        def work(connection: sqlite3.Connection) -> None:
            runs.finish(connection, self._begun, run, summary, ended)
            episodes.keep_episode(connection, self._begun.source, self._begun.number, episode)
            if calls is not None:
                counts.keep_calls(connection, self._begun.source, calls)
            if baseline is not None:
                tests.keep(connection, self._begun.source, baseline)

        self._database.hold(work)
        self.is_saved = True
