"""Fit the weights of the clues to kept observations, as a choice of one function of all that could be it.

A conditional logit (listwise softmax) by gradient descent, with a penalty on the squares; a hidden fault counts half
more than one that a traceback shows. Of a fault that has several root causes each counts its part.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from math import exp
from pathlib import Path

from benchmarks.localize.faults import Fault
from loop_close.causes.suspects.clues import base_name
from loop_close.causes.suspects.rank import WEIGHTS, found_for
from loop_close.judge import close

#: Not fitted: there are no edits in the benchmark, a place on the traceback is for where nothing is counted, and few
#: faults are in functions that run before the tests.
_GIVEN = ("edited", "outside", "framed", "none_before")
_PENALTY = 0.001
_STEPS, _RATE = 3_000, 1.5
#: Of one choice: how much it counts, and of each candidate its features and whether it is the one.
Choice = tuple[float, list[tuple[list[float], bool]]]


def fit(folder: Path, faults: Sequence[Fault]) -> dict[str, float]:
    """The weights, by clue."""
    names = [name for name in WEIGHTS if name not in _GIVEN]
    choices = [choice for fault in faults for choice in _choices(folder, fault, names)]
    weights = [0.0] * len(names)
    for step in range(_STEPS):
        slope = _slope(choices, weights)
        rate = _RATE / (1 + 3 * step / _STEPS)
        weights = [w + rate * s for w, s in zip(weights, slope, strict=True)]
    return dict(zip(names, [round(weight, 1) for weight in weights], strict=True))


def _choices(folder: Path, fault: Fault, names: Sequence[str]) -> Iterator[Choice]:
    path = folder / f"{fault.id}.pickle"
    if not path.exists():
        return
    observation = pickle.loads(path.read_bytes())
    causes = close(observation).causes
    known = []
    for found in (found_for(cause, observation.calls) for cause in causes):
        rows = [
            ([c.features.get(name, 0.0) for name in names], _is_it(fault, c.file, c.function)) for c in found
        ]
        if any(is_it for _, is_it in rows):
            known.append(rows)
    for rows in known:
        yield (1.5 if fault.hidden else 1.0) / len(known), rows


def _is_it(fault: Fault, file: str, function: str) -> bool:
    return (fault.file, base_name(fault.function)) == (file, function)


def _slope(choices: Sequence[Choice], weights: Sequence[float]) -> list[float]:
    """The gradient of the mean log-likelihood, less the penalty's."""
    slope = [-2 * _PENALTY * w for w in weights]
    for part, rows in choices:
        sums = [sum(w * x for w, x in zip(weights, row, strict=True)) for row, _ in rows]
        most = max(sums)
        shares = [exp(s - most) for s in sums]
        total = sum(shares)
        right = sum(share for share, (_, is_it) in zip(shares, rows, strict=True) if is_it)
        for share, (row, is_it) in zip(shares, rows, strict=True):
            pull = part / len(choices) * ((share / right if is_it else 0.0) - share / total)
            for index, x in enumerate(row):
                slope[index] += pull * x
    return slope
