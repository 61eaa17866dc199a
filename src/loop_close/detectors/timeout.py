"""Tests that took too long, by pytest-timeout or by a limit in the code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_a
from loop_close.model import Evidence, Observation, Raised

# pytest-timeout 2.x with the signal method: pytest.fail("Timeout (>1.0s) from pytest-timeout.")
_PYTEST_TIMEOUT = re.compile(r"\ATimeout \(?>")
_NAMES = re.compile(r"Time(?:d)?Out(?:Error|Expired|Exception)?\Z", re.IGNORECASE)


def detect(observation: Observation) -> Iterator[Evidence]:
    """Failures by an exception that is a timeout by its name, or by pytest-timeout."""
    for failure in observation.failures:
        if _is_timeout(failure.raised):
            yield claim("timeout", failure)


def _is_timeout(raised: Raised | None) -> bool:
    if raised is None:
        return False
    by_plugin = is_a(raised, "Failed") and bool(_PYTEST_TIMEOUT.match(raised.message))
    return by_plugin or any(_NAMES.search(name) for name in (raised.type, *raised.bases))


DETECTOR = Detector(
    id="timeout",
    label="timeout",
    priority=90,
    description="a test or a call in it that ran into a time limit",
    hint="The frame shown is where the time limit was reached. A loop that does not end, a lock that is not released, "
    "a queue that stays empty, a network or subprocess that does not answer are the usual reasons.",
    detect=detect,
)
