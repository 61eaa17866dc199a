"""Imports that fail: a module that is not there, a name it lacks, a circle."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_a
from loop_close.model import Evidence, Observation


def detect(observation: Observation) -> Iterator[Evidence]:
    """ImportError and ModuleNotFoundError, wherever they were raised."""
    for failure in observation.failures:
        if is_a(failure.raised, "ImportError"):
            yield claim("missing-module", failure)


DETECTOR = Detector(
    id="missing-module",
    label="missing module",
    priority=30,
    description="an import that fails: no such module, no such name in it, or a circular import",
    hint="Either the name in the import is wrong or moved, or a dependency is declared nowhere and not installed. "
    "For a partially initialized module, two modules import each other while loading.",
    detect=detect,
)
