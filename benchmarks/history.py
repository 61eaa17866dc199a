"""What remembering costs: a red run of a project with 500 files, and a store that is full."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import suites
from benchmarks.measure import by_turns, cpu
from benchmarks.rows import Bench, Row
from loop_close.records import FailureRecord, Run
from loop_close.store import KEPT_RUNS, Store

_OFF = "--loop-close-history=off"
_HOOKS = ("pytest_sessionstart", "pytest_sessionfinish")


def history(bench: Bench) -> Iterator[Row]:
    """With the history and without it by turns; then a store with as many runs as it keeps."""
    files = bench.tests(500)
    for failures, suite in ((10, suites.distinct), (100, suites.failing)):
        folder = bench.folder / f"history-{failures}"
        suite(folder, tests=failures)
        _add_files(folder, files)
        yield from _red(bench, folder, f"{failures} red, {files} files")
    yield from _full(bench)


def _add_files(folder: Path, files: int) -> None:
    """Files that nothing imports, under git, all of them older than a moment."""
    more = folder / "more"
    more.mkdir()
    text = "".join(path.read_text() for path in sorted((folder / "shop").glob("*_000.py")))
    for number in range(files):
        (more / f"part_{number:03}.py").write_text(text)
    for path in folder.rglob("*.py"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)


def _red(bench: Bench, folder: Path, scenario: str) -> Iterator[Row]:
    """Nothing is edited between the runs; the first one, which reads all files, is not counted."""
    commands = {"history off": bench.asked("-q", _OFF), "history": bench.asked("-q")}
    by_turns(commands, folder, bench.output, rounds=2, code=1)
    spent = [
        {name: _spent(bench, words, folder) for name, words in commands.items()} for _ in range(bench.rounds)
    ]
    more = [(each["history"] - each["history off"]) * 1000 for each in spent]
    note = f"{min(more):.1f} to {max(more):.1f}, {len(more)} pairs; CPU in our hooks, without git's own"
    yield Row(scenario, "more for remembering", f"{statistics.median(more):.1f} ms", "< 30 ms", note)
    found = by_turns(commands, folder, bench.output, rounds=bench.rounds, code=1)
    pairs = [(a.cpu - b.cpu) * 1000 for a, b in zip(found["history"], found["history off"], strict=True)]
    note = f"{min(pairs):.0f} to {max(pairs):.0f}; {len(pairs)} pairs of {cpu(found['history off']):.2f} s, with git's"
    yield Row(scenario, "the same by whole runs", f"{statistics.median(pairs):.0f} ms", "", note)


def _spent(bench: Bench, words: list[str], folder: Path) -> float:
    """CPU seconds in the hooks that remember, imports among it."""
    _, found = bench.probed(words, folder)
    calls: Mapping[str, Any] = found["spent"]["loop-close"]
    return sum(float(calls[hook][1]) for hook in _HOOKS if hook in calls)


def _full(bench: Bench) -> Iterator[Row]:
    """What a run asks of a store that keeps as many runs as it may, with 40 failures each."""
    tests = bench.tests(2_000)
    path = bench.folder / "history-full.sqlite3"
    with Store(path) as store:
        for number in range(KEPT_RUNS):
            store.finish(_run(number, tests))
    times = [_asked_of(path, KEPT_RUNS + turn, tests) for turn in range(max(5, bench.rounds))]
    note = f"{min(times):.0f} to {max(times):.0f}, {path.stat().st_size / 1e6:.1f} MB"
    yield Row(
        f"{KEPT_RUNS} runs of {tests:,} tests",
        "open, begin, read the loop, finish",
        f"{statistics.median(times):.0f} ms",
        "",
        note,
    )


def _asked_of(path: Path, number: int, tests: int) -> float:
    """Milliseconds of CPU."""
    run = _run(number, tests)
    began = time.process_time()
    with Store(path) as store:
        store.begin(msgspec.structs.replace(run, is_finished=False, outcomes={}, failures=()))
        store.loop_runs()
        store.finish(run)
    return (time.process_time() - began) * 1000


def _run(number: int, tests: int) -> Run:
    source, names = "pytest@cpython-3.13", [f"tests/test_a.py::test_{n}" for n in range(tests)]
    failing = names[number % 7 :: max(1, tests // 40)]
    failures = tuple(
        FailureRecord(source=source, test=name, exact=f"{name}-{number}", shape=name, cause=str(at))
        for at, name in enumerate(failing)
    )
    return Run(
        id=f"r{number}",
        began=float(number),
        exit_code=1,
        is_finished=True,
        outcomes={source: {**dict.fromkeys(names, "passed"), **dict.fromkeys(failing, "failed")}},
        failures=failures,
    )
