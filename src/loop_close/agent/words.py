"""The words by which an agent says that its work is done, and where they stand in a sentence."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

#: ``tests`` is no keyword of completion, but a signal beside one: tests are said to pass.
Level = Literal["very high", "high", "tests"]


class Keyword(NamedTuple):
    """One keyword of Nity's ResponseAnalyzer, with its inflections."""

    name: str
    level: Level
    regex: re.Pattern[str]


class Mention(NamedTuple):
    """Where a keyword stands in a sentence."""

    keyword: Keyword
    start: int
    end: int


_PASS = r"(?:pass(?:ed|es|ing)?|green|succeed(?:ed|s)?|successful)\b"
_ARE = r"(?:are |is |have |has |now |all |still |currently |again |successfully |fully |both )*"
_LEFT = r"(?:remaining|outstanding|unresolved|open)"
_MATTERS = r"(?:issues?|problems?|errors?|failures?|bugs?|work|tasks?|todos?|items?|steps?)\b"
_ALL_TESTS = (
    r"\b(?:all|every|each)(?: of)? (?:the |our |its |your |these |those |single |\d{1,6} |\(\d{1,6}\) "
    r"|existing |new "
    r"|unit |integration |regression |end-to-end |remaining |other |relevant |and )*"
    rf"(?:tests?|specs?|checks?)(?: (?:cases?|suites?))?(?: \([^()]{{1,60}}\))? {_ARE}{_PASS}"
    rf"|\b(?:tests?|specs?|checks?)[:,]? (?:are |is |have |has |now )*all {_ARE}{_PASS}"
    rf"|\b(?:the |our )?(?:entire |full |whole |complete )*(?:test )?suite {_ARE}{_PASS}"
    rf"|\b(\d{{1,6}}) ?(?:/|of|out of) ?\1 (?:tests?|specs?) {_ARE}{_PASS}"
)
_NO_ISSUES = (
    rf"\b(?:no|zero|without any) (?:known |more |further |other )*{_LEFT} {_MATTERS}"
    rf"|\bno (?:known |more |further |other )*{_MATTERS} (?:are |is )?(?:remain(?:s|ing)?|left|outstanding)\b"
    r"|\bnothing (?:else )?(?:is |was )?(?:left|remains|remaining|outstanding)\b"
)
_READY = (
    r"\bready (?:for (?:\w{1,12} ){0,3}?(?:review|merge|merging)|to (?:be )?(?:reviewed|review|merged?))\b"
)

KEYWORDS: tuple[Keyword, ...] = (
    Keyword("all tests passing", "very high", re.compile(_ALL_TESTS)),
    Keyword("no remaining issues", "very high", re.compile(_NO_ISSUES)),
    Keyword("ready for review", "high", re.compile(_READY)),
    Keyword("done", "high", re.compile(r"(?<![.\w-])done\b(?![(=\w-])")),
    Keyword("complete", "high", re.compile(r"(?<![.\w-])complete[ds]?\b(?![(=\w-])")),
    Keyword("finished", "high", re.compile(r"(?<![.\w-])finished\b(?![(=\w-])")),
    Keyword(
        "tests passing",
        "tests",
        re.compile(
            rf"\b(?:tests?|specs?|everything) {_ARE}{_PASS}"
            r"|\b[1-9]\d{0,6} (?:\w{1,20} )?(?:tests? |specs? )?(?:are |now |all )*(?:passed|passing)\b"
        ),
    ),
)

# No sentence that means something has more.
_MOST = 8


def mentions(sentence: str) -> list[Mention]:
    """The keywords of a sentence in lower case, in order; what is part of a stronger one does not count again."""
    found: list[Mention] = []
    for keyword in KEYWORDS:
        for match in keyword.regex.finditer(sentence):
            start, end = match.span()
            if not any(other.start < end and start < other.end for other in found):
                found.append(Mention(keyword, start, end))
    return sorted(found, key=lambda mention: mention.start)[:_MOST]
