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
    Document,
    HookLocation,
    Host,
    Payload,
    answer_line,
    answer_with,
    command_line,
    document_of,
    end_run,
    event_of,
    fitted,
    flag_in,
    folder_in,
    group_of,
    is_start,
    items_in,
    json_config,
    session_of,
    text_in,
)

_STOPS = ("Stop", "SubagentStop")
_FAILURE = "PostToolUseFailure"


def read(data: bytes) -> Payload:
    """What Claude Code sends to a hook.

    :raises PayloadError: when it cannot be understood.
    """
    document = document_of(data)
    event = event_of(document, "hook_event_name", (*_STOPS, _FAILURE, START))
    return Payload(
        session=session_of(document),
        cwd=folder_in(document, "cwd"),
        event=event,
        is_stop=event in _STOPS,
        is_start=is_start(document, event),
        is_again=flag_in(document, "stop_hook_active"),
        is_interrupted=flag_in(document, "is_interrupt"),
        is_waiting=_is_waiting(document) or (event == "Stop" and bool(text_in(document, "agent_id"))),
        message=text_in(document, "last_assistant_message"),
    )


def _is_waiting(document: Document) -> bool:
    """Whether anything else than the agent itself is under way, and would wake it."""
    agent = text_in(document, "agent_id")
    tasks = items_in(document, "background_tasks")
    others = [task for task in tasks if not (agent and isinstance(task, dict) and task.get("id") == agent)]
    return bool(others or items_in(document, "session_crons"))


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
    limit=LIMIT,
    read=read,
    go_on=_go_on,
    inform=_context,
    end=end_run,
    config=json_config(
        HookLocation(
            host="claude",
            path=lambda document: ("hooks", "Stop"),
            entry=group_of({"type": "command", "command": command_line("claude"), "timeout": 10}),
        ),
        project=".claude/settings.json",
        user=".claude/settings.json",
        home="CLAUDE_CONFIG_DIR",
    ),
)
