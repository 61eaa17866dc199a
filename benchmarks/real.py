"""The green suites of projects from PyPI, whole: runs by turns of pytest alone and with what records each test."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.localize.fetch import copied, default_cache
from benchmarks.localize.measure import lacking
from benchmarks.localize.projects import BY_NAME, Project
from benchmarks.measure import Sample, fastest, run
from benchmarks.rows import Bench, Row

_TRACKED, _COVERAGE, _TESTMON = "tracked", "coverage contexts", "testmon"
_LOOP_CLOSE = ["-p", "loop_close", "--loop-close", "--loop-close-history=off"]


def _words(project: Project) -> dict[str, list[str]]:
    """The options of each that records which tests run what."""
    contexts = ["-p", "pytest_cov.plugin", f"--cov={project.sources}", "--cov-context=test", "--cov-report="]
    return {
        "": [],
        _TRACKED: _LOOP_CLOSE,
        _COVERAGE: contexts,
        _TESTMON: ["-p", "testmon.pytest_testmon", "--testmon"],
    }


#: Ten suites of five seconds of CPU and more, and three shorter ones.
PROJECTS = (
    Project(
        name="attrs",
        version="26.1.0",
        sha256="d03ceb89cb322a8fd706d4fb91940737b6642aa36998fe130a9bc96c985eff32",
        sources="src/attr",
        path="src",
        tests=("tests",),
        requires=("hypothesis", "cloudpickle"),
    ),
    Project(
        name="babel",
        version="2.18.0",
        sha256="b80b99a14bd085fcacfa15c9165f651fbb3406e66cc603abf11c5750937c992d",
        sources="babel",
        tests=("tests",),
        requires=("freezegun", "pytz"),
    ),
    Project(
        name="click",
        version="8.5.1",
        sha256="9bbfada76703fd1d784b83eea012e3e8c6a001a876543ef104fa56aaaeb072b4",
        sources="src/click",
        path="src",
        tests=("tests",),
    ),
    Project(
        name="h2",
        version="4.4.1",
        sha256="4e866ffb1a869ae14dd9b5e6beb5c24a13da0495ad72b65925ded182521c1516",
        sources="src/h2",
        path="src",
        tests=("tests", "-p", "hypothesispytest"),
        requires=("hypothesis", "hpack", "hyperframe"),
    ),
    Project(
        name="lark",
        version="1.3.1",
        sha256="b426a7a6d6d53189d318f2b6236ab5d6429eaf09259f1ca33eb716eed10d2905",
        sources="lark",
        tests=("tests",),
    ),
    replace(BY_NAME["more-itertools"], tests=("tests/test_more.py",)),
    Project(
        name="networkx",
        version="3.7",
        sha256="fd77a511bd90f39f3d016351345b52cf5319b813bdca01de3f755d3cca62e96a",
        sources="networkx",
        tests=("networkx/classes", "networkx/readwrite"),
    ),
    Project(
        name="parso",
        version="0.8.7",
        sha256="eaaac4c9fdd5e9e8852dc778d2d7405897ec510f2a298071453e5e3a07914bb1",
        sources="parso",
        tests=("test",),
    ),
    replace(
        BY_NAME["pyparsing"],
        tests=(
            *BY_NAME["pyparsing"].tests[:3],
            *("-k", "not testUpcaseDowncaseUnicode and not andom and not Packrat"),
        ),
    ),
    Project(
        name="werkzeug",
        version="3.1.9",
        sha256="55ca7c70a75689be937aa27f8ff4b018f06ff4838fc73045560bf0f5a1291060",
        sources="src/werkzeug",
        path="src",
        tests=(
            *("tests", "--ignore=tests/test_serving.py", "--ignore=tests/test_debug.py"),
            *("-m", "not dev_server"),
        ),
        requires=("markupsafe", "ephemeral-port-reserve", "pytest-timeout"),
    ),
    Project(
        name="boltons",
        version="26.2.0",
        sha256="d39cfd15c1a1c3bd4d705c82252fa9edb8e4f5e8cc039f8e39afac7b1b47e92c",
        sources="boltons",
        tests=("tests",),
    ),
    BY_NAME["sqlparse"],
    BY_NAME["tomlkit"],
)


def real(bench: Bench) -> Iterator[Row]:
    """For each project the CPU time over that of pytest alone, and the same of what others record, which run once."""
    if missing := lacking(bench.env.executable, PROJECTS):
        raise RuntimeError(f"the tests of these projects also need: {' '.join(missing)}")
    for project in PROJECTS:
        root = copied(project, default_cache(), bench.folder)
        words = _words(project)
        _ran(bench, project, root, [])  # writes the bytecode
        found: dict[str, list[Sample]] = {name: [] for name in words}
        for turn in range(bench.rounds):
            for name in words if not turn else ("", _TRACKED):
                found[name].append(_ran(bench, project, root, words[name]))
        seconds = {name: fastest(samples) for name, samples in found.items()}
        base = seconds[""]
        figures = {name: f"x {each / base:.2f}" for name, each in seconds.items()}
        others = ", ".join(f"{name} {figures[name]}" for name in (_COVERAGE, _TESTMON))
        note = f"fastest of {bench.rounds}, {base:.1f} s, {seconds[_TRACKED] - base:+.2f} s; {others}"
        yield Row("real", f"{project.name} {project.version}", figures[_TRACKED], "< x 1.05, or 0.2 s", note)


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
