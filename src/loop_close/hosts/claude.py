"""Claude Code: hooks of ``settings.json`` (https://code.claude.com/docs/en/hooks).

``decision: block`` sends the agent on with the reason, and ends itself after 8 in a row; texts are cut at 10,000
characters. A hook of ``Stop`` whose answer holds ``additionalContext`` sends it on, too, but not as an error. A
subagent that works in the background is among the ``background_tasks`` when it ends.

GitHub Copilot reads these files, too, and runs the hooks of ``Stop`` at the end of a subagent as well. Then the agent
that asked the subagent is at work.
"""

from __future__ import annotations

from typing import Any

import msgspec

from loop_close import hosts
from loop_close.hosts import LIMIT, START, Config, Host, Payload, answer_line, answer_with, fitted


class _Sent(hosts.Sent, frozen=True):
    is_interrupt: bool = False
    background_tasks: tuple[Any, ...] = ()
    session_crons: tuple[Any, ...] = ()

    def payload(self) -> Payload:
        """Waiting is who would be woken by anything else than itself."""
        own = self.agent_id
        others = [
            t for t in self.background_tasks if not (own and isinstance(t, dict) and t.get("id") == own)
        ]
        return msgspec.structs.replace(
            super().payload(),
            is_interrupted=self.is_interrupt,
            is_waiting=bool(others or self.session_crons or (self.event == "Stop" and own)),
        )


def _context(payload: Payload, text: str) -> str:
    """Let the agent read the text."""
    context = {"hookEventName": payload.event, "additionalContext": fitted(text, LIMIT)}
    return answer_line({"hookSpecificOutput": context}) if text.strip() else ""


HOST = Host(
    name="claude",
    title="Claude Code",
    sent=_Sent,
    stops=("Stop", "SubagentStop"),
    others=("PostToolUseFailure", START),
    go_on=answer_with(lambda text: {"decision": "block", "reason": text}),
    inform=_context,
    end=hosts.end_run,
    config=Config(
        project=".claude/settings.json",
        events=(START, "Stop"),
        entry=hosts.group_of("claude"),
        home="CLAUDE_CONFIG_DIR",
    ),
)
