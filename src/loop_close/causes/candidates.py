"""Functions that may hold the fault behind a root cause, each with its features as numbers from 0 to 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import exp, fsum, log2
from typing import NamedTuple

from msgspec.structs import replace

from loop_close import lazy
from loop_close.calls import Calls, Constant, sample
from loop_close.causes.clues import (
    Clue,
    failing_classes,
    handing_on,
    is_of_the_exception,
    maker_share,
)
from loop_close.causes.edits import written_name
from loop_close.causes.spectrum import Spectrum, ochiai, passed_of, traces_of
from loop_close.facts import Name, base_name
from loop_close.model import Failure
from loop_close.records import Record
from loop_close.syntax.constants import class_of
from loop_close.syntax.meaning import MODULE
from loop_close.syntax.vocabulary import relevance, words_of

# A function of so many lines is as likely as any larger one to hold a fault.
_LARGE = 64
# The steepness of weights by contrast: with 0.1 less contrast, a function counts about a third.
_STEEP = 10.0
# Test code that was edited is less likely at fault than code under test that was, unless it raised the exception.
_TEST_CODE = 0.6


class ExecutedCode(NamedTuple):
    """What ran at all, in whatever test or import.

    :ivar functions: by file and name; ``modules`` the files.
    """

    functions: frozenset[Name] = frozenset()
    modules: frozenset[str] = frozenset()

    def has_run(self, file: str) -> bool:
        """Whether the module ran, as far as that is known."""
        return file in self.modules or not self.modules

    def is_class(self, file: str, name: str) -> bool:
        """Whether it is the body of a class: by its methods that ran, else by how classes are spelled."""
        methods = (function.startswith(f"{name}.") for path, function in self.functions if path == file)
        return name.rpartition(".")[2][:1].isupper() or any(methods)


class Loaded(NamedTuple):
    """A constant and the line that loads it.

    :ivar where: the file of the function ``by``.
    """

    constant: Constant
    by: str
    where: str
    line: int


class Candidate(Record, frozen=True, kw_only=True):
    """A function with its clues; at least one of ``spectrum`` and ``clue`` is there.

    :ivar at_import: the failures are of modules that cannot be imported, so no other test need have passed.
    :ivar loaded: if it is a statement outside of functions, what it binds and where that is loaded. Then ``function``
        is the class, or the module, and the counts are those of the function that loads it, or of a method of the
        class.
    :ivar features: the evidence for it, most from 0 to 1.

        Of the spectrum: ``function``, ``line_score`` (of the oddest line, run or left out), ``naish`` (Naish's measure,
        from -1), ``calls_odd``, ``late``, ``all`` (every failing test ran it), ``large``.
        Of the clues: ``raised``, ``once_raised``, ``missing``, ``framed``, ``judged``, ``edited``, ``outside`` (edited,
        calls not counted). Of its name: ``maker`` (of the objects that fail), ``special`` (a method that Python calls
        by itself). By comparison with others: ``contrast_rank``, ``file``, ``name``.
        ``constant``: it is a statement outside of functions.
    """

    file: str
    function: str
    spectrum: Spectrum | None
    clue: Clue | None
    features: Mapping[str, float]
    at_import: bool = False
    loaded: Loaded | None = None


def candidates(
    spectra: Iterable[Spectrum],
    clues: Mapping[Name, Clue],
    failures: Sequence[Failure],
    known: ExecutedCode | None = None,
) -> list[Candidate]:
    """Every function that failing tests ran, that is on a traceback or that was edited.

    :param failures: those of the cause.
    :param known: what ran at all; None where that is not known.
    """
    known = known or ExecutedCode()
    ran = {(s.function.file, base_name(s.function.function)): s for s in spectra}
    named = {name for name, clue in clues.items() if clue.framed or _is_edited(clue, ran.get(name), known)}
    named |= {name for name, clue in clues.items() if clue.judged and not ran}
    classes = failing_classes(failures)
    at_import = all(failure.phase == "collect" for failure in failures)
    given_on = handing_on(failures)
    found = []
    for file, function in sorted({*ran, *named} - _tests_themselves(failures, clues)):
        spectrum, clue = ran.get((file, function)), clues.get((file, function))
        if _follows((file, function), clue, given_on, failures):
            continue
        features = {
            **_by_spectrum(spectrum),
            **_by_clue(clue),
            "outside": _edited(clue) if clue is not None and _is_outside(clue, spectrum, known) else 0.0,
            "maker": maker_share(function, classes),
            "special": float(_is_special(function)),
            "constant": 0.0,
        }
        found.append(
            Candidate(
                file=file,
                function=function,
                spectrum=spectrum,
                clue=clue,
                features=features,
                at_import=at_import,
            )
        )
    return found


def _follows(name: Name, clue: Clue | None, given_on: Collection[Name], failures: Sequence[Failure]) -> bool:
    """Whether it runs because something else failed: it raises what it was given, or makes the exception."""
    if clue is not None and clue.edited:
        return False
    is_framed = clue is not None and clue.framed > 0
    return name in given_on or (not is_framed and is_of_the_exception(name[1], failures))


def _is_edited(clue: Clue, spectrum: Spectrum | None, known: ExecutedCode) -> bool:
    """Whether it was edited and may have run in the failing tests: a function that did not run is not to blame."""
    return clue.edited > 0 and (spectrum is not None or _is_outside(clue, spectrum, known))


def _tests_themselves(failures: Sequence[Failure], clues: Mapping[Name, Clue]) -> set[Name]:
    """The failing tests, which may be in files that no convention calls tests, except those that were edited."""
    tests = {(failure.file, written_name(failure)) for failure in failures}
    return {name for name in tests if name not in clues or not clues[name].edited}


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
        "line_score": max(spectrum.line_score, spectrum.left_out_score),
        "naish": spectrum.failed / spectrum.of_failed - spectrum.passed / (1 + spectrum.of_passed),
        "calls_odd": spectrum.calls_odd,
        "late": spectrum.late,
        "all": float(spectrum.failed == spectrum.of_failed),
        "large": min(1.0, log2(1 + size) / log2(_LARGE)),
    }


def _by_clue(clue: Clue | None) -> dict[str, float]:
    if clue is None:
        return {}
    return {
        "raised": clue.raised,
        "once_raised": float(clue.raised > 0),
        "missing": clue.missing,
        "framed": clue.framed,
        "judged": clue.judged,
        "edited": (_TEST_CODE if clue.is_test and not (clue.raised or clue.gone) else 1.0) * _edited(clue),
    }


def _edited(clue: Clue) -> float:
    """The share of the failures that began right after it was edited."""
    return clue.edited_share if clue.edited else 0.0


def _is_outside(clue: Clue, spectrum: Spectrum | None, known: ExecutedCode) -> bool:
    """Whether it was edited and is nothing that is counted: test code, or the body of a module or class that ran."""
    if (
        not clue.edited
        or (clue.is_new and not clue.is_test)
        or spectrum is not None
        or (clue.file, clue.function) in known.functions
    ):
        return False
    if clue.gone:
        return True
    is_body = clue.function == MODULE or known.is_class(clue.file, clue.function)
    return clue.is_test or not known.functions or (is_body and known.has_run(clue.file))


def with_relative_rank(found: Collection[Candidate]) -> list[Candidate]:
    """The candidates of one cause, those that ran with two more features, each at most 1.

    ``contrast_rank``: 1 for those with the highest contrast, 1/2 for those with the next, 1/3, and so on. ``file``: the
    share of its file in the weights of all functions.
    """
    contrasts = [(c.file, c.spectrum.contrast) for c in found if c.spectrum is not None]
    distinct = sorted({round(contrast, 6) for _, contrast in contrasts}, reverse=True)
    ranks = {contrast: rank for rank, contrast in enumerate(distinct, start=1)}
    most = max((contrast for _, contrast in contrasts), default=0.0)
    weights: dict[str, float] = {}
    for file, contrast in contrasts:
        weights[file] = weights.get(file, 0.0) + exp(_STEEP * (contrast - most))
    total = sum(weights.values())
    ranked = []
    for each in found:
        if each.spectrum is not None:
            rank = 1 / ranks[round(each.spectrum.contrast, 6)]
            more = {"contrast_rank": rank, "file": weights[each.file] / total}
            each = replace(each, features={**each.features, **more})
        ranked.append(each)
    return ranked


# Clues of a function that are not those of the constants that it loads.
_OF_FUNCTIONS = frozenset(
    (
        *("name", "special", "maker", "large"),
        *("edited", "outside", "framed", "judged"),
    )
)


def constants_loaded(
    found: Collection[Candidate], calls: Calls, tests: Collection[str], weights: Mapping[str, float]
) -> list[Candidate]:
    """Statements whose values the candidates load in lines that the failing tests ran; one of each module or class.

    It is as likely as the likeliest function that loads it, but for the weight of ``constant``; where only objects of
    some classes have it, as the likeliest of their methods, if that is more. Of several the one is taken that fewer
    passing tests load.

    :param found: the functions, with all their features.
    :param tests: node ids of the failing tests of the cause.
    """
    traces = traces_of(calls, tests)
    ran = Counter(hit for trace in traces for hit in trace)
    classes = {(calls.functions[i].file, class_of(calls.functions[i].function)) for i, _ in ran}
    lines: dict[tuple[str, int], list[tuple[float, int]]] = {}
    for (index, line), failed in ran.items():
        score = ochiai(failed, passed_of(calls, (index, line)), len(traces))
        lines.setdefault((calls.functions[index].file, line), []).append((score, index))
    own = {(c.file, c.function): c for c in found}
    sums = {name: sum(weights.get(k, 0.0) * v for k, v in c.features.items()) for name, c in own.items()}
    best: dict[Name, tuple[tuple[float, float, int], Candidate]] = {}
    for constant in calls.constants:
        place = constant.file, constant.owner or MODULE
        if place in own or (constant.classes and classes.isdisjoint(constant.classes)):
            continue
        methods = [own[name] for name in own if (name[0], class_of(name[1])) in constant.classes]
        for file, line in constant.loads:
            for score, index in lines.get((file, line), ()):
                name = file, base_name(calls.functions[index].function)
                if name not in own or own[name].spectrum is None:
                    continue
                key = -sums[name], -score, constant.line
                if place not in best or key < best[place][0]:
                    loaded = Loaded(constant, name[1], file, line)
                    best[place] = key, _constant(own[name], methods, loaded, weights)
    return [candidate for _, (_, candidate) in sorted(best.items(), key=lambda each: each[0])]


def _constant(
    loader: Candidate, methods: Iterable[Candidate], loaded: Loaded, weights: Mapping[str, float]
) -> Candidate:
    """The statement: as likely as what loads it, or as the likeliest method of the only classes that have it."""

    def features(each: Candidate) -> dict[str, float]:
        return {k: value for k, value in each.features.items() if k not in _OF_FUNCTIONS}

    likeliest = max(
        (loader, *(method for method in methods if method.spectrum is not None)),
        key=lambda each: fsum(weights.get(k, 0.0) * value for k, value in features(each).items()),
    )
    return replace(
        likeliest,
        file=loaded.constant.file,
        function=loaded.constant.owner or MODULE,
        clue=None,
        features={**features(likeliest), "constant": 1.0},
        loaded=loaded,
    )


# How far the names of the failing tests spell those of functions, and their source the source of functions: tests are
# often called after what they test, and use the same words.

_PYTHONS = lazy.pattern(r"<\w+>|\b__\w+__\b")  # <locals>, __init__: not chosen by the author
_ANY_TEST = "test"  # test_a, TestB
# What is true of the names of so many tests is true of more.
_MOST = 300
# A highest score below this says little: that of words that most functions have, or few of the tests.
_LOW = 1.0
# The words of more tests are less of one subject: they count half.
_FEW = 2


def with_names(found: Sequence[Candidate], tests: Collection[str]) -> list[Candidate]:
    """The candidates of one cause with one more clue, ``name``, from 0 to 1 for one that is spelled as no other is.

    :param tests: node ids of the failing tests. A module that could not be imported has no name of a test.
    """
    scores = relevance([words_of(_name(candidate)) for candidate in found], _asked(tests))
    most = max(scores, default=0.0)
    return [
        replace(candidate, features={**candidate.features, "name": score / max(most, _LOW)})
        for candidate, score in zip(found, scores, strict=True)
    ]


def _name(candidate: Candidate) -> str:
    """What the author chose. Empty for test code that was edited, as it spells its own name.

    Other test code is not a candidate.
    """
    is_test = candidate.clue is not None and candidate.clue.is_test
    return "" if is_test else _PYTHONS.sub(" ", candidate.function)


def _asked(tests: Collection[str]) -> dict[str, float]:
    """The words of the tests' names, each with the share of the tests that have it."""
    names = [words_of(_test_name(nodeid)) for nodeid in sample(tests, _MOST)]
    counts = Counter(word for name in names for word in name)
    return {word: count / len(names) for word, count in counts.items() if word != _ANY_TEST}


def _test_name(nodeid: str) -> str:
    """Without parameters; nothing for an example in a text, which goes by its file or its place."""
    file, _, name = nodeid.partition("::")
    name = name.partition("[")[0].replace("::", ".")
    return "" if name == file.rpartition("/")[2] or ":" in name else name
