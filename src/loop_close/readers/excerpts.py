"""Read source excerpts in the style of rustc, as ty, Pyrefly and Ruff print them below a message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from loop_close.readers.checks import ANY_PATH, CELL, Finding, said_notes

#: Where an excerpt begins: `` --> src/shop/prices.py:9:12``.
LOCATION = re.compile(rf" {{0,12}}--> {ANY_PATH}{CELL}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}})\Z")
_SOURCE = re.compile(r" {0,12}(?P<line>\d{1,9}) \|(?: (?P<text>.*))?\Z")
_MARKS = re.compile(r" {1,13}\|(?: (?P<text>.*))?\Z")
# What only a proposed fix has: another cell, changed lines, a ruler between its parts.
_FIX = re.compile(r" {0,12}(?:::: |\d{0,9} {1,12}[+-](?: |\Z)|\.\.\.\Z)|-{10,200}\Z")
_NOTE = re.compile(r"(?: {1,12}= )?(?P<kind>info|help|note):(?: (?P<text>.*))?\Z")
_MULTILINE = re.compile(r"(?:\| ?| )_+\^")
_LABEL = re.compile(r"[^^]*+\^++ (?P<label>[^\s^-].*)\Z")
# Said of every finding alike.
_ADVICE = re.compile(
    r"rule `[^`\n]{1,100}` (?:is|was) (?:enabled|selected)\b|make sure your Python environment is properly"
    r"|This is an unsafe fix\b"
)


@dataclass(slots=True)
class Excerpt:
    """Lines of a file with marks below what is meant.

    :ivar sources: the lines shown as (number, text); ``marks`` as (number of the line above, text).
    :ivar end: the first line of the output behind it.
    """

    file: str
    cell: str
    line: int
    column: int
    end: int
    sources: list[tuple[int, str]] = field(default_factory=list)
    marks: list[tuple[int, str]] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What is written behind the marks of the place itself, if anything is."""
        found = (_LABEL.match(text) for _, text in self.marks)
        return next((match["label"].rstrip() for match in found if match), "")

    def finding(self, message: str, code: str, notes: Sequence[str] = ()) -> Finding:
        """A finding at this place."""
        line, column = self._place()
        start, source = self._around(line)
        return Finding(
            message=message,
            code=code,
            file=self.file,
            line=line,
            column=column,
            cell=self.cell,
            notes=notes,
            source=source,
            source_start=start,
        )

    def _place(self) -> tuple[int, int]:
        """Where the carets stand, if the line named has only dashes: that is a secondary place."""
        own = [text for number, text in self.marks if number == self.line]
        if own and not any("^" in text for text in own):
            for number, text in self.marks:
                if "^" in text:
                    return number, text.index("^") + 1
        return self.line, self.column

    def _around(self, line: int) -> tuple[int, list[str]]:
        """The consecutive lines shown that hold this one, without the margin of marks over several lines."""
        margin = 2 if any(_MULTILINE.match(text) for _, text in self.marks) else 0
        start, kept = 0, list[str]()
        for number, text in self.sources:
            if kept and number != start + len(kept):
                if start <= line < start + len(kept):
                    break
                kept = []
            if not kept:
                start = number
            kept.append(text[margin:])
        return (start, kept) if start <= line < start + len(kept) else (0, [])


def excerpt_at(lines: Sequence[str], at: int) -> Excerpt | None:
    """The excerpt whose ``-->`` is on this line; None when there is none."""
    place = LOCATION.match(lines[at]) if at < len(lines) and "--> " in lines[at] else None
    if place is None:
        return None
    excerpt = Excerpt(place["file"], place["cell"] or "", int(place["line"]), int(place["column"]), at + 1)
    read_rows(excerpt, lines)
    return excerpt


def read_rows(excerpt: Excerpt, lines: Sequence[str]) -> None:
    """Add the lines and marks that follow; ``excerpt.end`` moves behind them."""
    above = 0
    while excerpt.end < len(lines):
        line = lines[excerpt.end]
        source = _SOURCE.match(line)
        marks = None if source else _MARKS.match(line)
        if source:
            above = int(source["line"])
            excerpt.sources.append((above, source["text"] or ""))
        elif marks:
            excerpt.marks.append((above, marks["text"] or ""))
        else:
            return
        excerpt.end += 1


def notes_at(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """What is said below an excerpt, and the first line behind it.

    Places that notes point to are named in parentheses; proposed fixes are passed over.
    """
    notes: list[str] = []
    while at < len(lines):
        note = _NOTE.match(lines[at])
        below = None if note else excerpt_at(lines, at)
        if note:
            prefix = "help: " if note["kind"] == "help" else ""
            notes.append(prefix + (note["text"] or "").rstrip())
        elif below is not None:
            if notes and not below.file.startswith(("stdlib/", "vendored:")):
                notes[-1] += f" ({below.file}:{below.line})"
        elif not (_FIX.match(lines[at]) or _SOURCE.match(lines[at]) or _MARKS.match(lines[at])):
            break
        at = below.end if below is not None else at + 1
    return [note for note in said_notes(notes) if not _ADVICE.match(note)], at
