"""The suspects of a root cause, the likeliest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from math import exp, log2

from loop_close.calls import Calls, Constant
from loop_close.causes.clues import Clue, clues, written_name
from loop_close.causes.spectrum import Spectrum, ochiai, spectra
from loop_close.conventions import is_test_file
from loop_close.facts import Name, base_name, every, is_syntax_error, last_name
from loop_close.model import Failure, RootCause, Suspect
from loop_close.records import NO_LOOP, Loop, Record
from loop_close.syntax.constants import class_of
from loop_close.syntax.meaning import MODULE

#: The choice that none of the candidates is the right one.
NONE = "none"
#: How much each clue weighs if passing tests are counted. Fitted, as a choice of one function among those that the
#: failing tests ran, to the tuning halves of the faults of ``python -m benchmarks.localize``. The last three are not
#: fitted: edits are set to outweigh the other clues, arguments that do not fit to outweigh edits, and the benchmark has
#: no faults in test code.
WEIGHTS: Mapping[str, float] = {
    "function": 2.4,
    "all": 2.2,
    "contrast_rank": 3.3,
    "file": 1.8,
    "large": 1.6,
    "raised": 1.4,
    "framed": 0.5,
    "lacking": 2.0,
    "constant": -0.7,
    NONE: 6.6,
    "edited": 8.0,
    "uncounted": 6.5,
    "mismatched": 15.0,
}
#: The same if nothing is counted: Python 3.11, JUnit XML, the text of a log.
UNCOUNTED: Mapping[str, float] = {
    "framed": 1.9,
    "raised": 1.8,
    "judged": 0.8,
    NONE: 2.3,
    "edited": 8.0,
    "uncounted": 6.5,
    "mismatched": 15.0,
}
#: More suspects than these are not shown.
MOST = 5
#: If even the likeliest is less probable, the evidence is weak, and nothing is said.
LEAST_FIRST = 0.05
#: What is shown is the softmax at this temperature: the probabilities would be surer than they should be.
_TEMPERATURE = 1.2
# A function of so many lines is as likely as any larger one to hold a fault.
_LARGE = 64
# The steepness of weights by contrast: with 0.1 less contrast, a function counts about a third.
_STEEP = 10.0
# A line is worth naming if at most this share of the passing tests that called its function ran it.
_SELDOM = 0.5
# What sets the attributes of an instance when it is made.
_MAKERS = frozenset(("__init__", "__new__", "__post_init__", "__attrs_post_init__", "__setstate__"))
# What a constant shares with a function that loads it.
_SHARED = ("function", "all", "contrast_rank", "file")


class Candidate(Record, frozen=True):
    """A function that may hold the fault, or a statement of a module or class that functions load.

    :ivar spectrum: of a statement, that of the function that loads it.
    :ivar loaded: what the statement binds, and the line in which ``spectrum.function`` loads it.
    :ivar features: the evidence by clue, most from 0 to 1.
    """

    file: str
    function: str
    features: Mapping[str, float]
    spectrum: Spectrum | None = None
    clue: Clue | None = None
    loaded: tuple[Constant, int] | None = None


#: Candidates of a root cause, each with its probability, the largest first. Together they leave some for none of them.
Scored = Sequence[tuple[float, Candidate]]


def candidates(cause: RootCause, calls: Calls, loop: Loop = NO_LOOP) -> list[Candidate]:
    """All candidates for the failures of a cause; none if Python says which line it cannot parse.

    Those are the functions that failing tests ran, that are on a traceback, or that were edited before the failures
    began. What is counted and no failing test ran is none, if it is known what these ran.
    """
    failures = cause.failures
    if all(is_syntax_error(failure.raised) for failure in failures):
        return []
    nodeids = {failure.nodeid for failure in failures}
    spectrum = spectra(calls, nodeids)
    ran = {(each.function.file, base_name(each.function.function)): each for each in spectrum}
    counted = (
        {(each.file, base_name(each.function)) for each in calls.functions}
        if not nodeids.isdisjoint(calls.failed)
        else set()
    )
    found = clues(failures, loop)
    apart = {(failure.file, written_name(failure)) for failure in failures} | _of_exceptions(
        failures, {*ran, *found}
    )
    named = {
        name
        for name, clue in found.items()
        if name in ran
        or clue.mismatched
        or ((clue.framed or clue.edited or (clue.judged and not ran)) and name not in counted)
    }
    relative = _relative(spectrum)
    lacking = _lacking(failures)
    functions = [
        Candidate(
            file=name[0],
            function=name[1],
            spectrum=ran.get(name),
            clue=found.get(name),
            features={
                **relative.get(name, {}),
                **_by_clue(name, found.get(name), is_counted=name in ran or not counted),
                "lacking": lacking[last_name(class_of(name[1]))] if last_name(name[1]) in _MAKERS else 0.0,
            },
        )
        for name in sorted({*ran, *named})
        if name not in apart or (name in found and found[name].edited)
    ]
    return [*functions, *_constants(functions, calls, nodeids)]


def _lacking(failures: Sequence[Failure]) -> Counter[str]:
    """By class the share of the failures that say that an instance of it lacks an attribute."""
    owners = [{last_name(each.details.get("owner", "")) for each in every(f.raised)} - {""} for f in failures]
    shares: Counter[str] = Counter()
    for owner in chain.from_iterable(owners):
        shares[owner] += 1 / len(failures)  # type: ignore[assignment]
    return shares


def _of_exceptions(failures: Sequence[Failure], names: Collection[Name]) -> set[Name]:
    """Functions that ran because of the exceptions: helpers that raise what they are given, methods of their classes.

    What is on a traceback for itself is none of these.
    """
    frames = {
        ((frame.file, base_name(frame.function)), frame.is_handing_on)
        for failure in failures
        for each in every(failure.raised)
        for frame in each.frames
    }
    types = {
        name for failure in failures for each in every(failure.raised) for name in (each.type, *each.bases)
    }
    carrying = {name for name in names if class_of(name[1]).rpartition(".")[2] in types}
    return (carrying | {name for name, is_handing_on in frames if is_handing_on}) - {
        name for name, is_handing_on in frames if not is_handing_on
    }


def _relative(spectrum: Sequence[Spectrum]) -> dict[Name, dict[str, float]]:
    """The features by what ran, some of them in comparison with the other functions.

    ``contrast_rank``: 1 for those with the highest contrast, 1/2 for those with the next, 1/3, and so on. ``file``: the
    share of its file in the weights of all functions.
    """
    distinct = sorted({round(each.contrast, 6) for each in spectrum}, reverse=True)
    ranks = {contrast: rank for rank, contrast in enumerate(distinct, start=1)}
    weights: Counter[str] = Counter()
    for each in spectrum:
        weights[each.function.file] += exp(_STEEP * (each.contrast - distinct[0]))  # type: ignore[assignment]
    total = sum(weights.values())
    return {
        (each.function.file, base_name(each.function.function)): {
            "function": each.score,
            "all": float(each.failed == each.of_failed),
            "contrast_rank": 1 / ranks[round(each.contrast, 6)],
            "file": weights[each.function.file] / total,
            "large": min(1.0, log2(1 + max(1, each.function.end_line - each.function.line)) / log2(_LARGE)),
        }
        for each in spectrum
    }


def _by_clue(name: Name, clue: Clue | None, *, is_counted: bool) -> dict[str, float]:
    if clue is None:
        return {}
    is_test = is_test_file(name[0])
    return {
        "raised": clue.raised,
        "framed": clue.framed,
        "judged": clue.judged,
        "edited": clue.edited,
        # What is not counted has none of the features above: the bodies of modules and classes, and test code.
        "uncounted": 0.0 if is_counted else max(clue.edited, clue.raised * is_test),
        "mismatched": clue.mismatched,
    }


def _constants(functions: Sequence[Candidate], calls: Calls, tests: Collection[str]) -> Iterator[Candidate]:
    """Statements whose values the candidates load in lines that the failing tests ran; one of each module or class.

    Each is as likely as the likeliest of the functions that load it, and of the methods of its class. Of several of one
    place that with the oddest load is taken.
    """
    own = {(c.file, c.function): c for c in functions}
    weight = {
        name: sum(WEIGHTS[k] * c.features[k] for k in _SHARED)
        for name, c in own.items()
        if c.spectrum is not None
    }
    ran = Counter(hit for test in tests for hit in set(calls.failed.get(test, ())))
    loads: dict[tuple[str, int], tuple[float, Name]] = {}
    for (index, line), failed in ran.items():
        called = calls.functions[index]
        odd = ochiai(failed, called.line_passed(line), len(tests))
        loads[called.file, line] = max(
            loads.get((called.file, line), (-1.0, ("", ""))), (odd, (called.file, base_name(called.function)))
        )
    best: dict[Name, tuple[tuple[float, float, int], Constant, int, Candidate]] = {}
    for constant in calls.constants:
        place = constant.file, constant.owner or MODULE
        methods = [
            n for n in weight if constant.owner and (n[0], class_of(n[1])) == (constant.file, constant.owner)
        ]
        for file, line in constant.loads:
            odd, loader = loads.get((file, line), (0.0, ("", "")))
            if place not in own and loader in weight:
                likeliest = max((loader, *methods), key=lambda name: (weight[name], name))
                key = -weight[likeliest], -odd, constant.line
                if place not in best or key < best[place][0]:
                    best[place] = key, constant, line, own[likeliest]
    for (file, function), (_, constant, line, by) in sorted(best.items()):
        features = {**{k: by.features[k] for k in _SHARED}, "constant": 1.0}
        yield Candidate(
            file=file, function=function, spectrum=by.spectrum, loaded=(constant, line), features=features
        )


def scored(found: Sequence[Candidate]) -> Scored:
    """The probability of each candidate: a softmax over what its clues weigh, and over the choice of none."""
    is_counted = any(c.spectrum is not None and c.spectrum.of_passed for c in found)
    weights = WEIGHTS if is_counted else UNCOUNTED
    sums = [sum(weights.get(k, 0.0) * v for k, v in c.features.items()) / _TEMPERATURE for c in found]
    none = weights[NONE] / _TEMPERATURE
    most = max((*sums, none))
    total = sum(exp(each - most) for each in (*sums, none))
    shares = [(exp(each - most) / total, candidate) for each, candidate in zip(sums, found, strict=True)]
    return sorted(shares, key=lambda each: (-each[0], each[1].file, each[1].function))


def suspects_among(found: Scored) -> tuple[Suspect, ...]:
    """At most five functions that probably hold the fault; none if the evidence is weak."""
    if not found or found[0][0] < LEAST_FIRST:
        return ()
    return tuple(_suspect(candidate, score) for score, candidate in found[:MOST])


def _suspect(candidate: Candidate, score: float) -> Suspect:
    spectrum, clue = candidate.spectrum, candidate.clue
    line, end_line, constant = 0, 0, ""
    if candidate.loaded is not None:
        bound, _ = candidate.loaded
        line, end_line = bound.line, bound.end_line
        constant = f"{bound.owner}.{bound.name}" if bound.owner else bound.name
    elif spectrum is not None:
        line, end_line = spectrum.function.line, spectrum.function.end_line
    elif clue is not None:
        line = clue.at if candidate.function == MODULE else clue.line or clue.at
    is_known = spectrum is not None and not spectrum.function.is_changed
    is_run = is_known and candidate.loaded is None
    return Suspect(
        file=candidate.file,
        line=line,
        function=candidate.function,
        end_line=end_line,
        score=round(score, 3),
        reasons=tuple(_reasons(candidate)),
        failed=(spectrum.failed, spectrum.of_failed) if spectrum is not None else (0, 0),
        passed=(spectrum.passed, spectrum.of_passed) if spectrum is not None and is_known else (0, 0),
        odd=odd_line(candidate),
        constant=constant,
        guards=spectrum.function.guards if spectrum is not None and is_run else (),
    )


def _reasons(candidate: Candidate) -> Iterator[str]:
    """Facts that speak for it, in a few words each."""
    spectrum, clue = candidate.spectrum, candidate.clue
    if candidate.loaded is not None and spectrum is not None:
        bound, line = candidate.loaded
        where = "" if spectrum.function.file == candidate.file else f" in {spectrum.function.file}"
        yield f"{bound.name} is loaded in line {line} of {spectrum.function.function}(){where}"
        return
    if spectrum is not None and spectrum.function.is_changed and not (clue and clue.edited):
        yield "changed since the passing tests were counted"
    if clue is None:
        return
    if clue.edit:
        yield clue.edit
    if clue.mismatched > 0.5:
        yield "a call whose arguments do not fit"
    elif clue.raised > 0.5:
        yield "the last project function on the traceback"
    elif clue.refused > 0.5:
        yield "it raised the exception"
    elif clue.framed:
        yield "on the traceback"
    elif clue.judged > 0.5:
        yield "the failing statement calls it or uses its value"


def odd_line(candidate: Candidate) -> tuple[int, int, int]:
    """The line that sets the failing tests apart: its number, how many failing and passing tests ran it."""
    spectrum = candidate.spectrum
    if (
        spectrum is None
        or candidate.loaded is not None
        or spectrum.function.is_changed
        or not spectrum.passed
    ):
        return 0, 0, 0
    if spectrum.line_passed > _SELDOM * spectrum.passed or spectrum.line_failed < spectrum.failed:
        return 0, 0, 0
    return spectrum.line, spectrum.line_failed, spectrum.line_passed
