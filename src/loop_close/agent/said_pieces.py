"""The JSON objects in an output, and the lines between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from loop_close.agent.said_values import parsed
from loop_close.text.sanitize import sanitize

# Not str.splitlines: JSON may have U+2028 in its texts.
_LINE = re.compile(r"[^\n]+")
_OPENS = ("{", "[")
_CLOSES = {"{": "}", "[": "]"}
_ENDS = ("}", "]")
_LAST_OF_LIST = ',{"type":"result"'


class Piece(NamedTuple):
    """A part of an output.

    :ivar lines: how many lines that are not blank it takes.
    :ivar objects: what JSON it is, none of them empty; nothing where it is none.
    """

    lines: int
    objects: tuple[Mapping[str, Any], ...] = ()


def pieces(output: str) -> Iterator[Piece]:
    """The parts of an output, in order, each line in one of them; linear, and one part at a time.

    JSON is seen where an object, or a list of objects, takes a line of its own, or several, the first and the
    last of which are a bracket alone, as each pretty-printer has it.

    :param output: any text.
    """
    block: list[str] = []
    for line in _lines(output):
        if block and not line.startswith(_OPENS):
            block.append(line)
            if line == _CLOSES[block[0]]:
                yield _piece(block)
                block = []
            continue
        if block:  # what is within a pretty-printed value is indented: this one was broken off
            yield Piece(len(block))
        block = [line] if line in _CLOSES else []
        if not block:
            yield _piece([line])
    if block:
        yield Piece(len(block))


def _lines(output: str) -> Iterator[str]:
    """The lines that are not blank, their indents kept; JSON writes no escape character, so one is of the terminal."""
    for match in _LINE.finditer(output):
        line = match[0]
        line = (sanitize(line) if "\x1b" in line else line).rstrip()
        if line:
            yield line


def _piece(lines: list[str]) -> Piece:
    text = "\n".join(lines).strip()
    value = parsed(text) if text.startswith(_OPENS) and text.endswith(_ENDS) else None
    if value is None and text.endswith("}]") and _LAST_OF_LIST in text:
        # The beginning of a list was cut off: its last object is whole yet.
        value = parsed(text[text.rindex(_LAST_OF_LIST) + 1 : -1])
    values = value if isinstance(value, list) else [value]
    objects = tuple(each for each in values if each and isinstance(each, Mapping))
    return Piece(len(lines), objects if len(objects) == len(values) else ())
