"""Where to look first for a root cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loop_close.facts import base_name, every, failure_place, is_environment, links, sites
from loop_close.model import Failure, Frame, Place, Raised, RootCause, Suspect
from loop_close.prompt import plain
from loop_close.syntax.meaning import MODULE

#: Other places that are less likely are not shown.
LEAST_SHOWN = 0.05
#: Evidence that says no more, beside a root cause, than the source and the tracebacks that are shown.
IN_SOURCE = frozenset(("stack-trace", "todo-marker", "fixme-marker"))
_XPASS = "XPASS(strict)"


def name_of(cause: RootCause) -> str:
    """What kind of thing went wrong: the exception's type, a checker and its rule, else the detector's kind.

    A test that passes against its strict mark has no exception, but pytest has a word for it.
    """
    failure = cause.failures[0]
    if failure.phase == "check" or is_environment(failure):
        return f"{failure.tool} {failure.code}".strip() or cause.kind
    is_xpass = failure.message.startswith(f"[{_XPASS}]")
    return failure.exception or (_XPASS if is_xpass else cause.kind)


def probable_place(cause: RootCause) -> Place:
    """The likeliest suspect, at the line that counts; the failure's own location where nothing is likely."""
    if not cause.suspects:
        file, line, function = failure_place(cause.failures[0])
        return Place(file=file, line=line, function=function)
    first = cause.suspects[0]
    return Place(
        file=first.file,
        line=_telling_line(first, cause.failures[0]),
        function=first.function,
        score=first.score,
        constant=first.constant,
    )


def _telling_line(suspect: Suspect, failure: Failure) -> int:
    """The line of a suspect that counts.

    The first that is known of these: the line that raised the exception, the line that sets the failing tests apart,
    the line on the traceback, its first line.
    """
    if suspect.constant:
        return suspect.line
    frames = [frame for link in reversed([*every(failure.raised)]) for frame in frames_of(link)]
    own = [f for f in frames if (f.file, base_name(f.function)) == (suspect.file, suspect.function)]
    if own and frames[-1] is own[-1]:
        return own[-1].line
    is_on_traceback = own and suspect.function != MODULE
    return suspect.odd[0] or (own[-1].line if is_on_traceback else suspect.line)


def frames_of(raised: Raised | None) -> Sequence[Frame]:
    """The frames of a traceback without those that hide themselves."""
    return [frame for frame in raised.frames if not frame.is_hidden] if raised is not None else ()


def shown_frames(raised: Raised | None) -> Sequence[Frame]:
    """The same; at the end the frame with the failing statement."""
    return [*frames_of(raised), *(site.frame for site in sites([*links(raised)][:1]))]


def place_in_words(cause: RootCause, quote: Callable[[str], str] = plain) -> str:
    """``cost() in src/shop/shipping.py:15 (62 % probable)``, or the exception and its location; text for a title.

    :param quote: what is done to each text from outside.
    """
    at = probable_place(cause)
    if at.score is not None:
        return f"{f'{quote(at.called)} in ' if at.called else ''}{quote(at.where)} ({percent(at.score)} probable)"
    return f"{quote(name_of(cause))}{f' at {quote(at.where)}' if at.file else ''}"


def percent(score: float) -> str:
    """``62 %``; neither 0 nor 100, as nothing is certain."""
    return f"{min(max(round(100 * score), 1), 99)} %"
