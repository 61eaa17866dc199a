"""FIXME comments in code that a failure reaches."""

from __future__ import annotations

from loop_close.detectors.contract import Detector
from loop_close.detectors.markers import comment_marker

detect = comment_marker("fixme-marker", "FIXME")

DETECTOR = Detector(
    id="fixme-marker",
    label="FIXME comment",
    priority=150,
    description="a FIXME comment in a function that a failure reaches",
    hint="A function on the way to the failure says itself that it is known to be wrong.",
    detect=detect,
)
