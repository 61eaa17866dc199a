"""What a run asks of the shared history, with many runs in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.rows import Bench, Row
from loop_close.model import OtherAttempt
from loop_close.sharing import Agent, SharedStore
from loop_close.store.database import pack

_RUNS, _MACHINES, _CAUSES = 100_000, 40, 200
_ASKED = 5
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
    with SharedStore(url) as store:
        _fill(url)
        agent = Agent(project="shop", machine="m3", worktree="w3", branch="main")
        causes = [f"1c{number}" for number in range(_ASKED)]
        times = sorted(_times(lambda: _ask(store, agent, causes)))
    figure = f"{times[len(times) // 2]:.1f} ms ({times[0]:.1f} to {times[-1]:.1f})"
    yield Row(
        "shared",
        f"{_RUNS:,} attempts of {_MACHINES} machines: what a red run asks",
        figure,
        f"< {_GOAL:g} ms",
    )


def _ask(store: SharedStore, agent: Agent, causes: Sequence[str]) -> None:
    if not store.attempts(agent, causes, ["e"]):
        raise RuntimeError("the shared history answered nothing")


def _times(work: Callable[[], object]) -> Iterator[float]:
    """How long it takes, in ms, each time."""
    for _ in range(_TIMES):
        start = time.perf_counter()
        work()
        yield (time.perf_counter() - start) * 1_000


def _fill(url: str) -> None:
    """Attempts of all machines at all causes."""
    import psycopg

    edits = (("cart.py", "total", "a", "b"),)
    attempt = OtherAttempt(cause="c", machine="m", branch="main", run=1, edits=edits, failing=1)
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO loop_close.attempts(run, cause, project, worktree, began, edit, record)"
            " SELECT md5(n::text)::uuid, '1c' || n %% %(c)s, 'shop', 'w' || n %% %(m)s, %(now)s - 10 * n, '',"
            " %(record)s FROM generate_series(1, %(n)s) AS n",
            {
                "c": _CAUSES,
                "m": _MACHINES,
                "n": _RUNS,
                "now": time.time(),
                "record": pack(msgspec.msgpack.encode(attempt)),
            },
        )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
