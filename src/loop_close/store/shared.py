"""The history that agents on several machines share: a PostgreSQL database.

The SQLite file stays the history of this machine, and keeps what is to be sent. So nothing here may fail a run, and
every statement can be repeated: a run has an id that was made where it ran. What others wrote is untrusted: texts are
bounded here, and made safe where they are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from loop_close.lazy import NamedTuple, dataclass
from loop_close.store import State
from loop_close.store.postgres import (
    LONGEST_RUN,
    MOST_RECORD,
    PostgresConnection,
    bounded,
    from_bytes,
    from_column,
    read_rows,
    to_bytes,
    to_column,
    whole,
)
from loop_close.store.records import moment_of, to_plain, to_record

#: So many root causes of a run are asked about.
MOST_CAUSES = 5
_MOST_MACHINES = 50
_MOST_ATTEMPTS = 10
_MOST_RUNS = 50
_MOST_EDITS = 20_000  # in bytes
_MOST_COMMIT = 64
_MOST_WITH_CAUSE = 6
_MOST_ON_TREE = 2


class Agent(NamedTuple):
    """Who runs tests of which project; two agents differ in the worktree or the session.

    :ivar project: the same for all clones of a project.
    :ivar worktree: a digest of the machine and of where the files are.
    :ivar session: a digest; empty if it is not known.
    """

    project: str
    machine: str
    worktree: str
    branch: str = ""
    session: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedAttempt:
    """The edit before a run, as an attempt at what failed before it.

    :ivar causes: the keys of what failed before it; ``cleared`` those of them that did not fail after it.
    :ivar edit: the key of the edit, see :func:`loop_close.sharing.edit_key`.
    :ivar edits: each as file, function, and the line before and after if a single line was replaced.
    """

    causes: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()
    edit: str = ""
    edits: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedRun:
    """A run as it is sent.

    :ivar id: 32 hexadecimal digits, the same whenever the run is sent.
    :ivar version: of the keys of ``causes``, which maps each to the number of its failures.
    :ivar summary: as in :class:`~loop_close.store.RunRow`; ``record``: the fields of the run, plain.
    """

    id: str
    agent: tuple[str, str, str, str, str]
    source: str
    number: int
    state: State
    started: float
    ended: float | None = None
    verdict: str = ""
    exit_code: int | None = None
    passed: int = 0
    skipped: int = 0
    failures: int = 0
    is_full: bool = False
    commit: str = ""
    tree: str = ""
    version: str = ""
    causes: Mapping[str, int] = field(default_factory=dict)
    attempt: SharedAttempt = SharedAttempt()
    summary: Any = None
    record: Any = None


class AttemptRow(NamedTuple):
    """What another agent did about a cause: in its run ``number``, after which ``failing`` tests failed."""

    cause: str
    machine: str
    branch: str
    number: int
    edit: str
    edits: tuple[tuple[str, str, str, str], ...]
    failing: int
    is_cleared: bool


class MachineRow(NamedTuple):
    """The last full run of a machine.

    :ivar failing: for each cause that it has, when and on which commit that began to fail there without a break.
    """

    machine: str
    began: int
    failing: Mapping[str, tuple[int, str]]


class CauseRow(NamedTuple):
    """A run that had a cause: of which files, and whether a run of another agent went on meanwhile."""

    cause: str
    machine: str
    worktree: str
    number: int
    tree: str
    is_overlapped: bool


# OFFSET 0: asked of each row by index, and not joined with all rows.
# Two agents: other worktrees, whatever their machines are called, or sessions that are both known.
_OTHER = "(o.worktree <> r.worktree OR (o.session <> r.session AND o.session <> '' AND r.session <> ''))"
_OVERLAPS = (
    "EXISTS (SELECT 1 FROM loop_close.runs o WHERE o.span && r.span AND o.project = r.project AND o.id <> r.id"
    f" AND {_OTHER} OFFSET 0)"
)


class SharedStore(PostgresConnection):
    """The shared history: what runs send, and what they ask. Each method is a transaction."""

    def send(self, rows: Iterable[SharedRun]) -> None:
        """Add the runs, all or none; one that is there already is added only to complete a run that was under way."""

        def work() -> None:
            for row in rows:
                self._add(row)

        self.work(work)

    def announce(self, row: SharedRun, running: Sequence[int] = ()) -> None:
        """Add a run that begins. Others of its worktree that were under way, and are not in ``running``, are gone."""
        agent = Agent(*row.agent)

        def work() -> None:
            self.execute(
                "UPDATE loop_close.runs SET state = 'killed',"
                f" finished = greatest(began, least(%s, began + {LONGEST_RUN}))"
                " WHERE state = 'running' AND machine = %s AND worktree = %s AND project = %s AND NOT number = ANY(%s)",
                (
                    self.moment(row.started),
                    *map(to_column, (agent.machine, agent.worktree, agent.project)),
                    [*running],
                ),
            )
            self._add(row)

        self.work(work)

    def withdraw(self, row: SharedRun) -> None:
        """Remove a run that was announced, and is not going to be one."""

        def work() -> None:
            self.execute("DELETE FROM loop_close.runs WHERE id = %s AND state = 'running'", (row.id,))

        self.work(work)

    def _add(self, row: SharedRun) -> None:
        began = self.moment(row.started)
        finished = None if row.ended is None else max(began, self.moment(row.ended))
        project, machine, worktree, branch, session = map(to_column, row.agent)
        record = None if row.record is None else to_bytes(row.record)
        values = (
            *(
                row.id,
                project,
                machine,
                worktree,
                branch,
                to_column(row.source),
                session,
                row.number,
                row.state,
            ),
            *(
                moment_of(row.started),
                row.ended,
                to_column(row.verdict),
                row.exit_code,
                row.passed,
                row.skipped,
            ),
            *(row.failures, row.is_full, to_column(row.commit), to_column(row.tree), began, finished),
            *(to_bytes(row.summary or {}), record if record is None or len(record) <= MOST_RECORD else None),
        )
        self.execute(
            "INSERT INTO loop_close.runs(id, project, machine, worktree, branch, source, session, number, state,"
            " started, ended, verdict, exit_code, passed, skipped, failures, is_full, commit, tree, began, finished,"
            f" summary, record) VALUES ({', '.join(['%s'] * len(values))}) ON CONFLICT (id) DO UPDATE SET"
            " state = excluded.state, started = excluded.started, ended = excluded.ended, verdict = excluded.verdict,"
            " exit_code = excluded.exit_code, passed = excluded.passed, skipped = excluded.skipped,"
            " failures = excluded.failures, is_full = excluded.is_full, commit = excluded.commit,"
            " tree = excluded.tree, began = excluded.began, finished = excluded.finished,"
            " summary = excluded.summary, record = excluded.record WHERE runs.state <> 'done'",
            values,
        )
        self._add_causes(row, began)
        self._add_attempt(row, began)

    def _add_causes(self, row: SharedRun, began: int) -> None:
        """Add what failed in the run, by key."""
        project, machine, _, branch, _ = map(to_column, row.agent)
        if row.causes:
            self.execute(
                "INSERT INTO loop_close.causes(run, version, cause, project, branch, source, machine, began, tests)"
                " SELECT %s, %s, k.cause, %s, %s, %s, %s, %s, k.tests"
                " FROM unnest(%s::text[], %s::integer[]) AS k(cause, tests) ON CONFLICT DO NOTHING",
                (
                    *(row.id, row.version, project, branch, to_column(row.source), machine, began),
                    *([*map(to_column, row.causes)], [*row.causes.values()]),
                ),
            )

    def _add_attempt(self, row: SharedRun, began: int) -> None:
        """Add the edit before the run, for each cause that it was an attempt at."""
        project, machine, worktree, branch, session = map(to_column, row.agent)
        attempt = row.attempt
        if attempt.edits and attempt.causes:
            self.execute(
                "INSERT INTO loop_close.attempts(run, version, cause, project, machine, worktree, branch, session,"
                " number, began, edit, edits, failing, is_cleared)"
                " SELECT %s, %s, k.cause, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, k.cause = ANY(%s)"
                " FROM unnest(%s::text[]) AS k(cause) ON CONFLICT DO NOTHING",
                (
                    *(
                        row.id,
                        row.version,
                        project,
                        machine,
                        worktree,
                        branch,
                        session,
                        row.number,
                    ),
                    *(began, attempt.edit, to_bytes(to_plain(attempt)["edits"]), row.failures),
                    *([*map(to_column, attempt.cleared)], [*map(to_column, attempt.causes)]),
                ),
            )

    def attempts(self, agent: Agent, causes: Sequence[str], version: str) -> list[AttemptRow]:
        """What other agents tried for these causes, the last attempts first; damaged rows are left out."""
        rows = self.rows(
            f"SELECT a.cause, {bounded('a.machine')}, {bounded('a.branch')}, a.number, {bounded('a.edit')}, a.edits,"
            " a.failing, a.is_cleared"
            " FROM unnest(%s::text[]) AS k(cause), (SELECT %s::text AS worktree, %s::text AS session) o"
            " CROSS JOIN LATERAL (SELECT * FROM loop_close.attempts r"
            f" WHERE r.project = %s AND r.version = %s AND r.cause = k.cause AND {_OTHER}"
            f" AND octet_length(r.edits) <= {_MOST_EDITS}"
            f" ORDER BY r.began DESC LIMIT {_MOST_ATTEMPTS}) a ORDER BY a.began DESC",
            (
                *([*map(to_column, causes[:MOST_CAUSES])],),
                *map(to_column, (agent.worktree, agent.session)),
                *(to_column(agent.project), version),
            ),
        )
        return [*read_rows(rows, _attempt_row)]

    def machines(self, agent: Agent, source: str, causes: Sequence[str], version: str) -> list[MachineRow]:
        """The last full run of the source on each machine, on the agent's branch."""
        project, branch, name = map(to_column, (agent.project, agent.branch, source))
        of = "project = %(project)s AND branch = %(branch)s AND source = %(source)s"
        full = f"{of} AND state = 'done' AND is_full"
        rows = self.rows(
            # The names, each by a step in the index; then what is asked about each.
            f"WITH RECURSIVE names(machine, n) AS ((SELECT machine, 1 FROM loop_close.runs WHERE {full}"
            " ORDER BY machine LIMIT 1) UNION ALL SELECT (SELECT r.machine FROM loop_close.runs r"
            f" WHERE {full} AND r.machine > names.machine ORDER BY r.machine LIMIT 1), n + 1 FROM names"
            f" WHERE names.machine IS NOT NULL AND n < {_MOST_MACHINES})"
            f" SELECT names.machine, last.began, failing.cause, since.began, {bounded('since.commit')} FROM names"
            f" CROSS JOIN LATERAL (SELECT id, began FROM loop_close.runs r WHERE {full}"
            " AND r.machine = names.machine ORDER BY r.began DESC LIMIT 1) last"
            " LEFT JOIN loop_close.causes failing ON failing.run = last.id AND failing.version = %(version)s"
            " AND failing.cause = ANY(%(causes)s)"
            " LEFT JOIN LATERAL (SELECT r.began, r.commit FROM loop_close.causes c JOIN loop_close.runs r"
            " ON r.id = c.run WHERE failing.cause IS NOT NULL AND c.project = %(project)s AND c.cause = failing.cause"
            " AND c.version = %(version)s AND c.branch = %(branch)s AND c.source = %(source)s"
            " AND c.machine = names.machine AND c.began > coalesce((SELECT p.began FROM (SELECT q.id, q.began"
            f" FROM loop_close.runs q WHERE {full.replace('project', 'q.project', 1)} AND q.machine = names.machine"
            f" ORDER BY q.began DESC LIMIT {_MOST_RUNS}) p WHERE NOT EXISTS (SELECT 1 FROM loop_close.causes x"
            " WHERE x.run = p.id AND x.version = %(version)s AND x.cause = failing.cause)"
            " ORDER BY p.began DESC LIMIT 1), 0) ORDER BY c.began LIMIT 1) since ON true"
            " WHERE names.machine IS NOT NULL",
            {
                "project": project,
                "branch": branch,
                "source": name,
                "version": version,
                "causes": [*map(to_column, causes[:MOST_CAUSES])],
            },
        )
        found: dict[str, MachineRow] = {}
        for machine, began, cause, since, commit in read_rows(rows, _machine_row):
            row = found.setdefault(machine, MachineRow(machine, began, {}))
            if cause:
                found[machine] = row._replace(failing={**row.failing, cause: (since, commit)})
        return [*found.values()]

    def overlapping(self, agent: Agent, started: float, ended: float) -> list[str]:
        """The machines of other agents whose runs of the project went on between these times, sorted."""
        first, last = self.moment(started), self.moment(ended)
        rows = self.rows(
            f"SELECT DISTINCT {bounded('o.machine')} FROM loop_close.runs o,"
            " (SELECT %s::text AS worktree, %s::text AS session) r WHERE o.span && int8range(%s, %s, '[]')"
            f" AND o.project = %s AND {_OTHER} ORDER BY 1 LIMIT {_MOST_MACHINES}",
            (
                *map(to_column, (agent.worktree, agent.session)),
                *(first, max(first, last), to_column(agent.project)),
            ),
        )
        return [*read_rows(rows, lambda row: from_column(row[0]))]

    def runs_with(self, agent: Agent, causes: Sequence[str], version: str) -> list[CauseRow]:
        """The last runs of the project that had these causes."""
        found = self.rows(
            f"SELECT c.cause, {bounded('r.machine')}, {bounded('r.worktree')}, r.number, {bounded('r.tree')},"
            f" {_OVERLAPS} FROM unnest(%s::text[]) AS k(cause) CROSS JOIN LATERAL (SELECT a.run, a.cause"
            " FROM loop_close.causes a WHERE a.project = %s AND a.version = %s AND a.cause = k.cause"
            f" ORDER BY a.began DESC LIMIT {_MOST_WITH_CAUSE}) c JOIN loop_close.runs r ON r.id = c.run",
            ([*map(to_column, causes[:MOST_CAUSES])], to_column(agent.project), version),
        )
        return [*read_rows(found, _cause_row)]

    def passed_alone(self, agent: Agent, source: str, trees: Collection[tuple[str, str]]) -> set[str]:
        """The causes that a full run of the source did not have, on a tree with the cause and without an overlap.

        :param trees: each cause with a tree of files in which it was seen.
        """
        pairs = sorted(pair for pair in trees if pair[1])
        rows = self.rows(
            "SELECT DISTINCT k.cause FROM unnest(%s::text[], %s::text[]) AS k(cause, tree) CROSS JOIN LATERAL"
            " (SELECT 1 FROM (SELECT q.* FROM (SELECT * FROM loop_close.runs a WHERE a.project = %s AND a.tree = k.tree"
            f" AND a.source = %s AND a.state = 'done' AND a.is_full ORDER BY a.began DESC LIMIT {_MOST_RUNS}) q"
            " WHERE NOT EXISTS (SELECT 1 FROM loop_close.causes c WHERE c.run = q.id AND c.cause = k.cause OFFSET 0)"
            f" LIMIT {_MOST_ON_TREE}) r WHERE NOT {_OVERLAPS} LIMIT 1) found",
            (
                [to_column(cause) for cause, _ in pairs],
                [to_column(tree) for _, tree in pairs],
                *map(to_column, (agent.project, source)),
            ),
        )
        return {*read_rows(rows, lambda row: from_column(row[0]))}

    def green_sources(self, agent: Agent, tree: str, sources: Sequence[str]) -> dict[str, str]:
        """Those of the sources whose last full run on this tree was green, with the machine that it ran on."""
        rows = self.rows(
            f"SELECT k.source, {bounded('r.machine')} FROM unnest(%s::text[]) AS k(source) CROSS JOIN LATERAL"
            " (SELECT machine, verdict FROM loop_close.runs WHERE project = %s AND tree = %s AND source = k.source"
            " AND state = 'done' AND is_full ORDER BY began DESC LIMIT 1) r WHERE r.verdict = 'green'",
            ([*map(to_column, sources)], to_column(agent.project), to_column(tree)),
        )
        return dict(read_rows(rows, lambda row: (from_column(row[0]), from_column(row[1]))))


def _attempt_row(row: Any) -> AttemptRow:
    cause, machine, branch, number, edit, edits, failing, is_cleared = row
    attempt = to_record(SharedAttempt, {"edits": from_bytes(edits)})
    return AttemptRow(
        cause=from_column(cause),
        machine=from_column(machine),
        branch=from_column(branch),
        number=whole(number),
        edit=from_column(edit),
        edits=attempt.edits,
        failing=max(0, whole(failing)),
        is_cleared=bool(is_cleared),
    )


def _cause_row(row: Any) -> CauseRow:
    cause, machine, worktree, number, tree, is_overlapped = row
    return CauseRow(
        cause=from_column(cause),
        machine=from_column(machine),
        worktree=from_column(worktree),
        number=whole(number),
        tree=from_column(tree),
        is_overlapped=bool(is_overlapped),
    )


def _machine_row(row: Any) -> tuple[str, int, str, int, str]:
    machine, began, cause, since, commit = row
    name = from_column(commit)
    is_commit = name[:_MOST_COMMIT].isalnum()  # others may have written anything, and it is shown
    return (
        from_column(machine),
        whole(began),
        from_column(cause),
        whole(since or 0),
        name if is_commit else "",
    )
