"""Asked for and green: the cost of listening when nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import suites
from benchmarks.measure import Sample, by_turns, cpu, ratio
from benchmarks.rows import Bench, Row

#: Libraries that have no place in a run where nothing failed. Of ours, a green run goes the way of every run.
HEAVY = (
    *("rapidfuzz", "junitparser", "asyncio", "multiprocessing", "concurrent", "xml", "http"),
    *("urllib", "zoneinfo", "fractions", "loop_close.readers.streams", "loop_close.emit", "loop_close.merge"),
)


def green(bench: Bench) -> Iterator[Row]:
    """Pairs of whole runs, then the same from the inside, where less than a percent can be seen."""
    folder = bench.folder / "green"
    number = bench.tests(20_000)
    suites.trivial(folder, tests=number, files=bench.tests(200))
    commands = {"without the plugin": bench.env.command("-q"), "--loop-close": bench.asked("-q")}
    base, asked = by_turns(commands, folder, bench.output, rounds=bench.rounds, code=0).values()
    what = f"CPU of {number:,} green tests"
    yield Row("green", what, str(ratio(asked, base)), "< x 1.01", f"{len(base)} pairs of {cpu(base):.1f} s")
    yield from _inside(bench, folder, number, base)
    yield from _peer(bench, folder, what)


def _inside(bench: Bench, folder: Path, number: int, base: list[Sample]) -> Iterator[Row]:
    _, found = bench.probed(bench.asked("-q"), folder)
    per_test, calls = found["per_test"], found["spent"]["loop-close"]
    fixed = sum(seconds for hook, (_, seconds) in calls.items() if not hook.startswith("pytest_runtest_"))
    share = (per_test * number + fixed) / min(sample.cpu for sample in base)
    note = f"{per_test * 1e6:.2f} µs a test in hooks, replayed; {fixed * 1000:.0f} ms once, imports among it"
    yield Row("green", "the same, measured in our hooks", f"x {1 + share:.4f}", "< x 1.01", note)
    yield _modules(bench, folder, found)


def _modules(bench: Bench, folder: Path, found: dict[str, Any]) -> Row:
    _, plain = bench.probed(bench.env.command("-q"), folder)
    more = sorted(set(found["modules"]) - set(plain["modules"]))
    heavy = [m for m in more if m.startswith(HEAVY)]
    others = [m for m in more if not m.startswith("loop_close")]
    note = f"{len(more)} more modules, of which not ours: {', '.join(others) or 'none'}"
    return Row("green", "heavy modules imported", ", ".join(heavy) or "none", "none", note)


def _peer(bench: Bench, folder: Path, what: str) -> Iterator[Row]:
    if bench.peer is None:
        return
    commands = {
        f"without {bench.peer.name}": bench.peer.env.command("-q"),
        bench.peer.name: bench.peer.command("-q"),
    }
    base, asked = by_turns(commands, folder, bench.output, rounds=bench.rounds, code=0).values()
    yield Row("green", f"{what}, {bench.peer.name}", str(ratio(asked, base)), "", f"{len(base)} pairs")
