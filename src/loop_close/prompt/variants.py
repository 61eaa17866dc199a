"""The other ways in which one root cause shows: exceptions of another type or place, and other wordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.facts import innermost
from loop_close.model import Failure, RootCause
from loop_close.prompt.show import line_of, safe, span
from loop_close.text.sanitize import one_line

_WORDINGS = (0, 0, 0, 1)
_WORDING = 60
_EXCEPTIONS = (0, 0, 2, 3)
_COMPARED = 200
_BRIEF = 100


def variants(cause: RootCause, level: int) -> Iterator[str]:
    """A line for each of the first other exceptions, and one for the other messages of the exception that is shown.

    :param level: of detail, from 0 to 3.
    """
    if level < 2:
        return
    first, *others = [e.failure for e in cause.evidence[:_COMPARED] if e.failure is not None]
    shown = _kind(first)
    yield from _exceptions([other for other in others if _kind(other) != shown], level)
    yield from _wordings(first, [other for other in others if _kind(other) == shown], level)


def _kind(failure: Failure) -> tuple[str, str, str]:
    """The exception's type, and the function of the code under test that it was raised in."""
    frame = innermost(failure.raised)
    where = ("", "") if frame is None or frame.is_test else (frame.file, frame.function)
    return (failure.raised.type if failure.raised is not None else "", *where)


def _exceptions(others: Sequence[Failure], level: int) -> Iterator[str]:
    by_kind: dict[tuple[str, str, str], list[Failure]] = {}
    for failure in others:
        by_kind.setdefault(_kind(failure), []).append(failure)
    for kind, found in list(by_kind.items())[: _EXCEPTIONS[level]]:
        frame = innermost(found[0].raised)
        at = f" at {span(f'{frame.file}:{frame.line}')}" if frame is not None else ""
        rest = len({one_line(safe(each.message, 400), _BRIEF) for each in found}) - 1
        more = f" and {_more(rest)}" if rest else ""
        yield f"Also {span(kind[0] or 'failure', 60)}{at}: {line_of(found[0].message, _WORDING)}{more}"
    rest = len(by_kind) - _EXCEPTIONS[level]
    if rest > 0:
        yield f"Also {rest} more exception{'s' * (rest != 1)} of other types or places"


def _wordings(first: Failure, others: Sequence[Failure], level: int) -> Iterator[str]:
    """Other messages, as far as they differ."""
    told = one_line(safe(first.message), _BRIEF)
    messages = (one_line(safe(other.message, 400), _BRIEF) for other in others)
    differing = [message for message in dict.fromkeys(messages) if message != told]
    kept = [span(message, _WORDING) for message in differing[: _WORDINGS[level]]]
    rest = len(differing) - len(kept)
    if differing:
        yield "Also: " + " and ".join([*kept, *([_more(rest)] if rest else [])])


def _more(number: int) -> str:
    return f"{number} more wording{'s' * (number != 1)}"
