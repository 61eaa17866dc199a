"""Give root causes their suspects, and join those that the tests' calls show to be one.

One fault often shows as several root causes. What speaks for the functions behind one that may be one with others is
averaged over explanations by their odds (Bayesian model averaging; Hoeting, Madigan, Raftery and Volinsky, 1999): the
fault is this root cause's own, or it is behind one other as well, and then tests of both tell of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import exp

from loop_close.calls import Calls
from loop_close.causes.suspects.clues import base_name, is_named
from loop_close.causes.suspects.counted import Counted
from loop_close.causes.suspects.join import Group, Join
from loop_close.causes.suspects.rank import Scored, found_for, scored, suspects_among
from loop_close.causes.suspects.shared import Told, odds, told
from loop_close.facts import links, origins
from loop_close.memory import Episode
from loop_close.model import Evidence, RootCause, Suspect

# Of the root causes that may be one with another, more than these change next to nothing.
_AVERAGED = 2
# The logarithm of odds below which two faults are so much likelier that the other one's tests would add noise alone.
_LEAST_ODDS = -1.0
# With more root causes, all pairs of them are too many; those with most failures count.
_COMPARED = 40
#: More root causes than these nobody mends in one go.
_LOCATED = 20


def joined(causes: Sequence[RootCause], calls: Calls | None) -> list[RootCause]:
    """The causes, those that are one as one, in the order of the first of each."""
    if calls is None or len(causes) < 2:
        return list(causes)

    counted = Counted(calls)

    def tell(group: Group) -> Told:
        whole = _joined(causes, group)
        return told(whole, found_for(whole, counted), calls)

    compared = _compared(causes, calls)
    groups = Join(tell)(compared)
    groups += [(i,) for i in {*range(len(causes))}.difference(compared)]
    return [_joined(causes, group) for group in sorted(groups)]


def _compared(causes: Sequence[RootCause], calls: Calls) -> list[int]:
    """Of those that may be one with others the positions of those with most failures."""
    return sorted(_able(causes, calls), key=lambda i: (-len(causes[i].evidence), causes[i].id))[:_COMPARED]


def _able(causes: Sequence[RootCause], calls: Calls) -> list[int]:
    """Positions of those that may be one with others: no name tells them, and it is known what their tests ran."""
    return [i for i, cause in enumerate(causes) if not is_named(cause) and _is_known(cause, calls)]


def _is_known(cause: RootCause, calls: Calls) -> bool:
    return any(e.failure is not None and e.failure.nodeid in calls.failed for e in cause.evidence)


def _joined(causes: Sequence[RootCause], group: Group) -> RootCause:
    parts = [causes[i] for i in group]
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
    named = map(suspects_among, _scores(first, calls, episode))
    return (*map(_located, first, named), *causes[_LOCATED:])


def _scores(causes: Sequence[RootCause], calls: Calls | None, episode: Episode | None) -> Iterator[Scored]:
    """The candidates of each, those of one that may be one with others judged by the failures of these as well."""
    counted = Counted(calls) if calls is not None else None

    @cache
    def scores(group: Group) -> Scored:
        return scored(found_for(_joined(causes, group), counted, episode))

    near = _near(causes, calls, scores)
    for i in range(len(causes)):
        wholes = [(weight, scores((min(i, j), max(i, j)))) for j, weight in near.get(i, ())]
        yield averaged(scores((i,)), wholes)


def _near(
    causes: Sequence[RootCause], calls: Calls | None, scores: Callable[[Group], Scored]
) -> dict[int, list[tuple[int, float]]]:
    """Of each root cause those few that may be of the same fault, with the odds."""
    if calls is None or len(causes) < 2:
        return {}
    return others({i: told(causes[i], [c for _, c in scores((i,))], calls) for i in _able(causes, calls)})


def others(tells: Mapping[int, Told]) -> dict[int, list[tuple[int, float]]]:
    """Of each root cause those few that may be of the same fault.

    :param tells: what is told by the root causes, by their numbers.
    :return: their numbers, each with how much likelier one fault is than two, the likeliest first.
    """
    found: dict[int, dict[int, float]] = {number: {} for number in tells}
    for i, j in combinations(sorted(tells), 2):
        found[i][j] = found[j][i] = odds(tells[i], tells[j])
    return {number: _likeliest(each) for number, each in found.items()}


def _likeliest(found: Mapping[int, float]) -> list[tuple[int, float]]:
    near = sorted((-value, number) for number, value in found.items() if value >= _LEAST_ODDS)
    return [(number, exp(found[number])) for _, number in near[:_AVERAGED]]


def averaged(own: Scored, wholes: Collection[tuple[float, Scored]]) -> Scored:
    """The candidates of a root cause, their shares averaged over all explanations.

    :param own: by the failures of this root cause alone.
    :param wholes: by the failures of it and of one other, with how much likelier that is than that it is alone.
    """
    total = 1 + sum(weight for weight, _ in wholes)
    shares = {(c.file, c.function): share / total for share, c in own}
    for weight, whole in wholes:
        for share, c in whole:
            if (c.file, c.function) in shares:
                shares[c.file, c.function] += weight / total * share
    found = [(shares[c.file, c.function], c) for _, c in own]
    return sorted(found, key=lambda each: (-each[0], each[1].file, each[1].function))


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
