"""Functions that may hold the fault behind a cause, with all that speaks for each, as numbers from 0 to 1."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2

from loop_close.causes.suspects.clues import Clue, Name, base_name, likeness, words_of
from loop_close.causes.suspects.edited import written_name
from loop_close.causes.suspects.makers import failing_classes, is_maker
from loop_close.causes.suspects.spectrum import Spectrum
from loop_close.facts import test_function
from loop_close.model import Failure

# A function of so many lines is as likely as any larger one to hold a fault.
_LARGE = 64
_MOST_TEXTS = 40
# Test code that was edited is less likely at fault than code under test that was.
_TEST_CODE = 0.6


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A function with its clues; at least one of ``spectrum`` and ``clue`` is there.

    :ivar features: what speaks for it, most from 0 to 1. Of the spectrum: ``function``, ``odd`` (the oddest line, run
        or left out), ``seldom`` (how few passing tests ran that line), ``ahead`` (failing less passing tests, from -1
        on), ``onset``, ``onward``, ``late``, ``all`` (every failing test ran it), ``large``. Of the clues: ``raised``,
        ``framed``, ``edited``. Of its name: ``named`` (by the tests), ``maker`` (of the objects that fail),
        ``special`` (a method that Python calls by itself). Of the run: ``elsewhere``. ``outside``: it was
        edited, and nobody counts whether tests run it.
    """

    file: str
    function: str
    spectrum: Spectrum | None
    clue: Clue | None
    features: Mapping[str, float]


def candidates(
    spectra: Iterable[Spectrum],
    clues: Mapping[Name, Clue],
    failures: Sequence[Failure],
    known: Collection[Name] = (),
) -> list[Candidate]:
    """Every function that the failing tests ran, that is on a traceback, or that was edited.

    :param failures: those of the cause.
    :param known: functions that any test ran.
    """
    ran = {(s.function.file, base_name(s.function.function)): s for s in spectra}
    named = {name for name, clue in clues.items() if clue.framed or clue.edited}
    tests = _distinct(words_of(test_function(failure.nodeid)) for failure in failures)
    classes = failing_classes(failures)
    found = []
    for file, function in sorted({*ran, *named} - _tests_themselves(failures, clues)):
        spectrum, clue = ran.get((file, function)), clues.get((file, function))
        features = {
            **_by_spectrum(spectrum),
            **_by_clue(clue),
            "outside": float(clue is not None and _is_outside(clue, spectrum, known)),
            "named": _mean_likeness(function, tests),
            "maker": float(is_maker(function, classes)),
            "special": float(_is_special(function)),
        }
        found.append(Candidate(file=file, function=function, spectrum=spectrum, clue=clue, features=features))
    return found


def _tests_themselves(failures: Sequence[Failure], clues: Mapping[Name, Clue]) -> set[Name]:
    """The failing tests, which may stand in files that no convention calls tests, save those that were edited."""
    tests = {(failure.file, written_name(failure)) for failure in failures}
    return {name for name in tests if name not in clues or not clues[name].edited}


def _distinct(texts: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Each once, and no more than tell: a suite may fail in thousands of tests."""
    return list(dict.fromkeys(texts))[:_MOST_TEXTS]


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
        "seldom": 1 / (1 + spectrum.line_passed),
        "ahead": spectrum.failed / spectrum.of_failed - spectrum.passed / (1 + spectrum.of_passed),
        "onset": spectrum.onset,
        "onward": spectrum.onward,
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
        "edited": (_TEST_CODE if clue.is_test else 1.0) * (clue.edited > 0),
    }


def _is_outside(clue: Clue, spectrum: Spectrum | None, known: Collection[Name]) -> bool:
    """Whether it was edited and is nothing that is counted: the body of a module or a class, or test code."""
    is_counted = spectrum is not None or (clue.file, clue.function) in known
    return clue.edited > 0 and not clue.is_new and not is_counted
