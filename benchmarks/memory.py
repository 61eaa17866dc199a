"""What remembering costs: a red run of a project with 500 files, and histories of very different sizes."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import suites
from benchmarks.many_runs import many_runs
from benchmarks.measure import by_turns, cpu
from benchmarks.rows import Bench, Row

_OFF = "--loop-close-history=off"
_HOOKS = ("pytest_sessionstart", "pytest_sessionfinish")
_FEW, _MANY = 100, 10_000


def memory(bench: Bench) -> Iterator[Row]:
    """With the history and without it by turns; then reading from a small and from a large one by turns."""
    files = bench.tests(500)
    for failures, suite in ((10, suites.distinct), (100, suites.failing)):
        folder = bench.folder / f"memory-{failures}"
        suite(folder, tests=failures)
        _add_files(folder, files)
        yield from _red(bench, folder, f"{failures} red, {files} files")
    yield from _sizes(bench)


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


def _sizes(bench: Bench) -> Iterator[Row]:
    failures = bench.tests(1_000)
    paths = {number: bench.folder / f"history-{number}.sqlite3" for number in (_FEW, bench.tests(_MANY))}
    for number, path in paths.items():
        _history(path, number, failures)
    few, many = paths
    turns = [{number: _turn(path) for number, path in paths.items()} for _ in range(max(5, bench.rounds))]
    size = paths[many].stat().st_size / 1_000_000
    for name in ("read", "added"):
        ratios = [turn[many][name] / turn[few][name] for turn in turns]
        note = f"{min(ratios):.2f} to {max(ratios):.2f}; {failures:,} failures a run, {size:.0f} MB"
        what = f"{name}: {many:,} runs remembered over {few}"
        yield Row("history", what, f"x {statistics.median(ratios):.2f}", "about 1", note)


def _history(path: Path, runs: int, failures: int) -> None:
    from loop_close.store.sqlite import open_history

    open_history(path).close()
    many_runs(path, runs, failures, distinct=max(1, runs // 100))
    _turn(path)


def _turn(path: Path) -> dict[str, float]:
    """Seconds to begin a run and read what it needs, and to add it with 40 failures."""
    from loop_close.memory import Episode, FailureRecord, KnownTest, Run
    from loop_close.store.sqlite import open_history

    marks = tuple(
        FailureRecord(test=f"tests/test_a.py::test_{n}", exact=str(n), shape=str(n)) for n in range(40)
    )
    known = {mark.test: KnownTest(status="failing", mark=mark, since=1) for mark in marks}
    with open_history(path, max_runs=10**9, max_bytes=10**12) as history:
        begun, read = _timed(lambda: _begin(history))
        with history.transaction(begun) as turn:
            _, added = _timed(
                lambda: turn.save(Run(number=begun.number, marks=marks), Episode(tests=known), {})
            )
    return {"read": read, "added": added}


def _begin(history: Any) -> Any:
    entries = {f"src/part_{n}.py": (100, 1, str(n)) for n in range(500)}
    begun = history.begin(
        "pytest",
        entries,
        {},
        pid=1,
        birth="",
        host="bench",
        now=time.time(),
        is_alive=lambda pid, birth: False,
    )
    history.changes_since_last(begun)
    with history.transaction(begun):
        pass
    return begun


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start
