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

from loop_close.calls import sample
from loop_close.causes.suspects.candidates import Candidate

_LETTERS = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(
    r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)  # between the words of camelCase, HTMLPage
_PYTHONS = re.compile(r"<\w+>|\b__\w+__\b")  # <locals>, __init__: nobody chose these words
_LEAST = 3  # letters of a word, but for alphabets of many signs
# Letters that count: parse, parser and parsing are one word. A stemmer (Snowball's) does no better on names.
_STEM = 4
_K1, _B = 1.2, 0.75
_ANY_TEST = "test"  # test_a, TestB
# What is true of the names of so many tests is true of more.
_MOST = 300
# A highest score below this says little: that of words that most functions have, or few of the tests.
_LOW = 1.0


def with_names(found: Sequence[Candidate], tests: Collection[str]) -> list[Candidate]:
    """The candidates of one cause with one more clue, ``name``, from 0 to 1 for one that is spelled as no other is.

    :param tests: node ids of the failing tests. Of a module that could not be imported there is no name to go by.
    """
    scores = _scores([_words(_name(candidate)) for candidate in found], _asked(tests))
    most = max(scores, default=0.0)
    return [
        replace(candidate, features={**candidate.features, "name": score / max(most, _LOW)})
        for candidate, score in zip(found, scores, strict=True)
    ]


def _name(candidate: Candidate) -> str:
    """Nothing for test code that was edited, which is spelled by its own name; other test code is no candidate."""
    is_test = candidate.clue is not None and candidate.clue.is_test
    return "" if is_test else candidate.function


@lru_cache(maxsize=10_000)
def _words(name: str) -> Mapping[str, int]:
    letters = _LETTERS.findall(_PYTHONS.sub(" ", name))
    words = [word for each in letters for word in _HUMP.split(each)]
    return Counter(word.lower()[:_STEM] for word in words if len(word) >= _LEAST or not word.isascii())


def _asked(tests: Collection[str]) -> dict[str, float]:
    """The words of the tests' names, each with the share of the tests that have it."""
    names = [_words(_test_name(nodeid)) for nodeid in sample(tests, _MOST)]
    counts = Counter(word for name in names for word in name)
    return {word: count / len(names) for word, count in counts.items() if word != _ANY_TEST}


def _test_name(nodeid: str) -> str:
    """Without parameters; nothing for an example in a text, which goes by its file or its place."""
    file, _, name = nodeid.partition("::")
    name = name.partition("[")[0].replace("::", ".")
    return "" if name == file.rpartition("/")[2] or ":" in name else name


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
