"""Which root causes are one, as the tests of each blame the same function.

How much two causes agree is the chance that one function is behind both, were their scores the chances of each: the sum
over all functions of the product of both scores. Two faults have their scores on two functions, and agree on neither.
By chance they agree in one of as many functions as there are. So many times as often as that is by how much it is
likelier that they are one fault than that they are two (the ratio of the likelihoods, all functions alike before).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from loop_close.causes.suspects.candidates import Candidate
from loop_close.causes.suspects.clues import Name, base_name
from loop_close.causes.suspects.merge import CONTRAST, has_place, is_missing_thing
from loop_close.causes.suspects.rank import scored
from loop_close.facts import innermost, is_a
from loop_close.model import RootCause

#: Two causes are one from this ratio on. Chosen on the tuning half of `python -m benchmarks.localize`, with `--pairs`.
_LIKELIER = 6.0
#: They are one from this agreement on whatever the ratio is, as there may be few functions. It takes as much where each
#: is told by an exception with a place of its own or by what it lacks, and where few passing tests call the function:
#: all that fails may have to go through it, whatever is wrong.
_SURE = 0.3
# What is further down has next to no share.
_MOST = 20

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
    agreed = {
        (i, j): agreement(blamed[i], blamed[j])
        for i, j in combinations(range(len(groups)), 2)
        if _may_be_one(groups[i], groups[j])
    }
    pairs = sorted(
        (-value, pair)
        for pair, value in agreed.items()
        if value >= _SURE or (value * functions >= _LIKELIER and not _needs_more(groups, blamed, pair))
    )
    return _disjoint([pair for _, pair in pairs])


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


def _needs_more(groups: Sequence[_Group], blamed: Sequence[_Blame], pair: _Pair) -> bool:
    one, other = (blamed[i] for i in pair)
    name = max(one.keys() & other.keys(), key=lambda name: one[name][0] * other[name][0])
    have_places = all(any(map(has_place, groups[i])) for i in pair)
    are_missing = any(is_missing_thing(cause) for i in pair for cause in groups[i])
    return have_places or are_missing or one[name][1] < CONTRAST


def _may_be_one(one: _Group, other: _Group) -> bool:
    """Of one kind, not two types of exceptions out of one function, and none told by the name of what is missing."""
    if one[0].kind != other[0].kind or any(map(_is_its_own, (*one, *other))):
        return False
    types, others = dict(filter(None, map(_place, one))), dict(filter(None, map(_place, other)))
    return all(types[place] == others[place] for place in types.keys() & others.keys())


def _place(cause: RootCause) -> tuple[Name, str] | None:
    """The function of the code under test that its exception came out of, and the type; None where a test judged."""
    failure = cause.evidence[0].failure
    raised = failure.raised if failure is not None and has_place(cause) else None
    frame = innermost(raised)
    return ((frame.file, base_name(frame.function)), raised.type) if raised and frame else None


def _is_its_own(cause: RootCause) -> bool:
    """Whether it is told by the name of what is missing, an attribute aside, which one fault may take from several."""
    failure = cause.evidence[0].failure
    is_attribute = failure is not None and is_a(failure.raised, "AttributeError")
    return is_missing_thing(cause) and not is_attribute
