"""Faults of pytest itself or of its plugins: the run as a whole broke."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_misuse
from loop_close.model import Evidence, Observation


def detect(observation: Observation) -> Iterator[Evidence]:
    """Failures of the session that are no misuse of the command line."""
    for failure in observation.failures:
        if failure.phase == "session" and not is_misuse(failure):
            yield claim("internal-error", failure)


DETECTOR = Detector(
    id="internal-error",
    label="internal error",
    priority=10,
    description="pytest or one of its plugins broke, so that the run says little about the tests",
    hint="An internal error comes from a plugin, a conftest hook or pytest itself, not from a test. "
    "The innermost frame in the project's own conftest or plugin code is the usual place.",
    detect=detect,
)
