"""Codex: hooks of ``hooks.json`` (https://developers.openai.com/codex/hooks).

The schema of an answer to ``Stop`` takes no key but those used here, and with ``decision`` a reason that is not
blank. From about 2,500 tokens on a text is moved into a file, and the agent is shown its ends.
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
    session_of,
    text_in,
)


def read(data: bytes) -> Payload:
    """What Codex sends to a hook.

    :raises PayloadError: when it cannot be understood.
    """
    document = document_of(data)
    event = event_of(document, "hook_event_name", ("Stop", "SubagentStop", START))
    return Payload(
        session=session_of(document),
        cwd=folder_in(document, "cwd"),
        event=event,
        is_stop=event != START,
        is_start=is_start(document, event),
        is_again=flag_in(document, "stop_hook_active"),
        message=text_in(document, "last_assistant_message"),
    )


HOST = Host(
    name="codex",
    title="Codex",
    limit=LIMIT,
    read=read,
    go_on=answer_with(lambda text: {"decision": "block", "reason": text}),
    end=end_run,  # without ``inform``: what Codex shows the agent at its end sends it on
    config=json_config(
        HookLocation(
            host="codex",
            path=lambda document: ("hooks", "Stop"),
            entry=group_of({"type": "command", "command": command_line("codex"), "timeout": 10}),
        ),
        project=".codex/hooks.json",
        user=".codex/hooks.json",
        home="CODEX_HOME",
        note="Codex silently skips hooks that you have not trusted: start codex, type /hooks, and trust this one.",
    ),
)
