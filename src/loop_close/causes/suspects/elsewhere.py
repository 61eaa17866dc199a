"""What speaks for a function in the other root causes of a run: one fault often shows as several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from loop_close.causes.suspects.candidates import Candidate
from loop_close.causes.suspects.clues import Name

# What fewer passing tests call is odd in all that fails there.
_CONTRAST = 5


def with_elsewhere(found: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
    """The candidates of each cause with the clue ``elsewhere``: how odd the others find it that finds it least so.

    The least and not the mean: of two faults, what only one of them is about gets nothing. Neither does what
    hardly any passing test calls: all that fails may have to go through it, whatever is wrong.
    """
    odd = [_oddness(candidates) for candidates in found if candidates]
    lists = iter(range(len(odd)))
    return [_completed(each, [*_without(odd, next(lists))]) if each else [] for each in found]


def _oddness(candidates: Sequence[Candidate]) -> Mapping[Name, float]:
    return {
        (c.file, c.function): (c.features["odd"] + c.features["function"]) / 2
        for c in candidates
        if c.spectrum is not None and c.spectrum.passed >= _CONTRAST
    }


def _without(odd: Sequence[Mapping[Name, float]], own: int) -> Iterator[Mapping[Name, float]]:
    yield from odd[:own]
    yield from odd[own + 1 :]


def _completed(candidates: Sequence[Candidate], others: Sequence[Mapping[Name, float]]) -> list[Candidate]:
    if not others:
        return list(candidates)
    return [
        replace(
            c, features={**c.features, "elsewhere": min(odd.get((c.file, c.function), 0.0) for odd in others)}
        )
        for c in candidates
    ]
