"""The sentences of a response that are its author's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loop_close.agent.blocks import Kind, Line
from loop_close.agent.patterns import any_of

#: Of more sentences the last ones count; a longer one is cut into pieces.
MAX_SENTENCES = 500
MAX_SENTENCE = 500
_HARD_WRAPPED = 50

_ENDS = re.compile(r"(?<=[.!?])[\"')\]]{0,3}\s+|\n")
_MARK = re.compile(r"\s*(?:#{1,6}\s+|(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]?\]\s+)?)?")
# What is quoted, named or struck out is not said.
_HIDDEN = (
    (re.compile(r"~~[^~\n]{1,400}~~"), " "),
    (re.compile(r"(`{1,2})[^`\n]{1,400}\1"), "`…`"),
    (re.compile(r'"[^"\n]{1,400}"|“[^“”\n]{1,400}”|«[^«»\n]{1,400}»|‘[^‘’\n]{1,400}’(?!\w)'), "“…”"),
    (re.compile(r"(?<![\w'])'[^'\n]{1,400}'(?!\w)"), "“…”"),
    (re.compile(r"https?://\S{1,400}"), "`…`"),
    (re.compile(r"\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=[\w.!?:])_{1,2}(?!\w)"), ""),
)
# What is listed under it is wished for, not reported.
_WISHES = any_of(
    r"\b(?:criteria|goals?|plan|requirements?|expect\w*|to-?do|steps|checklist|definition of done|task|needed)"
    r"\b[^.!?]{0,40}:$",
    r"\binstructions\b[^.!?]{0,40}:$",
)
_WISHES_HEADING = re.compile(
    r"^\W*(?:the |my |acceptance |next |success )*(?:criteria|goals?|plan|requirements?|steps|checklist)\W*$"
)
_SEPARATOR = re.compile(
    r"[,;()|]|\s[—–-]{1,2}\s|[—–→]|\b(?:but|however|though|although|whereas|while|and|so|because|since)\b"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """One sentence, in lower case, what it quotes or names in code left out (as ``“…”`` and ```…```).

    :ivar kind: of the line that it begins in.
    """

    kind: Kind
    text: str


def sentences_of(lines: Iterable[Line]) -> tuple[Sentence, ...]:
    """The sentences of prose, lists and headings, in order; lines that were wrapped by hand are joined."""
    found = [sentence for kind, text in _paragraphs(lines) for sentence in _split(kind, text)]
    return tuple(_reported(found[-MAX_SENTENCES:]))


def _reported(sentences: list[Sentence]) -> Iterator[Sentence]:
    is_wish = False
    for sentence in sentences:
        if sentence.kind not in ("item", "todo"):
            is_wish = bool(_WISHES.search(sentence.text))
            is_wish = is_wish or (sentence.kind == "heading" and bool(_WISHES_HEADING.match(sentence.text)))
            yield sentence
        elif not is_wish:
            yield sentence


def is_question(text: str) -> bool:
    """Whether a sentence ends as a question."""
    return text.rstrip(" \"')`*").endswith("?")


def clause_at(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the clause begins and ends that holds the characters from ``start`` to ``end``."""
    left, right = 0, len(text)
    for match in _SEPARATOR.finditer(text):
        if match.end() <= start:
            left = match.end()
        elif match.start() >= end:
            right = match.start()
            break
    return left, right


def clauses_of(text: str) -> list[str]:
    """A sentence cut at commas, dashes, brackets and conjunctions."""
    return [clause.strip() for clause in _SEPARATOR.split(text) if clause and clause.strip()]


def _paragraphs(lines: Iterable[Line]) -> Iterator[tuple[Kind, str]]:
    kind: Kind = "blank"
    parts: list[str] = []
    for line in lines:
        if line.kind == "prose" and kind in ("prose", "item", "todo"):
            parts.append(line.text)
            continue
        if parts:
            yield kind, _joined(parts)
        kind = line.kind
        parts = [line.text] if kind in ("prose", "item", "todo", "heading") else []
    if parts:
        yield kind, _joined(parts)


def _joined(parts: list[str]) -> str:
    text, before = parts[0], parts[0]
    pieces = [text]
    for part in parts[1:]:
        stripped = part.strip()
        is_wrapped = len(before) >= _HARD_WRAPPED or stripped[:1].islower()
        pieces.append((" " if is_wrapped else "\n") + stripped)
        before = part
    return "".join(pieces)


def _split(kind: Kind, text: str) -> Iterator[Sentence]:
    text = _MARK.sub("", text, count=1)
    for pattern, stand_in in _HIDDEN:
        text = pattern.sub(stand_in, text)
    text = text.replace("’", "'").lower()
    for piece in _ENDS.split(text):
        for start in range(0, len(piece), MAX_SENTENCE):
            part = piece[start : start + MAX_SENTENCE].strip()
            if part:
                yield Sentence(kind=kind, text=part)
