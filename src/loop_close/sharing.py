"""What a run sends to the shared history, and what it learns from it. Whatever goes wrong costs one note.

A server may be slow, or not there: each exchange runs in a thread that is given up after some seconds. What could not
be sent stays in the store of this machine, and is sent by a later run.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from loop_close.keys import records_of
from loop_close.model import OtherAttempt, RootCause, SharedFacts
from loop_close.process import host
from loop_close.records import Edits, FailureRecord, Run
from loop_close.store.database import encode
from loop_close.store.shared import (
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

#: Seconds that the exchange of a run with the server may take.
SECONDS = 3.0
_AT_ONCE = 50  # runs that are sent
_MOST_CAUSES = 5  # that are asked about
_MOST_EDITS = 5
_MOST_LINE = 120
_MOST_FAILURES = 50
_MACHINE_ID = "/etc/machine-id"
#: Variables of CI systems that name the branch: they check out a commit.
_BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "CIRCLE_BRANCH", "BUILDKITE_BRANCH")


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


class Sharing:
    """One run's part in the shared history.

    :ivar note: what went wrong, in one line; empty for nothing.
    """

    def __init__(self, url: str, root: Path) -> None:
        self.note = ""
        self._url = url
        self.agent = agent_of(root, os.environ)

    def entry(self, run: Run, before: Iterable[FailureRecord]) -> bytes:
        """What is to be sent of a run, for :meth:`loop_close.store.Store.finish`.

        :param before: the failures that were known before the run.
        """
        sources = (*run.outcomes, *(record.source for record in run.failures))
        omitted = run.omitted + max(len(run.failures) - _MOST_FAILURES, 0)
        sent = msgspec.structs.replace(
            run, outcomes={}, failures=run.failures[:_MOST_FAILURES], omitted=omitted, objection=None
        )
        row = SharedRun(
            agent=self.agent,
            run=sent,
            before=_causes(before),
            after=_causes(run.failures),
            tools=tuple(sorted({*map(tool_of, sources)})),
            is_whole=not run.scope and not run.incomplete and run.exit_code is not None,
        )
        return encode(row)

    def learn(
        self, store: Store, run: Run, causes: Sequence[RootCause], edits: Iterable[Edits] = ()
    ) -> SharedFacts:
        """Send what waits in the store, then ask what others know of these root causes.

        :param run: this run, which waits there. :param edits: those of this loop: others may have tried the same.
        :returns: no more than the machine's name if the server does not answer.
        :raises StoreError: if the store cannot be used.
        """
        ids = {key: cause.id for cause in causes for key in _causes(records_of((cause,), ""))}
        tools = {record.cause: tool_of(record.source) for record in run.failures if record.cause in ids}
        asked = dict(islice(tools.items(), _MOST_CAUSES))
        waiting = store.unsent(_AT_ONCE)
        nothing = SharedFacts(machine=self.agent.machine)

        def work() -> SharedFacts:
            with SharedStore(self._url) as shared:
                shared.send([*_rows(waiting)])
                return self._facts(shared, ids, asked, edits) if asked else nothing

        try:
            facts = within(SECONDS, work)
        except SharedError as error:
            self.note = f"shared history: {error}; runs are sent later"
            return nothing
        store.forget_sent(name for name, _ in waiting)
        return facts

    def _facts(
        self, shared: SharedStore, ids: Mapping[str, str], tools: Mapping[str, str], edits: Iterable[Edits]
    ) -> SharedFacts:
        own = {*map(edit_key, edits)} - {""}
        attempts = [_attempt(ids[row.cause], row, own) for row in shared.attempts(self.agent, [*tools])]
        machines: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        for key, machine, is_failing in shared.machines(self.agent, tools):
            known = machines[ids[key]]
            known[machine] = known.get(machine, False) or is_failing
        return SharedFacts(
            machine=self.agent.machine,
            attempts=tuple(sorted(attempts, key=lambda each: (not each.is_same, not each.is_cleared))),
            machines={cause: (sum(known.values()) + 1, len(known) + 1) for cause, known in machines.items()},
        )


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


def _rows(waiting: Iterable[tuple[str, bytes]]) -> Iterator[SharedRun]:
    """What waits, without that of another version, which need not wait any longer."""
    for _, data in waiting:
        with contextlib.suppress(msgspec.DecodeError):
            yield msgspec.msgpack.decode(data, type=SharedRun)


def tool_of(source: str) -> str:
    """The tool of a source: machines with other interpreters are compared."""
    return source.partition("@")[0].partition(":")[0]


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


def _attempt(cause: str, row: AttemptRow, own: Collection[str]) -> OtherAttempt:
    run = row.run
    return OtherAttempt(
        cause=cause,
        machine=one_line(row.machine),
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
