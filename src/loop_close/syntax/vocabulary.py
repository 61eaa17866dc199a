"""The words of names and of source code, and how far a function has those that are asked for.

The measure is Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, with k1 = 1.2 and
b = 0.75): the documents are functions, and a word that few of them have says more than one that many have.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from math import fsum, log

from loop_close import lazy
from loop_close.calls import Calls, sample
from loop_close.syntax import Function, lines_of
from loop_close.syntax.constants import IndexOf

_LETTERS = lazy.pattern(r"[^\W\d_]+")
_HUMP = lazy.pattern(
    r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)  # between the words of camelCase, HTMLPage
_LEAST = 3  # letters of a word, but for alphabets of many signs
# Letters that count: parse, parser and parsing are one word. A stemmer (Snowball's) does no better on names.
_STEM = 4
_K1, _B = 1.2, 0.75
# Failing tests that are looked at; of each the functions that set it apart the most.
_MOST_TESTS, _MOST_FUNCTIONS = 20, 100
# Tests of one file that are compared, about; of more some of each part of the file.
_MOST_OTHERS = 100
# Of a string only the beginning: a test's data may be a book.
_LONGEST = 1_000


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


def functions_like_tests(calls: Calls, index_of: IndexOf) -> dict[str, tuple[tuple[int, float], ...]]:
    """How far the source of functions has the words that distinguish a failing test from others of its file.

    :param calls: what the tests called.
    :returns: for some of the failing tests pairs of a function that they ran, by index in ``calls.functions``, and its
        relevance, where that is more than 0.
    """
    sources = _Sources(index_of)
    found = {}
    for test in sample(calls.failed, _MOST_TESTS):
        asked = _distinguishing(test, sources)
        ran = calls.unusual(test)[:_MOST_FUNCTIONS] if asked else []
        documents = [
            dict.fromkeys(sources.words(f.file, f.line), 1) for f in map(calls.functions.__getitem__, ran)
        ]
        scores = relevance(documents, asked)
        pairs = sorted((index, round(score, 2)) for index, score in zip(ran, scores, strict=True))
        if any(scores):
            found[test] = tuple((index, score) for index, score in pairs if score)
    return found


class _Sources:
    """The words of functions, each read once."""

    def __init__(self, index_of: IndexOf) -> None:
        self.index_of = index_of
        self._words: dict[tuple[str, int], frozenset[str]] = {}
        self._tests: dict[str, tuple[Counter[str], int]] = {}

    def words(self, file: str, line: int) -> frozenset[str]:
        """Of the function that begins in that line; none where there is none."""
        if (file, line) not in self._words:
            index = self.index_of(file)
            node = index.functions.get(line) if index is not None else None
            self._words[file, line] = _vocabulary(node) if node is not None else frozenset()
        return self._words[file, line]

    def tests(self, file: str) -> tuple[Counter[str], int]:
        """In how many tests of a file each word is, and how many tests were looked at."""
        if file not in self._tests:
            index = self.index_of(file)
            functions = index.functions if index is not None else {}
            lines = [line for line, node in functions.items() if node.name.startswith("test")]
            lines = lines[:: 1 + len(lines) // _MOST_OTHERS]
            counts = Counter(word for line in lines for word in self.words(file, line))
            self._tests[file] = counts, len(lines)
        return self._tests[file]


def _distinguishing(test: str, sources: _Sources) -> dict[str, float]:
    """The words of the test's source, each with how rare it is among the tests of the file, at most 1."""
    file, _, name = test.partition("::")
    index = sources.index_of(file)
    written = name.partition("[")[0].replace("::", ".")  # without parameters
    own = sources.words(file, lines_of(index, written)[0]) if index is not None else frozenset()
    counts, number = sources.tests(file) if own else (Counter(), 0)
    if number <= 2:
        return dict.fromkeys(own, 1.0)
    rarest = log((number + 1) / 1.5)
    # The test itself has the word, be it among those that were looked at or not.
    return {word: log((number + 1) / (max(1, counts[word]) + 0.5)) / rarest for word in own}


# Where nodes have names and texts.
_TEXTS: Mapping[type[ast.AST], str] = {
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), "name"),
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.keyword: "arg",
    ast.Constant: "value",
}


def _vocabulary(function: Function) -> frozenset[str]:
    """The words of the names and strings in a function's source."""
    nodes = (node for node in ast.walk(function) if type(node) in _TEXTS)
    texts = {_shown(getattr(node, _TEXTS[type(node)])) for node in nodes}
    return frozenset(word for text in texts for word in words_of(text))


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return value[:_LONGEST].decode("ascii", "replace")
    return value[:_LONGEST] if isinstance(value, str) else ""
