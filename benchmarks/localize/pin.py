"""Pinning the releases of projects: the newest of them whose own tests run here, twice with the same outcome."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from benchmarks.localize.fetch import copied, digest, fetched, tree
from benchmarks.localize.projects import Project
from benchmarks.localize.releases import Series
from benchmarks.localize.trial import Choice, say, witnessed

MOST = 8  # releases a project, of the newest ones
_LEAST = 2
_SLOWEST = 40.0  # seconds for the tests, on a machine that does something else as well
_RED = 10  # tests or files that may be left out
_FINAL = re.compile(r"\d+(\.\d+)*(\.post\d+)?")
_PASSED = re.compile(r"(\d+) passed")


def pin(choice: Choice, table: Sequence[Series]) -> Iterator[Series]:
    """Projects with the releases that will do; without any where they are too few."""
    with ThreadPoolExecutor(choice.jobs) as pool:
        for done in as_completed([pool.submit(_pinned, choice, series) for series in table]):
            yield done.result()


def _pinned(choice: Choice, series: Series) -> Series:
    found: list[Project] = []
    for version in _versions(series.plan.name)[:MOST]:
        release, why = _checked(choice, replace(series.plan, version=version))
        say(f"{series.plan.name} {version}: {why or 'good'}")
        found += [release] if release is not None else []
    return replace(series, releases=tuple(reversed(found)) if len(found) >= _LEAST else ())


def _versions(name: str) -> list[str]:
    """Final releases, the newest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", name]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    listed = re.search(r"^Available versions: (.*)$", said, re.MULTILINE)
    return [v for v in (listed[1].split(", ") if listed else ()) if _FINAL.fullmatch(v)]


def _checked(choice: Choice, release: Project) -> tuple[Project | None, str]:
    """The release with its digest and the tests to leave out; None where it will not do, and why."""
    try:
        release = replace(release, sha256=digest(fetched(release, choice.cache)))
        root = tree(release, choice.cache)
    except (subprocess.CalledProcessError, ValueError, OSError):
        return None, "no sdist, or none that can be unpacked"
    wanted = [release.sources, *(one.split("::")[0] for one in release.tests if not one.startswith("-"))]
    if not all(
        (root / path).exists() for path in wanted if "/" in path or path in (release.sources, "tests")
    ):
        return None, "other folders"
    with tempfile.TemporaryDirectory(prefix="localize-") as folder:
        root = copied(release, choice.cache, Path(folder))
        runs = [witnessed(release, root, choice.python, _SLOWEST, {}) for _ in range(2)]
        red = sorted({test for _, found in runs for test in found["failed"]})
        if any(ran.code not in (0, 1, 2) for ran, _ in runs) or len(red) > _RED:
            return None, f"{len(red)} are red, or it takes too long"
        release = replace(release, deselect=tuple(red))
        if red:
            runs = [witnessed(release, root, choice.python, _SLOWEST, {}) for _ in range(2)]
    counts = {found[1] for ran, _ in runs if (found := _PASSED.search(ran.output))}
    if any(ran.code != 0 for ran, _ in runs) or len(counts) != 1:
        return None, "not green twice with the same tests"
    return release, ""
