"""Lines of the shape ``path:line:column: CODE message``, which Ruff and flake8 share: whose is which.

A line is Ruff's when it has what only Ruff writes (``[*]``, a syntax error without a code, an excerpt with a
gutter below it), or when it is one of the last N before Ruff's ``Found N errors.``; where no such summary
follows, also when it stands next to one that is Ruff's. Every other line is flake8's. Both readers ask here,
so no line is taken twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from loop_close.readers.checks import CELL, PATH, is_path

#: The code of a rule, of Ruff and of the plugins of flake8.
CODE = r"[A-Z]{1,6}\d{3,5}"
#: Ruff's name for what it cannot parse, of today and of before.
SYNTAX = r"invalid-syntax|SyntaxError"
#: How Ruff ends; ``left`` counts those that it did not fix.
SUMMARY = re.compile(
    r"Found (?P<all>\d{1,9}) errors?(?: \(\d{1,9} fixed, (?P<left>\d{1,9}) remaining\))?\.\Z"
)
#: The first line of Ruff's full output, since 0.13; the excerpt follows.
FULL = re.compile(rf"(?:(?P<code>{CODE})(?: \[\*\])?|(?P<name>{SYNTAX}|unformatted):) (?P<said>\S.*)\Z")
_LINE = re.compile(
    rf"{PATH}{CELL}:(?P<line>\d{{1,9}}):(?:(?P<column>\d{{1,9}}):)?"
    rf" (?:(?P<code>{CODE})|(?P<syntax>{SYNTAX}):|\[(?P<boxed>{CODE}|{SYNTAX})\])(?P<fix> \[\*\])? (?P<said>\S.*)\Z"
)
# Begins with what is rare in a text, to be found fast.
_LIKE = re.compile(
    rf"\.(?:pyi?|ipynb(?::cell \d{{1,6}})?|toml):\d{{1,9}}:(?:\d{{1,9}}:)? \[?(?:{CODE}\]? |{SYNTAX})"
)
_GUTTER = re.compile(r" {1,13}\|\Z")
#: With ``--show-source`` two lines stand between one finding and the next.
_NEAR = 3


@dataclass(slots=True)
class LintLine:
    """One such line.

    :ivar at: its place among the lines of the output.
    """

    at: int
    match: re.Match[str]
    is_ruff: bool = False

    @property
    def code(self) -> str:
        """The rule's code."""
        found: str = self.match["code"] or self.match["syntax"] or self.match["boxed"]
        return found


def can_have(text: str) -> bool:
    """Whether a text may have such lines; cheap."""
    return _LIKE.search(text) is not None


def lint_lines(lines: Sequence[str]) -> list[LintLine]:
    """All of them in order, with their owner."""
    found = [one for at, line in enumerate(lines) if (one := _line(lines, at, line)) is not None]
    if found:
        _by_neighbour(found[_by_summary(lines, found) :])
    return found


def _line(lines: Sequence[str], at: int, line: str) -> LintLine | None:
    match = _LINE.match(line) if ".py" in line or ".ipynb:" in line or ".toml:" in line else None
    if match is None or bool(match["boxed"]) == bool(match["column"]):
        return None
    if not is_path(match["file"].removesuffix(".toml") + (".py" if ".toml" in match["file"] else ""), False):
        return None
    one = LintLine(at, match)
    has_gutter = at + 1 < len(lines) and _GUTTER.match(lines[at + 1]) is not None
    one.is_ruff = bool(match["fix"]) or one.code in SYNTAX.split("|") or has_gutter
    return one


def _by_summary(lines: Sequence[str], found: Sequence[LintLine]) -> int:
    """Give Ruff the last lines before each of its summaries, as many as it counts; how many are settled."""
    first, waiting = 0, 0
    for at, line in enumerate(lines):
        summary = SUMMARY.match(line) if line.startswith("Found ") else None
        if " --> " in line[:16] and at and FULL.match(lines[at - 1]):
            waiting -= 1  # the summary counts this one, which is no such line
        if summary:
            waiting += int(summary["left"] or summary["all"])
            end = bisect_left(found, at, key=lambda one: one.at)
            for one in found[max(first, end - max(waiting, 0)) : end]:
                one.is_ruff = True
            first, waiting = end, 0
    return first


def _by_neighbour(found: Sequence[LintLine]) -> None:
    """Pass ownership on to the lines next to those that show what they are."""
    for here, there in ((found, found[1:]), (found[::-1], found[::-1][1:])):
        for one, other in zip(here, there, strict=False):
            if one.is_ruff and abs(one.at - other.at) <= _NEAR:
                other.is_ruff = True
