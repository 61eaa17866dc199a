"""Tests that failed in setup, call or teardown, with nothing more special to say."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_about_no_exception, is_assertion
from loop_close.model import Evidence, Observation


def detect(observation: Observation) -> Iterator[Evidence]:
    """Every failing phase of a test; a detector that knows better takes it over."""
    for failure in observation.failures:
        if failure.phase in ("setup", "call", "teardown"):
            yield claim("test-failure", failure)


def advise(evidence: Evidence) -> str:
    """Where to mend a wrong value, for failures that compare one which the code under test made."""
    raised = evidence.failure.raised if evidence.failure is not None else None
    is_compared = is_assertion(raised) and not is_about_no_exception(raised)
    is_made = (
        raised is not None and raised.site is not None and any(not o.is_test for o in raised.site.origins)
    )
    return HINT if is_compared and is_made else ""


HINT = "A wrong value is put right in the function that made it, not in the test that compared it."
DETECTOR = Detector(
    id="test-failure",
    label="test failure",
    priority=60,
    description="a test that failed in setup, call or teardown",
    hint=HINT,
    detect=detect,
    advise=advise,
    takes_the_rest=True,
)
