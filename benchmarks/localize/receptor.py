"""What pytest-receptor says with ``--receptor=llm``: numbered groups, each with a place and often its frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.localize.reading import Named, Said, Scene, functions, once, places
from benchmarks.localize.run import Ran

NAME = "pytest-receptor"
MODULE = "pytest_receptor"
_GROUP = re.compile(r"^\[\d+\] ", re.MULTILINE)
_COUNT = re.compile(r"(\d+) root causes?\b")


def arguments(out: Path) -> list[str]:
    """Its form for machines to read."""
    return ["-p", "receptor", "--receptor=llm"]


def read(scene: Scene, ran: Ran, out: Path) -> Said:
    """From the output, which is the plugin's from the first line on."""
    groups = _GROUP.split(ran.output)[1:]
    counted = _COUNT.search(ran.output)
    named = [name for group in groups for name in _of_group(scene, group)]
    return Said(text=ran.output, named=once(named), groups=int(counted[1]) if counted else len(groups))


def _of_group(scene: Scene, group: str) -> Iterator[Named]:
    """The place it names first, then the frames from where it was raised outwards."""
    found = places(scene, group)
    yield from functions(scene, [*found[:1], *reversed(found[1:])])
