"""Whether an agent takes its completion back: something is open, failing, or was given up."""

from __future__ import annotations

from typing import Literal

from loop_close.agent import qualifier_words as words
from loop_close.agent.sentences import Sentence, clauses_of, is_question

#: ``open``: it stays so, whatever is said elsewhere. ``failing``: until better news follow.
Doubt = Literal["", "open", "failing"]


def doubt_in(sentence: Sentence) -> Doubt:
    """What a sentence says against completion."""
    if sentence.kind == "todo":
        return "open"
    if is_question(sentence.text):
        return ""
    if words.EXCEPT.search(sentence.text):
        return "open"
    doubts = {_doubt_of(clause) for clause in clauses_of(sentence.text)}
    return "open" if "open" in doubts else "failing" if "failing" in doubts else ""


def is_good_news(sentence: Sentence) -> bool:
    """Whether it says that what failed before does no longer."""
    return words.GOOD_NEWS.search(sentence.text) is not None and not doubt_in(sentence)


def _doubt_of(clause: str) -> Doubt:
    if words.ADMITTED.search(clause) and not words.NOT_ADMITTED.search(clause):
        return "open"
    if words.OPEN.search(clause) and not words.NOT_OPEN.search(clause):
        return "open"
    return "failing" if words.FAILING.search(clause) and not words.NOT_FAILING.search(clause) else ""
