"""Give root causes their suspects, and join those that the tests' calls show to be one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from loop_close.calls import Calls
from loop_close.causes.suspects.candidates import Candidate
from loop_close.causes.suspects.clues import base_name
from loop_close.causes.suspects.elsewhere import with_elsewhere
from loop_close.causes.suspects.merge import MOST, merged
from loop_close.causes.suspects.rank import found_for, suspects_among
from loop_close.causes.suspects.shared import alike
from loop_close.facts import links, origins
from loop_close.memory import Episode
from loop_close.model import Evidence, RootCause, Suspect

_Group = tuple[RootCause, ...]
_Find = Callable[[_Group], list[Candidate]]

#: More root causes than these nobody mends in one go.
_LOCATED = 20


def joined(causes: Sequence[RootCause], calls: Calls | None) -> list[RootCause]:
    """The causes, those that are one as one, in the order of the first of each.

    They are one by a line that their failing tests have in common, or by the function that these blame.
    """
    found = [_joined([causes[i] for i in members]) for members in merged(causes, calls)]
    if calls is None or not 1 < len(found) <= MOST:
        return found
    return _joined_by_suspect(found, _finder(calls), len(calls.functions))


def _finder(calls: Calls) -> _Find:
    """Gives the candidates of causes taken as one, found once: with thousands of lines that takes seconds."""
    known: dict[tuple[int, ...], list[Candidate]] = {}

    def find(group: _Group) -> list[Candidate]:
        key = tuple(map(id, group))
        if key not in known:
            known[key] = found_for(_joined(group), calls)
        return known[key]

    return find


def _joined_by_suspect(causes: Sequence[RootCause], find: _Find, functions: int) -> list[RootCause]:
    """Joined two by two until no two are one any more: what is known of both together decides anew."""
    groups: list[_Group] = [(cause,) for cause in causes]
    while pairs := dict(alike(groups, [*map(find, groups)], functions)):
        later = {*pairs.values()}
        whole = {i: group + groups[pairs[i]] if i in pairs else group for i, group in enumerate(groups)}
        groups = [whole[i] for i in range(len(groups)) if i not in later]
    return [_joined(group) for group in groups]


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
    first = causes[:_LOCATED]
    found = with_elsewhere([found_for(cause, calls, episode) for cause in first])
    named = [_located(cause, suspects_among(each)) for cause, each in zip(first, found, strict=True)]
    return (*named, *causes[_LOCATED:])


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
