"""Find the lines that give pytest's output its structure: rulers with a title, and the line of counts."""

from __future__ import annotations

import re
from typing import NamedTuple

_MAX_LINE = 5_000
# A bullet and an underscored word begin alike; those do not end with the same character.
_CANDIDATE = re.compile(
    r"\n(?:([=_!-])(?:\1|(?= ))[^\n]*+|(?:\d{1,7} [a-z]|no tests (?:ran|coll))[^\n]{0,400}+(?=\n|\Z))"
)
_COUNTED = r"\d{1,9} [a-z][a-z -]{0,40}"
_FINAL = re.compile(
    rf"(?P<counts>no tests ran|no tests collected|\d{{1,9}}(?:/\d{{1,9}})? tests? collected|{_COUNTED})"
    rf"(?P<more>(?: \(\d{{1,9}} deselected\))?(?:, {_COUNTED}){{0,20}}) in \d{{1,9}}\.\d\ds(?: \([^()\n]{{1,60}}\))?"
)
_KNOWN_FIRST = re.compile(
    r"(?:\d{1,9} (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests )"
    r"|\d{1,9}(?:/\d{1,9})? tests? collected|no tests )"
)


class Ruler(NamedTuple):
    """A titled line.

    :ivar char: what it is drawn with; empty for the line of counts that ``-q`` prints bare.
    :ivar start: the offset of its first character; ``end`` that of the line break after it.
    :ivar fill: how many characters are drawn on the left.
    """

    char: str
    title: str
    start: int
    end: int
    fill: int

    @property
    def width(self) -> int:
        """Its length, which all rulers of one run share unless the title is too long."""
        return self.end - self.start

    @property
    def is_start(self) -> bool:
        """Whether a run begins here."""
        return self.char == "=" and self.title == "test session starts"

    @property
    def is_final(self) -> bool:
        """Whether it holds the counts that end a run, with a ruler."""
        return self.char == "=" and _FINAL.fullmatch(self.title) is not None

    def fits(self, width: int) -> bool:
        """Whether a run whose rulers are this wide may have drawn it."""
        return self.width == width or (self.fill == 1 and self.width >= width)


def rulers(text: str) -> list[Ruler]:
    """Every ruler and bare line of counts, in order.

    :param text: begins with a line break.
    """
    return [found for match in _CANDIDATE.finditer(text) if (found := _ruler(match)) is not None]


def _ruler(match: re.Match[str]) -> Ruler | None:
    start, end, char = match.start() + 1, match.end(), match[1]
    line = match.string[start : min(end, start + _MAX_LINE + 1)]
    if char is None:
        is_bare = _KNOWN_FIRST.match(line) is not None and _FINAL.fullmatch(line) is not None
        return Ruler("", line, start, end, 0) if is_bare else None
    if len(line) > _MAX_LINE or (not line.endswith(f" {char}") and not line.endswith(char * 2)):
        return None
    title = line.strip(char)
    if len(title) < 3 or title[0] != " " or title[-1] != " " or not title.strip(f"{char} "):
        return None
    fill = len(line) - len(line.lstrip(char))
    right = len(line) - fill - len(title)
    if not 0 <= right - fill <= 1 or (char == "-" and fill < 2):
        return None
    return Ruler(char, title[1:-1], start, end, fill)


def counts_in(title: str) -> dict[str, int] | None:
    """The numbers of a line of counts by their words; None where it is another line."""
    found = _FINAL.fullmatch(title)
    if found is None:
        return None
    parts = re.findall(r"(\d{1,9}) ([a-z][a-z -]*)", f"{found['counts']}{found['more']}")
    numbers = {word.strip(): int(number) for number, word in parts}
    if "collected" in found["counts"]:
        numbers["collected only"] = 1
    return numbers
