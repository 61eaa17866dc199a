"""JSON changed in place: a member or an element more or less, and every other byte as it was.

To read a file and write it anew would lose how it is laid out. Here a part is put at the end of its container, or
cut out again, by the offsets of what is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENTED = re.compile(r'\n([ \t]+)["\[{]')
_LINE_START = re.compile(r"[ \t]*")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A member of an object, or an element of a list.

    :ivar name: empty for an element.
    :ivar start: offset of its first character; ``end`` of the one after its last; ``at`` of its value.
    """

    name: str
    start: int
    at: int
    end: int
    value: object


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How a text is laid out.

    :ivar unit: what a level is indented by; None where all is on one line.
    """

    unit: str | None
    newline: str


def parse(text: str) -> object:
    """The value that the text holds.

    :raises ValueError: when it is no JSON, which is stricter here than in Python.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def root(text: str) -> int:
    """The offset of the text's value."""
    return _skip(text, 0)


def parts(text: str, at: int) -> list[Part]:
    """What the container at an offset of valid JSON holds."""
    found = []
    is_list, position = text[at] == "[", _skip(text, at + 1)
    while text[position] not in "]}":
        start, name, value_at = position, "", position
        if not is_list:
            name, after = _DECODER.raw_decode(text, start)
            value_at = _skip(text, _skip(text, after) + 1)
        value, end = _DECODER.raw_decode(text, value_at)
        found.append(Part(name=name, start=start, at=value_at, end=end, value=value))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found


def layout_of(text: str) -> Layout:
    """How the text is laid out; that of an empty one is two spaces a level."""
    newline = "\r\n" if "\r\n" in text else "\n"
    is_one_line = "\n" not in text.strip() and bool(parts(text, root(text)))
    indented = _INDENTED.search(text)
    return Layout(unit=None if is_one_line else indented[1] if indented else "  ", newline=newline)


def written(value: object, layout: Layout, indent: str = "") -> str:
    """The value as JSON, its containers never empty: what is in one is set off from its brackets.

    :param indent: of the line that it begins on.
    """
    if isinstance(value, dict) and value:
        pieces = [
            f"{_scalar(key)}: {written(item, layout, _deeper(indent, layout))}" for key, item in value.items()
        ]
        return _set_off("{", pieces, "}", layout, indent)
    if isinstance(value, list) and value:
        pieces = [written(item, layout, _deeper(indent, layout)) for item in value]
        return _set_off("[", pieces, "]", layout, indent)
    return _scalar(value)


def inserted(text: str, at: int, name: str, value: object, layout: Layout) -> str:
    """The text with one more part at the end of the container at an offset.

    In a container that was empty nothing stands between the bracket and the part: :func:`is_filled` tells by it that
    the container was there before.

    :param name: empty for a list.
    """
    there = parts(text, at)
    lead = f"{_scalar(name)}: " if name else ""
    if not there:
        return text[: at + 1] + lead + written(value, layout, _indent_at(text, at)) + text[at + 1 :]
    last, indent = there[-1], _indent_at(text, there[-1].start)
    is_below = "\n" in text[at : there[0].start] and layout.unit is not None
    gap = layout.newline + indent if is_below else _gap(text, there)
    return f"{text[: last.end]},{gap}{lead}{written(value, layout, indent)}{text[last.end :]}"


def is_filled(text: str, at: int) -> bool:
    """Whether the only part of the container at an offset was put into an empty one."""
    return parts(text, at)[0].start == at + 1


def without(text: str, at: int, index: int) -> str:
    """The text without one part of the container at an offset; what :func:`inserted` did is undone to the byte."""
    there = parts(text, at)
    if index:
        return text[: there[index - 1].end] + text[there[index].end :]
    if len(there) > 1:
        return text[: there[0].start] + text[there[1].start :]
    end = there[0].end if is_filled(text, at) else _skip(text, there[0].end)
    return text[: at + 1] + text[end:]


def cuts(there: list[Part], gone: set[int]) -> Iterator[tuple[int, int]]:
    """What to cut out so that these parts of a container go, as :func:`without` would one after the other.

    :param gone: not all of them.
    """
    first = next((index for index in range(len(there)) if index not in gone), 0)
    if first:
        yield there[0].start, there[first].start
    for index in range(first + 1, len(there)):
        if index in gone:
            yield there[index - 1].end, there[index].end


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _deeper(indent: str, layout: Layout) -> str:
    return indent + (layout.unit or "")


def _set_off(opening: str, pieces: list[str], closing: str, layout: Layout, indent: str) -> str:
    if layout.unit is None:
        return f"{opening} {', '.join(pieces)} {closing}"
    inside = layout.newline + indent + layout.unit
    return f"{opening}{inside}{f',{inside}'.join(pieces)}{layout.newline}{indent}{closing}"


def _indent_at(text: str, at: int) -> str:
    match = _LINE_START.match(text, text.rfind("\n", 0, at) + 1)
    return match[0] if match else ""


def _gap(text: str, there: list[Part]) -> str:
    """What stands after a comma of this container."""
    if len(there) == 1:
        return " "
    return text[text.index(",", there[-2].end) + 1 : there[-1].start]
