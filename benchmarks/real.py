"""The green suites of ten projects from PyPI, whole: pairs of runs with ``--loop-close`` and without it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.localize.fetch import copied, default_cache
from benchmarks.localize.measure import lacking
from benchmarks.localize.projects import BY_NAME, Project
from benchmarks.measure import Sample, cpu, ratio, run
from benchmarks.rows import Bench, Row

_TRACKED, _AGAIN, _OFF = "tracked", "again", "no tracking"
_WORDS = {
    _TRACKED: ["--loop-close-history=off"],  # as after an edit: no run is known to be one of the same files
    _AGAIN: [],
    _OFF: ["--loop-close-suspects=off"],
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
    """For each project the CPU time over that of pytest alone: tracked, of unchanged files, and without tracking."""
    if missing := lacking(bench.env.executable, PROJECTS):
        raise RuntimeError(f"the tests of these projects also need: {' '.join(missing)}")
    for project in PROJECTS:
        root = copied(project, default_cache(), bench.folder)
        found: dict[str, list[Sample]] = {"": [], **{name: [] for name in _WORDS}}
        for turn in range(bench.rounds + 1):
            for name, samples in found.items():
                sample = _ran(bench, project, root, name)
                samples += [sample] if turn else []  # the first round writes the bytecode
        base = found[""]
        note = (
            f"{bench.rounds} pairs of {cpu(base):.1f} s; once more with unchanged files {ratio(found[_AGAIN], base)},"
            f" without call tracking {ratio(found[_OFF], base)}"
        )
        figure = str(ratio(found[_TRACKED], base))
        yield Row("real", f"{project.name} {project.version}", figure, "< x 1.05", note)


def _ran(bench: Bench, project: Project, root: Path, name: str) -> Sample:
    words = ["-q", "-p", "no:cacheprovider", *project.tests]
    if name:
        words += [
            "-p",
            "loop_close",
            "--loop-close",
            *_WORDS[name],
        ]
    more = {
        "PYTHONPATH": os.path.join(root, project.path),
        "PYTEST_ADDOPTS": shlex.join(words),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TZ": "UTC",
    }
    sample = run([bench.env.executable, "-m", "pytest"], root, bench.output, more)
    if sample.code:
        raise RuntimeError(f"{project.name} ended with {sample.code}: {bench.output.read_text()[-2000:]}")
    return sample
