"""Which root causes are one, as the tests of each blame the same function.

How much two causes agree is the chance that one function is behind both, were their scores the chances of each: the sum
over all functions of the product of both scores. Two faults have their scores on two functions, and agree on neither.
Two functions out of as many as there are would be the same one by chance once in so many times. How many times as often
the two agree is by how much one fault is likelier than two (the ratio of the likelihoods, all functions alike before).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import inf

from loop_close.causes.suspects.candidates import Candidate
from loop_close.causes.suspects.clues import Name, base_name
from loop_close.causes.suspects.merge import CONTRAST, has_place, is_missing_thing
from loop_close.causes.suspects.rank import scored
from loop_close.facts import innermost, is_a
from loop_close.model import RootCause

#: Two causes are one from this ratio on. Chosen on the tuning half of `python -m benchmarks.localize`, with `--pairs`.
_LIKELIER = 6.0
#: With less agreement than this they are not, however many functions there are: any two share some plumbing.
_LEAST = 0.03
#: They are one from this agreement on whatever the ratio is, as there may be few functions. It takes as much where each
#: is told by an exception with a place of its own or by what it lacks, and where few passing tests call the function:
#: all that fails may have to go through it, whatever is wrong. Where none calls it, it takes more.
_SURE, _UNKNOWN = 0.3, 0.6
# What is further down has next to no share.
_MOST = 20
# A statement may call many functions, one of which does not take what it is given.
_MISCALLED = re.compile(r"([\w.<>]+)\(\) (?:missing|takes|got) ")

_Group = Sequence[RootCause]
_Pair = tuple[int, int]
#: Its share in all that speaks for any function, and how many passing tests called it.
_Blame = Mapping[Name, tuple[float, int]]


def alike(groups: Sequence[_Group], found: Sequence[Collection[Candidate]], functions: int) -> list[_Pair]:
    """Positions of groups of causes that are one, two by two, those that agree most first; each at most once.

    :param found: the candidates of each group.
    :param functions: how many there are of which it is known whether tests run them.
    """
    blamed = [_blame(each) for each in found]
    pairs = []
    for i, j in combinations(range(len(groups)), 2):
        value = agreement(blamed[i], blamed[j])
        if _may_be_one(groups[i], groups[j]) and value >= max(
            _needed(blamed[i], blamed[j], functions), _needed_by_kind(groups[i], groups[j])
        ):
            pairs.append((-value, (i, j)))
    return _disjoint([pair for _, pair in sorted(pairs)])


def _disjoint(pairs: Sequence[_Pair]) -> list[_Pair]:
    taken: set[int] = set()
    found = []
    for pair in pairs:
        if taken.isdisjoint(pair):
            taken.update(pair)
            found.append(pair)
    return found


def agreement(one: _Blame, other: _Blame) -> float:
    """From 0 to 1, of the functions that tests of both ran."""
    return sum(share * other[name][0] for name, (share, _) in one.items() if name in other)


def _blame(found: Collection[Candidate]) -> _Blame:
    """Only of what was counted: that both tracebacks show a function does not make them one."""
    return {
        (c.file, c.function): (share, c.spectrum.passed)
        for share, c in scored(found)[:_MOST]
        if c.spectrum is not None
    }


def _needed(one: _Blame, other: _Blame, functions: int) -> float:
    """How much two have to agree, by what is known of the function that they agree on most."""
    _, name = max(
        ((one[name][0] * other[name][0], name) for name in one.keys() & other.keys()), default=(0, None)
    )
    if name is None:
        return inf
    passed = one[name][1]
    if passed < CONTRAST:
        return _SURE if passed else _UNKNOWN
    return min(_SURE, max(_LEAST, _LIKELIER / functions))


def _needed_by_kind(one: _Group, other: _Group) -> float:
    have_places = all(any(map(has_place, group)) for group in (one, other))
    return _SURE if have_places or any(map(is_missing_thing, (*one, *other))) else 0.0


def _may_be_one(one: _Group, other: _Group) -> bool:
    """Of one kind, not two exceptions out of one function, and none told by the name of what is missing."""
    if one[0].kind != other[0].kind or any(map(_is_its_own, (*one, *other))):
        return False
    places, others = _places(one), _places(other)
    return all(places[name] & others[name] for name in places.keys() & others.keys())


def _places(group: _Group) -> dict[Name, set[Sequence[str]]]:
    """By function of the code under test, what came out of it: type of exception, statement, what that called."""
    found: dict[Name, set[Sequence[str]]] = {}
    for cause in group:
        failure = cause.evidence[0].failure
        raised = failure.raised if failure is not None and has_place(cause) else None
        frame = innermost(raised)
        if raised is not None and frame is not None:
            statement = raised.site.statement if raised.site is not None else ""
            called = _MISCALLED.match(raised.message)
            name = frame.file, base_name(frame.function)
            found.setdefault(name, set()).add((raised.type, statement, called[1] if called else ""))
    return found


def _is_its_own(cause: RootCause) -> bool:
    """Whether it is told by the name of what is missing, an attribute aside, which one fault may take from several."""
    failure = cause.evidence[0].failure
    is_attribute = failure is not None and is_a(failure.raised, "AttributeError")
    return is_missing_thing(cause) and not is_attribute
