"""opencode: ``opencode run --format json``.

After packages/opencode/src/cli/cmd/run.ts of opencode (a fork's copy of it), and the events that the
documentation of the crates ralph-workflow and orch-cli show; recorded outputs of 1.18.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop_close.agent.said_reader import Reader
from loop_close.agent.said_values import fields_of, is_failing_code, money_of, text_of

_PARTS = {"text": "text", "tool_use": "tool", "step_start": "step-start", "step_finish": "step-finish"}


class OpenCode(Reader):
    """Events have a ``sessionID`` and a ``part``, the ends of steps with what the step cost."""

    name = "opencode"

    def take(self, event: Mapping[str, Any]) -> bool:
        """Keep what counts of an event."""
        kind, part = event.get("type"), fields_of(event.get("part"))
        if not isinstance(kind, str) or not isinstance(event.get("sessionID"), str):
            return False
        if kind == "error":
            self._fail(fields_of(event.get("error")))
        elif part.get("type") == _PARTS.get(kind):
            self._part(kind, part)
            self.is_sure = True
        return True

    def _fail(self, error: Mapping[str, Any]) -> None:
        name = text_of(error.get("name"))
        self.is_sure = self.is_sure or bool(name)  # it may be all that there is
        self.is_error = True
        self.trouble = text_of(fields_of(error.get("data")).get("message")) or name

    def _part(self, kind: str, part: Mapping[str, Any]) -> None:
        match kind:
            case "text":
                self.words.say(text_of(part.get("text")))
            case "tool_use":
                self._tool(part)
            case "step_start":
                self.words.pause()
            case "step_finish":
                self.cost = money_of(self.cost + money_of(part.get("cost")))
                self.is_error = False  # an error before it was got over

    def _tool(self, part: Mapping[str, Any]) -> None:
        state = fields_of(part.get("state"))
        has_broken = state.get("status") == "error"
        content = text_of(state.get("error" if has_broken else "output"))
        # A command that failed has completed.
        is_error = has_broken or is_failing_code(fields_of(state.get("metadata")).get("exit"))
        self.calls.add(text_of(part.get("tool")), state.get("input"), content, is_error=is_error)
