"""The smallest runs: what a run costs whatever it runs, green and red."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks import suites
from benchmarks.measure import by_turns, cpu
from benchmarks.rows import Bench, Row

_FAILING = """\
from shop import core


def test_total():
    assert core.total([1, 2]) == 3


def test_mean():
    assert core.mean([1, 2]) == 1.5
"""
_CORE = "def total(items):\n    return sum(items) + 1\n\n\ndef mean(items):\n    return total(items) / len(items)\n"


def small(bench: Bench) -> Iterator[Row]:
    """CPU that one green test, and two that fail, take more with the plugin: the median of pairs of runs."""
    for what, code, goal in (("one green test", 0, "< 60 ms"), ("two failing tests", 1, "< 200 ms")):
        folder = bench.folder / f"small-{code}"
        suites.trivial(folder, tests=1, files=1)
        if code:
            (folder / "shop" / "core.py").write_text(_CORE)
            (folder / "tests" / "test_trivial_000.py").write_text(_FAILING)
        commands = {
            "without the plugin": bench.env.command("-q"),
            "--loop-close": bench.asked("-q", "--loop-close-history=off"),
            "without a second look": bench.asked(
                "-q", "--loop-close-history=off", "--loop-close-second-look=off"
            ),
        }
        base, *asked = by_turns(commands, folder, bench.output, rounds=2 * bench.rounds, code=code).values()
        more, without = (
            1000 * statistics.median(a.cpu - b.cpu for a, b in zip(each, base, strict=True)) for each in asked
        )
        note = f"{len(base)} pairs of {1000 * cpu(base):.0f} ms; {without:.0f} ms without a second look"
        yield Row("small", f"CPU of {what}", f"{more:.0f} ms", goal, note)
