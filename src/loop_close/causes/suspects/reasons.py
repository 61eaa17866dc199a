"""Why a function is suspected beside the tests that called it, in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.causes.suspects.candidates import Candidate
from loop_close.causes.suspects.spectrum import Spectrum

# A line is worth naming where at most this share of the passing tests that called its function ran it.
_SELDOM = 0.5
# What is true of fewer of the failures is not said of all of them.
_MOSTLY = 0.5


def reasons_of(candidate: Candidate) -> tuple[str, ...]:
    """The reasons, the weightiest first."""
    return tuple(_reasons(candidate))


def _reasons(candidate: Candidate) -> Iterator[str]:
    spectrum, clue = candidate.spectrum, candidate.clue
    if spectrum is not None and spectrum.function.is_changed and not (clue and clue.edited):
        yield "changed since the passing tests were counted"
    is_owed = spectrum is not None and spectrum.function.owes
    is_told = is_owed or candidate.is_about_none
    if spectrum is not None and spectrum.gave_none and candidate.none_before is None and is_told:
        wanted = " where a value is wanted" if is_owed else ""
        yield f"gives None{wanted}{_in(spectrum.gave_none, spectrum.of_failed)}"
    if spectrum is not None and candidate.at_import and not clue:
        yield "ran before the import failed"
    if spectrum is not None and spectrum.made and not candidate.at_import:
        yield _made(spectrum)
    if candidate.none_before is not None:
        wanted = ", where a value is wanted" if candidate.none_before.function.owes else ""
        yield f"gave None at import or before the tests{wanted}"
    if candidate.swallowed is not None:
        yield candidate.swallowed.reason
    if clue is None:
        return
    if clue.edited:
        yield "edited right before this began to fail"
    if clue.raised >= _MOSTLY:
        yield "the exception came out of it"
    elif clue.refused >= _MOSTLY:
        yield "it raised the exception"
    elif clue.framed:
        yield "on the traceback"
    if clue.judged >= _MOSTLY:
        yield "the failing statement is about what it gave"


def _made(spectrum: Spectrum) -> str:
    if spectrum.made == spectrum.failed:
        return "it ran at import, and they use what it made"
    return f"{spectrum.made} of the failing ones use what it made at import"


def odd_line(candidate: Candidate) -> tuple[int, int, int]:
    """The line that sets the failing tests apart: its number, how many failing and passing tests ran it."""
    spectrum = candidate.spectrum
    if spectrum is None or spectrum.function.is_changed or not (spectrum.line and spectrum.passed):
        return 0, 0, 0
    if spectrum.line_passed > _SELDOM * spectrum.passed or spectrum.line_failed < spectrum.failed:
        return 0, 0, 0
    return spectrum.line, spectrum.line_failed, spectrum.line_passed


def _in(number: int, of_all: int) -> str:
    """How many tests, where it is not all."""
    return "" if number == of_all else f" ({number} of {of_all} failing tests)"
