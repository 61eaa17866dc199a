"""OpenHands: hooks of ``hooks.json`` (https://docs.openhands.dev/openhands/usage/customization/hooks).

Its input has other keys than that of the others, and ``block`` is none of its decisions. ``continue: false`` keeps the
agent at work: it cannot be ended, only allowed to stop. The input does not say whether the agent was sent back, or what
it said.
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
    group_of,
    handler_of,
    json_config,
)


def payload_of(sent: HookInput) -> Payload:
    """What OpenHands sends to a hook."""
    return Payload(
        session=sent.needed("session_id"),
        cwd=sent.folder("working_dir"),
        event=sent.event("event_type", ("Stop",)),
        is_stop=True,
        is_again=None,
        message=sent.text("message"),
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


HOST = Host(
    name="openhands",
    title="OpenHands",
    payload_of=payload_of,
    # Without ``inform``: a text is shown to the agent only with a denial. Without ``end``, too.
    go_on=answer_with(lambda text: {"decision": "deny", "additionalContext": text}),
    config=json_config(
        HookLocation(
            host="openhands", path=path, entry=group_of(handler_of("openhands"), matcher="*"), is_at_top=True
        ),
        project=".openhands/hooks.json",
    ),
)
