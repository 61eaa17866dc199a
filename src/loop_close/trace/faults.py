"""Errors of ours in a callback, and exceptions that the program raises while a callback runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from types import FrameType, TracebackType


class TakenError(RuntimeError):
    """The program took the tool id that we use."""

    def __init__(self) -> None:
        super().__init__("the program took over our tool id of sys.monitoring")


def is_program_exception(fault: BaseException) -> bool:
    """Whether the program raised the exception inside a callback, as for the time limit of a test.

    A signal handler receives the frame that it interrupts, which shows that the exception is the program's. One that
    another thread injects (``PyThreadState_SetAsyncExc``) has no frame of its own and seems to come from our code.
    Only its type, which our code never raises, shows that it is the program's.
    """
    frames = [*_frames(fault.__traceback__)]
    if any(_received_frame(called, frame) for frame, called in pairwise(frames)):
        return True
    is_ours = _is_own_module(type(fault).__module__) and not isinstance(fault, TimeoutError)
    return not is_ours and bool(frames) and _is_own_module(frames[-1].f_globals.get("__name__"))


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _received_frame(called: FrameType, frame: FrameType) -> bool:
    """Whether a function has the frame as an argument; not a module or a class body, which may hold any frames."""
    arguments = [*called.f_locals.values()] if called.f_code.co_varnames else []
    arguments += [
        each for value in arguments if type(value) is tuple for each in value
    ]  # ``*args`` of the handler
    return any(value is frame for value in arguments)


def _is_own_module(module: object) -> bool:
    """Whether the module belongs to this package or to the standard library."""
    name = str(module).partition(".")[0]
    return name == "loop_close" or name in sys.stdlib_module_names
