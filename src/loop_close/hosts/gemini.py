"""Gemini CLI: hooks of ``settings.json`` (https://geminicli.com/docs/hooks/reference).

Timeouts are milliseconds. ``block`` would be taken for ``deny``, too. ``stop_hook_active`` is false again once the
agent that was sent back has used a tool, and ``prompt_response`` is all that it said since the person's prompt.
"""

from __future__ import annotations

from loop_close.hosts import Host, Payload
from loop_close.hosts.protocol import (
    START,
    HookLocation,
    command_line,
    document_of,
    event_of,
    fitted,
    flag,
    folder,
    group_of,
    is_start,
    json_config,
    line,
    needed,
    text,
)

LIMIT = 9_000


def read(data: bytes) -> Payload:
    """What Gemini CLI sends to a hook.

    :raises PayloadError: when it cannot be understood.
    """
    document = document_of(data)
    event = event_of(document, "hook_event_name", ("AfterAgent", START))
    return Payload(
        session=needed(document, "session_id"),
        cwd=folder(document, "cwd"),
        event=event,
        is_stop=event != START,
        is_start=is_start(document, event),
        is_again=flag(document, "stop_hook_active") or None,
        message=text(document, "prompt_response"),
        is_all_said=True,
    )


def go_on(payload: Payload, reason: str) -> str:
    """Reject the answer: the reason is the agent's next prompt."""
    return line({"decision": "deny", "reason": fitted(reason, LIMIT)}) if reason.strip() else ""


def inform(payload: Payload, text: str) -> str:
    """Nothing: after the agent's answer there is nobody who would read it."""
    return ""


def end(payload: Payload, reason: str) -> str:
    """End the run; the person sees the reason."""
    return line({"continue": False, "stopReason": fitted(reason, LIMIT)})


_HANDLER = {"name": "loop-close", "type": "command", "command": command_line("gemini"), "timeout": 10_000}

HOST = Host(
    name="gemini",
    title="Gemini CLI",
    limit=LIMIT,
    read=read,
    go_on=go_on,
    inform=inform,
    end=end,
    config=json_config(
        HookLocation(
            host="gemini",
            path=lambda document: ("hooks", "AfterAgent"),
            entry=group_of(_HANDLER),
        ),
        project=".gemini/settings.json",
        user=".gemini/settings.json",
    ),
)
