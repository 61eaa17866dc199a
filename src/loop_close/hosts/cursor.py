"""Cursor: hooks of ``hooks.json`` (https://cursor.com/docs/agent/hooks).

What it sends begins with a byte-order mark on Windows. It counts how often hooks sent the agent back, and stops asking
at ``loop_limit``. Versions that do not know ``sessionStart`` reject the file that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop_close import hosts
from loop_close.hosts import Config, ConfigError, Host, Payload

_LOOPS = 5


class _Sent(hosts.Sent, frozen=True):
    conversation_id: str = ""
    workspace_roots: tuple[str, ...] = ()
    loop_count: int = 0
    status: str = ""

    def payload(self) -> Payload:
        """It counts how often hooks sent the agent back."""
        return Payload(
            session=self.conversation_id or self.session_id,
            event=self.event,
            cwd=next(iter(self.workspace_roots), self.cwd),
            is_again=bool(self.loop_count),
            is_interrupted=self.status in ("aborted", "error"),
        )


def _check(document: Mapping[str, Any]) -> None:
    if document.get("version") != 1:
        raise ConfigError('Cursor reads hooks only from a file with "version": 1; add that at the top level')


HOST = Host(
    name="cursor",
    title="Cursor",
    sent=_Sent,
    stops=("stop",),
    others=(),
    # Without ``inform``: any text sends the agent back, as the next message of the conversation.
    go_on=hosts.answer_with(lambda text: {"followup_message": text}),
    config=Config(
        project=".cursor/hooks.json",
        events=("stop",),
        entry={"command": hosts.command_line("cursor"), "loop_limit": _LOOPS},
        beside={"version": 1},
        check=_check,
    ),
)
