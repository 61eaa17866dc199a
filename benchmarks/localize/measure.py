"""Every tool on every fault: put it in, run the tests, read and score what is said."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from benchmarks.localize import bare, ours, receptor
from benchmarks.localize.faults import Fault, put
from benchmarks.localize.fetch import copied
from benchmarks.localize.projects import Project
from benchmarks.localize.reading import Scene, scene_of
from benchmarks.localize.run import run
from benchmarks.localize.score import Score, score

TOOLS: Mapping[str, ModuleType] = {tool.NAME: tool for tool in (ours, bare, receptor)}
_TIMEOUT = 180.0
_LACKING = """\
import sys
from importlib.metadata import distributions
known = {each.name.lower().replace("_", "-") for each in distributions()}
print(*(name for name in sys.argv[1:] if name.replace("_", "-") not in known))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """What to measure with.

    :ivar tools: names of tools, from :data:`TOOLS`.
    :ivar peer_python: the interpreter that runs the peer.
    :ivar keep: a folder for what loop-close observed, a file a fault.
    """

    cache: Path
    tools: Sequence[str]
    python: str = sys.executable
    peer_python: str = sys.executable
    jobs: int = 2
    keep: Path | None = None


def installed(python: str) -> bool:
    """Whether an interpreter has the peer."""
    found = subprocess.run([python, "-c", f"import {receptor.MODULE}"], capture_output=True, check=False)
    return found.returncode == 0


def lacking(python: str, projects: Iterable[Project]) -> list[str]:
    """What the tests of projects need and an interpreter does not have: without it their faults would not be seen."""
    wanted = sorted({name for project in projects for name in project.requires})
    found = subprocess.run([python, "-c", _LACKING, *wanted], capture_output=True, text=True, check=True)
    return found.stdout.split()


def measure(bench: Bench, faults: Sequence[Fault]) -> Iterator[Score]:
    """Scores in the order of the faults, those of one fault side by side."""
    with ThreadPoolExecutor(bench.jobs) as pool:
        for scores in pool.map(lambda part: _of_project(bench, part), _parts(faults, bench.jobs)):
            yield from scores


def _parts(faults: Sequence[Fault], jobs: int) -> list[list[Fault]]:
    """Each release's faults, in as many parts as there are jobs: each part works in a tree of its own."""
    groups: dict[tuple[str, int], list[Fault]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for fault in faults:
        name = fault.release.folder
        groups[name, counts[name] % jobs].append(fault)
        counts[name] += 1
    return list(groups.values())


def _of_project(bench: Bench, faults: Sequence[Fault]) -> list[Score]:
    with tempfile.TemporaryDirectory(prefix="localize-") as folder:
        root = copied(faults[0].release, bench.cache, Path(folder))
        scores = []
        for fault in faults:
            with put(fault, root, bench.cache) as changed:
                scene = scene_of(fault, root, changed)
                scores += [_of_tool(bench, scene, fault, name) for name in bench.tools]
        return scores


def _of_tool(bench: Bench, scene: Scene, fault: Fault, name: str) -> Score:
    tool = TOOLS[name]
    python = bench.peer_python if tool is receptor else bench.python
    with tempfile.TemporaryDirectory(prefix="localize-") as folder:
        arguments, more = tool.arguments(Path(folder)), {}
        if tool is ours and bench.keep is not None:
            arguments += ["-p", "benchmarks.localize.keep"]
            more["LOCALIZE_KEEP"] = str(bench.keep.resolve() / f"{fault.id}.pickle")
        ran = run(
            scene.project,
            scene.root,
            arguments,
            timeout=_TIMEOUT,
            python=python,
            more=more,
            by_environment=tool is ours,
        )
        if ran.code not in (1, 2):
            print(f"{fault.id}: {name} ended with {ran.code}", file=sys.stderr, flush=True)
        result = score(scene, fault, name, tool.read(scene, ran, Path(folder)), ran.seconds)
    print(f"{fault.id}: {name}: {result.rank or '-'} of {result.named}", file=sys.stderr, flush=True)
    return result
