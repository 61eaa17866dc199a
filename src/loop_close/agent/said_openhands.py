"""OpenHands: ``openhands --headless --json``.

After json_callback in openhands_cli/utils.py of OpenHands/OpenHands-CLI (May 2026; before, each event was
pretty-printed), and the events of openhands-sdk in OpenHands/software-agent-sdk (August 2026); recorded outputs
of CLI 1.16.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from loop_close.agent.checks import is_number
from loop_close.agent.said_reader import Reader
from loop_close.agent.said_values import fields_of, text_of, words_of

# Lines for people around the events, in short turns more than there are events.
_STATUS = re.compile(
    r"^(?:Agent is working|Agent finished|Initializing agent\.\.\.|✓ (?:Agent initialized with model: .*|Hooks loaded)"
    r"|OpenHands CLI terminal UI may not work .*|To override Rich's detection, .*)\r?$",
    re.MULTILINE,
)

# They only speak: their results say nothing of the work.
_OF_SPEECH = ("finish", "think")


class OpenHands(Reader):
    """Events have a ``kind``, an ``id`` and a ``source``; what the agent finishes with is its answer."""

    name = "openhands"
    sums_up = True
    status = _STATUS

    def take(self, event: Mapping[str, Any]) -> bool:
        """Keep what counts of an event. Money is not told: metrics are of the conversation, not of an event."""
        kind = event.get("kind")
        if not all(isinstance(event.get(name), str) for name in ("kind", "id", "source")):
            return False
        self._take(kind, event)
        self.is_sure = self.is_sure or str(kind).endswith(("Event", "Observation"))
        return True

    def _take(self, kind: object, event: Mapping[str, Any]) -> None:
        match kind:
            case "MessageEvent":
                self._message(event)
            case "ActionEvent":
                self._action(event)
            case "ObservationEvent":
                self._observation(event)
            case "AgentErrorEvent":
                self._end(event, event.get("error"), True)
            case "UserRejectObservation":
                self._end(event, event.get("rejection_reason"), True)
            case "ConversationErrorEvent":
                self.is_error = True
                self.trouble = text_of(event.get("detail")) or text_of(event.get("code"))

    def _message(self, event: Mapping[str, Any]) -> None:
        self.words.pause()
        if event.get("source") == "agent":
            self.words.say(words_of(fields_of(event.get("llm_message")).get("content")))
        else:
            self.answer = ""

    def _action(self, event: Mapping[str, Any]) -> None:
        tool, action = text_of(event.get("tool_name")), fields_of(event.get("action"))
        self.words.pause()
        self.words.say(words_of(event.get("thought")))
        if action.get("kind") == "FinishAction":
            self.answer = text_of(action.get("message"))
        if tool not in _OF_SPEECH:
            self.calls.begin(event.get("tool_call_id"), tool, action)

    def _observation(self, event: Mapping[str, Any]) -> None:
        observation = fields_of(event.get("observation"))
        code = observation.get("exit_code")
        # A command that failed is no error to OpenHands; that of one that runs on is -1.
        is_error = observation.get("is_error") is True or (is_number(code) and code > 0)
        self._end(event, observation.get("content"), is_error)

    def _end(self, event: Mapping[str, Any], content: Any, is_error: bool) -> None:
        self.calls.end(event.get("tool_call_id"), content, is_error=is_error)
