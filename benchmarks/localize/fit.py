"""Fit the weights of the clues to kept observations, as a choice of one function of all that could be it.

With a penalty on the squares; a hidden fault counts half more than one that a traceback shows. Of a fault that has
several root causes each counts its part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.localize.faults import Fault
from benchmarks.localize.keep import load
from benchmarks.localize.logit import Choice, weights_of
from loop_close.causes.suspects.clues import base_name
from loop_close.causes.suspects.counted import Counted
from loop_close.causes.suspects.rank import WEIGHTS, found_for
from loop_close.judge import close

#: Not fitted: there are no edits in the benchmark, a place on the traceback is for where nothing is counted, and few
#: faults are in functions that run before the tests.
_GIVEN = ("edited", "outside", "framed", "none_before")
_PENALTY = 0.001


def fit(folder: Path, faults: Sequence[Fault]) -> dict[str, float]:
    """The weights, by clue."""
    names = [name for name in WEIGHTS if name not in _GIVEN]
    choices = [choice for fault in faults for choice in _choices(folder, fault, names)]
    weights = weights_of(choices, _PENALTY)
    return dict(zip(names, [round(weight, 1) for weight in weights], strict=True))


def _choices(folder: Path, fault: Fault, names: Sequence[str]) -> Iterator[Choice]:
    observation = load(folder, fault.id)
    if observation is None:
        return
    causes = close(observation).causes
    counted = Counted(observation.calls) if observation.calls is not None else None
    known = []
    for found in (found_for(cause, counted) for cause in causes):
        rows = [
            ([c.features.get(name, 0.0) for name in names], _is_it(fault, c.file, c.function)) for c in found
        ]
        if any(is_it for _, is_it in rows):
            known.append(rows)
    for rows in known:
        yield (1.5 if fault.hidden else 1.0) / len(known), rows


def _is_it(fault: Fault, file: str, function: str) -> bool:
    return (fault.file, base_name(fault.function)) == (file, function)
