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
    HookInput,
    HookLocation,
    Host,
    Payload,
    answer_line,
    end_run,
    fitted,
    handler_of,
    json_config,
)

_EVENTS = ("Stop", "SubagentStop", START)


def payload_of(sent: HookInput) -> Payload:
    """What Copilot sends to a hook, in either spelling of its keys."""
    event = _event(sent)
    agent = sent.text("agent_id") or sent.text("agentId")
    return Payload(
        session=" ".join(filter(None, (sent.needed("session_id", "sessionId"), agent))),
        cwd=sent.folder("cwd"),
        event=event,
        is_stop=event != START,
        is_start=sent.is_start(event),
        is_again=sent.flag("stop_hook_active") if "stop_hook_active" in sent else None,
        is_waiting=event == "Stop"
        and bool(agent),  # the agent that asked it is at work, and may want no edits of it
        message=sent.text("last_assistant_message") or sent.text("response"),
    )


def _event(sent: HookInput) -> str:
    """What happened; an event that is configured as ``agentStop`` or ``sessionStart`` is sent without its name.

    :raises PayloadError: for an event that is not answered.
    """
    keys = ("hook_event_name", "hookEventName")
    named = [key for key in keys if sent.text(key)]
    if named:
        return sent.event(named[0], _EVENTS)
    for key, event in (("response", "SubagentStop"), ("stopReason", "Stop"), ("source", START)):
        if key in sent:
            return event
    return sent.needed(*keys)


def _go_on(payload: Payload, reason: str) -> str:
    """Send the agent back to work, in both forms that are read."""
    if not reason.strip():
        return ""
    block = {"decision": "block", "reason": fitted(reason, LIMIT)}
    return answer_line({**block, "hookSpecificOutput": {"hookEventName": payload.event, **block}})


HOST = Host(
    name="copilot",
    title="GitHub Copilot",
    payload_of=payload_of,
    go_on=_go_on,
    end=end_run,  # the command line lets the agent stop, and does not show the reason
    config=json_config(
        HookLocation(host="copilot", entry=handler_of("copilot"), beside={"version": 1}),
        project=".github/hooks/loop-close.json",
        user=".copilot/hooks/loop-close.json",
        home="COPILOT_HOME",
    ),
)
