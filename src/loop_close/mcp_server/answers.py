"""What a tool answers, before it is put into the words of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loop_close.cli.summary import shown

_MAX_ITEMS = 25
_MAX_CHARACTERS = 600
_MAX_ERROR = 500
#: What bounds itself, or is a sum.
_WHOLE = ("next_prompt",)


class ToolError(Exception):
    """A call that cannot be answered; the text says why, and what would be right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a tool answers.

    :ivar text: for a model to read.
    :ivar document: the same as plain values, as the tool's output schema describes them; None with an error.
    :ivar is_error: the call could not be answered. Failing tests and a loop that is stuck are answers.
    :ivar meta: for the host, by reverse-DNS key.
    """

    text: str
    document: Mapping[str, Any] | None = None
    is_error: bool = False
    meta: Mapping[str, bool] = field(default_factory=dict)


def failed(why: str) -> Answer:
    """The answer to a call that cannot be answered, on one line."""
    return Answer(text=shown(why, _MAX_ERROR), is_error=True)


def bounded(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its lists and texts cut, and with what was left out counted as ``omitted``.

    A host cuts or refuses what is long, and the next prompt says what counts.
    """
    omitted: dict[str, int] = {}
    found = {key: value if key in _WHOLE else _cut(value, key, omitted) for key, value in document.items()}
    return {**found, "omitted": omitted}


def _cut(value: Any, key: str, omitted: dict[str, int]) -> Any:
    if isinstance(value, Mapping):
        return {name: _cut(each, name, omitted) for name, each in value.items()}
    if isinstance(value, list):
        more = len(value) - _MAX_ITEMS
        if more > 0:
            omitted[key] = omitted.get(key, 0) + more
        return [_cut(each, key, omitted) for each in value[:_MAX_ITEMS]]
    if isinstance(value, str) and len(value) > _MAX_CHARACTERS:
        return f"{value[: _MAX_CHARACTERS - 1]}…"
    return value
