"""A result of a tool, and the values by which it is compared with others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from loop_close.agent.advancing import INFRASTRUCTURE_KEYS, NON_ADVANCING_KEYS, OWN_KEY
from loop_close.agent.tool_errors import is_of_machine
from loop_close.text.normalize import stabilize
from loop_close.text.sanitize import sanitize

#: What a result says: a plain success or error; of no progress, or of some; or the machine failed.
Kind = Literal["success", "error", "stalled", "advanced", "machine"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """What a tool gave back.

    :ivar tool: its name.
    :ivar input: what it was called with, as JSON has it.
    :ivar content: a text; the content blocks of MCP, of which the texts are joined; or any JSON.
    :ivar meta: MCP's ``_meta``.
    """

    tool: str
    input: Any = None
    content: Any = ""
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fingerprint:
    """What a result is compared by.

    :ivar mark: equal for results that say the same of the tool: of errors the content, of successes the input, too,
        of what is marked as not advancing the input alone, folded.
    :ivar content: equal for equal content, whatever the input.
    """

    kind: Kind
    mark: str
    content: str


def fingerprint(result: ToolResult) -> Fingerprint:
    """The result by its whole content, without what differs from call to call: times, addresses, uuids.

    The kinds of marks are those of nimblebrain's loop brake.
    """
    text = sanitize(content_text(result.content))
    kind = _kind(result, text)
    content = _digest(stabilize(text).strip())
    if kind == "stalled":
        mark = f"n:{_digest(_json(result.input, is_folded=True))}"
    elif result.is_error:
        mark = f"e:{content}"
    else:
        mark = f"s:{_digest(content, _json(result.input))}"
    return Fingerprint(kind=kind, mark=mark, content=content)


def content_text(content: Any) -> str:
    """The text of a result's content; whatever is no text, as JSON with its keys in order."""
    if content is None or isinstance(content, str):
        return content or ""
    blocks = content if isinstance(content, list | tuple) else (content,)
    return "\n".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    return _json(block)


def _kind(result: ToolResult, text: str) -> Kind:
    """What the result's marks say of it; only where there are none, what its text says."""
    meta = result.meta or {}  # a host may send null
    if any(meta.get(key) is True for key in INFRASTRUCTURE_KEYS):
        return "machine"
    if any(meta.get(key) is True for key in NON_ADVANCING_KEYS):
        return "stalled"
    if meta.get(OWN_KEY) is False:
        return "advanced"
    if not result.is_error:
        return "success"
    return "machine" if is_of_machine(text) else "error"


def _json(value: Any, *, is_folded: bool = False) -> str:
    """The value as JSON, keys in order; folded: strings without case, and with single spaces."""
    try:
        return json.dumps(_plain({} if value is None else value, is_folded), sort_keys=True)
    except (ValueError, RecursionError):  # numbers of thousands of digits; no end of nesting
        return f"a {type(value).__name__} that JSON cannot hold"


def _plain(value: Any, is_folded: bool) -> Any:
    if isinstance(value, str):
        return " ".join(value.casefold().split()) if is_folded else value
    if isinstance(value, Mapping):
        return {str(key): _plain(each, is_folded) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, is_folded) for each in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return stabilize(repr(value))


def _digest(*parts: str) -> str:
    text = "\0".join(parts)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
