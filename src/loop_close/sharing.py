"""What a run sends to the shared history, and what it learns from it. Whatever goes wrong costs one note.

A server may be slow, or not there: each exchange runs in a thread that is given up after some seconds. What could not
be sent stays in the history of this machine, and is sent after a later run.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from time import monotonic, time  # by name: a test may patch the module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from loop_close.lazy import NamedTuple
from loop_close.memory import Edits, Episode, Progress, Run
from loop_close.model import Collision, MachineCount, OtherAttempt, RootCause, SharedFacts
from loop_close.process import host
from loop_close.progress.fingerprints import VERSION, records_of
from loop_close.settings import is_name
from loop_close.store import HistoryError, RunHandle
from loop_close.store.postgres import RefusedRowError, SharedHistoryError
from loop_close.store.records import RecordError, json_text, to_plain, to_record
from loop_close.store.shared import (
    MOST_CAUSES,
    Agent,
    AttemptRow,
    CauseRow,
    MachineRow,
    SharedAttempt,
    SharedRun,
    SharedStore,
)
from loop_close.text import cut, digest, one_line

if TYPE_CHECKING:
    from loop_close.store.sqlite import SqliteHistory, ToShare

_Result = TypeVar("_Result")

#: Seconds that all exchanges of a run with the server may take together.
SECONDS = 3.0
_LATE = "shared history: no answer within {:g} seconds; runs are sent later"
_AT_ONCE = 50  # runs that are sent in one transaction
_MOST_SENT = 500
_MOST_EDITS = 5
_MOST_LINE = 120
_MOST_ATTEMPTS = 5
_MACHINE_ID = "/etc/machine-id"
#: Variables that name the session of an agent, the first that is set.
_SESSIONS = ("LOOP_CLOSE_SESSION", "CODEX_THREAD_ID")
#: Variables of CI systems that name the branch: they check out a commit.
_BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "CIRCLE_BRANCH", "BUILDKITE_BRANCH")
_NOT_KEPT = ("number", "source")
_NO_ATTEMPT = SharedAttempt()
_MOST_RECORD = 2_000_000
_HEX = re.compile(r"[0-9a-f]{32}")


def within(seconds: float, work: Callable[[], _Result]) -> _Result:
    """What the work returns; if it takes longer, it goes on and no caller waits.

    :raises SharedHistoryError: when it does, or when the work raises anything: the text has no part of the URL.
    """
    found: list[_Result] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            found.append(work())
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="loop-close shared history", daemon=True)
    thread.start()
    thread.join(seconds)
    if found:
        return found[0]
    if failed and isinstance(failed[0], SharedHistoryError):
        raise failed[0]
    if failed:  # the text of an unknown error may be the driver's
        raise SharedHistoryError(f"internal error of loop-close: {type(failed[0]).__name__}")
    raise SharedHistoryError(f"no answer within {seconds:g} seconds")


def agent_of(root: Path, names: Mapping[str, str], environ: Mapping[str, str]) -> Agent:
    """Who runs the tests of this project here.

    :param names: the setting ``shared``; the variables ``LOOP_CLOSE_MACHINE`` and ``LOOP_CLOSE_PROJECT`` win over it.
    """
    from loop_close.workspace import repository_of

    repository, place, branch = repository_of(root)
    if not branch:
        branch = next((environ[name] for name in _BRANCHES if environ.get(name)), "")
    session = next((environ[name] for name in _SESSIONS if environ.get(name)), "")
    return Agent(
        project=_named("project", names, environ) or _digest(repository or root.name, place),
        machine=_named("machine", names, environ) or _machine(),
        worktree=_digest(_machine(), os.path.realpath(root)),
        branch=one_line(branch, 200),
        session=session and _digest(session),
    )


def _named(what: str, names: Mapping[str, str], environ: Mapping[str, str]) -> str:
    given = environ.get(f"LOOP_CLOSE_{what.upper()}", "")
    return given if is_name(given) else names.get(what, "")


def _machine() -> str:
    """A digest of the machine's id and name, and of the user: containers of one image differ in their names."""
    try:
        with open(_MACHINE_ID, encoding="ascii") as file:
            known = file.read(100).strip()
    except (OSError, ValueError):
        known = ""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return _digest(known, host(), str(user))[:8]


def _digest(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=8, person=b"loop-close").hexdigest()


def edit_key(edits: Edits) -> str:
    """A key of what was edited, equal for the same change on another machine; empty where not all of it is known."""
    kept = [edit for edit in edits.edits if edit.is_effective]
    if not kept or edits.omitted or not all(edit.diff for edit in kept):
        return ""
    lines = (
        "\0".join((edit.file, edit.function, edit.change, *(line.rstrip() for line in _changed(edit.diff))))
        for edit in kept
    )
    return _digest(*sorted(lines))


def _changed(diff: str) -> list[str]:
    """The lines of a diff that differ, without those around them."""
    return [line for line in diff.split("\n") if line[:1] in ("-", "+")]


def _short(edits: Edits) -> Iterable[tuple[str, str, str, str]]:
    """The edits as other agents see them."""
    for edit in [edit for edit in edits.edits if edit.is_effective][:_MOST_EDITS]:
        lines = _changed(edit.diff)
        is_short = [line[:1] for line in lines] == ["-", "+"]
        before, after = (cut(line[1:].strip(), _MOST_LINE) for line in lines) if is_short else ("", "")
        yield edit.file, edit.function, before, after


class Learned(NamedTuple):
    """What the shared history said of a run.

    :ivar attempts: of other agents, with the id of the root cause.
    """

    attempts: tuple[tuple[str, AttemptRow], ...] = ()
    machines: tuple[MachineCount, ...] = ()
    collisions: tuple[Collision, ...] = ()
    is_collision: bool = False


class Sharing:
    """One run's part in the shared history.

    :ivar note: what went wrong, in one line; empty for nothing.
    """

    def __init__(self, url: str, root: Path, names: Mapping[str, str]) -> None:
        self.note = ""
        self._url = url
        self._root = root
        self._names = names
        self._agent: Agent | None = None
        self._head: str | None = None
        self._left = SECONDS
        self._store: SharedStore | None = None

    @property
    def agent(self) -> Agent:
        """Who runs these tests."""
        if self._agent is None:
            self._agent = agent_of(self._root, self._names, os.environ)
        return self._agent

    def announce(self, begun: RunHandle) -> None:
        """Say that a run begins, so that others know that theirs overlap."""
        row = self._row(begun, state="running", commit=self._commit())
        self._exchange(lambda store: store.announce(row, begun.running), None)
        self.close()  # tests may fork

    def withdraw(self, begun: RunHandle) -> None:
        """Take back that a run began: no test was meant to run, or none could."""
        row = self._row(begun, state="running")
        self._exchange(lambda store: store.withdraw(row), None)
        self.close()

    def learn(
        self, history: SqliteHistory, begun: RunHandle, run: Run, causes: Sequence[RootCause]
    ) -> Learned:
        """Send what earlier runs left, and ask what others know of these root causes."""
        self.send(history)
        keys = {cause.id: _keys(cause) for cause in causes[:MOST_CAUSES]}
        asked = tuple(dict.fromkeys(key for each in keys.values() for key in each))[:MOST_CAUSES]
        if not asked:
            return Learned()

        def ask(store: SharedStore) -> Learned:
            with store.together():
                return self._learned(store, begun, run, keys, asked)

        return self._exchange(ask, Learned())

    def _learned(
        self,
        store: SharedStore,
        begun: RunHandle,
        run: Run,
        keys: Mapping[str, Sequence[str]],
        asked: Sequence[str],
    ) -> Learned:
        agent = self.agent
        by_key = {key: cause for cause, each in keys.items() for key in each}
        attempts = [
            (by_key[row.cause], row)
            for row in store.attempts(agent, asked, VERSION)
            if row.cause in by_key and is_name(row.machine)
        ]
        machines = store.machines(agent, run.source, asked, VERSION) if run.is_full else []
        collided: set[str] = set()
        overlapping = [name for name in store.overlapping(agent, begun.started, time()) if is_name(name)]
        with_cause: list[CauseRow] = []
        if overlapping:
            with_cause = store.runs_with(agent, asked, VERSION)
            alone = {row.cause for row in with_cause if not row.is_overlapped}
            trees = {(row.cause, row.tree) for row in with_cause} | {(key, run.tree) for key in asked}
            collided = store.passed_alone(agent, run.source, [pair for pair in trees if pair[0] not in alone])
        collisions = [
            Collision(
                cause=cause,
                runs=len({(row.machine, row.worktree, row.number) for row in with_cause if row.cause in own})
                + 1,
                machines=tuple(overlapping),
            )
            for cause, own in keys.items()
            if own and collided.issuperset(own)
        ]
        return Learned(
            attempts=tuple(attempts),
            machines=tuple(
                found
                for cause, own in keys.items()
                if (found := _count(cause, own, machines, agent, self._commit())) is not None
            ),
            collisions=tuple(collisions),
            is_collision=bool(run.marks) and collided.issuperset(mark.cause for mark in run.marks),
        )

    def facts(self, learned: Learned, progress: Progress | None) -> SharedFacts:
        """What is reported of it: edits of this loop may be ones that others tried, too."""
        steps = progress.episode.steps if progress is not None else ()
        own = {edit_key(step.edits) for step in steps} - {""}
        found: dict[str, list[OtherAttempt]] = {}
        for cause, row in learned.attempts:
            found.setdefault(cause, []).append(
                OtherAttempt(
                    cause=cause,
                    machine=row.machine,
                    branch=row.branch,
                    run=row.number,
                    edits=row.edits[:_MOST_EDITS],
                    failing=row.failing,
                    is_cleared=row.is_cleared,
                    is_same=row.edit in own,
                )
            )
        # What was tried here as well comes first, then what helped.
        kept = (
            attempt
            for each in found.values()
            for attempt in sorted(each, key=lambda a: (not a.is_same, not a.is_cleared))[:_MOST_ATTEMPTS]
        )
        return SharedFacts(
            machine=self.agent.machine,
            attempts=tuple(kept),
            machines=learned.machines,
            collisions=learned.collisions,
        )

    def entry_of(self, begun: RunHandle, run: Run, summary: Mapping[str, Any], before: Episode) -> ToShare:
        """What is to be sent of a run that was compared with the episode before it."""
        causes = Counter(mark.cause for mark in run.marks if mark.cause)
        return self.entry(
            begun,
            to_plain(run),
            summary,
            failures=len(run.marks) + run.omitted_marks,
            causes=dict(causes),
            attempt=_attempt(run, causes, before),
        )

    def entry(
        self,
        begun: RunHandle,
        run: Mapping[str, Any],
        summary: Mapping[str, Any],
        *,
        failures: int = 0,
        causes: Mapping[str, int] = MappingProxyType({}),
        attempt: SharedAttempt = _NO_ATTEMPT,
    ) -> ToShare:
        """What is to be sent of a run that has ended.

        :param run: its record, plain; ``summary``: of it, with its verdict.
        """
        row = self._row(
            begun,
            state="done",
            ended=time(),
            verdict=str(summary.get("verdict", "")),
            exit_code=run.get("exit_code"),
            passed=run.get("passed", 0),
            skipped=run.get("skipped", 0),
            failures=failures,
            is_full=run.get("is_full", True),
            tree=run.get("tree", ""),
            commit=self._commit(),
            causes=causes,
            attempt=attempt,
            summary=dict(summary),
            record={name: value for name, value in run.items() if name not in _NOT_KEPT},
        )
        if (
            len(json_text(row.record)) > _MOST_RECORD
        ):  # with thousands of failures: others need only the causes
            row = replace(row, record=None)
        return row.id, to_plain(row)

    def send(self, history: SqliteHistory) -> None:
        """Send what the history of this machine holds for others; what was sent is removed there."""
        for number in range(_MOST_SENT // _AT_ONCE):
            rows = history.unsent(_AT_ONCE)
            if not rows or (number and self._left < SECONDS / 2):  # the rest of the time is for questions
                return
            good = [row for _, row in map(_row_of, rows) if row is not None]
            if not self._exchange(partial(sent, good), False):
                return
            history.remove_sent([name for name, _ in rows])

    def green_sources(self, tree: str, sources: Sequence[str]) -> dict[str, str]:
        """Those of the sources that are green on these very files, each with the machine that says so."""
        found: dict[str, str] = {}
        if tree and sources:
            found = self._exchange(lambda store: store.green_sources(self.agent, tree, sources), found)
        return found

    def close(self) -> None:
        """Close the connection; more than once is fine."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _row(self, begun: RunHandle, **fields: Any) -> SharedRun:
        parts = (*self.agent[:3], begun.source, str(begun.number), repr(begun.started))
        return SharedRun(
            id=digest(*parts, size=16),
            agent=(*self.agent,),
            source=begun.source,
            number=begun.number,
            started=begun.started,
            version=VERSION,
            **fields,
        )

    def _commit(self) -> str:
        if self._head is None:
            from loop_close.provenance import ci_run
            from loop_close.workspace import commit_at_head

            self._head = ci_run(os.environ)[1] or commit_at_head(self._root)
        return self._head

    def _exchange(self, work: Callable[[SharedStore], _Result], otherwise: _Result) -> _Result:
        """What the work returns; where the server did not do it, the other value and a note.

        All exchanges of a run share the time: a server that is slow, or not there, is not waited for again.
        """
        if self._left <= 0:
            self.note = self.note or _LATE.format(SECONDS)
            return otherwise
        begun = monotonic()
        until = begun + self._left
        given_up = threading.Event()

        def take(store: SharedStore) -> None:
            self._store = store
            if given_up.is_set():
                store.close()

        def connected() -> _Result:
            store = self._store
            if store is None:
                store = SharedStore(self._url, until - 1, take)
                take(store)
            return work(store)

        try:
            found = within(self._left, connected)
            self.note = ""
            return found
        except SharedHistoryError as error:
            given_up.set()
            is_late = monotonic() >= until
            self.note = _LATE.format(SECONDS) if is_late else f"shared history: {error}; runs are sent later"
            if is_late:  # the thread waits for the server no longer, and ends
                store, self._store = self._store, None
                if store is not None:
                    store.abort()
            self.close()
            return otherwise
        finally:
            self._left -= monotonic() - begun


def sent(rows: Sequence[SharedRun], store: SharedStore) -> bool:
    """Send the runs. One that the server will never take is left out, or no later run would be sent."""
    try:
        store.send(rows)
    except RefusedRowError:
        for row in rows:
            with contextlib.suppress(RefusedRowError):
                store.send([row])
    return True


def _row_of(item: tuple[str, Any]) -> tuple[str, SharedRun | None]:
    """A row of the outbox; None for one that is damaged."""
    name, plain = item
    try:
        row = to_record(SharedRun, plain)
    except (RecordError, HistoryError):
        return name, None
    return name, row if _HEX.fullmatch(row.id) else None


def _keys(cause: RootCause) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.cause for record in records_of((cause,)) if record.cause))


def _attempt(run: Run, causes: Mapping[str, int], before: Episode) -> SharedAttempt:
    """The edit before a run, as an attempt at what failed until then; an empty one if it was none."""
    if run.edits.kind != "effective" or run.is_collision:
        return _NO_ATTEMPT
    failing = sorted({k.mark.cause for k in before.tests.values() if k.status == "failing" and k.mark.cause})
    return SharedAttempt(
        causes=tuple(failing),
        cleared=tuple(cause for cause in failing if run.is_full and cause not in causes),
        edit=edit_key(run.edits),
        edits=tuple(_short(run.edits)),
    )


def _count(
    cause: str, keys: Sequence[str], machines: Sequence[MachineRow], agent: Agent, commit: str
) -> MachineCount | None:
    """On how many machines a root cause of this run fails; None where no other machine ran it since it began.

    :param machines: their last runs, without this one; ``commit`` is the one of this run.
    """
    since = {
        row.machine: min(row.failing[key] for key in keys if key in row.failing)
        for row in machines
        if any(key in row.failing for key in keys)
    }
    # This run fails, whatever the last one of this machine did.
    first = min(since.values(), default=(0, commit))
    ran = {row.machine for row in machines if row.began >= first[0] > 0} | {agent.machine}
    if len(ran) < 2:
        return None
    failing = len(since.keys() | {agent.machine})
    return MachineCount(cause=cause, failing=failing, machines=len(ran | since.keys()), commit=first[1][:40])
