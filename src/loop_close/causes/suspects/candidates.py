"""Functions that may hold the fault behind a cause, with all that speaks for each, as numbers from 0 to 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2

from loop_close.causes.suspects.clues import Clue, Name, base_name, likeness, words_of
from loop_close.causes.suspects.spectrum import Spectrum
from loop_close.facts import links, test_function
from loop_close.model import Failure

# A function of so many lines is as likely as any larger one to hold a fault.
_LARGE = 64
_MOST_TEXTS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A function with its clues; at least one of ``spectrum`` and ``clue`` is there.

    :ivar features: what speaks for it, each from 0 to 1. Of the spectrum: ``function``, ``odd`` (the oddest line, run
        or left out), ``onset``, ``late``, ``all`` (every failing test ran it), ``large``. Of the clues: ``raised``,
        ``framed``, ``edited``. Of its name: ``named`` (by the tests), ``stated`` (by the failing statements),
        ``special`` (a method that Python calls by itself).
    """

    file: str
    function: str
    spectrum: Spectrum | None
    clue: Clue | None
    features: Mapping[str, float]


def candidates(
    spectra: Iterable[Spectrum], clues: Mapping[Name, Clue], failures: Sequence[Failure]
) -> list[Candidate]:
    """Every function that the failing tests ran, that is on a traceback, or that was edited.

    :param failures: those of the cause.
    """
    ran = {(s.function.file, base_name(s.function.function)): s for s in spectra}
    named = {name for name, clue in clues.items() if clue.framed or clue.edited}
    tests = _distinct(words_of(test_function(failure.nodeid)) for failure in failures)
    stated = _distinct(words_of(_statements(failure)) for failure in failures)
    found = []
    for file, function in sorted({*ran, *named}):
        spectrum, clue = ran.get((file, function)), clues.get((file, function))
        features = {
            **_by_spectrum(spectrum),
            **_by_clue(clue),
            "named": _mean_likeness(function, tests),
            "stated": _mean_likeness(function, stated),
            "special": float(_is_special(function)),
        }
        found.append(Candidate(file=file, function=function, spectrum=spectrum, clue=clue, features=features))
    return found


def _distinct(texts: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Each once, and no more than tell: a suite may fail in thousands of tests."""
    return list(dict.fromkeys(texts))[:_MOST_TEXTS]


def _statements(failure: Failure) -> str:
    return " ".join(link.site.statement for link in links(failure.raised) if link.site is not None)


def _mean_likeness(function: str, texts: Sequence[frozenset[str]]) -> float:
    return sum(likeness(words, function) for words in texts) / max(1, len(texts))


def _is_special(function: str) -> bool:
    name = function.rpartition(".")[2]
    return name.startswith("__") and name.endswith("__") and name != "__init__"


def _by_spectrum(spectrum: Spectrum | None) -> dict[str, float]:
    if spectrum is None:
        return {}
    called = spectrum.function
    size = max(1, called.end_line - called.line)
    return {
        "function": spectrum.function_score,
        "odd": max(spectrum.line_score, spectrum.left_out_score),
        "onset": spectrum.onset,
        "late": spectrum.late,
        "all": float(spectrum.failed == spectrum.of_failed),
        "large": min(1.0, log2(1 + size) / log2(_LARGE)),
    }


def _by_clue(clue: Clue | None) -> dict[str, float]:
    if clue is None:
        return {}
    return {
        "raised": clue.raised,
        "framed": clue.framed,
        "edited": float(clue.edited > 0),
    }
