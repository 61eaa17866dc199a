"""Fit the odds by which root causes are joined: one fault that shows as several of them, or two faults put together.

A logistic regression by gradient descent. Every fault counts as much as any other, however many pairs of root causes it
gives, and so does every pair of faults; faults and pairs of faults count as much in all, as if both were as likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import exp, log
from pathlib import Path
from random import Random

from benchmarks.localize.faults import Fault
from benchmarks.localize.pairs import distinct, singles, together
from loop_close.calls import Calls
from loop_close.causes.suspects.common import joint_less_apart
from loop_close.causes.suspects.places import is_named
from loop_close.causes.suspects.rank import found_for
from loop_close.causes.suspects.shared import Told, agreement, told
from loop_close.model import RootCause

_PAIRS, _MOST_CAUSES = 2_000, 25
_STEPS, _RATE = 2_000, 4.0
# The logarithm goes far below; in steps of about one it is learned as fast as the rest.
_LEAST, _SCALE = 1e-5, 5.0
#: How much it counts, what is known of two root causes, and whether they are one.
Sample = tuple[float, tuple[float, float, float], bool]


def fit_joins(folder: Path, faults: Sequence[Fault]) -> dict[str, float]:
    """The weights of the odds; the first is that of both being as likely before."""
    samples = list(_samples(folder, faults))
    weights = [0.0, 0.0, 0.0]
    for _ in range(_STEPS):
        slope = [0.0, 0.0, 0.0]
        for part, known, is_one in samples:
            off = is_one - 1 / (1 + exp(-sum(w * x for w, x in zip(weights, known, strict=True))))
            slope = [s + part * off * x for s, x in zip(slope, known, strict=True)]
        weights = [w + _RATE * s for w, s in zip(weights, slope, strict=True)]
    one, agreed, joint = weights
    return {"one": round(one, 2), "agreed": round(agreed / _SCALE, 2), "joint": round(joint, 2)}


def _samples(folder: Path, faults: Sequence[Fault]) -> Iterator[Sample]:
    seen = list(singles(folder, faults))
    pairs = list(distinct(seen))
    Random(1).shuffle(pairs)
    one = [_of(each.causes, each.calls, 0) for each in seen if len(each.causes) > 1]
    two = [_of([*a.causes, *b.causes], together(a.calls, b.calls), len(a.causes)) for a, b in pairs[:_PAIRS]]
    for cases, is_one in (one, True), (two, False):
        told_of = [known for known in cases if known]
        for known in told_of:
            for each in known:
                yield 0.5 / len(told_of) / len(known), each, is_one


def _of(causes: Sequence[RootCause], calls: Calls, own: int) -> list[tuple[float, float, float]]:
    """Of two root causes each; of two faults, one of either.

    :param own: how many of the causes are of the first fault, 0 where there is but one.
    """
    if len(causes) > _MOST_CAUSES:
        return []
    groups = [_told(cause, calls) for cause in causes]
    pairs = product(groups[:own], groups[own:]) if own else combinations(groups, 2)
    return [_known(a, b) for a, b in pairs if a is not None and b is not None and a.kind == b.kind]


def _told(cause: RootCause, calls: Calls) -> Told | None:
    return None if is_named(cause) else told(cause, found_for(cause, calls), calls)


def _known(one: Told, other: Told) -> tuple[float, float, float]:
    agreed = log(max(_LEAST, agreement(one.blame, other.blame)))
    return 1.0, agreed / _SCALE, joint_less_apart(one.lines, other.lines)
