"""Untrusted text: sanitized, redacted, normalized, compared. Here: exceptions as text, long messages cut, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def fault_text(fault: BaseException) -> str:
    """``Type: message``; the type alone where the message cannot be made."""
    try:
        return f"{type(fault).__name__}: {fault}"
    except Exception:
        return type(fault).__name__


#: The most characters of a message that are kept.
MAX_MESSAGE = 16_000
_CUT_ROOM = 4_000


def cut(text: str, limit: int = MAX_MESSAGE) -> str:
    """The text, or its head and tail around the number of characters left out."""
    if len(text) <= limit:
        return text
    from loop_close.text.redact import clean  # late: few messages are as long, and its patterns take time

    head = limit * 3 // 5
    tail = limit - head
    # Half a key no longer looks like one: what the cuts go through is redacted before.
    numbers: dict[str, int] = {}
    first = clean(text[: head + _CUT_ROOM], numbers=numbers)[:head]
    last = clean(text[-tail - _CUT_ROOM :], numbers=numbers)[-tail:]
    return f"{first}\n… {len(text) - limit} characters left out …\n{last}"


def parsed_json(text: str) -> Any:
    """The value of a JSON text; None for invalid JSON, and for numbers or nesting that Python refuses."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def fields_of(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, Mapping) else {}


def objects_of(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list; nothing for another type."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
