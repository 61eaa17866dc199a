"""What an agent waits for at a door: status, hook and check on an unchanged green tree, over ``git status``."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.measure import Ratio, surroundings
from benchmarks.rows import Bench, Row

_FOLDERS, _FILES = 400, 20_000
_GOAL = "< 0.3 s"
_SETTINGS = """\
[tool.loop-close.checks]
tests = "{python} -m pytest -q tests/test_one.py"
"""


def gate(bench: Bench) -> Iterator[Row]:
    """Wall time of whole processes, by turns: nothing was edited since a green check."""
    root = bench.folder / "gate"
    files = bench.tests(_FILES)
    _fill(root, files, bench.env.executable)
    ours = [bench.env.executable, "-m", "loop_close"]
    payload = {
        "session_id": "s",
        "cwd": str(root),
        "hook_event_name": "Stop",
        "last_assistant_message": "Done.",
    }
    doors: Mapping[str, tuple[Sequence[str], str]] = {
        "git status": (["git", "status", "--porcelain"], ""),
        "loop-close status": ([*ours, "status"], ""),
        "loop-close hook": ([*ours, "hook", "--host", "claude"], json.dumps(payload)),
        "loop-close check": ([*ours, "check"], ""),
    }
    time.sleep(2.5)  # the cache of digests believes only what is older than a tick of the clock
    for name in ("loop-close check", "loop-close status", "git status", "loop-close hook"):
        _seconds(*doors[name], root, bench.output)
    said = bench.output.read_text(encoding="utf-8")
    if said:
        raise RuntimeError(f"the hook answered {said[:2000]!r}")
    found = [
        {name: _seconds(words, given, root, bench.output) for name, (words, given) in doors.items()}
        for _ in range(2 * bench.rounds + 1)
    ]
    gits = [each.pop("git status") for each in found]
    for name in found[0]:
        times, cpu = zip(*(each[name] for each in found), strict=True)
        pairs = [one / git for one, (git, _) in zip(times, gits, strict=True)]
        figure = f"{statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})"
        over = Ratio(statistics.median(pairs), min(pairs), max(pairs))
        git = statistics.median(wall for wall, _ in gits)
        note = f"wall ({statistics.median(cpu):.2f} s of CPU); over git status, {git:.2f} s: {over}, {len(pairs)} pairs"
        yield Row(f"{files:,} files, green", name, figure, _GOAL, note)


def _fill(root: Path, files: int, python: str) -> None:
    """A project under git, half of whose files are data, and one of them a test."""
    for number in range(_FOLDERS):
        folder = root / ("tests" if number % 2 else "src") / f"part_{number // 20}" / f"inner_{number}"
        folder.mkdir(parents=True)
        for file in range(files // _FOLDERS):
            name = f"module_{file}.py" if file % 2 else f"data_{file}.json"
            (folder / name).write_text(f"x = {number * file}\n" * 20)
    (root / "tests" / "test_one.py").write_text("def test_one():\n    assert True\n")
    (root / "pyproject.toml").write_text(_SETTINGS.format(python=python))
    (root / ".gitignore").write_text("__pycache__/\n.pytest_cache/\nnextprompt.md\n")
    for words in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *words], cwd=root, check=True)


def _seconds(words: Sequence[str], given: str, root: Path, output: Path) -> tuple[float, float]:
    """Wall and CPU time of a process that has to end with 0."""
    more = {"XDG_STATE_HOME": str(root.parent / "gate-state")}
    with output.open("wb") as file:
        began, used = time.perf_counter(), sum(os.times()[2:4])
        done = subprocess.run(
            words,
            cwd=root,
            env={**surroundings(), **more},
            input=given.encode(),
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
        spent = time.perf_counter() - began, sum(os.times()[2:4]) - used
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}:\n{output.read_text()[-2000:]}")
    print(f"  {words[-1]}: {spent[0]:.2f} s", file=sys.stderr, flush=True)
    return spent
