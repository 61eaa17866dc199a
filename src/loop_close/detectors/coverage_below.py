"""Coverage below the limit that the project sets itself."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.model import Evidence, Observation


def detect(observation: Observation) -> Iterator[Evidence]:
    """What coverage or pytest-cov said of a total below ``fail_under``."""
    for failure in observation.failures:
        if failure.phase == "check" and (failure.tool, failure.code) == ("coverage", "fail-under"):
            yield claim("coverage-below", failure)


DETECTOR = Detector(
    id="coverage-below",
    label="coverage shortfall",
    priority=120,
    description="coverage below the limit that the project sets (fail_under)",
    hint="The tests pass, but too little code runs in them: tests are missing for the lines that the coverage "
    "report lists as missed. The limit itself is the project's decision.",
    detect=detect,
)
