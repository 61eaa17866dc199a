"""Hosts of coding agents: what their hooks send, the answers to it, and the configuration files with the hook.

All of it is data but the answers: one function reads what any host sends, as no two of them mean different things by
one key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from loop_close.records import Record
from loop_close.text import open_fence

__all__ = ["HOSTS", "NAMES", "ConfigError", "Host", "Payload", "PayloadError", "host_named"]

#: The largest payload that is read, in bytes.
MAX_INPUT = 10_000_000
#: The longest text in an answer, in bytes: Claude Code cuts at 10,000 characters, Codex from about 2,500 tokens on.
LIMIT = 9_000
#: The event at the start of a session, as hosts name it.
START = "SessionStart"


class PayloadError(ValueError):
    """An invalid payload; the text names what is wrong."""


class ConfigError(ValueError):
    """A configuration file that cannot be changed safely; the text says why, and what would be right."""


class Payload(Record, frozen=True):
    """The payload of a hook call.

    :ivar session: id of the conversation; never empty. A subagent has its own, because each is sent back separately.
    :ivar event: the host's name for the event, such as ``Stop``. One that is none of :attr:`Host.stops` says that the
        agent has just used a tool, or that the session begins.
    :ivar cwd: the agent's working directory; empty if unknown.
    :ivar is_start: a new session begins; there is no agent to answer yet.
    :ivar is_again: the agent continues because a hook sent it back; None if the host does not always report this.
    :ivar is_left_alone: a person or an error ended the turn, or background work will resume the agent.
    """

    session: str
    event: str
    cwd: str = ""
    is_start: bool = False
    is_again: bool | None = None
    is_left_alone: bool = False


class Host(Record, frozen=True):
    """A program that runs a coding agent and calls hooks.

    An answer is one line for standard output, without a line break, to be printed with exit code 0. An empty answer
    lets the agent do what it was about to do.

    :ivar name: the value of ``--host``; ``title`` the name of the product.
    :ivar stops: the events at the end of an agent, the one to ask for first; ``others``: those handled besides.
    :ivar go_on: sends the agent back with the text as its next input. Empty for a blank text.
    :ivar inform: gives the text to the agent without sending it back; empty if the host cannot do that.
    :ivar end: ends the run and shows the text to the person; empty if the host cannot do that.
    :ivar file: the configuration file that makes it call the hook, from the root; ``user_file`` from the home folder,
        where it has another path there.
    :ivar entry: of the list of an event, in a JSON file. ``beside``: what the host needs at the top level of the file.
    :ivar script: the whole file, where it is a program and not JSON.
    :ivar home: the environment variable that moves the user's folder; empty if there is none.
    :ivar note: what a person still has to do; empty for nothing.
    :ivar check: raises ``ConfigError`` for a document of which the host would not take the hook.
    """

    name: str
    title: str
    stops: tuple[str, ...]
    go_on: Callable[[Payload, str], str]
    file: str
    others: tuple[str, ...] = (START,)
    inform: Callable[[Payload, str], str] = lambda payload, text: ""
    end: Callable[[Payload, str], str] = lambda payload, text: ""
    user_file: str = ""
    entry: Mapping[str, Any] = {}
    beside: Mapping[str, Any] = {}
    script: str = ""
    home: str = ""
    note: str = ""
    check: Callable[[Mapping[str, Any]], None] = lambda document: None

    @property
    def events(self) -> tuple[str, ...]:
        """Those to ask for in a JSON file, below ``hooks``: the start of a session, and the end of an agent."""
        return (START,) * (START in self.others) + self.stops[:1]

    def read(self, data: bytes) -> Payload:
        """The payload in the bytes of standard input: a JSON object, behind a byte-order mark or not.

        :raises PayloadError: when it cannot be understood.
        """
        if len(data) > MAX_INPUT:
            raise PayloadError(f"the input is longer than {MAX_INPUT:,} bytes")
        try:
            # Not by msgspec: hosts cut texts within a character, and half of one is no JSON to it.
            found = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:  # also for numbers and depths that Python refuses
            raise PayloadError(f"the input is not JSON from a coding agent: {error}") from None
        if not isinstance(found, dict):
            raise PayloadError("the input is not a JSON object")
        sent = {key: value for key, value in found.items() if value is not None}
        event, known = _event(sent), (*self.stops, *self.others)
        if event not in known:
            raise PayloadError(f"the event is {ascii(event)[:60]}; handled are {', '.join(known)}")
        return _payload(sent, event)


# --- what hosts send: a key that is missing, or has another value than it should, counts as not there


def _payload(sent: Mapping[str, Any], event: str) -> Payload:
    session = _text(sent, "conversation_id", "session_id", "sessionId", "taskId")
    if not session:
        raise PayloadError("the input names no session")
    agent = _text(sent, "agent_id", "agentId")
    roots = [*_list(sent, "workspace_roots"), *_list(sent, "workspaceRoots")]
    again = sent.get("stop_hook_active")
    if "loop_count" in sent:  # Cursor counts how often hooks sent the agent back
        again = bool(sent["loop_count"])
    elif (
        event == "AfterAgent"
    ):  # of Gemini CLI: false again once the agent that was sent back has used a tool
        again = again or None
    tasks = [*_list(sent, "background_tasks"), *_list(sent, "session_crons")]
    others = [task for task in tasks if not (agent and isinstance(task, dict) and task.get("id") == agent)]
    # A hook of Stop that is called for a subagent: the agent that asked it is at work, and may want no edits of it.
    is_waiting = bool(others) or (event == "Stop" and bool(agent))
    is_interrupted = sent.get("is_interrupt") is True or sent.get("status") in ("aborted", "error")
    return Payload(
        session=_readable(f"{session} {agent}".rstrip()),
        event=event,
        cwd=next((each for each in roots if isinstance(each, str)), "") or _text(sent, "cwd", "working_dir"),
        # Hosts send the same event when a session is resumed, or its context was shortened.
        is_start=event == START and sent.get("source") not in ("resume", "compact", "clear"),
        is_again=again if isinstance(again, bool) else None,
        is_left_alone=is_waiting or is_interrupted,
    )


def _event(sent: Mapping[str, Any]) -> str:
    """Its name. One that Copilot is configured to send as ``agentStop`` or ``sessionStart`` comes without it."""
    if name := _text(sent, "hook_event_name", "hookEventName", "event_type", "hookName"):
        return name
    if "response" in sent:
        return "SubagentStop"
    return "Stop" if "stopReason" in sent else START if "source" in sent else ""


def _text(sent: Mapping[str, Any], *names: str) -> str:
    """The first of these that is a text and not empty."""
    return next((sent[name] for name in names if isinstance(sent.get(name), str) and sent[name]), "")


def _list(sent: Mapping[str, Any], name: str) -> list[Any]:
    found = sent.get(name)
    return found if isinstance(found, list) else []


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


# --- the answer: one line of JSON, its texts within the limit

_CUT = "…"
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def _answer_with(build: Callable[[str], Mapping[str, object]]) -> Callable[[Payload, str], str]:
    """A function that answers with the object that ``build`` makes of the cut text; empty for a blank text."""
    return lambda payload, text: _line(build(fitted(text))) if text.strip() else ""


def _line(answer: Mapping[str, object]) -> str:
    """The answer as compact JSON in ASCII, which is safe for every encoding of standard output."""
    return json.dumps(answer, separators=(",", ":"))


def _block(reason: str) -> Mapping[str, object]:
    """Send the agent back, in the form of Claude Code, which others copied."""
    return {"decision": "block", "reason": reason}


def _end_run(payload: Payload, reason: str) -> str:
    """End the run, in the same form; the person sees the reason."""
    return _line({"continue": False, "stopReason": fitted(reason)})


def _context(payload: Payload, text: str) -> str:
    """Let the agent of Claude Code read the text."""
    context = {"hookEventName": payload.event, "additionalContext": fitted(text)}
    return _line({"hookSpecificOutput": context}) if text.strip() else ""


def _block_twice(payload: Payload, reason: str) -> str:
    """Send Copilot's agent back: VS Code reads ``hookSpecificOutput``, command line and cloud agent read the top."""
    if not reason.strip():
        return ""
    block = _block(fitted(reason))
    return _line({**block, "hookSpecificOutput": {"hookEventName": payload.event, **block}})


def fitted(text: str, limit: int = LIMIT) -> str:
    """Cut a text to its first lines and its last line, which names the file with the whole text.

    :param limit: in bytes of UTF-8.
    :returns: at most ``limit`` bytes. A code block that is cut is closed before the last line.
    """
    text = _readable(text).strip("\n")
    if len(text.encode()) <= limit:
        return text
    body, _, last = text.rpartition("\n")
    longest = max(_FENCE.findall(body), key=len, default="")
    room = limit - len(f"{last}{longest}\n{_CUT}\n\n".encode())
    if room <= 0:
        return _beginning(last, limit)
    begin = _beginning(body, room)
    head = begin.rpartition("\n")[0] or begin
    return "\n".join(filter(None, (head, open_fence(head.split("\n")), _CUT, last)))


def _beginning(text: str, limit: int) -> str:
    return text.encode()[:limit].decode("utf-8", "ignore")


# --- the configuration


def command_line(host: str) -> str:
    """The command that a host runs."""
    return f"loop-close hook --host {host}"


def _handler(host: str, timeout: int = 10) -> dict[str, Any]:
    """The handler of our hook in the form of most hosts."""
    return {"type": "command", "command": command_line(host), "timeout": timeout}


def _check_cursor(document: Mapping[str, Any]) -> None:
    if document.get("version") != 1:
        raise ConfigError('Cursor reads hooks only from a file with "version": 1; add that at the top level')


def _check_openhands(document: Mapping[str, Any]) -> None:
    """OpenHands takes events at the top or below ``hooks``, in either spelling, and never both."""
    events = document.get("hooks", document)
    if events and ("hooks" not in document or any(name.islower() for name in events)):
        raise ConfigError('write its events below "hooks", and in the spelling "Stop"')


_CLINE_SCRIPT = f"""\
#!/bin/sh
# Written by loop-close install --host cline; loop-close uninstall --host cline removes it.
command -v loop-close >/dev/null 2>&1 || exit 0
exec {command_line("cline")}
"""
_cline_context = _answer_with(lambda text: {"cancel": False, "contextModification": text})

# --- the hosts

#: In the order of messages and docs.
HOSTS = (
    # https://code.claude.com/docs/en/hooks. ``block`` ends itself after 8 in a row. A hook of Stop whose answer has
    # ``additionalContext`` sends the agent on, too, but not as an error. A subagent that works in the background is
    # among the ``background_tasks`` when it ends.
    Host(
        name="claude",
        title="Claude Code",
        stops=("Stop", "SubagentStop"),
        others=("PostToolUseFailure", START),
        go_on=_answer_with(_block),
        inform=_context,
        end=_end_run,
        file=".claude/settings.json",
        entry={"hooks": [_handler("claude")]},
        home="CLAUDE_CONFIG_DIR",
    ),
    # https://developers.openai.com/codex/hooks. Without ``inform``: what Codex shows the agent at its end sends it on.
    Host(
        name="codex",
        title="Codex",
        stops=("Stop", "SubagentStop"),
        go_on=_answer_with(_block),
        end=_end_run,
        file=".codex/hooks.json",
        entry={"hooks": [_handler("codex")]},
        home="CODEX_HOME",
        note="Codex silently skips hooks that you have not trusted: start codex, type /hooks, and trust these.",
    ),
    # https://geminicli.com/docs/hooks/reference. Timeouts are milliseconds. The reason is the next prompt.
    Host(
        name="gemini",
        title="Gemini CLI",
        stops=("AfterAgent",),
        go_on=_answer_with(lambda text: {"decision": "deny", "reason": text}),
        end=_end_run,
        file=".gemini/settings.json",
        entry={"hooks": [{"name": "loop-close", **_handler("gemini", timeout=10_000)}]},
    ),
    # https://docs.openhands.dev/openhands/usage/customization/hooks. ``block`` is none of its decisions, and a text is
    # shown to the agent only with a denial. ``continue: false`` keeps it at work: it cannot be ended.
    Host(
        name="openhands",
        title="OpenHands",
        stops=("Stop",),
        go_on=_answer_with(lambda text: {"decision": "deny", "additionalContext": text}),
        file=".openhands/hooks.json",
        entry={"matcher": "*", "hooks": [_handler("openhands")]},
        check=_check_openhands,
    ),
    # https://cursor.com/docs/agent/hooks. What it sends begins with a byte-order mark on Windows. It stops asking at
    # ``loop_limit``. Versions that do not know ``sessionStart`` reject the file that has it. Without ``inform``: any
    # text sends the agent back, as the next message of the conversation.
    Host(
        name="cursor",
        title="Cursor",
        stops=("stop",),
        others=(),
        go_on=_answer_with(lambda text: {"followup_message": text}),
        file=".cursor/hooks.json",
        entry={"command": command_line("cursor"), "loop_limit": 5},
        beside={"version": 1},
        check=_check_cursor,
    ),
    # https://docs.cline.bot/customization/hooks. It asks after each tool and not at the agent's end: the agent works on
    # anyway, and reads the text. Without ``end``, which would end each task that a person starts to fix what is stuck.
    # The events are those of the extension, and of the command line.
    Host(
        name="cline",
        title="Cline",
        stops=(),
        others=("PostToolUse", "tool_result"),
        go_on=_cline_context,
        inform=_cline_context,
        file=".clinerules/hooks/PostToolUse",
        user_file="Documents/Cline/Hooks/PostToolUse",
        script=_CLINE_SCRIPT,
        note="Cline runs hooks only if its setting Enable Hooks is on.",
    ),
    # https://docs.github.com/en/copilot/reference/hooks-reference. An event named ``Stop``, and not ``agentStop``, is
    # sent with its name, and VS Code's own agents run it, too. It ends itself after 8 blocks in a row. At the end of a
    # subagent the hooks of Stop run first, then those of SubagentStop; so do those of Claude Code's file, which Copilot
    # reads, too. The command line lets an agent that is ended stop, and does not show the reason.
    Host(
        name="copilot",
        title="GitHub Copilot",
        stops=("Stop", "SubagentStop"),
        go_on=_block_twice,
        end=_end_run,
        file=".github/hooks/loop-close.json",
        user_file=".copilot/hooks/loop-close.json",
        entry=_handler("copilot"),
        beside={"version": 1},
        home="COPILOT_HOME",
    ),
)
NAMES = tuple(host.name for host in HOSTS)


def host_named(name: str) -> Host:
    """The host with this name.

    :raises ValueError: for an unknown name; the text lists the known ones.
    """
    if name not in NAMES:
        raise ValueError(f"unknown host {name!r}; known hosts: {', '.join(NAMES)}")
    return HOSTS[NAMES.index(name)]
