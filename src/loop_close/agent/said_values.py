"""Values out of JSON that may be of any type: what is not of the type wanted reads as nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from loop_close.agent.checks import is_finite, is_number

_NOTHING: Mapping[str, Any] = {}


def parsed(text: str) -> Any:
    """The value of a JSON text; None where it is none, or none that can be held."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # numbers of thousands of digits are ValueErrors, too
        return None


def text_of(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def fields_of(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else _NOTHING


def blocks_of(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects in a list, if it is one."""
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else iter(())


def words_of(content: object) -> str:
    """The text of a message's content: a text, or blocks, of which those of type ``text`` count."""
    if isinstance(content, str):
        return content
    return "\n".join(
        text_of(block.get("text")) for block in blocks_of(content) if block.get("type") == "text"
    )


def money_of(value: object) -> float:
    """An amount of money: a finite number above 0, else 0.0."""
    return float(value) if is_finite(value) and value > 0 else 0.0


def is_failing_code(value: object) -> bool:
    """Whether a program's exit code says that it failed."""
    return is_number(value) and value != 0


def mcp_name(server: object, tool: object) -> str:
    """A name for a tool of an MCP server, the same for every host: ``mcp__SERVER__TOOL``, as Claude Code has it."""
    names = [text_of(server), text_of(tool)]
    return "__".join(["mcp", *names]) if all(names) else names[1]
