"""Literals of placeholders, folded to one, for :func:`loop_close.text.normalize.mask`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"(?P<plain>(?:<[a-z]{1,9}>|\b(?:None|True|False|null|true|false|nan|inf)\b|[\s,:.+-])++)"
    r"|(?P<open>[\[({])|(?P<close>[\])}])|(?P<other>[^\[\](){}<\s,:.+-]++|.)",
    re.DOTALL,
)
_PAIRS = {"]": "[", ")": "(", "}": "{"}


@dataclass(slots=True)
class _Open:
    bracket: str
    at: int
    is_literal: bool


def collapse(text: str) -> str:
    """Fold lists, tuples, sets and dicts that hold nothing but placeholders and constants, inside out.

    :returns: the text with ``<list>`` or ``<dict>`` for each, whatever it held and however much of it. Calls
        and indexes keep their brackets: ``f(<n>)``, ``a[<n>]``.
    """
    if not any(closing in text for closing in _PAIRS):
        return text
    pieces: list[str] = []
    opened: list[_Open] = []
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if match.lastgroup == "open":
            opened.append(_Open(piece, len(pieces), not pieces or not _is_called(pieces[-1][-1])))
        elif match.lastgroup == "close" and opened:
            piece = _close(piece, pieces, opened)
        elif match.lastgroup == "other" and opened:
            opened[-1].is_literal = False
        pieces.append(piece)
    return "".join(pieces)


def _close(bracket: str, pieces: list[str], opened: list[_Open]) -> str:
    """Close the innermost bracket: its pieces go, if they fold to what is returned."""
    start = opened.pop()
    inside = "".join(pieces[start.at + 1 :]) if start.is_literal else ""
    if start.bracket == _PAIRS[bracket] and start.is_literal and _is_container(bracket, inside):
        del pieces[start.at :]
        return "<dict>" if bracket == "}" and (":" in inside or not inside.strip()) else "<list>"
    if opened:
        opened[-1].is_literal = False
    return bracket


def _is_container(bracket: str, inside: str) -> bool:
    return bracket != ")" or "," in inside or not inside.strip()


def _is_called(before: str) -> bool:
    # After one of these a bracket is a call or an index, not a literal.
    return before.isalnum() or before in "_)]…"
