"""Find JSON in text, and take values out of it without trusting their types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from loop_close.text.sanitize import one_line, sanitize

_MAX_DOCUMENTS = 50
_MAX_BROKEN_DOCUMENTS = 5


def json_line(line: str) -> Mapping[str, Any]:
    """The object that a line of text is; empty when it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def json_documents(text: str, opening: re.Pattern[str]) -> Iterator[tuple[Any, int, int]]:
    """JSON documents between other text, each with the offsets of its start and end.

    :param opening: how such a document begins.
    """
    decoder, at, found, broken = json.JSONDecoder(), 0, 0, 0
    while found < _MAX_DOCUMENTS and broken < _MAX_BROKEN_DOCUMENTS:
        begins = opening.search(text, at)
        if begins is None:
            return
        try:
            document, at = decoder.raw_decode(text, begins.start())
        except (ValueError, RecursionError):
            broken, at = broken + 1, begins.end()
            continue
        found += 1
        yield document, begins.start(), at


def number(value: object) -> int:
    """A line or column out of JSON; 0 for what cannot be one."""
    return value if isinstance(value, int) and 0 <= value <= 999_999_999 else 0


def string(value: object) -> str:
    """A text out of JSON; empty for what is none. Its escapes can spell what the text around it cannot hold."""
    return sanitize(value) if isinstance(value, str) else ""


def word(value: object) -> str:
    """A path or the name of a rule out of JSON; empty for what is no text."""
    return one_line(value, 1_000) if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """An object out of JSON; empty for what is none."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list out of JSON; none when it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
