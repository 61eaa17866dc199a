"""Cursor: hooks of ``hooks.json`` (https://cursor.com/docs/agent/hooks).

What it sends begins with a byte-order mark on Windows. It counts how often hooks sent the agent back, and stops asking
at ``loop_limit``.
"""

from __future__ import annotations

from collections.abc import Mapping

from loop_close.hosts import (
    ConfigError,
    HookInput,
    HookLocation,
    Host,
    Payload,
    answer_with,
    command_line,
    json_config,
)

_LOOPS = 5


def payload_of(sent: HookInput) -> Payload:
    """What Cursor sends to a hook."""
    loop_count = sent.count("loop_count")
    return Payload(
        session=sent.needed("conversation_id", "session_id"),
        cwd=sent.first_folder("workspace_roots") or sent.folder("cwd"),
        event=sent.event("hook_event_name", ("stop",)),
        is_stop=True,
        is_again=bool(loop_count),
        loop_count=loop_count,
        is_interrupted=sent.text("status") in ("aborted", "error"),
    )


def path(document: Mapping[str, object]) -> tuple[str, ...]:
    """Where the hooks are.

    :raises ConfigError: for a file without the version, of which Cursor takes no hook.
    """
    if document.get("version") != 1:
        raise ConfigError('Cursor reads hooks only from a file with "version": 1; add that at the top level')
    return ("hooks", "stop")


HOST = Host(
    name="cursor",
    title="Cursor",
    payload_of=payload_of,
    # Without ``inform``: any text sends the agent back, as the next message of the conversation.
    go_on=answer_with(lambda text: {"followup_message": text}),
    config=json_config(
        HookLocation(
            host="cursor",
            path=path,
            entry={"command": command_line("cursor"), "loop_limit": _LOOPS},
            beside={"version": 1},
        ),
        project=".cursor/hooks.json",
    ),
)
