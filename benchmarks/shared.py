"""What a run asks of the shared history, with many runs in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.rows import Bench, Row

_RUNS, _MACHINES, _CAUSES = 100_000, 40, 200
_TIMES = 30
_GOAL = 10.0


def shared(bench: Bench) -> Iterator[Row]:
    """The questions of a red run with as many root causes as are asked about."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed (Debian: apt install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="lc-pg-"))
    shutil.chown(folder, _user())
    try:
        _program(programs / "initdb", folder, "-D", "data", "-A", "trust", "-U", "loop", "--no-sync")
        options = f"-c listen_addresses='' -k {folder}"
        _program(programs / "pg_ctl", folder, "-D", "data", "-w", "-l", "log", "-o", options, "start")
        try:
            yield from _rows(f"postgresql://loop@/postgres?host={folder}")
        finally:
            _program(programs / "pg_ctl", folder, "-D", "data", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str | int:
    """The server refuses root."""
    return "postgres" if os.getuid() == 0 else os.getuid()


def _program(path: Path, folder: Path, *words: str) -> None:
    user = _user() if os.getuid() == 0 else None
    subprocess.run([path, *words], cwd=folder, user=user, check=True, stdout=subprocess.DEVNULL)


def _rows(url: str) -> Iterator[Row]:
    from loop_close.store.shared import MOST_CAUSES, Agent, SharedStore

    store = SharedStore(url)
    _fill(url)
    agent = Agent("shop", "m3", "w3", "main")
    causes = [f"1c{number}" for number in range(MOST_CAUSES)]
    now = time.time()

    def ask() -> None:
        store.attempts(agent, causes, "1")
        store.machines(agent, "pytest", causes, "1")
        store.overlapping(agent, now - 60, now)

    def usual() -> None:
        with store.together():
            ask()

    def overlapped() -> None:
        with store.together():
            ask()
            found = store.runs_with(agent, causes, "1")
            store.passed_alone(agent, "pytest", {(row.cause, row.tree) for row in found})

    for name, work in {
        "what a red run asks": usual,
        "the same while another run overlaps": overlapped,
        "which sources are green on a tree": lambda: store.green_sources(agent, "t5", ["pytest", "mypy"]),
    }.items():
        times = sorted(_times(work))
        figure = f"{times[len(times) // 2]:.1f} ms ({times[0]:.1f} to {times[-1]:.1f})"
        yield Row("shared", f"{_RUNS:,} runs of {_MACHINES} machines: {name}", figure, f"< {_GOAL:g} ms")
    store.close()


def _times(work: Callable[[], object]) -> Iterator[float]:
    """How long it takes, in ms, each time."""
    for _ in range(_TIMES):
        start = time.perf_counter()
        work()
        yield (time.perf_counter() - start) * 1_000


def _fill(url: str) -> None:
    """Runs of all machines, most of them green; each fifth has two of the causes, each tenth is an attempt."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO loop_close.runs(id, project, machine, worktree, branch, source, session, number, state,"
            " started, ended, verdict, exit_code, passed, skipped, failures, is_full, commit, tree, began, finished,"
            " summary, record) SELECT md5(n::text)::uuid, 'shop', 'm' || n % %(m)s, 'w' || n % %(m)s, 'main',"
            " 'pytest', '', n / %(m)s, 'done', n, n + 1, CASE WHEN n %% 5 = 0 THEN 'no-progress' ELSE 'green' END,"
            " 0, 100, 0, 2, true, md5((n / 500)::text), 't' || n / 20, 1e9::bigint + n * 10000,"
            " 1e9::bigint + n * 10000 + 15000, '{}', '{}' FROM generate_series(1, %(n)s) AS n".replace(
                "n % %(m)s", "n %% %(m)s"
            ),
            {"m": _MACHINES, "n": _RUNS},
        )
        connection.execute(
            "INSERT INTO loop_close.causes SELECT id, '1', '1c' || (number * k) %% %(c)s, project, branch, source,"
            " machine, began, 1 FROM loop_close.runs, generate_series(1, 2) AS k WHERE verdict <> 'green'"
            " ON CONFLICT DO NOTHING",
            {"c": _CAUSES},
        )
        connection.execute(
            "INSERT INTO loop_close.attempts SELECT run, version, cause, c.project, c.machine, r.worktree, c.branch,"
            ' \'\', r.number, c.began, \'e\' || r.number % 50, \'[["cart.py","total","a","b"]]\', 2, false'
            " FROM loop_close.causes c JOIN loop_close.runs r ON r.id = c.run"
        )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
