"""Gemini CLI: ``gemini --output-format json`` and ``stream-json``.

After packages/core/src/output/types.ts and packages/cli/src/nonInteractiveCli.ts of google-gemini/gemini-cli
(August 2026), and recorded outputs of 0.61.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop_close.agent.said_reader import Reader, Words
from loop_close.agent.said_values import fields_of, text_of

_FIELDS = {"session_id", "response", "stats", "error", "warnings"}


class Gemini(Reader):
    """One object with ``response``, or events of which each has a ``timestamp``; it reports no money."""

    name = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self.words = Words("")

    def take(self, event: Mapping[str, Any]) -> bool:
        """Keep what counts of an event."""
        kind = event.get("type")
        is_taken = self._whole(event) if kind is None else self._event(kind, event)
        self.is_sure = self.is_sure or is_taken
        return is_taken

    def _whole(self, event: Mapping[str, Any]) -> bool:
        error, response = fields_of(event.get("error")), event.get("response")
        if not event.keys() <= _FIELDS:
            return False
        has_run = isinstance(event.get("stats"), Mapping) or isinstance(event.get("session_id"), str)
        is_failure = isinstance(error.get("type"), str) and isinstance(error.get("message"), str)
        if not is_failure and not (has_run and isinstance(response, str)):
            return False
        self.answer = text_of(response)
        self.trouble = text_of(error.get("message"))
        self.is_error = is_failure
        return True

    def _event(self, kind: object, event: Mapping[str, Any]) -> bool:
        if not isinstance(event.get("timestamp"), str):
            return False
        match kind:
            case "init":
                return isinstance(event.get("session_id"), str)
            case "message":
                return self._message(event)
            case "tool_use":
                self.calls.begin(
                    event.get("tool_id"), text_of(event.get("tool_name")), event.get("parameters")
                )
                return isinstance(event.get("tool_name"), str)
            case "tool_result":
                return self._tool_result(event)
            case "error":  # it does not end the turn; what is said after it, as to a hook, is another message
                self.words.pause()
                return isinstance(event.get("severity"), str)
            case "result":
                return self._result(event)
        return False

    def _message(self, event: Mapping[str, Any]) -> bool:
        if event.get("role") == "assistant":
            self.words.say(text_of(event.get("content")))
        elif event.get("role") == "user":
            self.words.pause()
        return event.get("role") in ("assistant", "user")

    def _tool_result(self, event: Mapping[str, Any]) -> bool:
        self.words.pause()
        message = text_of(fields_of(event.get("error")).get("message"))
        content = text_of(event.get("output")) or message
        self.calls.end(event.get("tool_id"), content, is_error=event.get("status") == "error")
        return isinstance(event.get("tool_id"), str)

    def _result(self, event: Mapping[str, Any]) -> bool:
        self.is_error = event.get("status") == "error"
        self.trouble = text_of(fields_of(event.get("error")).get("message"))
        return isinstance(event.get("status"), str)
