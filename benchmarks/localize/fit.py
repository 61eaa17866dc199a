"""Fit the weights of the clues to kept observations, as a choice of one function of all that could be it, or of none.

Of a fault that has several root causes each counts its part. Mutations together weigh as much as real faults together,
for there are more of them and they are easier. The weights are held near those that are in use, by a
penalty on the squares of how far they move. Where nothing is counted is fitted to the same observations without calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from benchmarks.localize.faults import Fault
from benchmarks.localize.keep import load
from benchmarks.localize.logit import Choice, weights_of
from benchmarks.localize.replay import scene_in, with_sources
from loop_close.calls import NO_CALLS
from loop_close.causes.rank import NONE, UNCOUNTED, WEIGHTS, Candidate, candidates
from loop_close.facts import base_name
from loop_close.judge import report_of
from loop_close.model import Observation

#: Not fitted: there are no edits in the benchmark, and no faults in test code.
_GIVEN = ("edited", "uncounted", "mismatched")
_PENALTY = 0.001


def fit(folder: Path, cache: Path, faults: Sequence[Fault]) -> dict[str, float]:
    """The weights, by clue; those for where nothing is counted have a name with ``uncounted`` in front."""
    counted = _fitted(folder, cache, faults, {k: v for k, v in WEIGHTS.items() if k not in _GIVEN})
    own = {k: v for k, v in UNCOUNTED.items() if k not in _GIVEN}
    uncounted = _fitted(folder, cache, faults, own, is_counted=False)
    return {**counted, **{f"uncounted {name}": weight for name, weight in uncounted.items()}}


def _fitted(
    folder: Path,
    cache: Path,
    faults: Sequence[Fault],
    weights: Mapping[str, float],
    *,
    is_counted: bool = True,
) -> dict[str, float]:
    by_kind: dict[type, list[Choice]] = {}
    for fault in faults:
        observation = load(folder, fault.id)
        if observation is not None:
            scene = scene_in(fault, cache)
            seen = with_sources(observation, scene) if is_counted else replace(observation, calls=NO_CALLS)
            own = _choices(seen, fault, list(weights), is_counted=is_counted)
            by_kind.setdefault(type(fault), []).extend(own)
    choices = []
    for found in by_kind.values():
        whole = sum(part for part, _ in found)
        choices += [(part / whole, candidates) for part, candidates in found]
    fitted = weights_of(choices, _PENALTY, list(weights.values()))
    return dict(zip(weights, [round(weight, 1) for weight in fitted], strict=True))


def _choices(
    observation: Observation, fault: Fault, names: Sequence[str], *, is_counted: bool
) -> Iterator[Choice]:
    """A choice for each root cause. The last candidate is that none of the others is the right one."""
    every = [candidates(cause, observation.calls) for cause in report_of(observation).causes]
    known = [found for found in every if found and any(c.spectrum for c in found) == is_counted]
    for found in known:
        rows = [([c.features.get(name, 0.0) for name in names], _is_it(fault, c)) for c in found]
        none = [float(name == NONE) for name in names]
        yield 1 / len(known), [*rows, (none, not any(is_it for _, is_it in rows))]


def _is_it(fault: Fault, candidate: Candidate) -> bool:
    """Whether it is the function; of a statement outside of functions, whether that is the very statement."""
    if candidate.loaded is not None:
        constant, _ = candidate.loaded
        return candidate.file == fault.file and any(
            constant.line <= line <= constant.end_line for line in fault.faulty
        )
    return (fault.file, base_name(fault.function)) == (candidate.file, candidate.function)
