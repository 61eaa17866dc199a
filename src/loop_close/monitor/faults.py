"""Tell faults of ours from exceptions that a signal handler of the program raised while we were at work."""

from __future__ import annotations

import signal
from types import CodeType


def is_of_handler(fault: BaseException) -> bool:
    """Whether it came out of a signal handler: of a test's time limit, say, which is none of ours to keep."""
    handlers = {id(code) for code in map(_code_of, map(signal.getsignal, signal.valid_signals())) if code}
    trace = fault.__traceback__
    while trace is not None:
        if id(trace.tb_frame.f_code) in handlers:
            return True
        trace = trace.tb_next
    return False


def _code_of(handler: object) -> CodeType | None:
    code = getattr(getattr(handler, "__func__", handler), "__code__", None)
    return code if isinstance(code, CodeType) else None
