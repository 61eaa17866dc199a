"""How far the names of the failing tests spell those of functions: tests are often called after what they test.

The measure is Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, with k1 = 1.2 and
b = 0.75): what is asked for are the words of the tests' names, the documents are the functions' qualified names. A word
that few of the functions have says more than one that many have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import log

from loop_close.causes.suspects.candidates import Candidate

_LETTERS = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(
    r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)  # between the words of camelCase, HTMLPage
_LEAST = 3  # letters of a word
# Letters that count: parse, parser and parsing are one word. A stemmer (Snowball's) does no better on names.
_STEM = 4
_K1, _B = 1.2, 0.75
_ANY_TEST = "test"  # test_a, TestB
# What is true of the names of so many tests is true of more.
_MOST = 300


def with_names(found: Sequence[Candidate], tests: Collection[str]) -> list[Candidate]:
    """The candidates of one cause with one more clue, ``name``: 1 for the one that is spelled best, 0 for none.

    :param tests: node ids of the failing tests. Of a module that could not be imported there is no name to go by.
    """
    names = [_words(_name(candidate)) for candidate in found]
    scores = _scores(names, _asked(tests))
    most = max(scores, default=0.0) or 1.0
    return [
        replace(candidate, features={**candidate.features, "name": score / most})
        for candidate, score in zip(found, scores, strict=True)
    ]


def _name(candidate: Candidate) -> str:
    """Nothing for test code, which is spelled by its own name."""
    is_test = candidate.clue is not None and candidate.clue.is_test
    return "" if is_test else candidate.function


@lru_cache(maxsize=10_000)
def _words(name: str) -> Mapping[str, int]:
    words = (word for letters in _LETTERS.findall(name) for word in _HUMP.split(letters))
    return Counter(word.lower()[:_STEM] for word in words if len(word) >= _LEAST)


def _asked(tests: Collection[str]) -> dict[str, float]:
    """The words of the tests' names, parameters left out, each with the share of the tests that have it."""
    names = [_words(nodeid.partition("::")[2].partition("[")[0]) for nodeid in _some(tests)]
    counts = Counter(word for name in names for word in name)
    return {word: count / len(names) for word, count in counts.items() if word != _ANY_TEST}


def _some(tests: Collection[str]) -> Collection[str]:
    """All of them, or at most so many from all over, the same ones each time."""
    return tests if len(tests) <= _MOST else sorted(tests)[:: -(-len(tests) // _MOST)]


def _scores(names: Collection[Mapping[str, int]], asked: Mapping[str, float]) -> list[float]:
    counts = Counter(word for name in names for word in name)
    weights = {
        w: share * log((len(names) + 1) / (counts[w] + 0.5)) for w, share in asked.items() if w in counts
    }
    length = sum(sum(name.values()) for name in names) / max(1, len(names))
    return [
        sum(
            weights[word] * _saturated(count, sum(name.values()) / length)
            for word, count in name.items()
            if word in weights
        )
        for name in names
    ]


def _saturated(count: int, length: float) -> float:
    """Of a word that a name has more than once; ``length`` in those of a mean name."""
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))
