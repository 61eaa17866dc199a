"""Cline: ``cline --json``.

After recorded outputs of 3.0.65, and the events and reasons to finish of its agents' package as programs that use it
declare them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop_close.agent.said_reader import Reader
from loop_close.agent.said_record import Said
from loop_close.agent.said_values import blocks_of, fields_of, money_of, text_of


class Cline(Reader):
    """Events have a ``ts``, the agent's own are within another; the one of type ``run_result`` is the last."""

    name = "cline"

    def __init__(self) -> None:
        super().__init__()
        self._part = ""
        self._paid = 0.0

    def take(self, event: Mapping[str, Any]) -> bool:
        """Keep what counts of an event."""
        self.is_closed = False
        is_taken = isinstance(event.get("ts"), str) and self._take(event)
        self.is_sure = self.is_sure or is_taken
        return is_taken

    def _take(self, event: Mapping[str, Any]) -> bool:
        match event.get("type"):
            case "hook_event":
                return isinstance(event.get("hookEventName"), str)
            case "agent_event":
                return self._event(fields_of(event.get("event")))
            case "run_result":
                return self._result(event)
        return False

    def _event(self, event: Mapping[str, Any]) -> bool:
        match event.get("type"), event.get("contentType"):
            case "content_start", "text":
                self._begin_text(event)
            case "content_end", "text":
                self._end_text(event)
            case "content_start", "tool":
                self.calls.begin(event.get("toolCallId"), text_of(event.get("toolName")), event.get("input"))
            case "content_end", "tool":
                self._end_tool(event)
            case "usage", _:
                self.cost = max(self.cost, money_of(self._paid + money_of(event.get("totalCost"))))
            case "error", _:
                self.trouble = text_of(fields_of(event.get("error")).get("message"))
        return isinstance(event.get("type"), str)

    def _begin_text(self, event: Mapping[str, Any]) -> None:
        if not event.get("parentAgentId"):  # else it is a subagent's
            self._part = text_of(event.get("accumulated")) or text_of(event.get("text"))

    def _end_text(self, event: Mapping[str, Any]) -> None:
        if not event.get("parentAgentId"):
            self._say(text_of(event.get("text")))

    def _say(self, text: str) -> None:
        self._part = ""
        self.words.pause()
        self.words.say(text)

    def _end_tool(self, event: Mapping[str, Any]) -> None:
        error, output = text_of(event.get("error")), event.get("output")
        parts = list(blocks_of(output))  # a call may be of several commands or files
        if parts:
            output = "\n".join(text_of(part.get("result")) or text_of(part.get("error")) for part in parts)
        is_error = bool(error) or any(part.get("success") is False for part in parts)
        self.calls.end(event.get("toolCallId"), output or error, is_error=is_error)

    def _result(self, event: Mapping[str, Any]) -> bool:
        if not isinstance(event.get("finishReason"), str):
            return False
        self.is_closed = {"text", "usage", "durationMs"} <= event.keys()
        self.is_error = event["finishReason"] != "completed"
        self.answer = text_of(event.get("text"))
        self.trouble = self.trouble or event["finishReason"]
        # The aggregate has what subagents cost, too.
        costs = (fields_of(event.get(name)).get("totalCost") for name in ("usage", "aggregateUsage"))
        self.cost = self._paid = money_of(self._paid + max(money_of(cost) for cost in costs))
        return True

    def said(self) -> Said:
        """What all the events come to; of a message that was broken off, what there is of it."""
        if self._part:
            self._say(self._part)
        return super().said()
