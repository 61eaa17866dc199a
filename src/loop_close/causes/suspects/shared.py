"""Join root causes that have their first suspect in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loop_close.calls import Calls
from loop_close.causes.suspects.elsewhere import with_elsewhere
from loop_close.causes.suspects.merge import has_place, is_missing_thing
from loop_close.causes.suspects.rank import found_for, suspects_among
from loop_close.facts import is_a
from loop_close.model import RootCause, Suspect

#: A first suspect that two causes share makes them one from this score on, where at most one is told by an exception
#: with a place of its own.
_LIKELY = 0.3
#: From this score on, where more speaks for it than for all others, it does so whatever the exceptions are.
_SURE = 0.6

_Group = list[RootCause]


def by_likely_suspect(causes: Sequence[RootCause], calls: Calls | None) -> list[_Group]:
    """The causes by their first suspect; no two with a place of their own together."""
    firsts = [_first(suspects_among(found_for(cause, calls))) for cause in causes]
    # what no passing test calls all that fails may have to go through
    keys = [first if first and first.score >= _LIKELY and first.passed[0] else None for first in firsts]
    return _grouped(causes, keys, _may_be_likely)


def by_sure_suspect(causes: Sequence[RootCause], calls: Calls | None) -> list[_Group]:
    """The causes by their first suspect where nearly all that is known speaks for it, in each of them."""
    found = with_elsewhere([found_for(cause, calls) for cause in causes])
    firsts = [_first(suspects_among(each)) for each in found]
    keys = [first if first and first.score >= _SURE and first.failed[0] else None for first in firsts]
    return _grouped(causes, keys, _may_be_sure)


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
    return not (has_place(cause) and any(map(has_place, group)))


def _may_be_sure(cause: RootCause, group: _Group) -> bool:
    return not any(map(_is_its_own, (cause, *group)))


def _is_its_own(cause: RootCause) -> bool:
    """Whether it is told by the name of what is missing, an attribute aside, which one fault may take from several."""
    failure = cause.evidence[0].failure
    is_attribute = failure is not None and is_a(failure.raised, "AttributeError")
    return is_missing_thing(cause) and not is_attribute
