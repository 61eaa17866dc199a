"""Comments that mark work left to do, found in code that a failure reaches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from loop_close.facts import reached
from loop_close.model import Evidence, Observation


def comment_marker(kind: str, word: str) -> Callable[[Observation], Iterator[Evidence]]:
    """A detector function for comments such as ``# TODO: …`` or ``# TODO(name) …``."""
    pattern = re.compile(rf"#[^#\n]{{0,80}}?\b{word}\b(?:\([^)\n]{{0,40}}\))?:?.*")

    def detect(observation: Observation) -> Iterator[Evidence]:
        seen: set[tuple[str, int]] = set()
        for failure in observation.failures:
            for file, function, source in reached(failure):
                for line, text in enumerate(source.lines, source.start):
                    found = pattern.search(text) if word in text else None
                    if found and (file, line) not in seen:
                        seen.add((file, line))
                        yield Evidence(kind=kind, snippet=found.group(), label=function, file=file, line=line)

    return detect
