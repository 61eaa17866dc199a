"""What a host is answered: one line of JSON, its texts within what the host lets through."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_CUT = "…"
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def line(answer: Mapping[str, object]) -> str:
    """The answer as compact JSON in ASCII: whatever the encoding of standard output, it arrives."""
    return json.dumps(answer, separators=(",", ":"))


def fitted(text: str, limit: int) -> str:
    """The text, or as many of its first lines as fit with its last one, which says where all of it is.

    :param limit: the most bytes, in UTF-8.
    :returns: at most so many bytes. What is cut inside a code block ends the block before the last line.
    """
    text = text.strip("\n")
    if _size(text) <= limit:
        return _readable(text)
    body, _, last = text.rpartition("\n")
    longest = max(_FENCE.findall(body), key=len, default="")
    room = limit - _size(last) - len(longest) - _size(f"\n{_CUT}\n\n")
    if room <= 0:
        return _beginning(last, limit)
    head = _whole_lines(_beginning(body, room))
    return "\n".join(filter(None, (head, _closing(head), _CUT, _readable(last))))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _beginning(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def _whole_lines(text: str) -> str:
    whole = text.rpartition("\n")[0]
    return whole or text


def _closing(text: str) -> str:
    """The fence that ends the code block which the text leaves open; empty where it leaves none."""
    opened = ""
    for marks in _FENCE.findall(text):
        if not opened:
            opened = marks
        elif marks[0] == opened[0] and len(marks) >= len(opened):
            opened = ""
    return opened
