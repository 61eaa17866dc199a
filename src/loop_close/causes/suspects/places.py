"""What the exceptions of root causes tell by themselves: out of which function they came, what they find missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from loop_close.causes.keys import missing_thing
from loop_close.causes.suspects.clues import Name, base_name
from loop_close.facts import innermost, is_a, is_assertion, links
from loop_close.model import Failure, Raised, RootCause

#: A function, and what came out of it: type of exception, statement, what that called.
Place = tuple[Name, tuple[str, str, str]]
# A statement may call many functions, one of which does not take what it is given.
_MISCALLED = re.compile(r"([\w.<>]+)\(\) (?:missing|takes|got) ")


def place_of(cause: RootCause) -> Place | None:
    """Where in the code under test the exception came out, and what it was; None for a test's verdict."""
    raised = _raised(cause)
    frame = innermost(raised)
    if raised is None or frame is None or frame.is_test or is_assertion(raised):
        return None
    statement = raised.site.statement if raised.site is not None else ""
    called = _MISCALLED.match(raised.message)
    return (frame.file, base_name(frame.function)), (raised.type, statement, called[1] if called else "")


def handlers(failures: Sequence[Failure]) -> set[Name]:
    """Functions that raised another exception over one, or one again: they run so whatever is wrong."""
    chains = [list(links(failure.raised)) for failure in failures]
    frames = [frame for chain in chains for link in chain[:-1] if (frame := innermost(link)) is not None]
    return {(frame.file, base_name(frame.function)) for frame in frames} | handing_on(failures)


def handing_on(failures: Iterable[Failure]) -> set[Name]:
    """Functions that are on tracebacks only as they raised what they were given."""
    frames = [frame for failure in failures for link in links(failure.raised) for frame in link.frames]
    others = {(f.file, base_name(f.function)) for f in frames if not f.is_handing_on}
    return {(f.file, base_name(f.function)) for f in frames if f.is_handing_on} - others


def is_named(cause: RootCause) -> bool:
    """Whether it is told by the name of what is missing, or by no exception at all: such causes are one by that alone.

    An attribute is another matter: one fault may take several from an object.
    """
    raised = _raised(cause)
    return raised is None or (missing_thing(raised) is not None and not is_a(raised, "AttributeError"))


def _raised(cause: RootCause) -> Raised | None:
    failure = cause.evidence[0].failure
    return failure.raised if failure is not None else None
