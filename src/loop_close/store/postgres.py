"""A connection to PostgreSQL: the tables of the shared history, values as its columns hold them, errors in our words.

Texts of the driver's errors name hosts and users, so none of them is ever shown.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from time import monotonic, sleep, time  # by name: a program under test may patch the module
from typing import TYPE_CHECKING, Any, TypeVar

from loop_close.store import HistoryError
from loop_close.store.records import RecordError, from_json, moment_of, to_json, to_optional_text

if TYPE_CHECKING:
    import psycopg

_Result = TypeVar("_Result")

#: The format of the tables. A database of a newer one is neither read nor written.
FORMAT = 1
# Any number that other programs do not lock.
_LOCK = 0x6C6F6F70636C6F73
_LONGEST_STATEMENT = 2_000  # in ms
_LONGEST_PAUSE = 10_000  # between two statements, in ms
_CONNECT = 2  # in seconds: libpq takes no less
_PAUSE = 0.05
# A server that has too many connections, or is starting.
_BUSY = ("53300", "57P03")
_REASONS = {
    "25006": "the database is read-only",
    "28000": "the server refused the login",
    "28P01": "the server refused the password",
    "3D000": "there is no such database",
    "42501": "permission denied",
    "53100": "the server's disk is full",
    "53300": "the server has too many connections",
    "57014": "the server took too long",
    "57P01": "the server is shutting down",
    "57P03": "the server is starting",
}
_MOST_TEXT = 2_000
_ZLIB = b"\x78"  # JSON never begins so
MOST_RECORD = 1_000_000

# A run that is still under way after so long was killed, in ms. It overlaps with no later one.
LONGEST_RUN = 6 * 3_600_000

# Times are those of the server, in ms: clocks of machines differ. started and ended are as the machine has them.
_FORMATS = {
    1: (
        "CREATE TABLE loop_close.format(number integer NOT NULL)",
        "CREATE TABLE loop_close.runs(id uuid PRIMARY KEY, project text NOT NULL, machine text NOT NULL,"
        " worktree text NOT NULL, branch text NOT NULL, source text NOT NULL, session text NOT NULL,"
        " number integer NOT NULL, state text NOT NULL, started double precision NOT NULL, ended double precision,"
        " verdict text NOT NULL, exit_code bigint, passed integer NOT NULL, skipped integer NOT NULL,"
        " failures integer NOT NULL, is_full boolean NOT NULL, commit text NOT NULL, tree text NOT NULL,"
        " began bigint NOT NULL, finished bigint, summary bytea, record bytea,"
        " span int8range GENERATED ALWAYS AS"
        f" (int8range(began, coalesce(finished, began + {LONGEST_RUN}), '[]')) STORED)",
        "CREATE INDEX runs_of_worktree ON loop_close.runs(project, machine, worktree, source, number)",
        "CREATE INDEX runs_of_machine ON loop_close.runs(project, branch, source, machine, began)"
        " WHERE state = 'done' AND is_full",
        "CREATE INDEX runs_of_tree ON loop_close.runs(project, tree, source, began) WHERE state = 'done' AND is_full",
        "CREATE INDEX runs_running ON loop_close.runs(machine, worktree) WHERE state = 'running'",
        "CREATE INDEX runs_span ON loop_close.runs USING gist(span)",
        "CREATE TABLE loop_close.causes(run uuid NOT NULL REFERENCES loop_close.runs ON DELETE CASCADE,"
        " version text NOT NULL, cause text NOT NULL, project text NOT NULL, branch text NOT NULL,"
        " source text NOT NULL, machine text NOT NULL, began bigint NOT NULL, tests integer NOT NULL,"
        " PRIMARY KEY(run, version, cause))",
        "CREATE INDEX causes_by_key ON loop_close.causes(project, cause, version, began)",
        "CREATE INDEX causes_of_machine ON loop_close.causes(project, cause, version, branch, source, machine, began)",
        "CREATE TABLE loop_close.attempts(run uuid NOT NULL REFERENCES loop_close.runs ON DELETE CASCADE,"
        " version text NOT NULL, cause text NOT NULL, project text NOT NULL, machine text NOT NULL,"
        " worktree text NOT NULL, branch text NOT NULL, session text NOT NULL, number integer NOT NULL,"
        " began bigint NOT NULL, edit text NOT NULL, edits bytea NOT NULL, failing integer NOT NULL,"
        " is_cleared boolean NOT NULL, PRIMARY KEY(run, version, cause))",
        "CREATE INDEX attempts_by_key ON loop_close.attempts(project, cause, version, began)",
    ),
}


class SharedHistoryError(HistoryError):
    """The shared history cannot be used; the text says why, in one line for a user, without any part of the URL."""


class RefusedRowError(SharedHistoryError):
    """The server is well, and does not take this row: it would not take it later either."""


class PostgresConnection:
    """A connection to the database; its tables are made, or brought up to date, if needed.

    :param url: of the database; libpq reads what it leaves out from its environment, service and password files.
    :param until: when to give up, by ``time.monotonic``, while the server has too many connections or is slow.
    :param take: is given this object once it is connected, before the server is asked anything.
    :raises SharedHistoryError: when it cannot be used.
    """

    def __init__(self, url: str, until: float = 0.0, take: Callable[[Any], None] | None = None) -> None:
        try:
            import psycopg
        except ImportError:
            raise SharedHistoryError("it needs psycopg: pip install 'pytest-loop-close[postgres]'") from None
        self._errors: tuple[type[Exception], ...] = (psycopg.Error, OSError)
        self._is_open = False
        self._connection = self._connected(psycopg, url, until)
        try:
            if take is not None:
                take(self)
            self._skew = self.work(self._prepare)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; more than once is fine."""
        try:
            self._connection.close()
        except self._errors:
            return

    def abort(self) -> None:
        """End what another thread waits for on this connection; that thread gets an error."""
        with contextlib.suppress(*self._errors):
            line = socket.socket(fileno=self._connection.fileno())
            try:
                line.shutdown(socket.SHUT_RDWR)
            finally:
                line.detach()  # the descriptor is the driver's

    def moment(self, seconds: float) -> int:
        """A time of this machine by the server's clock, in ms."""
        return max(0, round((moment_of(seconds) + self._skew) * 1_000))

    def _connected(self, driver: Any, url: str, until: float) -> psycopg.Connection[Any]:
        # No prepared statements: a pooler may hand each transaction to another connection.
        options: dict[str, Any] = {"autocommit": True, "prepare_threshold": None}
        options |= {"connect_timeout": _CONNECT, "client_encoding": "utf8"}
        while True:
            try:
                made: psycopg.Connection[Any] = driver.connect(
                    url, fallback_application_name="loop-close", **options
                )
            except self._errors as error:
                is_busy = _is_busy(error) or isinstance(error, driver.errors.ConnectionTimeout)
                if is_busy and monotonic() < until:
                    sleep(_PAUSE + os.getpid() % 10 * _PAUSE / 10)  # not all at the same moment
                    continue
                raise SharedHistoryError(_in_words(error, "cannot connect")) from None
            else:
                return made

    def _prepare(self) -> float:
        """Make the tables, or those that an older format lacks; how far the server's clock is ahead, in seconds."""
        if self._format() != FORMAT:
            # IF NOT EXISTS does not help where others create it at the same time.
            self.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            found = self._format()
            if found > FORMAT:
                raise SharedHistoryError(
                    f"it was written by a newer loop-close (format {found}; this one reads {FORMAT})"
                )
            # Not by IF NOT EXISTS, which asks for the right to make one even where an administrator made it.
            if not self._has("SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'loop_close'"):
                self.execute("CREATE SCHEMA loop_close")
            for number in range(found + 1, FORMAT + 1):
                for statement in _FORMATS[number]:
                    self.execute(statement)
            if found != FORMAT:
                self.execute("DELETE FROM loop_close.format")
                self.execute("INSERT INTO loop_close.format VALUES (%s)", (FORMAT,))
        ((now,),) = self.execute("SELECT extract(epoch FROM clock_timestamp())::double precision").fetchall()
        return float(now) - time()

    def _format(self) -> int:
        """The format of the tables; 0 if there are none."""
        # Not by to_regclass: it may not see yet what another process has just made.
        if not self._has(
            "SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'loop_close' AND c.relname = 'format'"
        ):
            return 0
        ((number,),) = self.execute("SELECT coalesce(max(number), 0) FROM loop_close.format").fetchall()
        return whole(number)

    def _has(self, query: str) -> bool:
        return self.execute(query).fetchone() is not None

    def execute(self, statement: str, values: Any = None) -> psycopg.Cursor[Any]:
        """Execute a statement of ours as part of :meth:`work`."""
        return self._connection.execute(statement.encode(), values)

    def rows(self, statement: str, values: Any) -> list[Any]:
        """All rows of a query, in a transaction of its own."""
        return self.work(lambda: self.execute(statement, values).fetchall())

    def work(self, work: Callable[[], _Result]) -> _Result:
        """What the work returns, in a transaction of its own, or in that of :meth:`together`.

        :raises SharedHistoryError: when the server does not do it.
        """
        if self._is_open:
            with self._translated():
                return work()
        with self.together():
            return work()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """One transaction for several pieces of work: to begin and to end each takes longer than most of them.

        :raises SharedHistoryError: when the server does not do it.
        """
        with self._translated(), self._connection.transaction():
            # One that is stopped here, as a laptop that is closed, must not keep what others wait for.
            self.execute(
                f"SET LOCAL statement_timeout = {_LONGEST_STATEMENT};"
                f" SET LOCAL idle_in_transaction_session_timeout = {_LONGEST_PAUSE}"
            )
            self._is_open = True
            try:
                yield
            finally:
                self._is_open = False

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            # Wrong values, broken constraints, and what is too large for an index.
            is_of_row = _code(error)[:2] in ("22", "23", "54")
            kind = RefusedRowError if is_of_row else SharedHistoryError
            raise kind(_in_words(error, "the connection was lost")) from None


def _is_busy(error: Exception) -> bool:
    # An error before there is a session has no code: its text is all there is. EAGAIN: too many wait for an answer.
    text = str(error)
    return _code(error) in _BUSY or "too many clients" in text or os.strerror(errno.EAGAIN) in text


def _code(error: Exception) -> str:
    return str(getattr(error, "sqlstate", None) or "")


def _in_words(error: Exception, otherwise: str) -> str:
    """What went wrong, in our words: those of the driver name hosts and users."""
    code = _code(error)
    if not code and _is_busy(error):
        code = _BUSY[0]
    reason = _REASONS.get(code) or (f"the server reports error {code}" if code.isalnum() else otherwise)
    if not code and "authentication failed" in str(error):
        reason = _REASONS["28P01"]
    return reason


def to_column(text: str) -> str:
    r"""A text for a column: PostgreSQL takes no NUL and no lone surrogate. ASCII alone suits every encoding."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return text.encode("unicode_escape").decode("ascii")


def from_column(value: Any) -> str:
    """The text of a column, as :func:`to_column` was given it, bounded.

    :raises RecordError: when it is none.
    """
    text = to_optional_text(value) or ""
    if len(text) > _MOST_TEXT:
        raise RecordError("a text that is too long")
    if "\\" not in text:
        return text
    try:
        return text.encode("ascii").decode("unicode_escape")
    except ValueError as error:
        raise RecordError("not a text of ours") from error


def bounded(column: str) -> str:
    """The expression for a text that others may have written, which is read no further than it can be used."""
    return f"left({column}, {_MOST_TEXT + 1})"


def whole(value: Any) -> int:
    """The whole number of a column.

    :raises RecordError: when it is none.
    """
    if type(value) is not int:
        raise RecordError("not a whole number")
    return value


def to_bytes(value: Any) -> bytes:
    """A JSON value for a column."""
    data = from_json(value)
    return data.encode() if isinstance(data, str) else data


def from_bytes(value: Any) -> Any:
    """The JSON value of a column.

    :raises RecordError: when it is none.
    """
    data = bytes(value) if isinstance(value, bytes | memoryview) else b""
    if len(data) > MOST_RECORD:
        raise RecordError("a value that is too long")
    return to_json(data if data[:1] == _ZLIB else data.decode("ascii", "replace"))


def read_rows(rows: Iterable[Any], read: Callable[[Any], _Result]) -> Iterator[_Result]:
    """The rows as records; those that are not ours are left out."""
    for row in rows:
        try:
            yield read(row)
        except (RecordError, ValueError, TypeError, OverflowError):
            continue
