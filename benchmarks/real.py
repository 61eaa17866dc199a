"""The green suites of projects from PyPI, whole: runs by turns of pytest alone and with what records each test."""

from __future__ import annotations

import os
import shlex
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.localize.fetch import copied, default_cache
from benchmarks.localize.measure import lacking
from benchmarks.localize.projects import BY_NAME, Project
from benchmarks.measure import Sample, cpu, ratio, run
from benchmarks.rows import Bench, Row

_TRACKED, _COVERAGE, _TESTMON, _OFF = "tracked", "coverage contexts", "testmon", "no tracking"
_LOOP_CLOSE = ["-p", "loop_close", "--loop-close", "--loop-close-history=off"]


def _words(project: Project) -> dict[str, list[str]]:
    """The options of each: what records which tests run what, and loop-close without that."""
    contexts = ["-p", "pytest_cov.plugin", f"--cov={project.sources}", "--cov-context=test", "--cov-report="]
    return {
        "": [],
        _TRACKED: _LOOP_CLOSE,
        _OFF: [*_LOOP_CLOSE, "--loop-close-suspects=off"],
        _COVERAGE: contexts,
        _TESTMON: ["-p", "testmon.pytest_testmon", "--testmon"],
    }


PROJECTS = (
    Project(
        name="babel",
        version="2.18.0",
        sha256="b80b99a14bd085fcacfa15c9165f651fbb3406e66cc603abf11c5750937c992d",
        sources="babel",
        tests=("tests",),
        requires=("freezegun", "pytz"),
    ),
    Project(
        name="boltons",
        version="26.2.0",
        sha256="d39cfd15c1a1c3bd4d705c82252fa9edb8e4f5e8cc039f8e39afac7b1b47e92c",
        sources="boltons",
        tests=("tests",),
    ),
    Project(
        name="lark",
        version="1.3.1",
        sha256="b426a7a6d6d53189d318f2b6236ab5d6429eaf09259f1ca33eb716eed10d2905",
        sources="lark",
        tests=("tests",),
    ),
    replace(BY_NAME["more-itertools"], tests=("tests",)),
    replace(BY_NAME["packaging"], tests=("tests",)),
    Project(
        name="parso",
        version="0.8.7",
        sha256="eaaac4c9fdd5e9e8852dc778d2d7405897ec510f2a298071453e5e3a07914bb1",
        sources="parso",
        tests=("test",),
    ),
    Project(
        name="pygments",
        version="2.21.0",
        sha256="610ca751c9bc2492b38eb9a38a7fbc93edbbb2d7182edaf34e66ae493dee5c8c",
        sources="pygments",
        tests=("tests",),
        requires=("wcag_contrast_ratio",),
    ),
    replace(
        BY_NAME["pyparsing"],
        tests=(*BY_NAME["pyparsing"].tests[:3], "-k", "not testUpcaseDowncaseUnicode and not andom"),
    ),
    BY_NAME["sqlparse"],
    BY_NAME["tomlkit"],
)


def real(bench: Bench) -> Iterator[Row]:
    """For each project the CPU time over that of pytest alone, and the same of what others record of each test."""
    if missing := lacking(bench.env.executable, PROJECTS):
        raise RuntimeError(f"the tests of these projects also need: {' '.join(missing)}")
    for project in PROJECTS:
        root = copied(project, default_cache(), bench.folder)
        words = _words(project)
        found: dict[str, list[Sample]] = {name: [] for name in words}
        for turn in range(bench.rounds + 1):
            for name, samples in found.items():
                sample = _ran(bench, project, root, words[name])
                samples += [sample] if turn else []  # the first round writes the bytecode
        base = found.pop("")
        more = statistics.median(a.cpu - b.cpu for a, b in zip(found[_TRACKED], base, strict=True))
        others = ", ".join(f"{name} {ratio(found[name], base)}" for name in (_OFF, _COVERAGE, _TESTMON))
        note = f"{bench.rounds} pairs of {cpu(base):.1f} s, {more:+.2f} s; {others}"
        figure = str(ratio(found[_TRACKED], base))
        yield Row("real", f"{project.name} {project.version}", figure, "< x 1.05, or 0.2 s", note)


def _ran(bench: Bench, project: Project, root: Path, words: Sequence[str]) -> Sample:
    for left in (".testmondata", ".coverage"):
        (root / left).unlink(missing_ok=True)
    more = {
        "PYTHONPATH": os.path.join(root, project.path),
        "PYTEST_ADDOPTS": shlex.join(["-q", "-p", "no:cacheprovider", *project.tests, *words]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TZ": "UTC",
    }
    sample = run([bench.env.executable, "-m", "pytest"], root, bench.output, more)
    if sample.code:
        raise RuntimeError(f"{project.name} ended with {sample.code}: {bench.output.read_text()[-2000:]}")
    return sample
