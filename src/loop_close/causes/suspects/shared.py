"""Join root causes that have their first suspect in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loop_close.causes.suspects.candidates import Candidate
from loop_close.causes.suspects.clues import base_name
from loop_close.causes.suspects.elsewhere import with_elsewhere
from loop_close.causes.suspects.merge import CONTRAST, has_place, is_missing_thing
from loop_close.causes.suspects.rank import suspects_among
from loop_close.facts import innermost, is_a
from loop_close.model import RootCause, Suspect

#: A first suspect that two causes share makes them one from this score on, where at most one is told by an exception
#: with a place of its own.
_LIKELY = 0.3
#: From this score on, where as much speaks for it as for all others, it does so whatever the exceptions are.
_SURE = 0.5
#: The same where few passing tests call it: all that fails may have to go through it, whatever is wrong.
_CERTAIN = 0.7

_Group = list[RootCause]


def by_likely_suspect(causes: Sequence[RootCause], found: Sequence[Sequence[Candidate]]) -> list[_Group]:
    """The causes by their first suspect; no two with a place of their own together.

    :param found: the candidates of each cause.
    """
    firsts = [_first(suspects_among(each)) for each in found]
    keys = [first if first and first.score >= _LIKELY and _has_contrast(first) else None for first in firsts]
    return _grouped(causes, keys, _may_be_likely)


def by_sure_suspect(causes: Sequence[RootCause], found: Sequence[Sequence[Candidate]]) -> list[_Group]:
    """The causes by their first suspect where nearly all that is known speaks for it, in each of them."""
    firsts = [_first(suspects_among(each)) for each in with_elsewhere(found)]
    return _grouped(causes, [first if first and _is_sure(first) else None for first in firsts], _may_be_sure)


def _has_contrast(suspect: Suspect) -> bool:
    return suspect.passed[0] >= CONTRAST


def _is_sure(suspect: Suspect) -> bool:
    return suspect.failed[0] > 0 and suspect.score >= (_SURE if _has_contrast(suspect) else _CERTAIN)


def _first(suspects: Sequence[Suspect]) -> Suspect | None:
    return suspects[0] if suspects else None


def _grouped(
    causes: Sequence[RootCause],
    firsts: Sequence[Suspect | None],
    may_join: Callable[[RootCause, _Group], bool],
) -> list[_Group]:
    """Causes of one kind with the same first suspect together, in order."""
    groups: list[_Group] = []
    known: dict[tuple[str, str, str], _Group] = {}
    for cause, first in zip(causes, firsts, strict=True):
        group = known.get((cause.kind, first.file, first.function)) if first else None
        if group is not None and may_join(cause, group):
            group.append(cause)
            continue
        groups.append([cause])
        if first is not None and group is None:
            known[cause.kind, first.file, first.function] = groups[-1]
    return groups


def _may_be_likely(cause: RootCause, group: _Group) -> bool:
    is_named = any(map(is_missing_thing, (cause, *group)))
    return not is_named and not (has_place(cause) and any(map(has_place, group)))


def _may_be_sure(cause: RootCause, group: _Group) -> bool:
    places = {_place(each) for each in group}
    is_beside = _place(cause) is not None and _place(cause) in places  # two faults in one function
    return not is_beside and not any(map(_is_its_own, (cause, *group)))


def _place(cause: RootCause) -> tuple[str, str] | None:
    """The function of the code under test that its exception came out of; None where a test judged."""
    failure = cause.evidence[0].failure
    frame = innermost(failure.raised) if failure is not None and has_place(cause) else None
    return (frame.file, base_name(frame.function)) if frame is not None else None


def _is_its_own(cause: RootCause) -> bool:
    """Whether it is told by the name of what is missing, an attribute aside, which one fault may take from several."""
    failure = cause.evidence[0].failure
    is_attribute = failure is not None and is_a(failure.raised, "AttributeError")
    return is_missing_thing(cause) and not is_attribute
