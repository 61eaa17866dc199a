"""Output of agents that write JSON events of their own kind: Gemini CLI, opencode, Codex, OpenHands, Cline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from loop_close.agent import is_number
from loop_close.agent.output_reader import (
    AgentOutput,
    LastMessage,
    OutputReader,
    is_failing_code,
    mcp_name,
    money_of,
    text_of,
    words_of,
)
from loop_close.text import fields_of, objects_of

# --- Gemini CLI: ``gemini --output-format json`` and ``stream-json``
# After packages/core/src/output/types.ts and packages/cli/src/nonInteractiveCli.ts of
# google-gemini/gemini-cli (August 2026), and recorded outputs of 0.61.

_FIELDS = {"session_id", "response", "stats", "error", "warnings"}


class Gemini(OutputReader):
    """One object with ``response``, or events of which each has a ``timestamp``; it reports no money."""

    name = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self.message = LastMessage("")

    def take(self, event: Mapping[str, Any]) -> bool:
        """Read one event."""
        kind = event.get("type")
        is_taken = self._whole(event) if kind is None else self._event(kind, event)
        self.is_sure = self.is_sure or is_taken
        return is_taken

    def _whole(self, event: Mapping[str, Any]) -> bool:
        error, response = fields_of(event.get("error")), event.get("response")
        if not event.keys() <= _FIELDS:
            return False
        has_run = isinstance(event.get("stats"), Mapping) or isinstance(event.get("session_id"), str)
        is_failure = isinstance(error.get("type"), str) and isinstance(error.get("message"), str)
        if not is_failure and not (has_run and isinstance(response, str)):
            return False
        self.answer = text_of(response)
        self.error = text_of(error.get("message"))
        self.is_error = is_failure
        return True

    def _event(self, kind: object, event: Mapping[str, Any]) -> bool:
        if not isinstance(event.get("timestamp"), str):
            return False
        match kind:
            case "init":
                return isinstance(event.get("session_id"), str)
            case "message":
                return self._message(event)
            case "tool_use":
                self.calls.begin(
                    event.get("tool_id"), text_of(event.get("tool_name")), event.get("parameters")
                )
                return isinstance(event.get("tool_name"), str)
            case "tool_result":
                return self._tool_result(event)
            case "error":  # it does not end the turn; what is said after it, as to a hook, is another message
                self.message.pause()
                return isinstance(event.get("severity"), str)
            case "result":
                return self._result(event)
        return False

    def _message(self, event: Mapping[str, Any]) -> bool:
        if event.get("role") == "assistant":
            self.message.say(text_of(event.get("content")))
        elif event.get("role") == "user":
            self.message.pause()
        return event.get("role") in ("assistant", "user")

    def _tool_result(self, event: Mapping[str, Any]) -> bool:
        self.message.pause()
        message = text_of(fields_of(event.get("error")).get("message"))
        content = text_of(event.get("output")) or message
        self.calls.end(event.get("tool_id"), content, is_error=event.get("status") == "error")
        return isinstance(event.get("tool_id"), str)

    def _result(self, event: Mapping[str, Any]) -> bool:
        self.is_error = event.get("status") == "error"
        self.error = text_of(fields_of(event.get("error")).get("message"))
        return isinstance(event.get("status"), str)


# --- opencode: ``opencode run --format json``
# After packages/opencode/src/cli/cmd/run.ts of opencode (a fork's copy of it), and recorded outputs of 1.18.
# More events are shown by the documentation of the crates ralph-workflow and orch-cli.

_PARTS = {"text": "text", "tool_use": "tool", "step_start": "step-start", "step_finish": "step-finish"}


class OpenCode(OutputReader):
    """Events have a ``sessionID`` and a ``part``, the ends of steps with what the step cost."""

    name = "opencode"

    def take(self, event: Mapping[str, Any]) -> bool:
        """Read one event."""
        kind, part = event.get("type"), fields_of(event.get("part"))
        if not isinstance(kind, str) or not isinstance(event.get("sessionID"), str):
            return False
        if kind == "error":
            self._fail(fields_of(event.get("error")))
        elif part.get("type") == _PARTS.get(kind):
            self._part(kind, part)
            self.is_sure = True
        return True

    def _fail(self, error: Mapping[str, Any]) -> None:
        name = text_of(error.get("name"))
        self.is_sure = self.is_sure or bool(name)  # it may be all that there is
        self.is_error = True
        self.error = text_of(fields_of(error.get("data")).get("message")) or name

    def _part(self, kind: str, part: Mapping[str, Any]) -> None:
        match kind:
            case "text":
                self.message.say(text_of(part.get("text")))
            case "tool_use":
                self._tool(part)
            case "step_start":
                self.message.pause()
            case "step_finish":
                self.cost = money_of(self.cost + money_of(part.get("cost")))
                self.is_error = False  # an earlier error was recovered from

    def _tool(self, part: Mapping[str, Any]) -> None:
        state = fields_of(part.get("state"))
        has_broken = state.get("status") == "error"
        content = text_of(state.get("error" if has_broken else "output"))
        # A command that failed has completed.
        is_error = has_broken or is_failing_code(fields_of(state.get("metadata")).get("exit"))
        self.calls.add(text_of(part.get("tool")), state.get("input"), content, is_error=is_error)


# --- Codex: ``codex exec --json``, since version 0.44 events of a thread
# After exec_events.rs and event_processor_with_jsonl_output.rs of openai/codex.

_ITEMS = ("item.started", "item.updated", "item.completed")
_TURNS = ("turn.started", "turn.completed")
_SESSIONS = {"thread.started": "thread_id", "session.created": "session_id"}


class Codex(OutputReader):
    """Events have a ``type`` with a dot in it; the last message of the agent is its answer. No money.

    Edits and searches are not results here: the events do not have their effect, so that any two of one
    file would look the same.
    """

    name = "codex"

    def take(self, event: Mapping[str, Any]) -> bool:
        """Read one event."""
        kind = event.get("type")
        if kind == "error":
            return self._fail(event)
        if kind == "turn.failed":
            self.is_sure = True
            return self._fail(fields_of(event.get("error")))
        if not isinstance(kind, str) or not _is_own(kind, event):
            return False
        self.is_sure = True
        if kind in _TURNS:
            self.is_error = False  # an earlier error was recovered from
        if kind == "item.completed":
            self._item(event["item"])
        return True

    def _fail(self, error: Mapping[str, Any]) -> bool:
        self.is_error = True
        self.error = text_of(error.get("message"))
        return bool(self.error)

    def _item(self, item: Mapping[str, Any]) -> None:
        match item.get("type", item.get("item_type")):
            case "agent_message" | "assistant_message":
                self.answer = text_of(item.get("text")) or self.answer
            case "command_execution":
                self._command(item)
            case "mcp_tool_call":
                self._mcp(item)

    def _command(self, item: Mapping[str, Any]) -> None:
        is_error = item.get("status") in ("failed", "declined") or is_failing_code(item.get("exit_code"))
        given, output = {"command": item.get("command")}, text_of(item.get("aggregated_output"))
        self.calls.add("command_execution", given, output, is_error=is_error)

    def _mcp(self, item: Mapping[str, Any]) -> None:
        result, error = fields_of(item.get("result")), fields_of(item.get("error"))
        self.calls.add(
            mcp_name(item.get("server"), item.get("tool")),
            item.get("arguments"),
            text_of(error.get("message")) if error else result.get("content"),
            is_error=bool(error) or item.get("status") == "failed",
            meta=result.get("_meta"),
        )


def _is_own(kind: str, event: Mapping[str, Any]) -> bool:
    if kind in _ITEMS:
        return isinstance(event.get("item"), Mapping)
    return kind in _TURNS or (kind in _SESSIONS and isinstance(event.get(_SESSIONS[kind]), str))


# --- Codex before version 0.44: ``codex exec --json`` writes ``{"id": ..., "msg": {"type": ...}}``
# After event_processor_with_json_output.rs of openai/codex as it was then; the events of tools after logs
# that the tests of BloopAI/vibe-kanban recorded.

_SETTINGS = {"model", "provider", "approval"}


class CodexOld(OutputReader):
    """After an object of settings and one with the prompt, events in envelopes. No money."""

    name = "codex"

    def take(self, event: Mapping[str, Any]) -> bool:
        """Read one event."""
        if event.keys() == {"prompt"} or event.keys() >= _SETTINGS:
            return True
        message = fields_of(event.get("msg"))
        kind = message.get("type")
        if not isinstance(kind, str) or not isinstance(event.get("id"), str):
            return False
        self.is_sure = True
        self._take(kind, message)
        return True

    def _take(self, kind: str, message: Mapping[str, Any]) -> None:
        match kind:
            case "agent_message":
                self.answer = text_of(message.get("message")) or self.answer
            case "task_complete":
                self.answer = text_of(message.get("last_agent_message")) or self.answer
                self.is_error = False
            case "error" | "turn_aborted":
                self.is_error = True
                self.error = text_of(message.get("message")) or text_of(message.get("reason"))
            case "exec_command_begin" | "patch_apply_begin" | "mcp_tool_call_begin":
                self._begin(kind, message)
            case "exec_command_end" | "patch_apply_end":
                self._end(message)
            case "mcp_tool_call_end":
                self._end_mcp(message)

    def _begin(self, kind: str, message: Mapping[str, Any]) -> None:
        call = fields_of(message.get("invocation"))
        tool, given = mcp_name(call.get("server"), call.get("tool")), call.get("arguments")
        if kind == "exec_command_begin":
            tool, given = "command_execution", {"command": message.get("command")}
        elif kind == "patch_apply_begin":
            tool, given = "apply_patch", message.get("changes")
        self.calls.begin(message.get("call_id"), tool, given)

    def _end(self, message: Mapping[str, Any]) -> None:
        is_error = is_failing_code(message.get("exit_code")) or message.get("success") is False
        streams = (text_of(message.get("stdout")), text_of(message.get("stderr")))
        output = text_of(message.get("aggregated_output")) or "\n".join(filter(None, streams))
        self.calls.end(message.get("call_id"), output, is_error=is_error)

    def _end_mcp(self, message: Mapping[str, Any]) -> None:
        result = fields_of(message.get("result"))
        given = fields_of(result.get("Ok"))
        self.calls.end(
            message.get("call_id"),
            result.get("Err", given.get("content")),
            is_error="Err" in result or given.get("isError") is True,
            meta=given.get("_meta"),
        )


# --- OpenHands: ``openhands --headless --json``
# After json_callback in openhands_cli/utils.py of OpenHands/OpenHands-CLI (May 2026; before, each event was
# pretty-printed), and the events of openhands-sdk in OpenHands/software-agent-sdk (August 2026); recorded
# outputs of CLI 1.16.

# Lines for people around the events, in short turns more than there are events.
_STATUS = re.compile(
    r"^(?:Agent is working|Agent finished|Initializing agent\.\.\.|✓ (?:Agent initialized with model: .*|Hooks loaded)"
    r"|OpenHands CLI terminal UI may not work .*|To override Rich's detection, .*)\r?$",
    re.MULTILINE,
)

# They only speak: their results say nothing about the work.
_OF_SPEECH = ("finish", "think")


class OpenHands(OutputReader):
    """Events have a ``kind``, an ``id`` and a ``source``; what the agent finishes with is its answer."""

    name = "openhands"
    sums_up = True
    status = _STATUS

    def take(self, event: Mapping[str, Any]) -> bool:
        """Read one event. The cost stays 0: metrics are of the conversation, not of an event."""
        kind = event.get("kind")
        if not all(isinstance(event.get(name), str) for name in ("kind", "id", "source")):
            return False
        self._take(kind, event)
        self.is_sure = self.is_sure or str(kind).endswith(("Event", "Observation"))
        return True

    def _take(self, kind: object, event: Mapping[str, Any]) -> None:
        match kind:
            case "MessageEvent":
                self._message(event)
            case "ActionEvent":
                self._action(event)
            case "ObservationEvent":
                self._observation(event)
            case "AgentErrorEvent":
                self._end(event, event.get("error"), True)
            case "UserRejectObservation":
                self._end(event, event.get("rejection_reason"), True)
            case "ConversationErrorEvent":
                self.is_error = True
                self.error = text_of(event.get("detail")) or text_of(event.get("code"))

    def _message(self, event: Mapping[str, Any]) -> None:
        self.message.pause()
        if event.get("source") == "agent":
            self.message.say(words_of(fields_of(event.get("llm_message")).get("content")))
        else:
            self.answer = ""

    def _action(self, event: Mapping[str, Any]) -> None:
        tool, action = text_of(event.get("tool_name")), fields_of(event.get("action"))
        self.message.pause()
        self.message.say(words_of(event.get("thought")))
        if action.get("kind") == "FinishAction":
            self.answer = text_of(action.get("message"))
        if tool not in _OF_SPEECH:
            self.calls.begin(event.get("tool_call_id"), tool, action)

    def _observation(self, event: Mapping[str, Any]) -> None:
        observation = fields_of(event.get("observation"))
        code = observation.get("exit_code")
        # OpenHands does not call a failed command an error; the code of a running one is -1.
        is_error = observation.get("is_error") is True or (is_number(code) and code > 0)
        self._end(event, observation.get("content"), is_error)

    def _end(self, event: Mapping[str, Any], content: Any, is_error: bool) -> None:
        self.calls.end(event.get("tool_call_id"), content, is_error=is_error)


# --- Cline: ``cline --json``
# After recorded outputs of 3.0.65, and the events and reasons to finish of its agents' package as programs
# that use it declare them.


class Cline(OutputReader):
    """Events have a ``ts``, the agent's own are within another; the one of type ``run_result`` is the last."""

    name = "cline"

    def __init__(self) -> None:
        super().__init__()
        self._part = ""
        self._paid = 0.0

    def take(self, event: Mapping[str, Any]) -> bool:
        """Read one event."""
        self.is_closed = False
        is_taken = isinstance(event.get("ts"), str) and self._take(event)
        self.is_sure = self.is_sure or is_taken
        return is_taken

    def _take(self, event: Mapping[str, Any]) -> bool:
        match event.get("type"):
            case "hook_event":
                return isinstance(event.get("hookEventName"), str)
            case "agent_event":
                return self._event(fields_of(event.get("event")))
            case "run_result":
                return self._result(event)
        return False

    def _event(self, event: Mapping[str, Any]) -> bool:
        match event.get("type"), event.get("contentType"):
            case "content_start", "text":
                self._begin_text(event)
            case "content_end", "text":
                self._end_text(event)
            case "content_start", "tool":
                self.calls.begin(event.get("toolCallId"), text_of(event.get("toolName")), event.get("input"))
            case "content_end", "tool":
                self._end_tool(event)
            case "usage", _:
                self.cost = max(self.cost, money_of(self._paid + money_of(event.get("totalCost"))))
            case "error", _:
                self.error = text_of(fields_of(event.get("error")).get("message"))
        return isinstance(event.get("type"), str)

    def _begin_text(self, event: Mapping[str, Any]) -> None:
        if not event.get("parentAgentId"):  # else a subagent's
            self._part = text_of(event.get("accumulated")) or text_of(event.get("text"))

    def _end_text(self, event: Mapping[str, Any]) -> None:
        if not event.get("parentAgentId"):
            self._say(text_of(event.get("text")))

    def _say(self, text: str) -> None:
        self._part = ""
        self.message.pause()
        self.message.say(text)

    def _end_tool(self, event: Mapping[str, Any]) -> None:
        error, output = text_of(event.get("error")), event.get("output")
        parts = list(objects_of(output))  # a call may be of several commands or files
        if parts:
            output = "\n".join(text_of(part.get("result")) or text_of(part.get("error")) for part in parts)
        is_error = bool(error) or any(part.get("success") is False for part in parts)
        self.calls.end(event.get("toolCallId"), output or error, is_error=is_error)

    def _result(self, event: Mapping[str, Any]) -> bool:
        if not isinstance(event.get("finishReason"), str):
            return False
        self.is_closed = {"text", "usage", "durationMs"} <= event.keys()
        self.is_error = event["finishReason"] != "completed"
        self.answer = text_of(event.get("text"))
        self.error = self.error or event["finishReason"]
        # The aggregate has what subagents cost, too.
        costs = (fields_of(event.get(name)).get("totalCost") for name in ("usage", "aggregateUsage"))
        self.cost = self._paid = money_of(self._paid + max(money_of(cost) for cost in costs))
        return True

    def result(self) -> AgentOutput:
        """The output of all events; a message that was cut off counts as far as it came."""
        if self._part:
            self._say(self._part)
        return super().result()
