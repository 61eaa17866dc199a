"""Claude Code: hooks of ``settings.json`` (https://code.claude.com/docs/en/hooks).

``decision: block`` sends the agent on with the reason, and ends itself after 8 in a row; texts are cut at 10,000
characters. A hook of ``Stop`` whose answer holds ``additionalContext`` sends it on, too, but not as an error. A
subagent that works in the background is among the ``background_tasks`` when it ends.

GitHub Copilot reads these files, too, and runs the hooks of ``Stop`` at the end of a subagent as well. Then the agent
that asked the subagent is at work.
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
    answer_with,
    end_run,
    fitted,
    group_of,
    handler_of,
    json_config,
)

_STOPS = ("Stop", "SubagentStop")
_FAILURE = "PostToolUseFailure"


def payload_of(sent: HookInput) -> Payload:
    """What Claude Code sends to a hook."""
    event = sent.event("hook_event_name", (*_STOPS, _FAILURE, START))
    return Payload(
        session=sent.session(),
        cwd=sent.folder("cwd"),
        event=event,
        is_stop=event in _STOPS,
        is_start=sent.is_start(event),
        is_again=sent.flag("stop_hook_active"),
        is_interrupted=sent.flag("is_interrupt"),
        is_waiting=_is_waiting(sent) or (event == "Stop" and bool(sent.text("agent_id"))),
        message=sent.text("last_assistant_message"),
    )


def _is_waiting(sent: HookInput) -> bool:
    """Whether anything else than the agent itself is under way, and would wake it."""
    agent = sent.text("agent_id")
    tasks = sent.items("background_tasks")
    others = [task for task in tasks if not (agent and isinstance(task, dict) and task.get("id") == agent)]
    return bool(others or sent.items("session_crons"))


def _context(payload: Payload, text: str) -> str:
    """Let the agent read the text."""
    context = {"hookEventName": payload.event, "additionalContext": fitted(text, LIMIT)}
    return answer_line({"hookSpecificOutput": context}) if text.strip() else ""


_block = answer_with(lambda text: {"decision": "block", "reason": text})


def _go_on(payload: Payload, reason: str) -> str:
    """Send the agent back to work; after a tool it works on anyway, and reads the reason."""
    return (_block if payload.is_stop else _context)(payload, reason)


HOST = Host(
    name="claude",
    title="Claude Code",
    payload_of=payload_of,
    go_on=_go_on,
    inform=_context,
    end=end_run,
    config=json_config(
        HookLocation(host="claude", entry=group_of(handler_of("claude"))),
        project=".claude/settings.json",
        home="CLAUDE_CONFIG_DIR",
    ),
)
