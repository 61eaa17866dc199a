"""The suspects of a root cause, the likeliest first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import exp

from loop_close.calls import Calls
from loop_close.causes.suspects.candidates import Candidate, Known, candidates
from loop_close.causes.suspects.clues import base_name, clues
from loop_close.causes.suspects.counted import Counted
from loop_close.causes.suspects.names import with_names
from loop_close.causes.suspects.nothing import none_before_tests
from loop_close.causes.suspects.places import is_named
from loop_close.causes.suspects.reasons import odd_line, reasons_of
from loop_close.causes.suspects.spectrum import Spectrum, spectra
from loop_close.causes.suspects.standing import with_standing
from loop_close.causes.suspects.swallowed import swallowed_in
from loop_close.memory import Episode
from loop_close.model import RootCause, Suspect

#: Candidates of a root cause, each with its share in all that speaks for any, the largest first.
Scored = Sequence[tuple[float, Candidate]]
#: More than five nobody reads.
MOST = 5
#: How much each clue weighs: fitted, as a choice of one function among those that the failing tests ran, to the tuning
#: half of the faults of `python -m benchmarks.localize`. Edits are not among these: one is set to outweigh all but the
#: plainest of the clues, and what is edited and not counted stands as high as what is edited and counted. Neither is a
#: place on the traceback, which is for where nothing is counted, nor None before the tests, which too few faults give,
#: nor a swallowed exception, of which few faults have one.
WEIGHTS: Mapping[str, float] = {
    "odd": 1.9,
    "function": 0.3,
    "all": 1.6,
    "ahead": 1.7,
    "foremost": 2.7,
    "file": 1.0,
    "maker": 1.7,
    "raised": 1.2,
    "large": 1.2,
    "late": 0.9,
    "onward": -0.7,
    "special": -0.3,
    "lost": 1.8,
    "name": 1.1,
    "framed": 0.1,
    "edited": 8.0,
    "outside": 6.5,
    "none_before": 12.0,
    "swallowed": 1.5,
}
#: Where even the likeliest has less of all that speaks for any, the evidence is weak, and nothing is said.
LEAST_FIRST = 0.02
#: One that has less than this part of what the likeliest has is not worth a line.
LEAST_PART = 0.005
# What this share of the passing tests ran as well tells nothing of those that fail.
_COMMON = 0.9


def suspects_among(found: Scored) -> tuple[Suspect, ...]:
    """At most five functions that probably hold the fault; none where the evidence is weak.

    :param found: the candidates of a cause.
    """
    ranked = [each for each in found if _explains(each[1])][:MOST]
    if not ranked or ranked[0][0] < LEAST_FIRST:
        return ()
    least = LEAST_PART * ranked[0][0]
    return tuple(_suspect(candidate, score) for score, candidate in ranked if score >= least)


def _explains(candidate: Candidate) -> bool:
    """Whether it can be behind most of the failures."""
    spectrum, clue = candidate.spectrum, candidate.clue
    is_called = spectrum is not None and (candidate.at_import or is_odd(spectrum))
    return (
        is_called
        or candidate.none_before is not None
        or (clue is not None and (clue.framed > 0 or clue.edited > 0))
    )


def is_odd(spectrum: Spectrum) -> bool:
    """Whether most failing tests called the function, and nearly all passing ones did not run just the same of it."""
    common = _COMMON * spectrum.of_passed
    is_run_by_all = spectrum.passed >= common and spectrum.line_passed >= common
    tells_apart = not is_run_by_all or spectrum.left_out_score > spectrum.line_score
    return 2 * spectrum.failed >= spectrum.of_failed and tells_apart


def found_for(cause: RootCause, counted: Counted | None, episode: Episode | None = None) -> list[Candidate]:
    """All candidates for the failures of a cause, by place."""
    failures = [e.failure for e in cause.evidence if e.failure is not None]
    tests = frozenset(failure.nodeid for failure in failures)
    about_modules = {failure.nodeid for failure in failures if failure.phase == "collect"}
    found = clues(failures, episode)
    unwound = {name for name, clue in found.items() if clue.framed}
    told = tests - about_modules if is_named(cause) else tests
    spectrum = spectra(counted, told, unwound) if counted is not None else []
    calls = counted.calls if counted is not None else None
    known = _known(calls) if spectrum else None
    before = none_before_tests(failures, calls)
    swallowed = swallowed_in(cause, calls)
    return with_names(with_standing(candidates(spectrum, found, failures, known, before, swallowed)), tests)


def _known(calls: Calls | None) -> Known:
    functions = calls.functions if calls is not None else ()
    modules = calls.modules if calls is not None else frozenset()
    return Known(frozenset((each.file, base_name(each.function)) for each in functions), modules)


def scored(found: Collection[Candidate], without: str = "") -> Scored:
    """The share of each in what speaks for all of them (softmax), the largest first, then by place.

    :param without: a clue that is not to count.
    """
    if not found:
        return []
    weights = {name: weight for name, weight in WEIGHTS.items() if name != without}
    sums = [sum(weights.get(name, 0.0) * value for name, value in c.features.items()) for c in found]
    most = max(sums)
    parts = [exp(each - most) for each in sums]
    total = sum(parts)
    shares = [(part / total, candidate) for part, candidate in zip(parts, found, strict=True)]
    return sorted(shares, key=lambda each: (-each[0], each[1].file, each[1].function))


def _suspect(candidate: Candidate, score: float) -> Suspect:
    spectrum = candidate.spectrum
    called = spectrum.function if spectrum is not None else None
    if called is None and candidate.none_before is not None:
        called = candidate.none_before.function
    return Suspect(
        file=candidate.file,
        line=called.line if called is not None else _line(candidate),
        function=candidate.function,
        end_line=called.end_line if called is not None else 0,
        score=round(score, 3),
        reasons=reasons_of(candidate),
        failed=(spectrum.failed, spectrum.of_failed) if spectrum else (0, 0),
        passed=(spectrum.passed, spectrum.of_passed)
        if spectrum and not spectrum.function.is_changed
        else (0, 0),
        odd=odd_line(candidate),
        edited=candidate.clue.edited if candidate.clue is not None else 0,
        none_before=candidate.none_before is not None,
    )


def _line(candidate: Candidate) -> int:
    """Where to look in a function that no count is known of; in a module, which is long, the very line."""
    clue = candidate.clue
    if clue is None:
        return 0
    return clue.at if candidate.function == "<module>" else clue.line or clue.at
