"""Claude Code: ``claude -p --output-format json``, also the list of ``--verbose``, and ``stream-json``.

After the message parser and types of anthropics/claude-agent-sdk-python (August 2026); the list after
anthropics/claude-code issue 84784; recorded outputs of 2.1.330.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop_close.agent.said_reader import Reader
from loop_close.agent.said_values import blocks_of, fields_of, money_of, text_of, words_of

# Why a turn ended, among others that are none, as a hook that prevented it from going on.
_FAILURES = ("api_error", "max_turns")


class Claude(Reader):
    """Events have a ``type`` and a ``session_id``; the one of type ``result`` is the last."""

    name = "claude"

    def __init__(self) -> None:
        super().__init__()
        self._costs: dict[str, float] = {}

    def take(self, event: Mapping[str, Any]) -> bool:
        """Keep what counts of an event; types that are not known yet pass by their session."""
        self.is_closed = False
        match event.get("type"):
            case "assistant":
                return self._assistant(event)
            case "user":
                return self._user(event)
            case "result":
                return self._result(event)
            case str():
                return isinstance(event.get("session_id"), str)
        return False

    def _assistant(self, event: Mapping[str, Any]) -> bool:
        message = event.get("message")
        if not isinstance(message, Mapping):
            return False
        self.is_sure = True
        content = message.get("content")
        for block in blocks_of(content):
            if block.get("type") == "tool_use":
                self.calls.begin(block.get("id"), text_of(block.get("name")), block.get("input"))
        if not event.get("parent_tool_use_id"):  # else it is a subagent's
            self.words.say(words_of(content))
        return True

    def _user(self, event: Mapping[str, Any]) -> bool:
        message = event.get("message")
        if not isinstance(message, Mapping):
            return False
        for block in blocks_of(message.get("content")):
            if block.get("type") == "tool_result":
                self._tool_result(block)
        if not event.get("parent_tool_use_id"):
            self.words.pause()
        return True

    def _tool_result(self, block: Mapping[str, Any]) -> None:
        is_error = block.get("is_error") is True
        key, content = block.get("tool_use_id"), block.get("content")
        self.calls.end(key, content, is_error=is_error, meta=block.get("_meta"))

    def _result(self, event: Mapping[str, Any]) -> bool:
        subtype, is_error = text_of(event.get("subtype")), event.get("is_error")
        if not (isinstance(is_error, bool) or subtype == "success" or subtype.startswith("error")):
            return False
        self.is_sure = True
        self.is_closed = (
            isinstance(is_error, bool) and {"session_id", "duration_ms", "subtype"} <= event.keys()
        )
        reason = text_of(event.get("terminal_reason"))
        self.is_error = is_error is True or subtype.startswith("error") or reason in _FAILURES
        self.answer = text_of(event.get("result"))
        self.trouble = (
            _trouble(event) or (reason if subtype == "success" else subtype) if self.is_error else ""
        )
        self._pay(event)
        return True

    def _pay(self, event: Mapping[str, Any]) -> None:
        # The total is a session's; several are in an output where the command starts several.
        session, total = text_of(event.get("session_id")), event.get("total_cost_usd", event.get("cost_usd"))
        before = self._costs.get(session, 0.0)
        self._costs[session] = max(money_of(total), before)
        self.cost = money_of(self.cost + self._costs[session] - before)


def _trouble(event: Mapping[str, Any]) -> str:
    errors = event.get("errors")
    return "\n".join(text_of(each) for each in errors) if isinstance(errors, list) else ""


def is_of_claude(event: Mapping[str, Any]) -> bool:
    """Whether an event that Cursor could have written, too, has what only Claude Code writes."""
    if event.get("type") == "result":
        return not event.keys().isdisjoint({"total_cost_usd", "cost_usd", "num_turns"})
    message = fields_of(event.get("message"))
    if event.get("type") == "assistant" and not message.keys().isdisjoint({"id", "model", "usage"}):
        return True
    kinds = [block.get("type") for block in blocks_of(message.get("content"))]
    return "tool_use" in kinds or "tool_result" in kinds
