"""What runs sent to the shared history, read back: loop-close itself asks only what others know."""

from loop_close.memory import Run
from loop_close.store import RunRow
from loop_close.store.postgres import from_bytes, from_column, read_rows, to_column, whole
from loop_close.store.records import to_record
from loop_close.store.shared import SharedStore


class ReadableStore(SharedStore):
    """The shared history, whose runs can be read."""

    def runs(self, agent, source=None, limit=50):
        """The last runs of the agent's worktree, the newest last."""
        rows = self.rows(
            "SELECT number, source, state, started, ended, exit_code, passed, skipped, failures, summary"
            " FROM loop_close.runs WHERE project = %s AND machine = %s AND worktree = %s"
            " AND source = coalesce(%s, source) ORDER BY began DESC, number DESC LIMIT %s",
            (
                *map(to_column, (agent.project, agent.machine, agent.worktree)),
                *(None if source is None else to_column(source), limit),
            ),
        )
        return tuple(read_rows(reversed(rows), _run_row))

    def recorded(self, agent, source, limit):
        """The last runs of the agent's worktree that have ended, as they were, the newest last."""
        rows = self.rows(
            "SELECT number, record FROM loop_close.runs WHERE project = %s AND machine = %s AND worktree = %s"
            " AND source = %s AND state = 'done' AND record IS NOT NULL ORDER BY number DESC LIMIT %s",
            (*map(to_column, (agent.project, agent.machine, agent.worktree, source)), limit),
        )

        def run(row):
            return to_record(Run, {**from_bytes(row[1]), "number": whole(row[0]), "source": source})

        return tuple(read_rows(reversed(rows), run))


def _run_row(row):
    names = ("number", "source", "state", "started", "ended", "exit_code", "passed", "skipped", "failures")
    values = dict(zip(names, row, strict=False))
    return to_record(RunRow, {**values, "source": from_column(row[1]), "summary": from_bytes(row[9])})
