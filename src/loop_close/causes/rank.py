"""The suspects of a root cause, the likeliest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from math import exp, inf

from loop_close.calls import Calls, Constant
from loop_close.causes.candidates import (
    Candidate,
    ExecutedCode,
    Loaded,
    candidates,
    constants_loaded,
    with_names,
    with_relative_rank,
)
from loop_close.causes.clues import clues, is_named
from loop_close.causes.spectrum import Spectrum, spectra
from loop_close.facts import base_name, is_syntax_error
from loop_close.model import RootCause, Suspect
from loop_close.records import Loop

#: Candidates of a root cause, each with its probability, the largest first.
Scored = Sequence[tuple[float, Candidate]]
#: More suspects than these are not shown.
MOST = 5
#: The choice that none of the candidates is the right one.
NONE = "none"
#: How much each clue weighs where calls are counted. Fitted, as a choice of one function among those that the failing
#: tests ran, to the tuning half of the faults of `python -m benchmarks.localize`. Edits are not fitted: one is set to
#: outweigh all but the plainest of the clues, and what is edited and not counted weighs as much as what is edited and
#: counted. A place on the traceback is not either: too few faults give it.
WEIGHTS: Mapping[str, float] = {
    "line_score": 1.9,
    "function": 0.3,
    "all": 1.6,
    "naish": 1.7,
    "contrast_rank": 2.7,
    "file": 1.0,
    "maker": 1.7,
    "raised": 1.2,
    "missing": 1.5,
    "once_raised": 0.5,
    "large": 1.2,
    "late": 0.9,
    "calls_odd": -0.7,
    "special": -0.3,
    "name": 1.1,
    "framed": 0.1,
    "edited": 8.0,
    "outside": 6.5,
    NONE: 5.6,
    "constant": -1.0,
}
#: The same where no passing test is counted: all that ran is then as odd, and the traceback says more.
UNCONTRASTED: Mapping[str, float] = {**WEIGHTS, "framed": 2.0, "judged": 1.1}
#: The same where nothing is counted: Python 3.11, JUnit XML, the text of a log. A tenth less than fitted, by which the
#: probabilities are better calibrated over all root causes. The weight of a missing name is not fitted: all nine broken
#: imports of the tuning half are where the name was missing, and without it they have about 0.5.
UNCOUNTED: Mapping[str, float] = {
    "framed": 3.3,
    "missing": 1.5,
    "judged": 1.1,
    "name": 1.8,
    "edited": 8.0,
    "outside": 6.5,
    NONE: 3.0,
}
#: Where even the likeliest is less probable, the evidence is weak, and nothing is said.
LEAST_FIRST = 0.1
#: As many are named as it takes to have the right one among them with this probability; and three, where the others
#: have at least a hundredth. With more it is among the first five as often, with less it is not.
_COVERED = 0.9
_LEAST_NAMED, _LEAST_SHARE = 3, 0.01
#: The probabilities are surer than they should be, above all on real faults. What is shown is the softmax at this
#: temperature: on the tuning half, the expected calibration error of real faults is 0.06 instead of 0.09.
_TEMPERATURE = 1.2
# Code that more than this share of the passing tests ran does not set failing tests apart.
_COMMON = 0.9
# A line is worth naming where at most this share of the passing tests that called its function ran it.
_SELDOM = 0.5
# What is true of fewer of the failures is not said of all of them.
_MOSTLY = 0.5


def suspects_among(found: Scored) -> tuple[Suspect, ...]:
    """At most five functions that probably hold the fault; none where the evidence is weak.

    :param found: the candidates of a cause.
    """
    ranked = [each for each in _calibrated(found) if _explains(each[1])][:MOST]
    if not ranked or ranked[0][0] < LEAST_FIRST:
        return ()
    before = [0.0, *accumulate(score for score, _ in ranked)]
    return tuple(
        _suspect(candidate, score)
        for number, (covered, (score, candidate)) in enumerate(zip(before, ranked, strict=False))
        if covered < _COVERED or (number < _LEAST_NAMED and score >= _LEAST_SHARE)
    )


def _calibrated(found: Scored) -> Scored:
    none = max(0.0, 1 - sum(share for share, _ in found))
    parts = [share ** (1 / _TEMPERATURE) for share, _ in found]
    total = sum(parts) + none ** (1 / _TEMPERATURE)
    return (
        [(part / total, candidate) for part, (_, candidate) in zip(parts, found, strict=True)]
        if total
        else []
    )


def _explains(candidate: Candidate) -> bool:
    """Whether it can be behind most of the failures."""
    spectrum, clue = candidate.spectrum, candidate.clue
    is_called = spectrum is not None and (candidate.at_import or is_odd(spectrum))
    return (
        is_called
        or (clue is not None and (clue.framed > 0 or clue.edited > 0))
        or (clue is not None and clue.judged > 0)
    )


def is_odd(spectrum: Spectrum) -> bool:
    """Whether most failing tests called the function, and nearly all passing ones did not run just the same of it."""
    common = _COMMON * spectrum.of_passed
    is_run_by_all = spectrum.passed >= common and spectrum.line_passed >= common
    tells_apart = not is_run_by_all or spectrum.left_out_score > spectrum.line_score
    return 2 * spectrum.failed >= spectrum.of_failed and tells_apart


def found_for(cause: RootCause, calls: Calls | None, loop: Loop | None = None) -> list[Candidate]:
    """All candidates for the failures of a cause, by place; none where Python says which line it cannot parse."""
    failures = [e.failure for e in cause.evidence if e.failure is not None]
    if all(is_syntax_error(failure.raised) for failure in failures):
        return []
    tests = frozenset(failure.nodeid for failure in failures)
    about_modules = {failure.nodeid for failure in failures if failure.phase == "collect"}
    found = clues(failures, loop)
    unwound = {name for name, clue in found.items() if clue.framed}
    counted_tests = tests - about_modules if is_named(cause) else tests
    spectrum = spectra(calls, counted_tests, unwound) if calls is not None else []
    is_known = calls is not None and bool(tests) and tests <= calls.failed.keys()
    known = _known(calls) if spectrum or is_known else None
    functions = candidates(spectrum, found, failures, known)
    functions = with_names(with_relative_rank(functions), tests)
    if calls is None or not calls.constants:
        return functions
    return [*functions, *constants_loaded(functions, calls, counted_tests, WEIGHTS)]


def _known(calls: Calls | None) -> ExecutedCode:
    functions = calls.functions if calls is not None else ()
    modules = calls.modules if calls is not None else frozenset()
    return ExecutedCode(frozenset((each.file, base_name(each.function)) for each in functions), modules)


def scored(found: Collection[Candidate], without: Collection[str] = ()) -> Scored:
    """The probability of each (softmax), the largest first, then by place. Together they leave some for none of them.

    :param without: clues that are not to count; ``none`` if one of the candidates is taken to be the right one.
    """
    if not found:
        return []
    passed = [candidate.spectrum.of_passed for candidate in found if candidate.spectrum is not None]
    fitted = UNCOUNTED if not passed else WEIGHTS if any(passed) else UNCONTRASTED
    weights = {k: weight for k, weight in fitted.items() if k not in without}
    sums = [sum(weights.get(name, 0.0) * value for name, value in c.features.items()) for c in found]
    none = weights.get(NONE, -inf)
    most = max(*sums, none)
    parts = [exp(each - most) for each in sums]
    total = sum(parts) + exp(none - most)
    shares = [(part / total, candidate) for part, candidate in zip(parts, found, strict=True)]
    return sorted(shares, key=lambda each: (-each[0], each[1].file, each[1].function))


def _suspect(candidate: Candidate, score: float) -> Suspect:
    spectrum, loaded = candidate.spectrum, candidate.loaded
    called = spectrum.function if spectrum is not None else None
    line, end_line = (called.line, called.end_line) if called is not None else (_line(candidate), 0)
    if loaded is not None:
        line, end_line = loaded.constant.line, loaded.constant.end_line
    return Suspect(
        file=candidate.file,
        line=line,
        function=candidate.function,
        end_line=end_line,
        score=round(score, 3),
        reasons=reasons_of(candidate),
        failed=(spectrum.failed, spectrum.of_failed) if spectrum else (0, 0),
        passed=(spectrum.passed, spectrum.of_passed)
        if spectrum and not spectrum.function.is_changed
        else (0, 0),
        odd=odd_line(candidate) if loaded is None else (0, 0, 0),
        constant=_qualified(loaded.constant) if loaded is not None else "",
        edited=candidate.clue.edited if candidate.clue is not None else 0,
    )


def _qualified(constant: Constant) -> str:
    return f"{constant.owner}.{constant.name}" if constant.owner else constant.name


def _line(candidate: Candidate) -> int:
    """Where to look in a function that no count is known of; in a module, which is long, the very line."""
    clue = candidate.clue
    if clue is None:
        return 0
    return clue.at if candidate.function == "<module>" else clue.line or clue.at


#: Reasons that say where the exception was raised, which the prompt need not say twice.
RAISED_IN_IT, RAISED_BY_IT = "the exception was raised in it", "it raised the exception"


def reasons_of(candidate: Candidate) -> tuple[str, ...]:
    """The reasons, the weightiest first."""
    return tuple(_reasons(candidate))


def _reasons(candidate: Candidate) -> Iterator[str]:
    spectrum, clue = candidate.spectrum, candidate.clue
    if candidate.loaded is not None:
        yield _loaded(candidate, candidate.loaded)
        return
    if spectrum is not None and spectrum.function.is_changed and not (clue and clue.edited):
        yield "changed since the passing tests were counted"
    if spectrum is not None and candidate.at_import and not clue:
        yield "ran before the import failed"
    if clue is None:
        return
    if clue.edited:
        yield f"{clue.gone or ('added' if clue.is_new else 'edited')} before run {clue.edited}"
    if clue.raised >= _MOSTLY:
        yield RAISED_IN_IT
    elif clue.refused >= _MOSTLY:
        yield RAISED_BY_IT
    elif clue.framed:
        yield "on the traceback"


def _loaded(candidate: Candidate, loaded: Loaded) -> str:
    where = f" in {loaded.where}" if loaded.where != candidate.file else ""
    is_part = (loaded.where, loaded.line) in loaded.constant.parts
    how = "part of what is loaded" if is_part else "loaded"
    return f"{loaded.constant.name} is {how} in line {loaded.line} of {loaded.by}(){where}"


def odd_line(candidate: Candidate) -> tuple[int, int, int]:
    """The line that sets the failing tests apart: its number, how many failing and passing tests ran it."""
    spectrum = candidate.spectrum
    if spectrum is None or spectrum.function.is_changed or not (spectrum.line and spectrum.passed):
        return 0, 0, 0
    if spectrum.line_passed > _SELDOM * spectrum.passed or spectrum.line_failed < spectrum.failed:
        return 0, 0, 0
    return spectrum.line, spectrum.line_failed, spectrum.line_passed
