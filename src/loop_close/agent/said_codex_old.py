"""Codex before version 0.44: ``codex exec --json`` writes ``{"id": ..., "msg": {"type": ...}}``.

After event_processor_with_json_output.rs of openai/codex as it was then; the events of tools after logs that the
tests of BloopAI/vibe-kanban recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop_close.agent.said_reader import Reader
from loop_close.agent.said_values import fields_of, is_failing_code, mcp_name, text_of

_SETTINGS = {"model", "provider", "approval"}


class CodexOld(Reader):
    """After an object of settings and one with the prompt, events in envelopes. No money."""

    name = "codex"

    def take(self, event: Mapping[str, Any]) -> bool:
        """Keep what counts of an event."""
        if event.keys() == {"prompt"} or event.keys() >= _SETTINGS:
            return True
        message = fields_of(event.get("msg"))
        kind = message.get("type")
        if not isinstance(kind, str) or not isinstance(event.get("id"), str):
            return False
        self.is_sure = True
        self._take(kind, message)
        return True

    def _take(self, kind: str, message: Mapping[str, Any]) -> None:
        match kind:
            case "agent_message":
                self.answer = text_of(message.get("message")) or self.answer
            case "task_complete":
                self.answer = text_of(message.get("last_agent_message")) or self.answer
                self.is_error = False
            case "error" | "turn_aborted":
                self.is_error = True
                self.trouble = text_of(message.get("message")) or text_of(message.get("reason"))
            case "exec_command_begin" | "patch_apply_begin" | "mcp_tool_call_begin":
                self._begin(kind, message)
            case "exec_command_end" | "patch_apply_end":
                self._end(message)
            case "mcp_tool_call_end":
                self._end_mcp(message)

    def _begin(self, kind: str, message: Mapping[str, Any]) -> None:
        call = fields_of(message.get("invocation"))
        tool, given = mcp_name(call.get("server"), call.get("tool")), call.get("arguments")
        if kind == "exec_command_begin":
            tool, given = "command_execution", {"command": message.get("command")}
        elif kind == "patch_apply_begin":
            tool, given = "apply_patch", message.get("changes")
        self.calls.begin(message.get("call_id"), tool, given)

    def _end(self, message: Mapping[str, Any]) -> None:
        is_error = is_failing_code(message.get("exit_code")) or message.get("success") is False
        streams = (text_of(message.get("stdout")), text_of(message.get("stderr")))
        output = text_of(message.get("aggregated_output")) or "\n".join(filter(None, streams))
        self.calls.end(message.get("call_id"), output, is_error=is_error)

    def _end_mcp(self, message: Mapping[str, Any]) -> None:
        result = fields_of(message.get("result"))
        given = fields_of(result.get("Ok"))
        self.calls.end(
            message.get("call_id"),
            result.get("Err", given.get("content")),
            is_error="Err" in result or given.get("isError") is True,
            meta=given.get("_meta"),
        )
