"""Tests that failed in setup, call or teardown, with nothing more special to say."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.model import Evidence, Observation


def detect(observation: Observation) -> Iterator[Evidence]:
    """Every failing phase of a test; a detector that knows better takes it over."""
    for failure in observation.failures:
        if failure.phase in ("setup", "call", "teardown"):
            yield claim("test-failure", failure)


DETECTOR = Detector(
    id="test-failure",
    label="test failure",
    priority=60,
    description="a test that failed in setup, call or teardown",
    hint="A wrong value is put right in the function that made it, not in the test that compared it.",
    detect=detect,
    takes_the_rest=True,
)
