"""Kept observations judged once more by today's rules: no tests are run, so that it takes seconds."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from benchmarks.localize import ours
from benchmarks.localize.faults import Fault, put
from benchmarks.localize.fetch import copied, tree
from benchmarks.localize.keep import load
from benchmarks.localize.reading import Scene, scene_of
from benchmarks.localize.score import Score, score
from loop_close.files import REPORT
from loop_close.judge import report_of
from loop_close.model import Observation, Report
from loop_close.places import with_source_lines
from loop_close.prompt.compose import compose
from loop_close.prompt.report_json import report_document
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.settings import DEFAULT_BUDGET
from loop_close.syntax import SourceIndex, index_source
from loop_close.syntax.constants import constants_of


def replay(folder: Path, cache: Path, faults: Sequence[Fault]) -> Iterator[Score]:
    """Scores of those faults that have an observation."""
    for fault in faults:
        observation = load(folder, fault.id)
        if observation is None:
            print(f"{fault.id}: nothing was kept", file=sys.stderr)
            continue
        scene = scene_in(fault, cache)
        observation = with_sources(observation, scene)
        began = time.monotonic()
        report = _with_source_lines(report_of(observation), fault, cache)
        prompt = compose(report, DEFAULT_SECTIONS, budget=DEFAULT_BUDGET, full_report=REPORT)
        said = ours.said(scene, report_document(report, ""), prompt)
        yield score(scene, fault, ours.NAME, said, time.monotonic() - began)


def _with_source_lines(report: Report, fault: Fault, cache: Path) -> Report:
    """As a run shows them, from a tree of its own: what is read of files is remembered by their names."""
    with tempfile.TemporaryDirectory(prefix="localize-") as folder:
        root = copied(fault.release, cache, Path(folder))
        with put(fault, root, cache):
            return with_source_lines(report, root)


def with_sources(observation: Observation, scene: Scene) -> Observation:
    """What was observed, with what today's rules find in the sources."""
    if not observation.calls.functions:
        return observation

    @lru_cache
    def index_of(file: str) -> SourceIndex | None:
        try:
            return index_source(scene.resolver.source(file))
        except (OSError, ValueError):
            return None

    calls = observation.calls._replace(constants=constants_of(observation.calls, index_of))
    return replace(observation, calls=calls)


def scene_in(fault: Fault, cache: Path) -> Scene:
    """The tree of the release, with the fault."""
    root = tree(fault.release, cache)
    return scene_of(fault, root, fault.apply((root / fault.file).read_bytes().decode(), cache))
