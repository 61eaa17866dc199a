"""Give root causes their suspects, and join those that the tests' calls show to be one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from loop_close.calls import Calls
from loop_close.causes.suspects.clues import base_name
from loop_close.causes.suspects.merge import MOST, has_place, merged
from loop_close.causes.suspects.rank import suspects_of
from loop_close.facts import links, origins
from loop_close.memory import Episode
from loop_close.model import Evidence, RootCause, Suspect

#: More root causes than these nobody mends in one go.
_LOCATED = 20
#: A first suspect that two causes share makes them one from this score on.
_STRONG = 0.3


def joined(causes: Sequence[RootCause], calls: Calls | None) -> list[RootCause]:
    """The causes, those that are one as one, in the order of the first of each.

    They are one by a line that their failing tests have in common, or by the first suspect of each.
    """
    found = [_joined([causes[i] for i in members]) for members in merged(causes, calls)]
    return [_joined(parts) for parts in _by_suspect(found, calls)] if 1 < len(found) <= MOST else found


def _by_suspect(causes: Sequence[RootCause], calls: Calls | None) -> list[list[RootCause]]:
    """The causes by their first suspect, where it is a strong one; no two with a place of their own together."""
    groups: list[list[RootCause]] = []
    known: dict[tuple[str, str, str], list[RootCause]] = {}
    for cause in causes:
        first = next(iter(suspects_of(cause, calls)), None)
        if (
            first is None or first.score < _STRONG or not first.passed[0]
        ):  # what none calls all that fails calls
            groups.append([cause])
            continue
        group = known.setdefault((cause.kind, first.file, first.function), [])
        if not group:
            groups.append(group)
        if has_place(cause) and any(map(has_place, group)):
            groups.append([cause])
        else:
            group.append(cause)
    return groups


def _joined(parts: Sequence[RootCause]) -> RootCause:
    if len(parts) == 1:
        return parts[0]
    evidence = tuple(each for part in parts for each in part.evidence)
    return replace(parts[0], id=min(part.id for part in parts), evidence=evidence)


def located(
    causes: Sequence[RootCause], calls: Calls | None, episode: Episode | None = None
) -> tuple[RootCause, ...]:
    """The causes with their suspects.

    :param calls: what the tests called; None where that is not known.
    :param episode: what is remembered of the loop, this run included.
    """
    first = [_located(cause, suspects_of(cause, calls, episode)) for cause in causes[:_LOCATED]]
    return (*first, *causes[_LOCATED:])


def _located(cause: RootCause, suspects: tuple[Suspect, ...]) -> RootCause:
    """The cause with its suspects; the failure that is about the first of them is the one to show."""
    if not suspects:
        return replace(cause, suspects=())
    evidence = sorted(cause.evidence, key=lambda each: not _is_about(each, suspects[0]))
    return replace(cause, suspects=suspects, evidence=tuple(evidence))


def _is_about(evidence: Evidence, suspect: Suspect) -> bool:
    """Whether the failure judges what the function gave, or has it on its traceback."""
    failure = evidence.failure
    if failure is None:
        return False
    named = {(o.file, base_name(o.function)) for o in origins(failure)}
    named |= {(f.file, base_name(f.function)) for link in links(failure.raised) for f in link.frames}
    return (suspect.file, suspect.function) in named
