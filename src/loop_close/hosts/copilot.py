"""GitHub Copilot: hooks of a JSON file (https://docs.github.com/en/copilot/reference/hooks-reference).

That page as of November 2026. An event that is named ``Stop``, and not ``agentStop``, is sent with its name, and VS
Code's own agents run it, too (https://code.visualstudio.com/docs/agents/reference/hooks-reference, of 29 July 2026).
These read an answer in ``hookSpecificOutput``; Copilot's command line and cloud agent read it at the top, and end
themselves after 8 blocks in a row. What the agent said is only in a transcript, except for a subagent, at whose end
the hooks of ``Stop`` run first and then those of ``SubagentStop``.
"""

from __future__ import annotations

from loop_close.hosts import (
    LIMIT,
    START,
    Document,
    HookLocation,
    Host,
    Payload,
    answer_line,
    command_line,
    document_of,
    end_run,
    event_of,
    fitted,
    flag_in,
    folder_in,
    is_start,
    json_config,
    needed,
    text_in,
)

_EVENTS = ("Stop", "SubagentStop", START)


def read(data: bytes) -> Payload:
    """What Copilot sends to a hook, in either spelling of its keys.

    :raises PayloadError: when it cannot be understood.
    """
    document = document_of(data)
    event = _event(document)
    agent = text_in(document, "agent_id") or text_in(document, "agentId")
    return Payload(
        session=" ".join(filter(None, (needed(document, "session_id", "sessionId"), agent))),
        cwd=folder_in(document, "cwd"),
        event=event,
        is_stop=event != START,
        is_start=is_start(document, event),
        is_again=flag_in(document, "stop_hook_active") if "stop_hook_active" in document else None,
        is_waiting=event == "Stop"
        and bool(agent),  # the agent that asked it is at work, and may want no edits of it
        message=text_in(document, "last_assistant_message") or text_in(document, "response"),
    )


def _event(document: Document) -> str:
    """What happened; an event that is configured as ``agentStop`` or ``sessionStart`` is sent without its name.

    :raises PayloadError: for an event that is not answered.
    """
    keys = ("hook_event_name", "hookEventName")
    named = [key for key in keys if text_in(document, key)]
    if named:
        return event_of(document, named[0], _EVENTS)
    for key, event in (("response", "SubagentStop"), ("stopReason", "Stop"), ("source", START)):
        if key in document:
            return event
    return needed(document, *keys)


def _go_on(payload: Payload, reason: str) -> str:
    """Send the agent back to work, in both forms that are read."""
    if not reason.strip():
        return ""
    block = {"decision": "block", "reason": fitted(reason, LIMIT)}
    return answer_line({**block, "hookSpecificOutput": {"hookEventName": payload.event, **block}})


HOST = Host(
    name="copilot",
    title="GitHub Copilot",
    limit=LIMIT,
    read=read,
    go_on=_go_on,
    end=end_run,  # the command line lets the agent stop, and does not show the reason
    config=json_config(
        HookLocation(
            host="copilot",
            path=lambda document: ("hooks", "Stop"),
            entry={"type": "command", "command": command_line("copilot"), "timeout": 10},
            beside={"version": 1},
        ),
        project=".github/hooks/loop-close.json",
        user=".copilot/hooks/loop-close.json",
        home="COPILOT_HOME",
    ),
)
