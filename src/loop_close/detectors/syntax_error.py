"""Files of the project that Python cannot parse."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_a, is_about_a_file
from loop_close.model import Evidence, Observation


def detect(observation: Observation) -> Iterator[Evidence]:
    """Syntax errors in files. A test that parses a string of its own and fails is a test failure."""
    for failure in observation.failures:
        if is_a(failure.raised, "SyntaxError") and is_about_a_file(failure.raised):
            yield claim("syntax-error", failure)


DETECTOR = Detector(
    id="syntax-error",
    label="syntax error",
    priority=20,
    description="a source file that Python cannot parse",
    hint="A file that does not parse hides every test that imports it. The fault is on the line shown or just "
    "before it.",
    detect=detect,
)
