"""What pytest says by itself: the tracebacks on the terminal, from where each was raised outwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.localize.reading import Said, Scene, functions, once, places
from benchmarks.localize.run import Ran

NAME = "pytest"
_SECTION = re.compile(r"^_+ .*[^_\s].* _+$", re.MULTILINE)  # one underline a side where the name is long
_RULER = re.compile(r"^={3,} .+ ={3,}$", re.MULTILINE)


def arguments(out: Path) -> list[str]:
    """Nothing: its own defaults."""
    return []


def read(scene: Scene, ran: Ran, out: Path) -> Said:
    """From the output."""
    failures = list(_sections(ran.output))
    named = [name for failure in failures for name in functions(scene, reversed(places(scene, failure)))]
    return Said(text=ran.output, named=once(named), groups=len(failures))


def _sections(output: str) -> Iterator[str]:
    """The text below each heading of a failure, as far as the next heading or part of the output."""
    starts = [found.end() for found in _SECTION.finditer(output)]
    ends = sorted([found.start() for pattern in (_SECTION, _RULER) for found in pattern.finditer(output)])
    for start in starts:
        yield output[start : next((end for end in ends if end > start), len(output))]
