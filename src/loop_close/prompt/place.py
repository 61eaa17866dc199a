"""Where to look first for a root cause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from loop_close import lazy
from loop_close.causes.clues import swallowed_for
from loop_close.facts import base_name, failure_place, innermost, is_environment, links
from loop_close.model import Failure, Frame, Raised, Report, RootCause, Suspect
from loop_close.prompt import plain
from loop_close.records import Loop, Record
from loop_close.syntax import edited_at
from loop_close.syntax.meaning import MODULE

#: From this probability on a place is called probable, below it possible.
PROBABLE = 0.5
#: Below this one no place is clear.
POSSIBLE = 0.25
_MOST_FAILURES = 200
_MOST_CAUSES = 10
_DEFINITION = lazy.pattern(r"\s*(?:async\s+def|def|class)\s")
_LINE = lazy.pattern(r"\bline ([0-9]{1,6})\b")


def representative(cause: RootCause) -> Failure:
    """The failure that is shown for all of them."""
    failure = cause.evidence[0].failure
    assert failure is not None
    return failure


_XPASS = "XPASS(strict)"


def name_of(cause: RootCause) -> str:
    """What kind of thing went wrong: the exception's type, a checker and its rule, else the detector's kind.

    A test that passes against its strict mark has no exception, but pytest has a word for it.
    """
    failure = representative(cause)
    if failure.phase == "check" or is_environment(failure):
        return f"{failure.tool} {failure.code}".strip() or cause.kind
    if failure.raised is not None:
        return failure.raised.type
    return _XPASS if failure.message.startswith(f"[{_XPASS}]") else cause.kind


class ProbablePlace(Record, frozen=True):
    """Where to look first for a root cause.

    :ivar function: the qualified name; empty if none is known.
    :ivar score: the probability from 0 to 1 of a suspect; None for the location of the failure.
    :ivar start: the line in which the function of a suspect begins, 0 if it is unknown.
    :ivar mark: the line that counts, 0 for none.
    :ivar why: why that line counts: ``raised``, ``odd`` (it sets failing tests apart), ``edited``, ``removed`` (lines
        above it were removed); empty for others.
    :ivar constant: what a statement outside of functions binds; empty for others.
    """

    file: str
    line: int
    function: str
    score: float | None = None
    start: int = 0
    mark: int = 0
    why: str = ""
    constant: str = ""

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
        """``cost()``, or ``RATES``; empty for other code outside of functions."""
        if self.constant:
            return self.constant
        return f"{self.function}()" if self.function and self.function != MODULE else ""


def probable_place(cause: RootCause, loop: Loop | None = None) -> ProbablePlace:
    """The likeliest suspect, at the line that counts; the failure's own location where nothing is likely."""
    if cause.suspects:
        first = cause.suspects[0]
        line, why = _line_and_why(cause, loop)
        return ProbablePlace(
            first.file,
            line or _line_of_definition(first),
            first.function,
            first.score,
            first.line,
            line,
            why,
            first.constant,
        )
    file, line, function = failure_place(representative(cause))
    return ProbablePlace(file, line, function, mark=line)


def _line_of_definition(suspect: Suspect) -> int:
    """The line of its ``def`` or ``class``: a function begins with its decorators."""
    source = suspect.source
    if source is None or source.start != suspect.line or not source.lines[0].lstrip().startswith("@"):
        return suspect.line
    numbers = (
        number for number, text in zip(source.numbers, source.lines, strict=True) if _DEFINITION.match(text)
    )
    return next(numbers, suspect.line)


def _line_and_why(cause: RootCause, loop: Loop | None) -> tuple[int, str]:
    """The line of the first suspect that counts, 0 for none, and why.

    The first that is known of these: the line that raised the exception, the edited line, the line that sets the
    failing tests apart, the line on the traceback.
    """
    suspect = cause.suspects[0]
    if suspect.constant:
        return suspect.line, ""
    frames = frames_of(representative(cause).raised)
    own = [f for f in frames if (f.file, base_name(f.function)) == (suspect.file, suspect.function)]
    if own and frames[-1] is own[-1]:
        return own[-1].line, "raised"
    if suspect.source is not None and suspect.function != MODULE:
        at = edited_in(suspect.source.lines, suspect, loop)
        if at is not None:
            is_there = any(re.search(r"(?m)^\+", diff) for diff in _diffs(suspect, loop))
            return suspect.source.start + at, "edited" if is_there else "removed"
    if suspect.odd[0] or suspect.function == MODULE:
        return suspect.odd[0] or suspect.line, "odd" if suspect.odd[0] else ""
    return (own[-1].line, "") if own else (0, "")


def frames_of(raised: Raised | None) -> Sequence[Frame]:
    """The frames of a traceback without those that hide themselves."""
    return [frame for frame in raised.frames if not frame.is_hidden] if raised is not None else ()


def cited_lines(cause: RootCause, file: str, report: Report) -> frozenset[int]:
    """The lines of a file that the block of a root cause may name by their numbers, and the places of other causes."""
    failures = [each.failure for each in cause.evidence[:_MOST_FAILURES] if each.failure is not None]
    raised = [*(failure.raised for failure in failures), *links(failures[0].raised)]
    frames = [
        *frames_of(failures[0].raised),
        *(frame for frame in map(innermost, raised) if frame is not None),
    ]
    swallowed = swallowed_for(cause, report.observation.calls)
    # As a SyntaxError does, a message may be about a line.
    texts = (failures[0].message, *chain.from_iterable(each.reasons for each in cause.suspects))
    named = {
        *(probable_place(each, report.loop).where for each in report.causes[:_MOST_CAUSES]),
        *(f"{each.file}:{each.odd[0]}" for each in cause.suspects),
        *(f"{each.file}:{each.line}" for each in cause.findings),
        *(f"{each.file}:{each.line}" for each in frames),
        *(f"{each.file}:{each.line}" for each in swallowed),
        *(each.caught for each in swallowed),
        *(f"{file}:{number}" for text in texts for number in _LINE.findall(text)),
    }
    lines = (each.removeprefix(f"{file}:") for each in named if each.startswith(f"{file}:"))
    return frozenset(int(line) for line in lines if line.isdecimal())


def edited_in(lines: Sequence[str], suspect: Suspect, loop: Loop | None) -> int | None:
    """The index of the line that was edited right before it began to fail; if that is gone, since then.

    :returns: None if it was not edited, or if the line cannot be found.
    """
    first, *others = _diffs(suspect, loop) or [""]
    found = (edited_at(lines, diff) for diff in (first, *reversed(others)))
    return next((at for at in found if at is not None), None)


def _diffs(suspect: Suspect, loop: Loop | None) -> list[str]:
    """The recorded edits of a function since right before it began to fail, the first one first."""
    steps = loop.steps if loop is not None and suspect.edited else ()
    edits = (edit for step in steps if step.run >= suspect.edited for edit in step.edits.edits)
    return [
        e.diff for e in edits if e.is_effective and (e.file, e.function) == (suspect.file, suspect.function)
    ]


def place_in_words(cause: RootCause, loop: Loop | None) -> str:
    """``probably cost() in src/shop/shipping.py:15``, or the exception and its location; plain text for a title."""
    at = probable_place(cause, loop)
    if at.score is not None:
        sure = how_sure(at.score)
        return f"{sure} {f'{plain(at.called)} in ' if at.called else ''}{plain(at.where)}"
    where = f" at {plain(at.where)}" if at.file else ""
    return f"{plain(name_of(cause))}{where}"


def are_one_place(causes: Sequence[RootCause]) -> bool:
    """Whether the root causes are probably one fault: the first suspect of each is the same, and probable."""
    first = [cause.suspects[0] for cause in causes if cause.suspects and cause.suspects[0].score >= PROBABLE]
    places = {_identity(each) for each in first}
    return len(first) == len(causes) and len(places) == 1


def _identity(place: Suspect) -> tuple[str, str, int, str]:
    return place.file, place.function, place.line, place.constant


def earlier_with_same_place(causes: Sequence[RootCause], number: int) -> int:
    """The number of the first root cause before one, from 1, whose first suspect is the same; 0 if there is none."""
    first = [_identity(cause.suspects[0]) if cause.suspects else None for cause in causes[:number]]
    found = first.index(first[-1]) + 1
    return found if first[-1] is not None and found < number else 0


def how_sure(score: float) -> str:
    """A probability as a word."""
    if score >= PROBABLE:
        return "probably"
    return "possibly" if score >= POSSIBLE else "no clear place, at best"


def percent(score: float) -> str:
    """``62 %``; neither 0 nor 100, as nothing is certain."""
    return f"{min(max(round(100 * score), 1), 99)} %"
