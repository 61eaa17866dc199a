"""Which root causes are one, as the tests of each blame the same function.

How much two causes agree is the chance that one function is behind both, were their scores the chances of each: the sum
over all functions of the product of both scores. Two faults have their scores on two functions, and agree on neither.
Two functions out of as many as there are would be the same one by chance once in so many times. How many times as often
the two agree is by how much one fault is likelier than two (the ratio of the likelihoods, all functions alike before).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

from loop_close.causes.suspects.candidates import Candidate
from loop_close.causes.suspects.clues import Name, base_name
from loop_close.causes.suspects.merge import CONTRAST, is_missing_thing
from loop_close.causes.suspects.rank import scored
from loop_close.facts import innermost, is_a, is_assertion
from loop_close.model import Raised, RootCause

# All chosen on the tuning half of `python -m benchmarks.localize`, with `--pairs`, and where these say little, so that
# two faults behind one fixture or one dispatcher stay two.
#: Two causes are one from this ratio on.
_LIKELIER = 3.0
#: With less agreement than this they are not, however many functions there are: any two share some plumbing.
_LEAST = 0.015
#: They are one from this agreement on whatever the ratio is, as there may be few functions.
_SURE = 0.3
#: It takes as much at least where each is told by an exception with a place of its own, or one by what it lacks.
_PLACED = 0.12
#: And as much where fewer passing tests than ``CONTRAST`` call the function, as all that fails may have to go through
#: it; where none does, it takes the second and no less.
_FEW, _UNKNOWN = 0.2, 0.5
# What is further down has next to no share.
_MOST = 20
# A statement may call many functions, one of which does not take what it is given.
_MISCALLED = re.compile(r"([\w.<>]+)\(\) (?:missing|takes|got) ")

_Pair = tuple[int, int]
#: Its share in all that speaks for any function, and how many passing tests called it.
_Blame = Mapping[Name, tuple[float, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    """What a group of causes tells.

    :ivar blame: of functions that were counted only: that both tracebacks show one does not make them one.
    :ivar places: by function of the code under test what came out of it: type of exception, statement, what it called.
    :ivar is_missing: one is told by the name of what is missing; ``is_its_own``: other than an attribute, which one
        fault may take from several.
    """

    kind: str
    blame: _Blame
    places: Mapping[Name, set[Sequence[str]]]
    is_missing: bool
    is_its_own: bool


def alike(
    groups: Sequence[Sequence[RootCause]], found: Sequence[Collection[Candidate]], functions: int
) -> list[_Pair]:
    """Positions of groups of causes that are one, two by two, those that agree most first; each at most once.

    :param found: the candidates of each group.
    :param functions: how many there are of which it is known whether tests run them.
    """
    told = [_told(group, each) for group, each in zip(groups, found, strict=True)]
    pairs = []
    for i, j in combinations(range(len(told)), 2):
        value = agreement(told[i].blame, told[j].blame)
        if _may_be_one(told[i], told[j]) and value >= _needed(told[i], told[j], functions):
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


def _needed(one: _Told, other: _Told, functions: int) -> float:
    """How much two have to agree, by what is known of the function that they agree on most."""
    common = one.blame.keys() & other.blame.keys()
    if not common:
        return inf
    name = max(common, key=lambda name: (one.blame[name][0] * other.blame[name][0], name))
    passed = one.blame[name][1]
    if not passed:
        return _UNKNOWN
    is_placed = (one.places and other.places) or one.is_missing or other.is_missing
    least = max(_LEAST, _PLACED * bool(is_placed), _FEW * (passed < CONTRAST))
    return min(_SURE, max(least, _LIKELIER / functions))


def _may_be_one(one: _Told, other: _Told) -> bool:
    """Of one kind, not two exceptions out of one function, and none told by the name of what is missing."""
    if one.kind != other.kind or one.is_its_own or other.is_its_own:
        return False
    return all(one.places[name] & other.places[name] for name in one.places.keys() & other.places.keys())


def _told(group: Sequence[RootCause], found: Collection[Candidate]) -> _Told:
    missing = [cause for cause in group if is_missing_thing(cause)]
    return _Told(
        kind=group[0].kind,
        blame=blame(found),
        places=_places(group),
        is_missing=bool(missing),
        is_its_own=not all(map(_lacks_attribute, missing)),
    )


def blame(found: Collection[Candidate]) -> _Blame:
    """The likeliest functions among those that were counted."""
    return {
        (c.file, c.function): (share, c.spectrum.passed)
        for share, c in scored(found)[:_MOST]
        if c.spectrum is not None
    }


def _places(group: Sequence[RootCause]) -> dict[Name, set[Sequence[str]]]:
    """Of the causes that are told by an exception out of the code under test, and not by a test's verdict."""
    found: dict[Name, set[Sequence[str]]] = {}
    for cause in group:
        raised = _raised(cause)
        frame = innermost(raised)
        if raised is None or frame is None or frame.is_test or is_assertion(raised):
            continue
        statement = raised.site.statement if raised.site is not None else ""
        called = _MISCALLED.match(raised.message)
        name = frame.file, base_name(frame.function)
        found.setdefault(name, set()).add((raised.type, statement, called[1] if called else ""))
    return found


def _lacks_attribute(cause: RootCause) -> bool:
    return is_a(_raised(cause), "AttributeError")


def _raised(cause: RootCause) -> Raised | None:
    failure = cause.evidence[0].failure
    return failure.raised if failure is not None else None
