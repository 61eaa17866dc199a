"""Codex: ``codex exec --json``, since version 0.44 events of a thread.

After exec_events.rs and event_processor_with_jsonl_output.rs of openai/codex.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop_close.agent.said_reader import Reader
from loop_close.agent.said_values import fields_of, is_failing_code, mcp_name, text_of

_ITEMS = ("item.started", "item.updated", "item.completed")
_TURNS = ("turn.started", "turn.completed")
_SESSIONS = {"thread.started": "thread_id", "session.created": "session_id"}


class Codex(Reader):
    """Events have a ``type`` with a dot in it; the last message of the agent is its answer. No money.

    Edits and searches are no results here: the events do not tell what came of them, so that any two of one
    file would look the same.
    """

    name = "codex"

    def take(self, event: Mapping[str, Any]) -> bool:
        """Keep what counts of an event."""
        kind = event.get("type")
        if kind == "error":
            return self._fail(event)
        if kind == "turn.failed":
            self.is_sure = True
            return self._fail(fields_of(event.get("error")))
        if not isinstance(kind, str) or not _is_own(kind, event):
            return False
        self.is_sure = True
        if kind in _TURNS:
            self.is_error = False  # an error before it was got over
        if kind == "item.completed":
            self._item(event["item"])
        return True

    def _fail(self, error: Mapping[str, Any]) -> bool:
        self.is_error = True
        self.trouble = text_of(error.get("message"))
        return bool(self.trouble)

    def _item(self, item: Mapping[str, Any]) -> None:
        match item.get("type", item.get("item_type")):
            case "agent_message" | "assistant_message":
                self.answer = text_of(item.get("text")) or self.answer
            case "command_execution":
                self._command(item)
            case "mcp_tool_call":
                self._mcp(item)

    def _command(self, item: Mapping[str, Any]) -> None:
        is_error = item.get("status") in ("failed", "declined") or is_failing_code(item.get("exit_code"))
        given, output = {"command": item.get("command")}, text_of(item.get("aggregated_output"))
        self.calls.add("command_execution", given, output, is_error=is_error)

    def _mcp(self, item: Mapping[str, Any]) -> None:
        result, error = fields_of(item.get("result")), fields_of(item.get("error"))
        self.calls.add(
            mcp_name(item.get("server"), item.get("tool")),
            item.get("arguments"),
            text_of(error.get("message")) if error else result.get("content"),
            is_error=bool(error) or item.get("status") == "failed",
            meta=result.get("_meta"),
        )


def _is_own(kind: str, event: Mapping[str, Any]) -> bool:
    if kind in _ITEMS:
        return isinstance(event.get("item"), Mapping)
    return kind in _TURNS or (kind in _SESSIONS and isinstance(event.get(_SESSIONS[kind]), str))
