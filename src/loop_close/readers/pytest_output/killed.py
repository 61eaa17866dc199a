"""Read what pytest-timeout leaves behind when it ends the whole process (``timeout_method=thread``)."""

from __future__ import annotations

import re

from loop_close.model import Failure
from loop_close.readers.printed import raised_in

_RULER = re.compile(r" Timeout \+{5,80}(?=\n)")
_STACK = re.compile(r"\n~+ Stack of MainThread [^\n]{1,60} ~+\n(?P<frames>(?:  [^\n]*\n)++)")
_LIMIT = re.compile(r"\ntimeout: (?P<seconds>[\d.]{1,20})s")
_RUNNING = re.compile(r"\n(?P<id>[^\s\n][^\n]{0,2000}?) ?\Z")


def timed_out(text: str, start: int, end: int, root: str = "") -> tuple[Failure, int] | None:
    """The test that ran when its time was over, and where the dump of the stacks ends."""
    first = _RULER.search(text, start, end)
    stack = _STACK.search(text, first.end(), end) if first is not None else None
    if first is None or stack is None:
        return None
    limit = _LIMIT.search(text, start, first.start())
    said = f"Failed: Timeout (>{limit['seconds'] + 's' if limit else 'its limit'}) from pytest-timeout."
    raised = raised_in(f"Traceback (most recent call last):\n{stack['frames']}{said}\n", root)
    if raised is None:
        return None
    test = next((f for f in raised.frames if f.is_test), None)
    begun = _RUNNING.search(text, max(start, first.start() - 2_000), first.start())
    nodeid = begun["id"] if begun and "::" in begun["id"] else ""
    if not nodeid and test is not None:
        nodeid = f"{test.file}::{test.function}"
    if not nodeid:
        return None
    failure = Failure(
        nodeid=nodeid, phase="call", message=raised.message, file=nodeid.partition("::")[0], raised=raised
    )
    last = _RULER.search(text, stack.end(), end)
    return failure, last.end() if last is not None else stack.end()
