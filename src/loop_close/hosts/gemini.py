"""Gemini CLI: hooks of ``settings.json`` (https://geminicli.com/docs/hooks/reference).

Timeouts are milliseconds. ``block`` would be taken for ``deny``, too. ``stop_hook_active`` is false again once the
agent that was sent back has used a tool. ``prompt_response`` is all that it said since the person's prompt.
"""

from __future__ import annotations

from loop_close.hosts import (
    LIMIT,
    START,
    HookLocation,
    Host,
    Payload,
    answer_with,
    command_line,
    document_of,
    end_run,
    event_of,
    flag_in,
    folder_in,
    group_of,
    is_start,
    json_config,
    needed,
    text_in,
)


def read(data: bytes) -> Payload:
    """What Gemini CLI sends to a hook.

    :raises PayloadError: when it cannot be understood.
    """
    document = document_of(data)
    event = event_of(document, "hook_event_name", ("AfterAgent", START))
    return Payload(
        session=needed(document, "session_id"),
        cwd=folder_in(document, "cwd"),
        event=event,
        is_stop=event != START,
        is_start=is_start(document, event),
        is_again=flag_in(document, "stop_hook_active") or None,
        message=text_in(document, "prompt_response"),
        is_all_said=True,
    )


_HANDLER = {"name": "loop-close", "type": "command", "command": command_line("gemini"), "timeout": 10_000}

HOST = Host(
    name="gemini",
    title="Gemini CLI",
    limit=LIMIT,
    read=read,
    go_on=answer_with(lambda text: {"decision": "deny", "reason": text}),  # the reason is the next prompt
    end=end_run,
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
