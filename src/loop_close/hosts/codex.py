"""Codex: hooks of ``hooks.json`` (https://developers.openai.com/codex/hooks).

The schema of an answer to ``Stop`` takes no key but those used here, and with ``decision`` a reason that is not
blank. From about 2,500 tokens on a text is moved into a file, and the agent is shown its ends.
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
    """What Codex sends to a hook."""
    event = sent.event("hook_event_name", ("Stop", "SubagentStop", START))
    return Payload(
        session=sent.session(),
        cwd=sent.folder("cwd"),
        event=event,
        is_stop=event != START,
        is_start=sent.is_start(event),
        is_again=sent.flag("stop_hook_active"),
        message=sent.text("last_assistant_message"),
    )


HOST = Host(
    name="codex",
    title="Codex",
    payload_of=payload_of,
    go_on=answer_with(lambda text: {"decision": "block", "reason": text}),
    end=end_run,  # without ``inform``: what Codex shows the agent at its end sends it on
    config=json_config(
        HookLocation(host="codex", entry=group_of(handler_of("codex"))),
        project=".codex/hooks.json",
        home="CODEX_HOME",
        note="Codex silently skips hooks that you have not trusted: start codex, type /hooks, and trust this one.",
    ),
)
