"""Where the program was: what no other detector knows of a process, and the frames of the first failure."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector, claim
from loop_close.model import Evidence, Observation

MAX_FRAMES = 3


def detect(observation: Observation) -> Iterator[Evidence]:
    """At most three frames, innermost first, and the failures of processes.

    On exit code 0 only what a tool's summary says of the processes it ran. A finding of a checker has no frames: it
    names a place in a file that did not run.
    """
    for failure in observation.failures:
        if failure.phase == "process" and (observation.exit_code != 0 or failure.tool):
            yield claim("stack-trace", failure)
    if not observation.exit_code:
        return
    ran = (f for f in observation.failures if f.phase != "check")
    first = next((f for f in ran if f.raised is not None and f.raised.frames), None)
    frames = first.raised.frames if first is not None and first.raised is not None else ()
    is_claimed = first is not None and first.phase == "process"  # and with it its innermost frame
    for frame in frames[: -MAX_FRAMES - 1 : -1][1 if is_claimed else 0 :]:
        yield Evidence(
            kind="stack-trace", snippet=frame.function, label=frame.function, file=frame.file, line=frame.line
        )


DETECTOR = Detector(
    id="stack-trace",
    label="process failure",
    priority=160,
    description="the three innermost project frames of the first failure, on a non-zero exit",
    hint="A program ended on an error of its own. The message says what it could not do; the frames, where there "
    "are any, where it was.",
    detect=detect,
    takes_the_rest=True,
)
