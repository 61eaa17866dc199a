"""Tell faults of ours from exceptions that the program raised while we were at work: by a signal, from a thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from types import FrameType, TracebackType

from loop_close.monitor.codes import is_function


def is_of_program(fault: BaseException) -> bool:
    """Whether it is none of ours to keep, as that of a test's time limit.

    Python calls a signal handler with the frame that it interrupts. What another thread throws in
    (``PyThreadState_SetAsyncExc``) has no frame of its own: it comes out of ours, and is of a kind that we never raise.
    """
    frames = [*_frames(fault.__traceback__)]
    if any(_was_handed(called, frame) for frame, called in pairwise(frames)):
        return True
    return not _is_our_kind(type(fault)) and all(
        _is_ours(each.f_globals.get("__name__")) for each in frames[-1:]
    )


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _was_handed(called: FrameType, frame: FrameType) -> bool:
    if not is_function(called.f_code):  # its names may be kept by anything
        return False
    values = [*called.f_locals.values()]
    inner = [each for value in values if type(value) is tuple for each in value]  # of ``*arguments``
    return any(value is frame for value in (*values, *inner))


def _is_our_kind(kind: type[BaseException]) -> bool:
    return _is_ours(kind.__module__) and not issubclass(kind, TimeoutError)


def _is_ours(module: object) -> bool:
    """Whether a module is of this package, or of Python."""
    name = str(module).partition(".")[0]
    return name == "loop_close" or name in sys.stdlib_module_names
