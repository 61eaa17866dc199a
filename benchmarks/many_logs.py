"""A directory of logs to one summary: the memory for ten times as many logs."""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import Sample, run
from benchmarks.rows import Bench, Row

_CORPUS = Path(__file__).parent.parent / "tests" / "corpus"
_FEW, _MANY = 1_000, 10_000


def many_logs(bench: Bench) -> Iterator[Row]:
    """Copies of the logs that the tests have, each under a name of its own."""
    few, many = (_logs(bench.folder / f"logs-{n}", bench.tests(n)) for n in (_FEW, _MANY))
    yield from _memory(bench, few, many)


def _logs(folder: Path, number: int) -> Path:
    folder.mkdir()
    samples = sorted(path for path in _CORPUS.glob("*/*") if path.suffix in (".txt", ".xml"))
    for at in range(number):
        sample = samples[at % len(samples)]
        shutil.copyfile(sample, folder / f"run-{at}{sample.suffix}")
    return folder


def _memory(bench: Bench, few: Path, many: Path) -> Iterator[Row]:
    turns = [[_run(bench, folder).rss for folder in (few, many)] for _ in range(bench.rounds)]
    ratios = [more / less for less, more in turns]
    less, more = (statistics.median(column) for column in zip(*turns, strict=True))
    numbers = [len([*folder.iterdir()]) for folder in (few, many)]
    what = f"peak memory, {numbers[1]:,} logs / {numbers[0]:,}"
    note = f"{min(ratios):.2f} to {max(ratios):.2f}; {len(turns)} pairs, {more:.0f} and {less:.0f} MiB"
    yield Row("logs", what, f"x {statistics.median(ratios):.2f}", "about x 1", note)


def _run(bench: Bench, folder: Path) -> Sample:
    """Once; the exit code says that some of the logs are red.

    :raises RuntimeError: for another one.
    """
    words: Sequence[str] = ("-m", "loop_close", "analyze", str(folder), "--json")
    sample = run([bench.env.executable, *words], bench.folder, bench.output)
    if sample.code != 1:
        raise RuntimeError(f"loop-close ended with {sample.code}:\n{bench.output.read_text()[-2000:]}")
    print(
        f"  {folder.name}: {sample.cpu:.2f} s CPU, {sample.rss:.0f} MiB",
        file=sys.stderr,
        flush=True,
    )
    return sample
