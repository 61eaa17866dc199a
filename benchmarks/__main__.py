"""``python -m benchmarks``: run the scenarios and print one table."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.analyze import analyze
from benchmarks.environment import environment, machine
from benchmarks.gate import gate
from benchmarks.green import green
from benchmarks.guard import guard
from benchmarks.history import history
from benchmarks.many_logs import many_logs
from benchmarks.page import page
from benchmarks.real import real
from benchmarks.red import red
from benchmarks.rows import PEERS, Bench, Peer, Row
from benchmarks.shards import shards
from benchmarks.shared import shared
from benchmarks.small import small
from benchmarks.startup import startup
from benchmarks.suspects import suspects
from benchmarks.tokens import terminal, tokens

SCENARIOS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "startup": startup,
    "small": small,
    "green": green,
    "red": red,
    "tokens": tokens,
    "terminal": terminal,
    "analyze": analyze,
    "logs": many_logs,
    "history": history,
    "page": page,
    "suspects": suspects,
    "guard": guard,
    "gate": gate,
    "shards": shards,
}
#: Those that fetch projects from PyPI, or need a PostgreSQL server, run only where they are asked for.
ASKED_FOR = {**SCENARIOS, "real": real, "shared": shared}


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="loop-close-bench-") as folder:
        bench = _bench(options, Path(folder))
        rows: list[Row] = []
        for name in options.only or SCENARIOS:
            print(f"{name}:", file=sys.stderr, flush=True)
            for row in ASKED_FOR[name](bench):
                # A later project that cannot be run must not cost what was measured.
                print(f"  {row.measured}: {row.figure} {row.note}", file=sys.stderr, flush=True)
                rows.append(row)
    print(_table(bench, rows))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run: its figures mean little")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of each comparison (default: 5)")
    parser.add_argument(
        "--only", action="append", choices=list(ASKED_FOR), help="this scenario; may be repeated"
    )
    parser.add_argument(
        "--peer", choices=list(PEERS), help="compare with this plugin too, where it is installed"
    )
    parser.add_argument(
        "--peer-python", default=sys.executable, metavar="PATH", help="the interpreter that has it"
    )
    return parser


def _bench(options: argparse.Namespace, folder: Path) -> Bench:
    env = environment()
    if "loop_close" not in env.plugins:
        sys.exit("pytest-loop-close is not installed for this interpreter")
    peer = None
    if options.peer:
        entry, words = PEERS[options.peer]
        peer = Peer(environment(options.peer_python), entry, words)
        if entry not in peer.env.plugins:
            sys.exit(f"{options.peer} is not installed for {options.peer_python}")
    quick = (
        {"rounds": 1, "starts": 2, "scale": 0.02}
        if options.quick
        else {"rounds": options.rounds, "starts": 25}
    )
    return Bench(env=env, folder=folder, peer=peer, **quick)


def _table(bench: Bench, rows: Sequence[Row]) -> str:
    """The figures in columns, what they were seen on first, notes below each."""
    what = f"Python {bench.env.python}, pytest {bench.env.pytest}, {bench.env.plugins['loop_close']}"
    if bench.peer is not None:
        what += f"; {bench.peer.name} on Python {bench.peer.env.python}, pytest {bench.peer.env.pytest}"
    lines = [f"{datetime.date.today()}; {what}; {machine()}", ""]
    heads = Row("scenario", "measured", "figure", "goal")
    widths = [
        max(len(getattr(r, f)) for r in [heads, *rows]) for f in ("scenario", "measured", "figure", "goal")
    ]
    for row in [heads, *rows]:
        cells = (row.scenario, row.measured, row.figure, row.goal)
        lines.append("  ".join(f"{c:{w}}" for c, w in zip(cells, widths, strict=True)).rstrip())
        lines += textwrap.wrap(row.note, 110, initial_indent="      ", subsequent_indent="      ")
    lines += [
        "",
        "x: CPU seconds over those of the run without, in the same round: median (lowest to highest)",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    os.environ.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
    raise SystemExit(main())
