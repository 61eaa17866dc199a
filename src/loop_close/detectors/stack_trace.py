"""The innermost project frames of the first failure, for readers that know only evidence."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector
from loop_close.model import Evidence, Observation

MAX_FRAMES = 3


def detect(observation: Observation) -> Iterator[Evidence]:
    """At most three frames, innermost first, and none on exit code 0."""
    if not observation.exit_code:
        return
    first = next((f for f in observation.failures if f.raised is not None and f.raised.frames), None)
    frames = first.raised.frames if first is not None and first.raised is not None else ()
    for frame in frames[: -MAX_FRAMES - 1 : -1]:
        yield Evidence(
            kind="stack-trace", snippet=frame.function, label=frame.function, file=frame.file, line=frame.line
        )


DETECTOR = Detector(
    id="stack-trace",
    label="stack frame",
    priority=160,
    description="the three innermost project frames of the first failure, on a non-zero exit",
    hint="The frames show where the program was when it failed.",
    detect=detect,
)
