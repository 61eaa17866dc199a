"""Fit the odds by which root causes are joined: one fault that shows as several of them, or two faults put together.

A logistic regression. Every fault counts as much as any other, however many pairs of root causes it gives, and so does
every pair of faults; faults and pairs of faults count as much in all, as if both were as likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import log
from pathlib import Path
from random import Random

from benchmarks.localize.faults import Fault
from benchmarks.localize.logit import Choice, weights_of
from benchmarks.localize.pairs import distinct, singles, together
from loop_close.calls import Calls
from loop_close.causes.clues import is_named
from loop_close.causes.locate import CauseEvidence, agreement, evidence_of, joint_less_apart
from loop_close.causes.rank import found_for
from loop_close.model import RootCause

_PAIRS, _MOST_CAUSES = 2_000, 25
# Where two agree in nothing, the logarithm has to end somewhere.
_LEAST = 1e-5
#: How much it counts, what is known of two root causes, and whether they are one.
Sample = tuple[float, tuple[float, float, float], bool]


def fit_joins(folder: Path, faults: Sequence[Fault]) -> dict[str, float]:
    """The weights of the odds; the first is that of both being as likely before."""
    one, agreed, joint = weights_of([_choice(*sample) for sample in _samples(folder, faults)])
    return {"one": round(one, 2), "agreed": round(agreed, 2), "joint": round(joint, 2)}


def _choice(part: float, known: Sequence[float], is_one: bool) -> Choice:
    """Of what is known, against nothing: the logistic regression."""
    return part, [([*known], is_one), ([0.0] * len(known), not is_one)]


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


def _told(cause: RootCause, calls: Calls) -> CauseEvidence | None:
    return None if is_named(cause) else evidence_of(cause, found_for(cause, calls), calls)


def _known(one: CauseEvidence, other: CauseEvidence) -> tuple[float, float, float]:
    agreed = log(max(_LEAST, agreement(one.blame, other.blame)))
    return 1.0, agreed, joint_less_apart(one.lines, other.lines)
