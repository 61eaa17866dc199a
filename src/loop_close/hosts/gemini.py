"""Gemini CLI: hooks of ``settings.json`` (https://geminicli.com/docs/hooks/reference).

Timeouts are milliseconds. ``block`` would be taken for ``deny``, too. ``stop_hook_active`` is false again once the
agent that was sent back has used a tool. ``prompt_response`` is all that it said since the person's prompt.
"""

from __future__ import annotations

from loop_close.hosts import (
    START,
    HookInput,
    HookLocation,
    Host,
    Payload,
    answer_with,
    end_run,
    group_of,
    handler_of,
    json_config,
)


def payload_of(sent: HookInput) -> Payload:
    """What Gemini CLI sends to a hook."""
    event = sent.event("hook_event_name", ("AfterAgent", START))
    return Payload(
        session=sent.needed("session_id"),
        cwd=sent.folder("cwd"),
        event=event,
        is_stop=event != START,
        is_start=sent.is_start(event),
        is_again=sent.flag("stop_hook_active") or None,
        message=sent.text("prompt_response"),
        is_all_said=True,
    )


_HANDLER = {"name": "loop-close", **handler_of("gemini", timeout=10_000)}

HOST = Host(
    name="gemini",
    title="Gemini CLI",
    payload_of=payload_of,
    go_on=answer_with(lambda text: {"decision": "deny", "reason": text}),  # the reason is the next prompt
    end=end_run,
    config=json_config(
        HookLocation(host="gemini", path=lambda document: ("hooks", "AfterAgent"), entry=group_of(_HANDLER)),
        project=".gemini/settings.json",
    ),
)
