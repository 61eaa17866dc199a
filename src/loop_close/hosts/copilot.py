"""GitHub Copilot: hooks of a JSON file (https://docs.github.com/en/copilot/reference/hooks-reference).

That page as of November 2026. An event that is named ``Stop``, and not ``agentStop``, is sent with its name, and VS
Code's own agents run it, too (https://code.visualstudio.com/docs/agents/reference/hooks-reference, of 29 July 2026).
These read an answer in ``hookSpecificOutput``; Copilot's command line and cloud agent read it at the top, and end
themselves after 8 blocks in a row. At the end of a subagent the hooks of ``Stop`` run first and then those of
``SubagentStop``.
"""

from __future__ import annotations

import msgspec

from loop_close import hosts
from loop_close.hosts import LIMIT, START, Config, Host, Payload, answer_line, fitted


class _Sent(hosts.Sent, frozen=True):
    hookEventName: str = ""  # noqa: N815  # Copilot has both spellings
    sessionId: str = ""  # noqa: N815
    agentId: str = ""  # noqa: N815
    response: str | None = None
    stopReason: str | None = None  # noqa: N815

    @property
    def event(self) -> str:
        """One that is configured as ``agentStop`` or ``sessionStart`` is sent without its name."""
        if name := self.hook_event_name or self.hookEventName:
            return name
        if self.response is not None:
            return "SubagentStop"
        return "Stop" if self.stopReason is not None else START if self.source else ""

    def payload(self) -> Payload:
        """The agent that asked a subagent is at work when this ends, and may want no edits of it."""
        agent = self.agent_id or self.agentId
        plain = msgspec.structs.replace(self, session_id=self.session_id or self.sessionId, agent_id=agent)
        return msgspec.structs.replace(
            super(_Sent, plain).payload(), is_waiting=self.event == "Stop" and bool(agent)
        )


def _go_on(payload: Payload, reason: str) -> str:
    """Send the agent back to work, in both forms that are read."""
    if not reason.strip():
        return ""
    block = {"decision": "block", "reason": fitted(reason, LIMIT)}
    return answer_line({**block, "hookSpecificOutput": {"hookEventName": payload.event, **block}})


HOST = Host(
    name="copilot",
    title="GitHub Copilot",
    sent=_Sent,
    stops=("Stop", "SubagentStop"),
    go_on=_go_on,
    end=hosts.end_run,  # the command line lets the agent stop, and does not show the reason
    config=Config(
        project=".github/hooks/loop-close.json",
        user=".copilot/hooks/loop-close.json",
        events=(START, "Stop"),
        entry=hosts.handler_of("copilot"),
        beside={"version": 1},
        home="COPILOT_HOME",
    ),
)
