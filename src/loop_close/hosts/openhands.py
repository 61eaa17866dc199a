"""OpenHands: hooks of ``hooks.json`` (https://docs.openhands.dev/openhands/usage/customization/hooks).

Its input has other keys than that of the others, and ``block`` is none of its decisions. ``continue: false`` keeps the
agent at work: it cannot be ended, only allowed to stop. The input does not say whether the agent was sent back, or what
it said.
"""

from __future__ import annotations

from collections.abc import Mapping

from loop_close.hosts import (
    LIMIT,
    ConfigError,
    HookLocation,
    Host,
    Payload,
    answer_with,
    command_line,
    document_of,
    event_of,
    folder_in,
    group_of,
    json_config,
    needed,
    text_in,
)


def read(data: bytes) -> Payload:
    """What OpenHands sends to a hook.

    :raises PayloadError: when it cannot be understood.
    """
    document = document_of(data)
    return Payload(
        session=needed(document, "session_id"),
        cwd=folder_in(document, "working_dir"),
        event=event_of(document, "event_type", ("Stop",)),
        is_stop=True,
        is_again=None,
        message=text_in(document, "message"),
    )


def path(document: Mapping[str, object]) -> tuple[str, ...]:
    """Where the hooks are: at the top or below ``hooks``, by names of either spelling, as the file has them.

    :raises ConfigError: for a file that has both spellings, which OpenHands refuses.
    """
    wrapper = ("hooks",) if "hooks" in document else ()
    events = document["hooks"] if wrapper else document
    spelled = [name for name in ("stop", "Stop") if isinstance(events, Mapping) and name in events]
    if len(spelled) == 2:
        raise ConfigError('both "stop" and "Stop" are present, which OpenHands rejects; keep one')
    return (*wrapper, *(spelled or ["Stop" if wrapper else "stop"]))


_HANDLER = {"type": "command", "command": command_line("openhands"), "timeout": 10}

HOST = Host(
    name="openhands",
    title="OpenHands",
    limit=LIMIT,
    read=read,
    # Without ``inform``: a text is shown to the agent only with a denial. Without ``end``, too.
    go_on=answer_with(lambda text: {"decision": "deny", "additionalContext": text}),
    config=json_config(
        HookLocation(host="openhands", path=path, entry=group_of(_HANDLER, matcher="*"), is_at_top=True),
        project=".openhands/hooks.json",
        user=".openhands/hooks.json",
    ),
)
