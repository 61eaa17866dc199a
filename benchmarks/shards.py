"""How long shards take to be merged."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import rss, run
from benchmarks.rows import Bench, Row
from loop_close.calls import Called, Calls
from loop_close.judge import report_of
from loop_close.model import Counts, Failure, Observation, Provenance, Raised
from loop_close.parts import Part, in_report
from loop_close.prompt.report_json import dump, report_document
from loop_close.records import Outcome

_SHARDS = 50
_FUNCTIONS = 3_000


def shards(bench: Bench) -> Iterator[Row]:
    """Fifty shards of 2,000 tests."""
    number = bench.tests(2_000)
    reports, work = bench.folder / "shards-reports", bench.folder / "shards-merge"
    reports.mkdir()
    work.mkdir()
    for shard in range(_SHARDS):
        (reports / f"{shard}.json").write_text(_report(shard, number))
    samples = [
        run([bench.env.executable, "-m", "loop_close", "merge", str(reports)], work, bench.output)
        for _ in range(bench.rounds)
    ]
    if not (work / "nextprompt.md").read_text().startswith(f"# 1 test fails, {number * _SHARDS - 1:,} pass"):
        raise RuntimeError(bench.output.read_text()[-2000:])
    note = f"{min(each.cpu for each in samples):.1f} s of CPU, {rss(samples):.0f} MiB at most"
    yield Row(
        f"{_SHARDS} shards of {number:,} tests",
        "loop-close merge",
        note,
        "< 2 s, < 200 MB",
        f"fastest of {len(samples)}",
    )


def _report(shard: int, number: int) -> str:
    """The report of one shard, as a run of these tests would write it; one of them fails in the first."""
    tests = tuple(f"tests/test_part_{shard:03}.py::test_{n:05}" for n in range(number))
    raised = Raised(type="AssertionError", message="assert [1] == [2]")
    failures = (
        () if shard else (Failure(nodeid=tests[0], phase="call", message=raised.message, raised=raised),)
    )
    functions = tuple(_functions(shard, number))
    ran = tuple((index, functions[index].line + 1) for index in range(0, _FUNCTIONS, 10))
    outcomes: dict[str, Outcome] = dict.fromkeys(tests, "passed")
    outcomes |= {failure.nodeid: "failed" for failure in failures}
    observation = Observation(
        exit_code=len(failures),
        provenance=Provenance(
            interpreter="cpython-3.13",
            platform="linux",
            shard=(shard + 1, _SHARDS),
            run_id="7",
            commit="c0ffee",
            collected=number * _SHARDS,
            digest="d",
        ),
        failures=failures,
        counts=Counts(passed=number - len(failures), failed=len(failures), collected=number * _SHARDS),
        outcomes=outcomes,
        calls=Calls(passed=number, functions=functions, failed={f.nodeid: ran for f in failures}),
    )
    part = Part(observation=observation)
    return "".join(dump({**report_document(report_of(observation), ""), **in_report([part])}))


def _functions(shard: int, number: int) -> Iterator[Called]:
    """Those of a middle-sized project, each with several lines, which other numbers of tests ran in each shard."""
    for index in range(_FUNCTIONS):
        line = 1 + 10 * (index % 50)
        passed = 1 + (index * 31 + shard * 17) % number
        yield Called(
            file=f"src/shop/part_{index // 50:03}.py",
            line=line,
            end_line=line + 8,
            function=f"Part.total_{index % 50:02}",
            digest=f"{index:016x}",
            passed=passed,
            lines={line + n: max(1, passed // n) for n in range(1, 7)},
        )
