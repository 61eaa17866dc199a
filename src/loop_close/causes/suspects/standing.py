"""How a function stands among all that the failing tests of a root cause ran: few stand out, often in one file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from math import exp

from loop_close.causes.suspects.candidates import Candidate
from loop_close.causes.suspects.spectrum import Spectrum

# How fast what stands out less counts for less: with a tenth less contrast, for about a third.
_STEEP = 10.0


def with_standing(found: Collection[Candidate]) -> list[Candidate]:
    """The candidates of one cause, those that ran with two more clues, each at most 1.

    ``foremost``: 1 for those with the highest contrast, a half for those with the next, a third, and so on. ``file``:
    the part that the functions of its file have in all that stands out.
    """
    ran = [c.spectrum for c in found if c.spectrum is not None]
    places, parts = _places(ran), _parts_of_files(ran)
    return [_with(c, places, parts) for c in found]


def _contrast(spectrum: Spectrum) -> float:
    return round(spectrum.contrast, 6)


def _places(ran: Iterable[Spectrum]) -> dict[float, int]:
    """Of each contrast that there is its place, the highest first, from 1."""
    return {value: n for n, value in enumerate(sorted({*map(_contrast, ran)}, reverse=True), start=1)}


def _parts_of_files(ran: Collection[Spectrum]) -> dict[str, float]:
    most = max((each.contrast for each in ran), default=0.0)
    sums: dict[str, float] = {}
    for each in ran:
        file = each.function.file
        sums[file] = sums.get(file, 0.0) + exp(_STEEP * (each.contrast - most))
    total = sum(sums.values())
    return {file: part / total for file, part in sums.items()}


def _with(candidate: Candidate, places: Mapping[float, int], parts: Mapping[str, float]) -> Candidate:
    if candidate.spectrum is None:
        return candidate
    foremost = 1 / places[_contrast(candidate.spectrum)]
    return replace(
        candidate, features={**candidate.features, "foremost": foremost, "file": parts[candidate.file]}
    )
