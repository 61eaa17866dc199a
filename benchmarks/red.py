"""Many failures: the cost of each, of the end of the run, and the memory; with ``--junitxml`` as the yardstick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import suites
from benchmarks.measure import Sample, by_turns, cpu, ratio, rss
from benchmarks.rows import Bench, Row

_FINISH = "pytest_sessionfinish"
_NOISE = 20_000
_QUIET = ("-q", "--tb=short")
_ROUNDS = 3  # pytest itself takes most of a minute for 5,000 tracebacks


def red(bench: Bench) -> Iterator[Row]:
    """5,000 failures, whole runs by turns, then with a clock in the hooks; then with 20 KB of output each."""
    number = bench.tests(5_000)
    folder = bench.folder / "red"
    suites.failing(folder, tests=number)
    scenario = f"{number:,} red"
    found = by_turns(
        _commands(bench, folder), folder, bench.output, rounds=min(bench.rounds, _ROUNDS), code=1
    )
    yield from _whole_runs(scenario, found)
    yield from _inside(bench, folder, scenario)
    yield from _peer(bench, folder, scenario)
    yield from _loud(bench, number)


def _commands(bench: Bench, folder: Path) -> dict[str, list[str]]:
    xml = f"--junitxml={folder / 'junit.xml'}"
    return {
        "without the plugin": bench.env.command(*_QUIET),
        "--loop-close": bench.asked(*_QUIET),
        "--junitxml": bench.env.command(*_QUIET, xml),
    }


def _whole_runs(scenario: str, found: Mapping[str, list[Sample]]) -> Iterator[Row]:
    base = found["without the plugin"]
    for name in ("--loop-close", "--junitxml"):
        note = f"{len(base)} pairs of {cpu(base):.1f} s"
        yield Row(scenario, f"CPU of the whole run, {name}", str(ratio(found[name], base)), "", note)
    names = ", ".join(f"{name} {rss(samples):.0f}" for name, samples in found.items())
    more = rss(found["--loop-close"]) - rss(base)
    yield Row(scenario, "peak memory more than without", f"{more:.0f} MiB", "bounded", f"MiB: {names}")


def _inside(bench: Bench, folder: Path, scenario: str) -> Iterator[Row]:
    """Both plugins in one run, so that their hooks see the same reports and the same noise."""
    command = bench.asked(*_QUIET, f"--junitxml={folder / 'junit.xml'}")
    runs = [bench.probed(command, folder)[1]["spent"] for _ in range(min(bench.rounds, _ROUNDS))]
    ours, theirs = ([_split(r[owner]) for r in runs] for owner in ("loop-close", "junitxml"))
    (finish, each), (xml_finish, xml_each) = min(ours), min(theirs)
    yield Row(
        scenario, "our session finish", f"{finish:.2f} s", "< 0.5 s", f"CPU, fastest of {len(runs)} runs"
    )
    note = f"it writes for {xml_finish:.2f} s and takes {xml_each:.2f} s for the reports as they come"
    cost = xml_finish + xml_each
    yield Row(scenario, "our finish / all of --junitxml", f"x {finish / cost:.2f}", "< x 1", note)
    note = f"we take {each:.2f} s for the reports as they come: {each / bench.tests(5_000) * 1000:.2f} ms a failure"
    yield Row(scenario, "all of ours / all of --junitxml", f"x {(finish + each) / cost:.2f}", "", note)


def _split(hooks: Mapping[str, tuple[int, float]]) -> tuple[float, float]:
    finish = hooks[_FINISH][1]
    return finish, sum(seconds for _, seconds in hooks.values()) - finish


def _peer(bench: Bench, folder: Path, scenario: str) -> Iterator[Row]:
    if bench.peer is None:
        return
    commands = {
        f"without {bench.peer.name}": bench.peer.env.command(*_QUIET),
        bench.peer.name: bench.peer.command(*_QUIET),
    }
    base, asked = by_turns(commands, folder, bench.output, rounds=min(bench.rounds, _ROUNDS), code=1).values()
    what = f"CPU of the whole run, {bench.peer.name}"
    note = f"{len(base)} pairs; memory {rss(asked) - rss(base):+.0f} MiB"
    yield Row(scenario, what, str(ratio(asked, base)), "", note)


def _loud(bench: Bench, number: int) -> Iterator[Row]:
    folder = bench.folder / "loud"
    suites.failing(folder, tests=number, noise=_NOISE)
    found = by_turns(_commands(bench, folder), folder, bench.output, rounds=1, code=1)
    base = found["without the plugin"]
    names = ", ".join(f"{name} {rss(samples):.0f}" for name, samples in found.items())
    more = rss(found["--loop-close"]) - rss(base)
    what = f"peak memory, {_NOISE // 1000} KB of output a failure"
    yield Row(f"{number:,} red", what, f"{more:.0f} MiB", "bounded", f"MiB: {names}")
