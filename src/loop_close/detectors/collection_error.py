"""What keeps pytest from collecting or setting up tests, other than imports and syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_misuse
from loop_close.model import Evidence, Failure, Observation

# pytest-xdist's words, in xdist/report.py.
_DIFFERENT = re.compile(r"Different tests were collected between ")


def detect(observation: Observation) -> Iterator[Evidence]:
    """Errors during collection, fixtures that do not exist, and wrong use of the command line."""
    for failure in observation.failures:
        if _is_collection(failure):
            yield claim("collection-error", failure)


def _is_collection(failure: Failure) -> bool:
    return failure.phase == "collect" or is_misuse(failure) or _is_without_fixture(failure)


def _is_without_fixture(failure: Failure) -> bool:
    return failure.raised is not None and "fixture" in failure.raised.details


def advise(evidence: Evidence) -> str:
    """What is true of a missing fixture, of what workers collected, and of a file that raises."""
    failure = evidence.failure
    if failure is None or is_misuse(failure):
        return ""
    if _is_without_fixture(failure):
        return "A fixture is found in the test's own module and class, in a conftest.py at or above it, or in a plugin."
    if _DIFFERENT.search(failure.message):
        return "Test ids must be the same in every worker: not from the order of a set, the clock or a random value."
    return "Tests that cannot be collected do not run at all, so nothing is known about them yet."


DETECTOR = Detector(
    id="collection-error",
    label="collection error",
    priority=40,
    description="tests that could not be collected: fixture not found, duplicate modules, bad conftest, bad marker",
    hint="Something keeps tests from being collected or set up; what they would show is not known yet.",
    detect=detect,
    advise=advise,
    takes_the_rest=True,
)
