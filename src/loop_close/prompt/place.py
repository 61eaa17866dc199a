"""Where to look first for a root cause: the likeliest suspect and the line that counts, else the failure's location."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loop_close.causes.clues import base_name
from loop_close.facts import is_environment, place
from loop_close.memory import Progress
from loop_close.model import Failure, Frame, Raised, RootCause, Suspect
from loop_close.prompt.show import plain
from loop_close.syntax.index import edited_at
from loop_close.syntax.meaning import MODULE

#: From this probability on a place is called probable, below it possible.
PROBABLE = 0.5
#: Below this one no place is clear.
POSSIBLE = 0.25


def representative(cause: RootCause) -> Failure:
    """The failure that is shown for all of them."""
    failure = cause.evidence[0].failure
    assert failure is not None
    return failure


def name_of(cause: RootCause) -> str:
    """What kind of thing went wrong: the exception's type, a checker and its rule, else the detector's kind."""
    failure = representative(cause)
    if failure.phase == "check" or is_environment(failure):
        return f"{failure.tool} {failure.code}".strip() or cause.kind
    return failure.raised.type if failure.raised is not None else cause.kind


@dataclass(frozen=True, slots=True)
class ProbablePlace:
    """Where to look first for a root cause.

    :ivar function: the qualified name; empty where none is known.
    :ivar score: the probability from 0 to 1 of a suspect; None for the location of the failure.
    :ivar start: the line in which the function of a suspect begins, 0 where that is not known.
    :ivar mark: the line that counts, 0 for none.
    :ivar why: why that line counts: ``raised``, ``odd`` (it sets failing tests apart), ``edited``; empty for others.
    """

    file: str
    line: int
    function: str
    score: float | None = None
    start: int = 0
    mark: int = 0
    why: str = ""

    @property
    def where(self) -> str:
        """``file:line``, or the file alone."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def source_key(self) -> tuple[str, str, int]:
        """What is equal for places whose source is the same; two functions of a file may have one name."""
        return self.file, self.function, self.start

    @property
    def called(self) -> str:
        """``cost()``; empty for code outside of functions."""
        return f"{self.function}()" if self.function and self.function != MODULE else ""


def place_of(cause: RootCause, progress: Progress | None = None) -> ProbablePlace:
    """The likeliest suspect, at the line that counts; the failure's own location where nothing is likely."""
    if cause.suspects:
        first = cause.suspects[0]
        line, why = _line_and_why(cause, progress)
        return ProbablePlace(
            first.file, line or first.line, first.function, first.score, first.line, line, why
        )
    file, line, function = place(representative(cause))
    return ProbablePlace(file, line, function, mark=line)


def _line_and_why(cause: RootCause, progress: Progress | None) -> tuple[int, str]:
    """The line of the first suspect that counts, 0 for none, and why.

    The one in which the exception was raised, else the one that sets the failing tests apart, else the one that was
    edited, else the one on the traceback.
    """
    suspect = cause.suspects[0]
    frames = frames_of(representative(cause).raised)
    own = [f for f in frames if (f.file, base_name(f.function)) == (suspect.file, suspect.function)]
    if own and frames[-1] is own[-1]:
        return own[-1].line, "raised"
    if suspect.odd[0] or suspect.function == MODULE:
        return suspect.odd[0] or suspect.line, "odd" if suspect.odd[0] else ""
    at = edited_in(suspect.source.lines, suspect, progress) if suspect.source is not None else None
    if at is not None and suspect.source is not None:
        return suspect.source.start + at, "edited"
    return (own[-1].line, "") if own else (0, "")


def frames_of(raised: Raised | None) -> Sequence[Frame]:
    """The frames of a traceback without those that hide themselves."""
    return [frame for frame in raised.frames if not frame.is_hidden] if raised is not None else ()


def edited_in(lines: Sequence[str], suspect: Suspect, progress: Progress | None) -> int | None:
    """The index of the line that was edited right before it began to fail; where that is gone, since then.

    :returns: None where it was not edited, or where the line is not to be found.
    """
    steps = progress.episode.steps if progress is not None and suspect.edited else ()
    edits = (edit for step in steps if step.run >= suspect.edited for edit in step.edits.edits)
    diffs = [
        e.diff for e in edits if e.is_effective and (e.file, e.function) == (suspect.file, suspect.function)
    ]
    first, *others = diffs or [""]
    found = (edited_at(lines, diff) for diff in (first, *reversed(others)))
    return next((at for at in found if at is not None), None)


def in_words(cause: RootCause, progress: Progress | None) -> str:
    """``probably cost() in src/shop/shipping.py:15``, or the exception and its location; plain text for a title."""
    at = place_of(cause, progress)
    if at.score is not None:
        sure = how_sure(at.score)
        return f"{sure} {f'{plain(at.called)} in ' if at.called else ''}{plain(at.where)}"
    where = f" at {plain(at.where)}" if at.file else ""
    return f"{plain(name_of(cause))}{where}"


def how_sure(score: float) -> str:
    """A probability as a word."""
    if score >= PROBABLE:
        return "probably"
    return "possibly" if score >= POSSIBLE else "no clear place, at best"


def percent(score: float) -> str:
    """``62 %``; neither 0 nor 100, as nothing is certain."""
    return f"{min(max(round(100 * score), 1), 99)} %"
