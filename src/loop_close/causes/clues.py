"""What the failures of one cause say of functions: tracebacks, checked values, edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loop_close.causes.edits import EditBefore, edited_before, written_name
from loop_close.facts import (
    TEST_PHASES,
    Name,
    base_name,
    innermost,
    is_assertion,
    is_raising,
    leaves,
    links,
    origins,
)
from loop_close.model import Failure, Frame, Raised
from loop_close.records import Loop
from loop_close.syntax.meaning import MODULE


@dataclass(slots=True)
class Clue:
    """What the failures say of one function; shares are of the failures of the cause, from 0 to 1.

    :ivar line: its first line, ``at`` the line that ran; 0 if unknown.
    :ivar raised: an exception was raised in it by something that failed there; ``refused``: by a ``raise`` of its own.
    :ivar framed: it is on the traceback; more, the nearer to the exception.
    :ivar judged: the failing statement uses what it returned.
    :ivar edit: the last edit of it before the failures began; ``edited``: of how many of them.
    """

    line: int = 0
    at: int = 0
    raised: float = 0.0
    refused: float = 0.0
    framed: float = 0.0
    judged: float = 0.0
    edit: EditBefore | None = None
    edited: float = 0.0


def clues(failures: Sequence[Failure], loop: Loop | None = None) -> dict[Name, Clue]:
    """What the failures of one cause say, by function.

    :param loop: the runs since the project was last done, this run included.
    """
    found: dict[Name, Clue] = {}
    for failure in failures:
        for raised in links(failure.raised):
            for each in (raised, *leaves(raised)):
                _from_frames(failure, each, found, 1 / len(failures))
        _from_origins(failure, found, 1 / len(failures))
    for name, edit in (edited_before(failures, loop) if loop is not None else {}).items():
        clue = found.setdefault(name, Clue())
        clue.edit, clue.edited = edit, edit.began / len(failures)
    return found


def _from_frames(failure: Failure, raised: Raised, found: dict[Name, Clue], share: float) -> None:
    last = innermost(raised)
    seen: set[Name] = set()
    for depth, frame in enumerate(_candidates(failure, raised)):
        name = frame.file, base_name(frame.function)
        clue = found.setdefault(name, Clue())
        clue.at = clue.at or frame.line
        # What is shown of a lambda outside of functions begins above it.
        if frame.source is not None and not name[1].endswith(">"):
            clue.line = clue.line or frame.source.start
        if name not in seen:
            seen.add(name)
            clue.framed += share / (1 + depth)
            if frame == last and raised is failure.raised:
                clue.refused += share * is_raising(frame)
                clue.raised += share * (not is_raising(frame))


def _candidates(failure: Failure, raised: Raised) -> list[Frame]:
    """The frames that may hold the fault, the innermost first, those that only hand the exception on last.

    Of test code that is where the exception of a running test was raised, such as in a fixture: neither the test itself
    nor what says that it fails.
    """
    last = innermost(raised)
    is_function = last is not None and last.function not in (written_name(failure), MODULE)
    is_counted = is_function and failure.phase in TEST_PHASES and not is_assertion(raised)
    frames = [f for f in reversed(raised.frames) if not f.is_test or (f == last and is_counted)]
    return sorted(frames, key=lambda frame: frame.is_handing_on)


def _from_origins(failure: Failure, found: dict[Name, Clue], share: float) -> None:
    names = {(o.file, base_name(o.function)): o for o in origins(failure) if o.file and not o.is_test}
    for name, origin in names.items():
        clue = found.setdefault(name, Clue())
        clue.line = clue.line or origin.line
        clue.judged += share
