"""Join root causes that are one, round by round: what is known of several together decides anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from math import inf

from loop_close.causes.suspects.shared import Told, assurance, clash, is_as_sure

#: Numbers of the root causes that are one, in order.
Group = tuple[int, ...]


class Join:
    """Joins groups of root causes.

    :param tell: gives what a group tells.
    """

    def __init__(self, tell: Callable[[Group], Told]) -> None:
        self._tell = cache(tell)  # with thousands of lines each takes a tenth of a second
        self._assurance = cache(self._weigh)
        self._refused: set[frozenset[Group]] = set()

    def __call__(self, causes: Iterable[int]) -> list[Group]:
        """The groups that the causes make, of which no two are one."""
        groups: list[Group] = [(cause,) for cause in causes]
        while likely := self._likely(groups):
            found = [[groups[place] for place in places] for places in clusters(len(groups), likely)]
            groups = [group for parts in found for group in self._whole(parts)]
        return groups

    def _likely(self, groups: Sequence[Group]) -> dict[tuple[int, int], float]:
        pairs = combinations(enumerate(groups), 2)
        free = (pair for pair in pairs if frozenset((pair[0][1], pair[1][1])) not in self._refused)
        return {(i, j): value for (i, one), (j, other) in free if (value := self._assurance(one, other)) >= 0}

    def _weigh(self, one: Group, other: Group) -> float:
        """The assurance; two that clash by themselves stay two, whatever else is in their groups."""
        singles = product(one, other)
        if any(clash(self._tell((i,)), self._tell((j,))) for i, j in singles):
            return -inf
        return assurance(self._tell(one), self._tell(other))

    def _whole(self, parts: Sequence[Group]) -> Sequence[Group]:
        """All of them as one, or the surest two, or none: where these are not one, neither are others."""
        if len(parts) == 1:
            return parts
        pairs = list(combinations(parts, 2))
        surest = max(pairs, key=lambda pair: self._assurance(*pair))
        for taken in (parts, surest):
            whole = tuple(sorted(cause for part in taken for cause in part))
            if is_as_sure(self._tell(whole), map(self._tell, taken)):
                return [whole, *(part for part in parts if part not in taken)]
        self._refused.update(map(frozenset, pairs))
        return parts


def clusters(number: int, likely: Mapping[tuple[int, int], float]) -> list[list[int]]:
    """Positions of groups that are one, in order; of each list any two are (complete linkage, the surest first).

    :param number: how many groups there are.
    :param likely: the assurance of those pairs of positions, in order, that are one.
    """
    found = [[place] for place in range(number)]
    for i, j in sorted(likely, key=lambda pair: (-likely[pair], pair)):
        one, other = found[i], found[j]
        if one is not other and all((min(pair), max(pair)) in likely for pair in product(one, other)):
            one += other
            for place in other:
                found[place] = one
    return [sorted(each) for place, each in enumerate(found) if place == min(each)]
