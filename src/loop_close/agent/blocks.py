"""What the lines of a response are: prose, code, somebody's words quoted, the output of tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from loop_close.agent.printed_tests import printed
from loop_close.text.sanitize import sanitize

Kind = Literal["prose", "item", "todo", "heading", "code", "quote", "test", "blank"]

# Of longer responses the end is read: it says what came of it.
MAX_CHARACTERS = 1_000_000
MAX_LINES = 20_000
MAX_LINE = 10_000

_FENCE = re.compile(r"\s{0,8}(?:(?:[-*+]|\d{1,3}[.)])\s{1,4})?(`{3,}|~{3,})(.*)$")
_ITEM = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+")
_TODO = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+\[ ?\]\s")
_HEADING = re.compile(r" {0,3}#{1,6}\s")
# Who spoke before, in transcripts and in answers that begin with the question.
_SPEAKER = re.compile(
    r"\W{0,4}(?:user|human|you|prompt|(?:the |your |original |user )*(?:request|instructions?)"
    r"|you (?:said|asked|wrote)(?: me)?(?: to)?)\W{0,3}:(?!:)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a response.

    :ivar kind: ``todo`` is an item of a list with an empty check box; ``code`` stands in a fence or is indented.
    """

    kind: Kind
    text: str


def lines_of(response: str) -> tuple[Line, ...]:
    """The lines of a response with what they are.

    :param response: any string; of a long one the last million characters and 20,000 lines are read, of a line the
        first 10,000 characters.
    """
    texts = [
        line[:MAX_LINE].rstrip() for line in sanitize(response[-MAX_CHARACTERS:]).split("\n")[-MAX_LINES:]
    ]
    output = printed(texts)
    sorter = _Sorter()
    lines = [
        Line(kind=sorter.kind_of(text, number in output), text=text) for number, text in enumerate(texts)
    ]
    return tuple(_with_whole_fences(lines))


class _Sorter:
    """Goes over the lines in order, for what a line is depends on those before it."""

    def __init__(self) -> None:
        self._fence = ""
        self._before: Kind = "blank"

    def kind_of(self, text: str, is_output: bool) -> Kind:
        was_fenced = bool(self._fence)
        is_mark = self._passes_fence(text)
        if was_fenced or is_mark:
            return "test" if is_output and not is_mark else "code"
        self._before = "test" if is_output else self._unfenced(text)
        return self._before

    def _passes_fence(self, text: str) -> bool:
        """Whether the line opens a fence or closes the open one."""
        found = _FENCE.match(text)
        if found is None:
            return False
        marks, rest = found[1], found[2].strip()
        if not self._fence:
            self._fence = "" if "`" in rest else marks
            return bool(self._fence)
        if marks.startswith(self._fence) and not rest:
            self._fence = ""
            return True
        return False

    def _unfenced(self, text: str) -> Kind:
        if not text.strip():
            return "blank"
        if text.lstrip().startswith(">") or _SPEAKER.match(text):
            return "quote"
        if self._before == "quote":  # it goes on until an empty line
            return "quote"
        if text.startswith(("    ", "\t")) and self._before in ("blank", "code") and not _ITEM.match(text):
            return "code"
        return _marked(text)


def _marked(text: str) -> Kind:
    if _HEADING.match(text):
        return "heading"
    if _TODO.match(text):
        return "todo"
    return "item" if _ITEM.match(text) else "prose"


def _with_whole_fences(lines: list[Line]) -> list[Line]:
    """Code around the output of tests is that output, too: tracebacks and the source in them."""
    kinds = [line.kind for line in lines]
    start = None
    for number, kind in enumerate([*kinds, "blank"]):
        if kind in ("code", "test"):
            start = number if start is None else start
        elif start is not None:
            if "test" in kinds[start:number]:
                kinds[start:number] = ["test"] * (number - start)
            start = None
    return [Line(kind=kind, text=line.text) for kind, line in zip(kinds, lines, strict=True)]
