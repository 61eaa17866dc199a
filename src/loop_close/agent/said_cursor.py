"""Cursor: ``cursor-agent -p --output-format json`` and ``stream-json``.

After cursor.com/docs/cli/reference/output-format, and, for the results of tools and the parts that
``--stream-partial-output`` writes, after events of version 2026.01.28 that reifying/cursor-hack recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop_close.agent.said_claude import is_of_claude
from loop_close.agent.said_reader import Reader, Words
from loop_close.agent.said_record import Said
from loop_close.agent.said_values import blocks_of, fields_of, mcp_name, text_of, words_of

_SUFFIX = "ToolCall"
# Of a result, what differs from call to call though nothing else does.
_VOLATILE = ("Time", "Ms", "Id", "pid")


class Cursor(Reader):
    """The events of Claude Code, but tools have their own; it reports no money."""

    name = "cursor"

    def __init__(self) -> None:
        super().__init__()
        self._parts = Words("")
        self._is_own = False
        self._is_other = False

    def take(self, event: Mapping[str, Any]) -> bool:
        """Keep what counts of an event."""
        self._is_other = self._is_other or is_of_claude(event)
        self.is_closed = False
        is_taken = self._take(event)
        self.is_sure = self._is_own and not self._is_other
        return is_taken

    def _take(self, event: Mapping[str, Any]) -> bool:
        match event.get("type"):
            case "assistant":
                return self._assistant(event)
            case "tool_call":
                return self._tool_call(event)
            case "result":
                return self._result(event)
            case "thinking":
                return isinstance(event.get("subtype"), str)
            case "system" | "user":
                return isinstance(event.get("session_id"), str)
        return False

    def _assistant(self, event: Mapping[str, Any]) -> bool:
        message = event.get("message")
        if not isinstance(message, Mapping):
            return False
        text = words_of(message.get("content"))
        if "timestamp_ms" in event and "model_call_id" not in event:  # a part; the whole follows
            self._parts.say(text)
        else:
            self._parts = Words("")
            self.words.pause()
            self.words.say(text)
        return True

    def _tool_call(self, event: Mapping[str, Any]) -> bool:
        call = event.get("tool_call")
        if not isinstance(call, Mapping):
            return False
        self._is_own = True
        key = text_of(event.get("call_id")) or text_of(call.get("toolCallId"))
        tool, body = _tool(call)
        given = body.get("args")
        if event.get("subtype") == "started":
            self._keep_parts()
            self.calls.begin(key, tool, given)
        elif event.get("subtype") == "completed":
            self._end(key, tool, given, fields_of(body.get("result")))
        return True

    def _end(self, key: str, tool: str, given: Any, result: Mapping[str, Any]) -> None:
        if given is not None:  # the beginning may have been cut off
            self.calls.begin(key, tool, given)
        self.calls.end(key, _content(result), is_error=_is_error(result))

    def _result(self, event: Mapping[str, Any]) -> bool:
        if not isinstance(event.get("subtype"), str) and not isinstance(event.get("is_error"), bool):
            return False
        self._is_own = self._is_own or "duration_ms" in event or "request_id" in event
        self.is_closed = (
            isinstance(event.get("is_error"), bool) and {"session_id", "duration_ms"} <= event.keys()
        )
        self.is_error = event.get("is_error") is True or text_of(event.get("subtype")).startswith("error")
        self._keep_parts()
        # It is all messages of the run in one, so the last of them is the better answer.
        whole = text_of(event.get("result"))
        self.answer = whole if self.is_error else self.words.last or whole
        return True

    def _keep_parts(self) -> None:
        if self._parts.last:
            self.words.pause()
            self.words.say(self._parts.last)
            self._parts = Words("")

    def said(self) -> Said:
        """What all the events come to; of a message that was broken off, its parts."""
        self._keep_parts()
        return super().said()


def _tool(call: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The tool's name, which is a key, and what is below it."""
    for key, value in call.items():
        if key.endswith(_SUFFIX):
            body = fields_of(value)
            args = fields_of(body.get("args"))
            name = mcp_name(args.get("providerIdentifier"), args.get("toolName"))
            return name or key.removesuffix(_SUFFIX), body
    return "", {}


def _is_error(result: Mapping[str, Any]) -> bool:
    return "success" not in result or fields_of(result["success"]).get("isError") is True


def _content(result: Mapping[str, Any]) -> Any:
    body = next((value for value in result.values() if isinstance(value, Mapping)), {})
    if "stdout" in body or "stderr" in body:
        return "\n".join(filter(None, (text_of(body.get("stdout")), text_of(body.get("stderr")))))
    if isinstance(body.get("content"), list):
        return "\n".join(
            text_of(fields_of(each.get("text")).get("text")) for each in blocks_of(body["content"])
        )
    if isinstance(body.get("content"), str):
        return body["content"]
    return {key: value for key, value in body.items() if not key.endswith(_VOLATILE)}
