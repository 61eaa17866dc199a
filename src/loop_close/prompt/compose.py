"""Put the paragraphs of all sections together within the budget."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import chain, groupby

from msgspec.structs import replace

from loop_close.model import Report
from loop_close.prompt import span
from loop_close.records import Record
from loop_close.text import fault_text, listed, open_fence

#: The share of the budget that is filled. The rest is for the error of the estimate.
_FILL = 0.9
# Tokens of the line that says what was left out, and of the one that names the full report.
_ROOM_TO_SAY = 60
# Tokens of the row that says that a section was cut, and of the end of a fence.
_ROOM_TO_CUT = 20
_MOST_NAMED = 8
_SAID_CUT = "… cut to keep the prompt short"


class Rank(IntEnum):
    """How useful a paragraph is, the most useful first. The budget drops those of the last rank first."""

    ANSWER = 0
    FIRST_CAUSE = 1
    HEADING = 2
    LOOP = 3
    FIRST_SOURCE = 4
    MORE_CAUSES = 5
    OTHER_CAUSES = 6
    EDITS = 7
    OTHER_SOURCES = 8
    DETAILS = 9
    FINDINGS = 10


class Paragraph(Record, frozen=True):
    """Lines of Markdown that are shown together or not at all.

    :ivar name: what it is in a word or two, to say that it was left out.
    :ivar cause: the number of the root cause that it tells of, 0 for none. Without its heading it is not shown.
    """

    lines: tuple[str, ...]
    rank: Rank
    name: str
    cause: int = 0


class Section(Record, frozen=True, kw_only=True):
    """A part of the next prompt.

    :ivar id: unique name.
    :ivar position: the smaller, the earlier; the built-in ones have multiples of 10.
    :ivar render: lines of markdown for a report; none if it has nothing to say. Text from outside has to pass
        :mod:`loop_close.prompt`.
    :ivar title: its heading, empty for none.
    :ivar tokens: the most it may cost; more is cut.
    :ivar rank: how useful its lines are, which are one paragraph. A section may also give paragraphs of its own.
    """

    id: str
    position: int
    render: Callable[[Report], Iterable[str | Paragraph]]
    title: str = ""
    tokens: int = 200
    rank: Rank = Rank.FINDINGS


def compose(report: Report, sections: Sequence[Section], *, budget: int, full_report: str = "") -> str:
    """The next prompt as markdown, one line feed at its end.

    :param budget: tokens, by :func:`~loop_close.prompt.compose.estimate_tokens`. Paragraphs are kept in the order of
        their ranks while they fit; what was left out is counted.
    :param full_report: the path of a file that has what is left out, empty if there is none.
    """
    ordered = sorted(sections, key=lambda s: (s.position, s.id))
    found = [[*_paragraphs(section, report)] for section in ordered]
    paragraphs = [*chain.from_iterable(found)]
    kept = _within(paragraphs, int(budget * _FILL) - _ROOM_TO_SAY)
    parts = ["\n".join(chain.from_iterable(p.lines for p in part if id(p) in kept)) for part in found]
    left = sorted((each for each in paragraphs if id(each) not in kept), key=lambda each: each.rank)
    dropped = Counter(each.name for each in left)
    names = [f"{name} ({number})" if number > 1 else name for name, number in dropped.items()]
    ends = [f"Left out to keep the budget: {listed(names, _MOST_NAMED)}."]
    ends += [f"Full report: {span(full_report)}"] if full_report else []
    return "\n\n".join(part.strip("\n") for part in (*parts, "\n".join(ends) if left else "") if part) + "\n"


def _within(paragraphs: Sequence[Paragraph], room: int) -> set[int]:
    """The identities of those that are kept: of each rank the first, as long as they fit."""
    kept: set[int] = set()
    causes = {0}
    for rank, same in groupby(sorted(paragraphs, key=lambda each: each.rank), key=lambda each: each.rank):
        for each in same:
            cost = estimate_tokens("\n".join(each.lines)) + 1
            if cost > room:
                break
            if rank <= Rank.HEADING or each.cause in causes:
                kept.add(id(each))
                causes.add(each.cause)
                room -= cost
    return kept


def _paragraphs(section: Section, report: Report) -> Iterator[Paragraph]:
    """What a section has to say, below its heading; its lines are one paragraph, which is cut to its tokens."""
    heading = [f"## {section.title}", ""] if section.title else []
    lines: list[str] = []
    try:
        for each in section.render(report):
            if isinstance(each, Paragraph):
                yield replace(each, lines=(*heading, *each.lines))
                heading = []
            else:
                lines += each.split("\n")
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # a fault in one section must not cost the others
        lines = [f"The section {span(section.id)} failed: {span(fault_text(fault))}"]
    if any(lines):
        name = section.title or section.id
        yield Paragraph(lines=(*heading, *_cut(lines, section.tokens)), rank=section.rank, name=name)


def _cut(lines: list[str], tokens: int) -> list[str]:
    """As many lines as the section may cost; a cut is said, and an open fence is closed."""
    if estimate_tokens("\n".join(lines)) <= tokens:
        return lines
    kept = lines[: lines_within(lines, tokens - _ROOM_TO_CUT)]
    return [*kept, *filter(None, [open_fence(kept)]), _SAID_CUT]


# --- the number of tokens of a text, estimated without a tokenizer

# Hundredths of a token for each match. Fitted to prompts of the tuning half of `python -m benchmarks.localize`, counted
# with the vocabulary o200k_base. Those below the line are set, so that hostile text is not taken for far less.
_RATES = tuple(
    (re.compile(pattern), rate)
    for pattern, rate in (
        (r"[A-Z]?[a-z]+|[A-Z]+", 76),  # a word, each part of camelCase by itself
        (r"[A-Za-z]", 6),
        (r"[0-9]{1,3}", 130),
        (r"[!-/:-@\[-`{-~]+", 30),
        (r"([!-/:-@\[-`{-~])(?!\1\1)", 40),  # a rule of dashes is a few tokens
        (r"[\t ]{2,80}", 70),  # one blank belongs to the word after it
        (r"[\n\r]{1,16}", 62),
        # ----
        (r"(?<=[a-z]{10})[a-z]|(?<=[A-Z]{8})[A-Z]", 35),  # no word is so long
        ("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", 100),
    )
)
# The same for each character beyond ASCII, from the first one of a range. As patterns they take 5 ms to compile.
_RANGES = (0x80, 0x800, 0x3040, 0x3100, 0x4E00, 0xA000, 0xAC00, 0xD7A4, 0xD800, 0xE000, 0x10000)
_RATES_OF_RANGES = (60, 160, 100, 160, 100, 160, 100, 160, 0, 160, 250)  # 100: Japanese, Chinese, Korean
_LONGEST = 64  # of one character repeated, what one token holds at most


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model reads the text as, rounded up.

    Words, numbers, runs of punctuation and of blanks are counted at fixed rates. On prompts of loop-close the
    estimate is within 9 % of the count by o200k_base, 3 % on average. Lone surrogates count nothing. Lines by
    themselves, each with one token for its line feed, are never estimated at less than all of them together.
    """
    hundredths = sum(rate * len(pattern.findall(text)) for pattern, rate in _RATES)
    if not text.isascii():
        beyond = Counter(bisect(_RANGES, ord(character)) - 1 for character in text if character > "\x7f")
        hundredths += sum(_RATES_OF_RANGES[place] * number for place, number in beyond.items())
    return max(-(-hundredths // 100), -(-len(text.encode("utf-8", "ignore")) // (4 * _LONGEST)))


def lines_within(lines: Sequence[str], tokens: int) -> int:
    """How many of the first lines, joined by line feeds, are estimated at no more than so many tokens."""
    numbers = range(1, len(lines) + 1)
    return bisect(numbers, tokens, key=lambda number: estimate_tokens("\n".join(lines[:number])))
