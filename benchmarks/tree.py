"""What every door waits for: the tree of 20,000 files over ``git status``: ``python -m benchmarks.tree``."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from loop_close.tree import take

_FOLDERS, _FILES, _ROUNDS = 400, 50, 15


def main() -> None:
    """Print the median ratio of CPU time in pairs, git's with it, and the least time."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _fill(root)
        cache = root / ".loop-close" / "tree"
        time.sleep(2.5)  # the cache believes only what is older than a tick of FAT
        _seconds(lambda: take(root, cache=cache))
        pairs = [
            (_seconds(lambda: take(root, cache=cache)), _seconds(lambda: _status(root)))
            for _ in range(_ROUNDS)
        ]
    ratio = statistics.median(ours / gits for ours, gits in pairs)
    least = min(ours for ours, _ in pairs)
    sys.stdout.write(
        f"{_FOLDERS * _FILES:,} files, none changed: x {ratio:.1f} of git status, {least:.2f} s of CPU\n"
    )


def _fill(root: Path) -> None:
    for number in range(_FOLDERS):
        folder = root / ("tests" if number % 2 else "src") / f"part_{number // 20}" / f"inner_{number}"
        folder.mkdir(parents=True)
        for file in range(_FILES):
            name = f"module_{file}.py" if file % 2 else f"data_{file}.json"
            (folder / name).write_text(f"x = {number * file}\n" * 20)
    (root / ".loop-close").mkdir()
    (root / ".loop-close" / ".gitignore").write_text("*\n")
    for words in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *words], cwd=root, check=True)


def _status(root: Path) -> None:
    subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, check=True, env=os.environ
    )


def _seconds(call: Callable[[], object]) -> float:
    """CPU time of this process and those it started, which other processes disturb least."""
    began = sum(os.times()[:4])
    call()
    return sum(os.times()[:4]) - began


if __name__ == "__main__":
    main()
