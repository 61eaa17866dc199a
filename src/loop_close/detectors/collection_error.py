"""What keeps pytest from collecting or setting up tests, other than imports and syntax."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_misuse
from loop_close.model import Evidence, Failure, Observation


def detect(observation: Observation) -> Iterator[Evidence]:
    """Errors during collection, fixtures that do not exist, and wrong use of the command line."""
    for failure in observation.failures:
        if _is_collection(failure):
            yield claim("collection-error", failure)


def _is_collection(failure: Failure) -> bool:
    is_without_fixture = failure.raised is not None and "fixture" in failure.raised.details
    return failure.phase == "collect" or is_misuse(failure) or is_without_fixture


DETECTOR = Detector(
    id="collection-error",
    label="collection error",
    priority=40,
    description="tests that could not be collected: fixture not found, duplicate modules, bad conftest, bad marker",
    hint="Tests that cannot be collected do not run at all, so nothing is known about them yet. "
    "What was raised while the file was read, the name that pytest could not resolve, or what workers collected "
    "differently (the order of a set, a random value) is shown below.",
    detect=detect,
    takes_the_rest=True,
)
