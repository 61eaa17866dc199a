"""The words of names and of source code, and how far a function has those that are asked for.

The measure is Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, with k1 = 1.2 and
b = 0.75): the documents are functions, and a word that few of them have says more than one that many have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from math import fsum, log

from loop_close import lazy

_LETTERS = lazy.pattern(r"[^\W\d_]+")
_HUMP = lazy.pattern(
    r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)  # between the words of camelCase, HTMLPage
_LEAST = 3  # letters of a word, but for alphabets of many signs
# Letters that count: parse, parser and parsing are one word. A stemmer (Snowball's) does no better on names.
_STEM = 4
_K1, _B = 1.2, 0.75


@lru_cache(maxsize=20_000)
def words_of(text: str) -> Mapping[str, int]:
    """The stems of the words, in lower case, each with how often it is there."""
    words = [word for each in _LETTERS.findall(text) for word in _HUMP.split(each)]
    return Counter(word.lower()[:_STEM] for word in words if len(word) >= _LEAST or not word.isascii())


def relevance(documents: Collection[Mapping[str, int]], asked: Mapping[str, float]) -> list[float]:
    """BM25 of each document, at least 0.

    :param documents: how often each has each word.
    :param asked: the words that are looked for, each with its weight.
    """
    counts = Counter(word for document in documents for word in document)
    number = len(documents)
    weights = {w: share * log((number + 1) / (counts[w] + 0.5)) for w, share in asked.items() if w in counts}
    length = sum(sum(document.values()) for document in documents) / max(1, number)
    return [
        fsum(  # exact: the words of a set are in another order in each process
            weights[word] * _saturated(count, sum(document.values()) / length)
            for word, count in document.items()
            if word in weights
        )
        for document in documents
    ]


def _saturated(count: int, length: float) -> float:
    """Of a word that a document has more than once; ``length`` in those of a mean document."""
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))
