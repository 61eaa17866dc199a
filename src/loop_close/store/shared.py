"""The history that agents on several machines share: a PostgreSQL database.

SQLite stays the history of this machine, and keeps what is to be sent. So nothing here may fail a run, and each run has
an id that was made where it ran, so that sending it again changes nothing. What others wrote is untrusted: it is
bounded here, and made safe by who shows it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import time  # by name: a program under test may patch the module
from typing import Any, NamedTuple, Self

import msgspec

from loop_close.records import Record, Run
from loop_close.store.database import ColumnError, StoreError, pack, plain, unpack

#: The format of the tables. A database of another one is neither read nor written.
FORMAT = 3
_MOST_ATTEMPTS = 10
_MOST_RECORD = 200_000  # in bytes, packed
_MOST_TEXT = 200
_LASTING = 30 * 86_400.0  # a machine that has not run for so long does not count, in seconds
# Any number that other programs do not lock.
_LOCK = 0x6C6F6F70636C6F73
_LONGEST_STATEMENT = 2_000  # in ms
_CONNECT = 2  # in seconds: libpq takes no less
#: What the server says, by its code or in words, as an error before there is a session has no code.
_REASONS = {
    "25006": "the database is read-only",
    "28P01": "the server refused the password",
    "authentication failed": "the server refused the password",
    "3D000": "there is no such database",
    "42501": "permission denied",
    "53300": "the server has too many connections",
    "too many clients": "the server has too many connections",
    "57014": "the server took too long",
    "57P03": "the server is starting",
}
_TABLES = (
    "CREATE TABLE loop_close.format(number integer NOT NULL)",
    # record: the run in MessagePack without outcomes. tools: what ran, such as pytest. is_whole: all tests were meant
    # to run, and did. began: by the machine's clock, in seconds.
    "CREATE TABLE loop_close.runs(id uuid PRIMARY KEY, project text NOT NULL, machine text NOT NULL,"
    " worktree text NOT NULL, branch text NOT NULL, tools text[] NOT NULL, is_whole boolean NOT NULL,"
    " began double precision NOT NULL, record bytea NOT NULL)",
    "CREATE INDEX runs_of_branch ON loop_close.runs(project, branch, began) WHERE is_whole",
    # is_attempt: it was failing before the run, and edits preceded it. is_failing: after the run.
    "CREATE TABLE loop_close.causes(run uuid NOT NULL REFERENCES loop_close.runs ON DELETE CASCADE,"
    " cause text NOT NULL, project text NOT NULL, began double precision NOT NULL, is_attempt boolean NOT NULL,"
    " is_failing boolean NOT NULL, PRIMARY KEY(run, cause))",
    "CREATE INDEX attempts_by_cause ON loop_close.causes(project, cause, began) WHERE is_attempt",
)


class SharedError(StoreError):
    """The shared history cannot be used; the text says why, in one line for a user, without any part of the URL."""


class Agent(Record, frozen=True):
    """Who runs tests of which project; two agents differ in the worktree.

    :ivar project: the same for all clones of a project.
    :ivar worktree: a digest of the machine and of where the files are.
    """

    project: str
    machine: str
    worktree: str
    branch: str = ""


class SharedRun(Record, frozen=True):
    """A run as it is sent.

    :ivar run: without outcomes, its failures bounded.
    :ivar before: keys of the causes that failed before the run; ``after``: after it.
    :ivar tools: what ran, such as ``pytest``.
    :ivar is_whole: all tests were meant to run, and did.
    """

    agent: Agent
    run: Run
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    is_whole: bool = False


class AttemptRow(NamedTuple):
    """A run of another agent after an edit, while ``cause`` had been failing."""

    cause: str
    machine: str
    branch: str
    run: Run
    is_cleared: bool


class SharedStore:
    """A connection to the shared history; its tables are made if needed. Each method is a transaction.

    It is not to be used across a fork.

    :param url: of the database; libpq reads what it leaves out from its environment, service and password files.
    :raises SharedError: if it cannot be used; so do all methods.
    """

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise SharedError("it needs psycopg: pip install 'pytest-loop-close[postgres]'") from None
        self._errors: tuple[type[Exception], ...] = (psycopg.Error, OSError)
        # A pooler may hand each transaction to another connection: no prepared statements.
        options: dict[str, Any] = {"autocommit": True, "prepare_threshold": None, "client_encoding": "utf8"}
        options |= {"connect_timeout": _CONNECT, "fallback_application_name": "loop-close"}
        try:
            self._connection: Any = psycopg.connect(url, **options)
        except self._errors as error:
            raise SharedError(_in_words(error, "cannot connect")) from None
        try:
            with self._transaction():
                self._prepare()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; more than once is fine."""
        with contextlib.suppress(*self._errors):
            self._connection.close()

    def send(self, rows: Sequence[SharedRun]) -> None:
        """Add the runs, all or none; what is there already stays as it is."""
        with self._transaction():
            for row in rows:
                self._add(row)

    def attempts(self, agent: Agent, causes: Sequence[str]) -> list[AttemptRow]:
        """The last runs of other agents after edits while these causes were failing; damaged rows are left out."""
        rows = self._rows(
            f"SELECT a.cause, left(a.machine, {_MOST_TEXT}), left(a.branch, {_MOST_TEXT}), a.record,"
            " a.is_whole AND NOT a.is_failing FROM unnest(%s::text[]) AS k(cause) CROSS JOIN LATERAL"
            " (SELECT c.cause, c.began, c.is_failing, r.machine, r.branch, r.record, r.is_whole"
            " FROM loop_close.causes c JOIN loop_close.runs r ON r.id = c.run"
            " WHERE c.project = %s AND c.cause = k.cause AND c.is_attempt AND r.worktree <> %s"
            f" AND octet_length(r.record) <= {_MOST_RECORD} ORDER BY c.began DESC LIMIT {_MOST_ATTEMPTS}) a"
            " ORDER BY a.began DESC",
            _texts(causes),
            *_texts((agent.project, agent.worktree)),
        )
        found = []
        for cause, machine, branch, record, is_cleared in rows:
            with contextlib.suppress(ColumnError, msgspec.DecodeError):
                run = _RUN.decode(unpack(bytes(record)))
                found.append(AttemptRow(cause, machine, branch, run, is_cleared))
        return found

    def machines(self, agent: Agent, tools: Mapping[str, str]) -> list[tuple[str, str, bool]]:
        """On which other machines causes failed in the last whole run on the agent's branch.

        :param tools: by cause the tool that found it: runs without the tool do not count.
        :returns: cause, machine and whether it failed.
        """
        return self._rows(
            f"SELECT k.cause, left(last.machine, {_MOST_TEXT}), EXISTS(SELECT FROM loop_close.causes c"
            " WHERE c.run = last.id AND c.cause = k.cause AND c.is_failing)"
            " FROM unnest(%s::text[], %s::text[]) AS k(cause, tool) CROSS JOIN LATERAL"
            " (SELECT DISTINCT ON (r.machine) r.id, r.machine FROM loop_close.runs r WHERE r.project = %s"
            " AND r.branch = %s AND r.is_whole AND k.tool = ANY(r.tools) AND r.machine <> %s AND r.began > %s"
            " ORDER BY r.machine, r.began DESC) last",
            _texts(tools),
            _texts(tools.values()),
            *_texts((agent.project, agent.branch, agent.machine)),
            time() - _LASTING,
        )

    def _add(self, row: SharedRun) -> None:
        run, agent = row.run, row.agent
        project, *names = _texts((agent.project, agent.machine, agent.worktree, agent.branch))
        before, after = _texts(row.before), _texts(row.after)
        added = self._execute(
            "INSERT INTO loop_close.runs(id, project, machine, worktree, branch, tools, is_whole, began, record)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            *(run.id, project, *names, _texts(row.tools), row.is_whole, run.began),
            pack(msgspec.msgpack.encode(run)),
        )
        if added.rowcount:
            self._execute(
                "INSERT INTO loop_close.causes(run, cause, project, began, is_attempt, is_failing)"
                " SELECT %s, k.cause, %s, %s, %s AND k.cause = ANY(%s), k.cause = ANY(%s)"
                " FROM unnest(%s::text[]) AS k(cause)",
                *(run.id, project, run.began, run.edits.kind == "effective", before, after),
                [*dict.fromkeys((*before, *after))],
            )

    def _prepare(self) -> None:
        """Make the tables, where they are missing."""
        # IF NOT EXISTS does not help where others create them at the same time; a session's lock fails behind a pooler.
        self._execute("SELECT pg_advisory_xact_lock(%s)", _LOCK)
        # Not by to_regclass: it may not see yet what another process has just made.
        if not self._has(
            "SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'loop_close' AND c.relname = 'format'"
        ):
            # Not by IF NOT EXISTS, which asks for the right to make one even where an administrator made it.
            if not self._has("SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'loop_close'"):
                self._execute("CREATE SCHEMA loop_close")
            for statement in _TABLES:
                self._execute(statement)
            self._execute("INSERT INTO loop_close.format VALUES (%s)", FORMAT)
        (found,) = self._execute("SELECT max(number) FROM loop_close.format").fetchone()
        if found != FORMAT:
            raise SharedError(
                f"it was written by another version of loop-close (format {found}, not {FORMAT})"
            )

    def _has(self, query: str) -> bool:
        return self._execute(query).fetchone() is not None

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._transaction():
            return list(self._execute(query, *values).fetchall())

    def _execute(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement.encode(), values)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """One transaction, whose errors are told in our words."""
        try:
            with self._connection.transaction():
                # One that is stopped here, as a laptop that is closed, must not keep what others wait for.
                self._execute(
                    f"SET LOCAL statement_timeout = {_LONGEST_STATEMENT};"
                    f" SET LOCAL idle_in_transaction_session_timeout = {5 * _LONGEST_STATEMENT}"
                )
                yield
        except self._errors as error:
            raise SharedError(_in_words(error, "the connection was lost")) from None


_RUN = msgspec.msgpack.Decoder(Run)


def _in_words(error: Exception, otherwise: str) -> str:
    """What went wrong, in our words: those of the driver name hosts and users."""
    code = str(getattr(error, "sqlstate", None) or "")
    said = f"{code} {error}"
    otherwise = f"the server reports error {code}" if code.isalnum() else otherwise
    return next((reason for sign, reason in _REASONS.items() if sign in said), otherwise)


def _texts(texts: Iterable[str]) -> list[str]:
    """Texts for columns: PostgreSQL takes no NUL either."""
    return [plain(text).replace("\0", "\\0") for text in texts]
