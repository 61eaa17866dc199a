"""Code that says itself that it is not there yet."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_a
from loop_close.model import Evidence, Observation


def detect(observation: Observation) -> Iterator[Evidence]:
    """Tests that ended in NotImplementedError."""
    for failure in observation.failures:
        if is_a(failure.raised, "NotImplementedError"):
            yield claim("not-implemented", failure)


DETECTOR = Detector(
    id="not-implemented",
    label="unimplemented function",
    priority=70,
    description="a call that ended in NotImplementedError",
    hint="The function shown raises NotImplementedError: its body has to be written. "
    "For an abstract method, the subclass in use lacks its own version.",
    detect=detect,
)
