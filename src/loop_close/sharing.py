"""The history that agents on several machines share: a PostgreSQL database with what each tried for which root cause.

SQLite stays the history of this machine. Whatever goes wrong costs one note: a server may be slow, or not there, so
each exchange runs in a thread that is given up after some seconds. What others wrote is untrusted: it is bounded here,
and made safe by who shows it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import msgspec

from loop_close.keys import records_of
from loop_close.model import OtherAttempt, RootCause
from loop_close.process import host
from loop_close.records import Edits, FailureRecord, Run
from loop_close.store.database import ColumnError, StoreError, encode, pack, plain, unpack
from loop_close.text import cut, digest, one_line

_Result = TypeVar("_Result")

#: Seconds that the exchange of a run with the server may take.
SECONDS = 3.0
_MOST_CAUSES = 5  # that are asked about
_MOST_EDITS = 5
_MOST_LINE = 120
_MACHINE_ID = "/etc/machine-id"
#: Variables of CI systems that name the branch: they check out a commit.
_BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "CIRCLE_BRANCH", "BUILDKITE_BRANCH")

#: The format of the tables. A database of another one is neither read nor written.
FORMAT = 4
_MOST_ATTEMPTS = 10
_MOST_RECORD = 50_000  # in bytes, packed
# Any number that other programs do not lock.
_LOCK = 0x6C6F6F70636C6F73
_LONGEST_STATEMENT = 2_000  # in ms
_CONNECT = 2  # in seconds: libpq takes no less
_TABLES = (
    "CREATE TABLE loop_close.format(number integer NOT NULL)",
    # began: by the machine's clock, in seconds. edit: see edit_key. record: an OtherAttempt in MessagePack, packed.
    "CREATE TABLE loop_close.attempts(run uuid NOT NULL, cause text NOT NULL, project text NOT NULL,"
    " worktree text NOT NULL, began double precision NOT NULL, edit text NOT NULL, record bytea NOT NULL,"
    " PRIMARY KEY(run, cause))",
    "CREATE INDEX attempts_by_cause ON loop_close.attempts(project, cause, began)",
)


class SharedError(StoreError):
    """The shared history cannot be used; the text says why, in one line for a user, without any part of the URL."""


class Agent(NamedTuple):
    """Who runs tests of which project; two agents differ in the worktree.

    :ivar project: the same for all clones of a project.
    :ivar worktree: a digest of the machine and of where the files are.
    """

    project: str
    machine: str
    worktree: str
    branch: str


def agent_of(root: Path, environ: Mapping[str, str]) -> Agent:
    """Who runs the tests of this project here, by its repository, the machine and their variables."""
    repository, place, branch = _repository(root)
    branches = (branch, *(environ.get(name, "") for name in _BRANCHES))
    return Agent(
        project=one_line(environ.get("LOOP_CLOSE_PROJECT", "")) or digest(repository or root.name, place),
        machine=one_line(environ.get("LOOP_CLOSE_MACHINE", "")) or _machine(),
        worktree=digest(_machine(), os.path.realpath(root)),
        branch=one_line(next(filter(None, branches), "")),
    )


def _machine() -> str:
    """A digest of the machine's id and name, and of the user: containers of one image differ in their names."""
    known = ""
    with contextlib.suppress(OSError, ValueError), open(_MACHINE_ID, encoding="ascii") as file:
        known = file.read(100).strip()
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return digest(known, host(), str(user))[:8]


def _repository(root: Path) -> tuple[str, str, str]:
    """The repository by the address of its remote ``origin``, else by its first commit; the root in it; its branch.

    Credentials in the address are left out. Each is empty if git does not know.
    """
    from loop_close.tree import TreeError, git

    def said(*words: str) -> str:
        return git(root, *words).decode("utf-8", "replace").strip()

    try:
        place, branch = said("rev-parse", "--show-prefix"), said("symbolic-ref", "--quiet", "--short", "HEAD")
        origin = said("config", "--get", "remote.origin.url")
        first = "" if origin else said("rev-list", "--max-parents=0", "HEAD").rpartition("\n")[2]
    except TreeError:
        return "", "", ""
    return _same_address(origin) or first, place, branch


def _same_address(address: str) -> str:
    """An address of git in one spelling: ``git@host:a/b.git`` and ``https://user@host/a/b`` are one repository."""
    rest = address.rpartition("://")[2]
    host_part, mark, path = rest.partition("/") if "://" in address else rest.partition(":")
    if not mark or "/" in host_part:
        return address
    return f"{host_part.rpartition('@')[2].partition(':')[0].lower()}/{path.strip('/').removesuffix('.git')}"


# --- what is sent, and what is asked


class Sharing:
    """One run's part in the shared history.

    :ivar note: what went wrong, in one line; empty for nothing.
    """

    def __init__(self, url: str, root: Path) -> None:
        self.note = ""
        self._url = url
        self.agent = agent_of(root, os.environ)

    def attempts_of(self, run: Run, before: Iterable[FailureRecord]) -> list[OtherAttempt]:
        """What is to be sent of a run: an attempt for each root cause, named by its key; none without an edit.

        :param before: the failures that were known before the run.
        """
        if run.edits.kind != "effective":
            return []
        is_whole = not run.scope and not run.incomplete and run.exit_code is not None
        return [
            OtherAttempt(
                cause=cause,
                machine=self.agent.machine,
                branch=self.agent.branch,
                run=run.number,
                edits=tuple(_short(run.edits)),
                failing=len(run.failures) + run.omitted,
                is_cleared=is_whole and cause not in _causes(run.failures),
            )
            for cause in _causes(before)
        ]

    def exchange(
        self,
        tried: Sequence[tuple[Run, Sequence[OtherAttempt]]],
        causes: Sequence[RootCause],
        edits: Iterable[Edits] = (),
    ) -> tuple[OtherAttempt, ...]:
        """Send attempts, then ask what others tried for root causes.

        :param tried: runs with :meth:`attempts_of` them.
        :param edits: those of this loop: others may have tried the same.
        :returns: the same edits first, then what cleared the cause; nothing if the server does not answer.
        """
        ids = {key: cause.id for cause in causes for key in _causes(records_of((cause,), ""))}
        asked = [*ids][:_MOST_CAUSES]
        own = [key for key in map(edit_key, edits) if key]
        if not asked and not any(attempts for _, attempts in tried):
            return ()

        def work() -> list[OtherAttempt]:
            with SharedStore(self._url) as shared:
                shared.send(self.agent, tried)
                return shared.attempts(self.agent, asked, own) if asked else []

        try:
            found = within(SECONDS, work)
        except SharedError as error:
            self.note = f"shared history: {error}"
            return ()
        named = [msgspec.structs.replace(each, cause=ids[each.cause]) for each in found]
        return tuple(sorted(named, key=lambda each: (not each.is_same, not each.is_cleared)))


def within(seconds: float, work: Callable[[], _Result]) -> _Result:
    """What the work returns; if it takes longer, it goes on and nobody waits.

    :raises SharedError: when it does, or when the work raises anything: the text has no part of the URL.
    """
    found: list[_Result] = []
    failed = [SharedError(f"no answer within {seconds:g} seconds")]

    def run() -> None:
        try:
            found.append(work())
        except SharedError as error:
            failed.append(error)
        except Exception as error:  # its text may be the driver's
            failed.append(SharedError(f"internal error of loop-close: {type(error).__name__}"))

    thread = threading.Thread(target=run, name="loop-close shared history", daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise failed[-1]
    return found[0]


def _causes(records: Iterable[FailureRecord]) -> tuple[str, ...]:
    """The keys of the causes of failures, each once."""
    return tuple(dict.fromkeys(record.cause for record in records if record.cause))


def edit_key(edits: Edits) -> str:
    """A key of what was edited, equal for the same change on another machine; empty if not all of it is known."""
    kept = [edit for edit in edits.edits if edit.is_effective]
    if not kept or edits.omitted or not all(edit.diff for edit in kept):
        return ""
    return digest(*sorted("\0".join((edit.file, edit.function, *_changed_lines(edit.diff))) for edit in kept))


def _changed_lines(diff: str) -> list[str]:
    return [line.rstrip() for line in diff.split("\n") if line[:1] in ("-", "+")]


def _short(edits: Edits) -> Iterator[tuple[str, str, str, str]]:
    """The edits: file, function, and the line before and after if a single line was replaced."""
    for edit in [edit for edit in edits.edits if edit.is_effective][:_MOST_EDITS]:
        lines = _changed_lines(edit.diff)
        is_short = [line[:1] for line in lines] == ["-", "+"]
        before, after = (cut(line[1:].strip(), _MOST_LINE) for line in lines) if is_short else ("", "")
        yield edit.file, edit.function, before, after


# --- the database


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
        except self._errors:  # its text names hosts and users
            raise SharedError("cannot connect") from None
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

    def send(self, agent: Agent, tried: Iterable[tuple[Run, Sequence[OtherAttempt]]]) -> None:
        """Add the attempts, all or none; what is there already stays as it is."""
        with self._transaction():
            for run, attempts in tried:
                for each in attempts:
                    self._execute(
                        "INSERT INTO loop_close.attempts(run, cause, project, worktree, began, edit, record)"
                        " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                        *(run.id, *_texts((each.cause, agent.project, agent.worktree)), run.began),
                        *(edit_key(run.edits), pack(encode(each))),
                    )

    def attempts(self, agent: Agent, causes: Sequence[str], edits: Sequence[str]) -> list[OtherAttempt]:
        """The last attempts of other agents at these causes; damaged rows are left out.

        :param causes: their keys; ``edits``: keys of edits that are the same as one here.
        """
        with self._transaction():
            rows = self._execute(
                "SELECT k.number, a.edit = ANY(%s), a.record"
                " FROM unnest(%s::text[]) WITH ORDINALITY AS k(cause, number)"
                " CROSS JOIN LATERAL (SELECT * FROM loop_close.attempts"
                " WHERE project = %s AND cause = k.cause AND worktree <> %s"
                f" AND octet_length(record) <= {_MOST_RECORD} ORDER BY began DESC LIMIT {_MOST_ATTEMPTS}) a"
                " ORDER BY a.began DESC",
                *(list(edits), _texts(causes), *_texts((agent.project, agent.worktree))),
            ).fetchall()
        found = []
        for number, is_same, record in rows:
            with contextlib.suppress(ColumnError, msgspec.DecodeError):
                each = msgspec.msgpack.decode(unpack(bytes(record)), type=OtherAttempt)
                found.append(
                    msgspec.structs.replace(
                        each,
                        cause=causes[number - 1],
                        machine=one_line(each.machine),
                        branch=one_line(each.branch),
                        is_same=is_same,
                    )
                )
        return found

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

    def _execute(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement.encode(), values)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """One transaction, whose errors are named by their kind: their texts name hosts and users."""
        try:
            with self._connection.transaction():
                # One that is stopped here, as a laptop that is closed, must not keep what others wait for.
                self._execute(
                    f"SET LOCAL statement_timeout = {_LONGEST_STATEMENT};"
                    f" SET LOCAL idle_in_transaction_session_timeout = {5 * _LONGEST_STATEMENT}"
                )
                yield
        except self._errors as error:
            raise SharedError(f"the server reports {type(error).__name__}") from None


def _texts(texts: Iterable[str]) -> list[str]:
    """Texts for columns: PostgreSQL takes no NUL either."""
    return [plain(text).replace("\0", "\\0") for text in texts]
