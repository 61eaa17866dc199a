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
    hint="For a wrong value, the place to look is the function that made it, not the test that compared it. "
    "A fixture that fails takes every test with it that uses it.",
    detect=detect,
    takes_the_rest=True,
)
