"""TODO comments in code that a failure reaches."""

from __future__ import annotations

from loop_close.detectors.contract import Detector
from loop_close.detectors.markers import comment_marker

detect = comment_marker("todo-marker", "TODO")

DETECTOR = Detector(
    id="todo-marker",
    label="TODO comment",
    priority=140,
    description="a TODO comment in a function that a failure reaches",
    hint="A function on the way to the failure says itself that it is not finished.",
    detect=detect,
)
