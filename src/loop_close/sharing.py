"""What a run sends to the shared history, and what it learns from it. Whatever goes wrong costs one note.

A server may be slow, or not there: each exchange runs in a thread that is given up after some seconds. What could not
be sent stays in the store of this machine, and is sent by a later run.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic  # by name: a test may patch the module
from typing import TYPE_CHECKING, TypeVar

import msgspec

from loop_close.keys import VERSION, records_of
from loop_close.model import MachineCount, OtherAttempt, RootCause, SharedFacts
from loop_close.process import host
from loop_close.records import Edits, FailureRecord, Run
from loop_close.settings import is_name
from loop_close.store.database import encode
from loop_close.store.shared import (
    MOST_CAUSES,
    Agent,
    AttemptRow,
    SharedError,
    SharedRun,
    SharedStore,
)
from loop_close.text import cut, digest, one_line

if TYPE_CHECKING:
    from loop_close.store import Store

_Result = TypeVar("_Result")

#: Seconds that all exchanges of a run with the server may take together.
SECONDS = 3.0
_AT_ONCE = 50  # runs that are sent in one transaction
_MOST_SENT = 500
_MOST_EDITS = 5
_MOST_LINE = 120
_MOST_FAILURES = 50
_MOST_ATTEMPTS = 5
_MACHINE_ID = "/etc/machine-id"
#: Variables that name the session of an agent, the first that is set.
_SESSIONS = ("LOOP_CLOSE_SESSION", "CODEX_THREAD_ID")
#: Variables of CI systems that name the branch: they check out a commit.
_BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "CIRCLE_BRANCH", "BUILDKITE_BRANCH")


def agent_of(root: Path, names: Mapping[str, str], environ: Mapping[str, str]) -> Agent:
    """Who runs the tests of this project here.

    :param names: the setting ``shared``; the variables ``LOOP_CLOSE_MACHINE`` and ``LOOP_CLOSE_PROJECT`` win over it.
    """
    repository, place, branch = _repository(root)
    if not branch:
        branch = next((environ[name] for name in _BRANCHES if environ.get(name)), "")
    session = next((environ[name] for name in _SESSIONS if environ.get(name)), "")
    return Agent(
        project=_named("project", names, environ) or digest(repository or root.name, place),
        machine=_named("machine", names, environ) or _machine(),
        worktree=digest(_machine(), os.path.realpath(root)),
        branch=one_line(branch, 200),
        session=session and digest(session),
    )


def _named(what: str, names: Mapping[str, str], environ: Mapping[str, str]) -> str:
    given = environ.get(f"LOOP_CLOSE_{what.upper()}", "")
    return given if is_name(given) else names.get(what, "")


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


class Sharing:
    """One run's part in the shared history.

    :param names: the setting ``shared``.
    :ivar note: what went wrong, in one line; empty for nothing.
    """

    def __init__(self, url: str, root: Path, names: Mapping[str, str]) -> None:
        self.note = ""
        self._url = url
        self._left = SECONDS
        self.agent = agent_of(root, names, os.environ)

    def entry(self, run: Run, before: Iterable[FailureRecord]) -> bytes:
        """What is to be sent of a run, for :meth:`loop_close.store.Store.finish`.

        :param before: the failures that were known before the run.
        """
        tools = {tool_of(source) for source in (*run.outcomes, *(record.source for record in run.failures))}
        causes = dict.fromkeys(record.cause for record in run.failures if record.cause)
        omitted = run.omitted + max(len(run.failures) - _MOST_FAILURES, 0)
        sent = msgspec.structs.replace(
            run, outcomes={}, failures=run.failures[:_MOST_FAILURES], omitted=omitted, objection=None
        )
        row = SharedRun(
            agent=self.agent,
            run=sent,
            version=VERSION,
            before=tuple(dict.fromkeys(record.cause for record in before if record.cause)),
            after=tuple(causes),
            tools=tuple(sorted(tools)),
            is_whole=not run.scope and not run.incomplete and run.exit_code is not None,
        )
        return encode(row)

    def learn(
        self, store: Store, run: Run, causes: Sequence[RootCause], edits: Collection[Edits] = ()
    ) -> SharedFacts:
        """Send what waits in the store, then ask what others know of these root causes.

        :param run: this run. :param edits: those of this loop: others may have tried the same.
        :returns: no more than the machine's name if the server does not answer.
        :raises StoreError: if the store cannot be used.
        """
        keys = {cause.id: _keys(cause) for cause in causes[:MOST_CAUSES]}
        tools = {record.cause: tool_of(record.source) for record in run.failures}
        asked = [(key, tools[key]) for each in keys.values() for key in each if key in tools][:MOST_CAUSES]
        nothing = SharedFacts(machine=self.agent.machine)
        waiting = store.unsent(_MOST_SENT)

        def work(shared: SharedStore) -> tuple[list[str], SharedFacts]:
            sent = _send(shared, waiting)
            return sent, self._facts(shared, keys, asked, edits) if asked else nothing

        none: tuple[list[str], SharedFacts] = [], nothing
        sent, facts = self._exchange(work, none) if waiting or asked else none
        store.forget_sent(sent)
        return facts

    def send(self, store: Store) -> None:
        """Send what waits in the store, such as a run that has just ended."""
        waiting = store.unsent(_MOST_SENT)
        if waiting:
            store.forget_sent(self._exchange(lambda shared: _send(shared, waiting), []))

    def _facts(
        self,
        shared: SharedStore,
        keys: Mapping[str, Sequence[str]],
        asked: Sequence[tuple[str, str]],
        edits: Collection[Edits],
    ) -> SharedFacts:
        own = {key for each in edits if (key := edit_key(each))}
        rows = shared.attempts(self.agent, [key for key, _ in asked], VERSION)
        attempts = (
            attempt
            for cause, some in keys.items()
            for attempt in sorted(
                (_attempt(cause, row, own) for row in rows if row.cause in some and is_name(row.machine)),
                key=lambda attempt: (not attempt.is_same, not attempt.is_cleared),
            )[:_MOST_ATTEMPTS]
        )
        by_key = shared.machines(self.agent, asked, VERSION)
        counts = (_count(cause, [by_key.get(key, {}) for key in some]) for cause, some in keys.items())
        return SharedFacts(
            machine=self.agent.machine,
            attempts=tuple(attempts),
            machines=tuple(count for count in counts if count is not None),
        )

    def _exchange(self, work: Callable[[SharedStore], _Result], otherwise: _Result) -> _Result:
        """What the work returns; if the server does not do it, the other value and a note.

        All exchanges of a run share the time: a server that is slow, or not there, is not waited for again.
        """
        begun = monotonic()
        try:
            if self._left <= 0:
                raise SharedError(f"no answer within {SECONDS:g} seconds")
            return within(self._left, partial(_connected, self._url, work))
        except SharedError as error:
            self.note = f"shared history: {error}; runs are sent later"
            return otherwise
        finally:
            self._left -= monotonic() - begun


def _connected(url: str, work: Callable[[SharedStore], _Result]) -> _Result:
    with SharedStore(url) as shared:
        return work(shared)


def within(seconds: float, work: Callable[[], _Result]) -> _Result:
    """What the work returns; if it takes longer, it goes on and nobody waits.

    :raises SharedError: when it does, or when the work raises anything: the text has no part of the URL.
    """
    found: list[_Result] = []
    failed = [SharedError(f"no answer within {SECONDS:g} seconds")]

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


def _send(shared: SharedStore, waiting: Sequence[tuple[str, bytes]]) -> list[str]:
    """Send runs; the ids of those that need not wait any longer, with those of another version."""
    rows = []
    for _, data in waiting:
        with contextlib.suppress(msgspec.DecodeError):
            rows.append(_ROW.decode(data))
    for start in range(0, len(rows), _AT_ONCE):
        shared.send(rows[start : start + _AT_ONCE])
    return [name for name, _ in waiting]


_ROW = msgspec.msgpack.Decoder(SharedRun)


def tool_of(source: str) -> str:
    """The tool of a source: machines with other interpreters are compared."""
    return source.partition("@")[0].partition(":")[0]


def _keys(cause: RootCause) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.cause for record in records_of((cause,), "") if record.cause))


def edit_key(edits: Edits) -> str:
    """A key of what was edited, equal for the same change on another machine; empty if not all of it is known."""
    kept = [edit for edit in edits.edits if edit.is_effective]
    if not kept or edits.omitted or not all(edit.diff for edit in kept):
        return ""
    return digest(*sorted("\0".join((edit.file, edit.function, *_changed_lines(edit.diff))) for edit in kept))


def _changed_lines(diff: str) -> list[str]:
    return [line.rstrip() for line in diff.split("\n") if line[:1] in ("-", "+")]


def _attempt(cause: str, row: AttemptRow, own: Collection[str]) -> OtherAttempt:
    run = row.run
    return OtherAttempt(
        cause=cause,
        machine=row.machine,
        branch=one_line(row.branch),
        run=run.number,
        edits=tuple(_short(run.edits)),
        failing=len(run.failures) + max(run.omitted, 0),
        is_cleared=row.is_cleared,
        is_same=edit_key(run.edits) in own,
    )


def _short(edits: Edits) -> Iterator[tuple[str, str, str, str]]:
    """The edits: file, function, and the line before and after if a single line was replaced."""
    for edit in [edit for edit in edits.edits if edit.is_effective][:_MOST_EDITS]:
        lines = _changed_lines(edit.diff)
        is_short = [line[:1] for line in lines] == ["-", "+"]
        before, after = (cut(line[1:].strip(), _MOST_LINE) for line in lines) if is_short else ("", "")
        yield edit.file, edit.function, before, after


def _count(cause: str, by_key: Sequence[Mapping[str, bool]]) -> MachineCount | None:
    """On how many machines a root cause of this run fails; None if no other machine ran its tool."""
    machines = {machine for each in by_key for machine in each}
    if not machines:
        return None
    failing = sum(any(each.get(machine) for each in by_key) for machine in machines)
    return MachineCount(cause=cause, failing=failing + 1, machines=len(machines) + 1)
