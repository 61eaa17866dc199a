"""What type checkers find."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.model import Evidence, Observation

_TOOLS = frozenset(("mypy", "pyright", "ty", "pyrefly"))


def detect(observation: Observation) -> Iterator[Evidence]:
    """Findings of a checker that is a type checker."""
    for failure in observation.failures:
        if failure.phase == "check" and failure.tool in _TOOLS:
            yield claim("typecheck-error", failure)


DETECTOR = Detector(
    id="typecheck-error",
    label="type error",
    priority=50,
    description="an error that mypy, Pyright, ty or Pyrefly reports",
    hint="Where many calls fail alike, the signature or annotation that they share is the likelier place. A cast or an "
    "ignore comment only hides the error.",
    detect=detect,
)
