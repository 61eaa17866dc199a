"""What each clue and each part of the ranking is worth: kept observations judged with it and without it.

A clue is left out by taking its weight away. The other weights stay as they are: that is the most it can be worth, for
fitted again they would take over a part of it. A part is left out by taking what it records from the observation, or by
a function that does nothing in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple
from unittest.mock import patch

from msgspec.structs import replace

from benchmarks.localize import ours
from benchmarks.localize.faults import Fault
from benchmarks.localize.keep import load
from benchmarks.localize.replay import scene_in, with_sources
from benchmarks.localize.score import rank_of
from loop_close import causes
from loop_close.calls import NO_CALLS
from loop_close.causes import rank as ranking
from loop_close.judge import report_of
from loop_close.model import Observation
from loop_close.prompt.report_json import report_document

_WEIGHTS = ("WEIGHTS", "UNCOUNTED")
#: What a fault is worth by the rank of the faulty function, in points.
_VALUES: Mapping[str, Callable[[int], float]] = {
    "first": lambda rank: 100 * (rank == 1),
    "first 3": lambda rank: 100 * (rank <= 3),
    "first 5": lambda rank: 100 * (rank <= 5),
    "100 / rank": lambda rank: 100 / rank,
}
_UNNAMED = 10**9


class _Without(NamedTuple):
    """A clue or a part that is left out: by what is changed in the ranking, and in the observation."""

    patches: Callable[[], AbstractContextManager[object]] = nullcontext
    observed: Callable[[Observation], Observation] = lambda observation: observation


def ablate(folder: Path, cache: Path, faults: Sequence[Fault], jobs: int) -> list[tuple[str, ...]]:
    """A heading, and a row for each clue and part: what is lost without it, in points of all faults.

    Each cell is the mean of the paired differences and its standard error, with a star from two standard errors on.
    """
    kept = [fault for fault in faults if (folder / f"{fault.id}.pickle").exists()]
    with ProcessPoolExecutor(jobs) as pool:
        ranks = list(pool.map(partial(_ranks, folder, cache), kept, chunksize=4))
    return table(list(_variants())[1:], ranks)


def table(names: Sequence[str], ranks: Sequence[Sequence[int]]) -> list[tuple[str, ...]]:
    """A heading, and a row for each variant.

    :param names: the variants.
    :param ranks: of each fault the rank of the faulty function with everything, then by variant.
    """
    found: list[tuple[str, ...]] = [(f"without ({len(ranks)} faults)", *_VALUES)]
    for number, name in enumerate(names, start=1):
        pairs = [(each[0], each[number]) for each in ranks]
        found.append((name, *(_cell(value, pairs) for value in _VALUES.values())))
    return found


def _cell(value: Callable[[int], float], pairs: Sequence[tuple[int, int]]) -> str:
    lost = [value(whole) - value(without) for whole, without in pairs]
    mean, error = fmean(lost), stdev(lost) / len(lost) ** 0.5
    return f"{mean:+.1f} ± {error:.1f}{' *' if abs(mean) > 2 * error else ''}"


def _ranks(folder: Path, cache: Path, fault: Fault) -> list[int]:
    """The rank of the faulty function, by the variants in their order."""
    observation = load(folder, fault.id)
    if observation is None:
        raise FileNotFoundError(f"{folder}: nothing was kept of {fault.id}")
    scene = scene_in(fault, cache)
    observation = with_sources(observation, scene)
    ranks = []
    for variant in _variants().values():
        with variant.patches():
            document = report_document(report_of(variant.observed(observation)), "")
        ranks.append(rank_of(fault, ours.said(scene, document, "").named) or _UNNAMED)
    return ranks


def _variants() -> dict[str, _Without]:
    """All that is left out in turn; first, nothing."""
    clues = dict.fromkeys(name for table in _WEIGHTS for name in getattr(ranking, table))
    del clues[ranking.NONE]
    return {
        "": _Without(),
        **{f"clue {name}": _Without(partial(_without_weight, name)) for name in clues},
        "part joined causes": _Without(lambda: patch.object(causes, "joined", lambda found, calls: found)),
        "part constants": _Without(observed=_without_constants),
        "part tracking": _Without(observed=lambda observation: replace(observation, calls=NO_CALLS)),
    }


@contextmanager
def _without_weight(name: str) -> Iterator[None]:
    with ExitStack() as stack:
        for table in _WEIGHTS:
            weights = getattr(ranking, table)
            stack.enter_context(
                patch.object(
                    ranking, table, {clue: weight for clue, weight in weights.items() if clue != name}
                )
            )
        yield


def _without_constants(observation: Observation) -> Observation:
    calls = observation.calls
    return replace(observation, calls=calls._replace(constants=()))
