"""What speaks for the functions behind a root cause that may be one with others: one fault often shows as several.

Explanations are averaged by their odds (Bayesian model averaging; Hoeting, Madigan, Raftery and Volinsky, 1999): the
fault is this root cause's own, or it is behind one other as well, and then tests of both tell of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from math import exp

from loop_close.causes.suspects.rank import Scored
from loop_close.causes.suspects.shared import Told, odds

#: More than these change next to nothing.
_MOST = 2
# The logarithm of odds below which two faults are so much likelier that the other one's tests would add noise alone.
_LEAST = -1.0


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
    near = sorted((-value, number) for number, value in found.items() if value >= _LEAST)
    return [(number, exp(found[number])) for _, number in near[:_MOST]]


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
