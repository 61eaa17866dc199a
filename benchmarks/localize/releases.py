"""Several releases of a project, one after the other: their digests, and what is red in each without any fault."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.localize.projects import BY_NAME, Project

TABLE = Path(__file__).with_name("releases.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """The releases of a project whose tests run, oldest first.

    :ivar plan: what they have in common; its version and digest are those of the mutated release, or empty.
    :ivar half: to which all faults of the project belong; empty until it is dealt.
    """

    plan: Project
    half: str
    releases: tuple[Project, ...] = ()

    @property
    def of(self) -> Mapping[str, Project]:
        """By version."""
        return {release.version: release for release in self.releases}

    @property
    def pairs(self) -> list[tuple[Project, Project]]:
        """Each release with the one after it."""
        return list(pairwise(self.releases))


def load(path: Path = TABLE) -> dict[str, Series]:
    """All projects, by name."""
    items = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: _series(name, item) for name, item in items.items()}


def _series(name: str, item: Mapping[str, Any]) -> Series:
    common = {key: tuple(each) if isinstance(each, list) else each for key, each in item["plan"].items()}
    plan = replace(_base(name), **common)
    releases = tuple(
        replace(plan, version=version, sha256=digest, deselect=tuple(deselect))
        for version, digest, *deselect in item["releases"]
    )
    return Series(plan=plan, half=item["half"], releases=releases)


def save(table: Mapping[str, Series], path: Path = TABLE) -> None:
    """Write the table, a line a release."""
    parts = []
    for name, series in table.items():
        head = json.dumps({"half": series.half, "plan": _plan(series.plan)})
        rows = [f"  {json.dumps([r.version, r.sha256, *r.deselect])}" for r in series.releases]
        parts.append(f'{json.dumps(name)}: {head[:-1]}, "releases": [\n' + ",\n".join(rows) + "\n]}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _base(name: str) -> Project:
    """What is known of a project without the table: all, where mutations are made of it."""
    return BY_NAME.get(name) or Project(name=name, version="", sha256="", sources="", tests=())


def _plan(plan: Project) -> dict[str, Any]:
    """What the table has to say of a project beyond that."""
    base = _base(plan.name)
    names = ("sources", "path", "tests", "requires")
    return {name: getattr(plan, name) for name in names if getattr(plan, name) != getattr(base, name)}


def dealt(table: Mapping[str, Series]) -> dict[str, Series]:
    """The table with a half for each project that has none.

    The rules were tuned on those of the mutations. The others are dealt out in turns, by a digest of their names.
    """
    new = [name for name, series in table.items() if not series.half]
    others = sorted((name for name in new if name not in BY_NAME), key=_digest)
    halves = {name: ("report", "tune")[number % 2] for number, name in enumerate(others)}
    return {
        name: replace(series, half=series.half or halves.get(name, "tune")) for name, series in table.items()
    }


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def plans(names: Iterable[str]) -> list[Series]:
    """Those of the table, by their names."""
    return [RELEASES[name] for name in names]


RELEASES = load()
