"""Put the sections together within the budget."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from loop_close import lazy
from loop_close.model import Report
from loop_close.prompt import line_of
from loop_close.records import Record
from loop_close.text import fault_text, open_fence

#: The share of the budget that is filled. The rest is for the error of the estimate.
_FILL = 0.9

#: Our own words for an omission of what the full report has; it has no source. Only then the prompt names it.
#: The command runs the tests that are not listed.
_CUT = lazy.pattern(
    r"(?m)… \d+ (?:more|characters|lines of a traceback)|^(?!(?:\d+|Other) (?:sub)?tests?\b[^:`]*: ).*and \d+ more"
    r"|left out|cut to keep|…`(?![,.])|\S…$"
)

#: The id of the section with the command, which the pointer to the full report may follow without a blank line.
NEXT_STEP = "next-step"
_SAID_CUT = "… cut to keep the prompt short"
#: Fewer tokens than this are not worth a heading.
_LEAST = 16


def compose(report: Report, sections: Sequence[Section], *, budget: int, full_report: str = "") -> str:
    """The next prompt as markdown, one line feed at its end.

    Sections with a bound of their own come first, the smallest before the others; the one without (the root causes)
    gets what they leave.

    :param budget: tokens, by :func:`~loop_close.prompt.compose.estimate_tokens`.
    :param full_report: the path of a file that holds every failure whole, empty if there is none.
    """
    pointer = f"Full report: {line_of(full_report)}" if full_report else ""
    bodies = _bodies(sections, report, int(budget * _FILL) - estimate_tokens(pointer))
    ordered = sorted(sections, key=lambda s: (s.position, s.id))
    shown = [section for section in ordered if bodies[section]]
    text = "\n\n".join("\n".join(bodies[section]) for section in shown)
    if not pointer or not _CUT.search(text):
        return f"{text}\n"
    # Right after a list, the line would belong to its last item.
    gap = "\n" if shown[-1].id == NEXT_STEP else "\n\n"
    return f"{text}{gap}{pointer}\n"


def _bodies(sections: Sequence[Section], report: Report, room: int) -> dict[Section, list[str]]:
    """The lines of each section within ``room`` tokens, of which two fifths are for the root causes alone."""
    bodies: dict[Section, list[str]] = {}
    left, reserve = room, room * 2 // 5
    for section in sorted(sections, key=lambda s: (s.tokens == 0, not s.keep, s.tokens, s.position, s.id)):
        bodies[section] = _body(section, report, left - reserve if section.tokens else left)
        left -= _cost(bodies[section])
    return bodies


def _body(section: Section, report: Report, left: int) -> list[str]:
    """The section's lines with its heading; empty if it has nothing to say or no room to say it in."""
    heading = [f"## {section.title}", ""] if section.title else []
    room = left - _cost(heading)
    tokens = min(section.tokens, room) if section.tokens else room
    if tokens < _LEAST:
        return []
    lines = _rendered(section, report, tokens)
    return [*heading, *_cut(lines, tokens)] if any(lines) else []


def _rendered(section: Section, report: Report, tokens: int) -> list[str]:
    try:
        return [line for text in section.render(report, tokens) for line in _lines(text)]
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # a section of a third party must not cost the prompt
        return [f"The section {line_of(section.id)} failed: {line_of(fault_text(fault))}"]


def _lines(text: object) -> list[str]:
    if not isinstance(text, str):
        raise TypeError(f"gave {type(text).__name__}, not lines of text")
    return text.split("\n")


def _cost(lines: Sequence[str]) -> int:
    return estimate_tokens("\n".join(lines)) + 1 if lines else 0


def _cut(lines: list[str], tokens: int) -> list[str]:
    """As many lines as the section may cost; a cut is said, and an open fence is closed."""
    if estimate_tokens("\n".join(lines)) <= tokens:
        return lines
    kept = lines[: lines_within(lines, tokens)]
    while (
        kept and estimate_tokens("\n".join(_ended(kept))) > tokens
    ):  # to say so, and to end a fence, takes room
        kept.pop()
    return _ended(kept)


def _ended(lines: list[str]) -> list[str]:
    marks = open_fence(lines)
    return [*lines, *([marks] if marks else []), _SAID_CUT]


class Section(Record, frozen=True, kw_only=True):
    """A part of the next prompt.

    :ivar id: unique name.
    :ivar position: the smaller, the earlier; the built-in ones have multiples of 10.
    :ivar render: lines of markdown for a report, given how many tokens they may cost. None if it has nothing
        to say. Text from outside has to pass :mod:`loop_close.prompt`.
    :ivar title: its heading, empty for none.
    :ivar tokens: the most it may cost; 0 for "all that the others leave".
    :ivar keep: it is given its tokens before those that are not kept. Two fifths of the budget are for the section with
        the root causes alone.
    """

    id: str
    position: int
    render: Callable[[Report, int], Iterable[str]]
    title: str = ""
    tokens: int = 200
    keep: bool = False


# --- the number of tokens of a text, estimated without a tokenizer

# Hundredths of a token for each match. Fitted to prompts of the tuning half of `python -m benchmarks.localize`, counted
# with the vocabulary o200k_base. Those below the line are set, so that hostile text is not taken for far less.
_RATES = tuple(
    (lazy.pattern(pattern), rate)
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
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens("\n".join(lines[:middle])) <= tokens:
            low = middle
        else:
            high = middle - 1
    return low
