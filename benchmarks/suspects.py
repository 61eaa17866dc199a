"""What it costs to look at which functions each test calls: pairs of whole runs, with it and without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import suites
from benchmarks.green import HEAVY
from benchmarks.measure import by_turns, cpu, ratio, rss
from benchmarks.rows import Bench, Row

_OFF = "--loop-close-suspects=off"
_HISTORY = "--loop-close-history=off"


def suspects(bench: Bench) -> Iterator[Row]:
    """Tests that do nothing, tests that call much, and tests that run many lines in little time."""
    scenarios: tuple[tuple[str, int, str, Callable[[Path, int, int], None]], ...] = (
        ("tests that do nothing", 20_000, "< x 1.02", _nothing),
        ("tests of 4 ms, 20,000 calls each", 200, "< x 1.05", _calls),
        ("tests of 1 ms, 500 lines each", 2_000, "", _lines),
    )
    for what, number, goal, write in scenarios:
        folder, tests = bench.folder / f"suspects-{write.__name__}", bench.tests(number)
        write(folder, tests, max(1, tests // 100))
        commands = {"off": bench.asked("-q", _HISTORY, _OFF), "on": bench.asked("-q", _HISTORY)}
        off, on = by_turns(commands, folder, bench.output, rounds=bench.rounds, code=0).values()
        pairs = sorted((a.cpu - b.cpu) / tests for a, b in zip(on, off, strict=True))
        more = rss(on) - rss(off)
        each = pairs[len(pairs) // 2] * 1e6
        note = f"{len(off)} pairs of {cpu(off):.1f} s; {each:.0f} µs a test, {more:.0f} MiB more"
        yield Row("suspects", f"CPU of {tests:,} {what}", str(ratio(on, off)), goal, note)
    yield _modules(bench)


def _modules(bench: Bench) -> Row:
    folder = bench.folder / "suspects-modules"
    _nothing(folder, 10, 1)
    loaded = [
        set(bench.probed(bench.asked("-q", _HISTORY, *more), folder)[1]["modules"]) for more in ((), (_OFF,))
    ]
    more = sorted(loaded[0] - loaded[1])
    heavy = [name for name in more if name.startswith(HEAVY)]
    note = f"{len(more)} more: {', '.join(more)}"
    return Row("suspects", "heavy modules imported", ", ".join(heavy) or "none", "none", note)


def _nothing(folder: Path, tests: int, files: int) -> None:
    suites.trivial(folder, tests=tests, files=files)


def _calls(folder: Path, tests: int, files: int) -> None:
    """Functions that call one another in loops, as parsers and games do."""
    _write(folder, _WALK, "    assert work.walk(6) > 0\n", tests, files)


def _lines(folder: Path, tests: int, files: int) -> None:
    """Twenty functions of 25 lines, each called 45 times."""
    steps = "".join(f"    a = a + {n}\n" for n in range(24))
    functions = "".join(f"def step_{n}(a):\n{steps}    return a\n\n\n" for n in range(20))
    every = "ALL = [" + ", ".join(f"step_{n}" for n in range(20)) + "]\n"
    body = "    assert sum(step(1) for _ in range(45) for step in work.ALL) > 0\n"
    _write(folder, functions + every, body, tests, files)


def _write(folder: Path, work: str, body: str, tests: int, files: int) -> None:
    for name in ("tests", "shop"):
        (folder / name).mkdir(parents=True)
    (folder / "shop" / "__init__.py").write_text("")
    (folder / "shop" / "work.py").write_text(work)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\npythonpath = .\n")
    each = "".join(f"def test_{n}():\n{body}\n\n" for n in range(max(1, tests // files)))
    for number in range(files):
        (folder / "tests" / f"test_work_{number:03}.py").write_text(f"from shop import work\n\n\n{each}")


_WALK = '''\
"""A walk over a tree, with a rule for each kind of node."""


class Node:
    def __init__(self, depth):
        self.depth = depth

    @property
    def is_leaf(self):
        return self.depth == 0

    def children(self):
        if self.is_leaf:
            return
        for _ in range(4):
            yield Node(self.depth - 1)


def weight(node):
    if node.is_leaf:
        return 1
    return 2 + node.depth % 3


def walk(depth):
    total, waiting = 0, [Node(depth)]
    while waiting:
        node = waiting.pop()
        total += weight(node)
        waiting.extend(node.children())
    return total
'''
