"""Output of an agent's command: recognizing its format; the formats of Claude Code, Cursor, Aider and unknown JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from loop_close.agent.output_formats import Cline, Codex, CodexOld, Gemini, OpenCode, OpenHands
from loop_close.agent.output_reader import (
    AgentOutput,
    Chunk,
    LastMessage,
    OutputReader,
    chunks_of,
    mcp_name,
    money_of,
    text_of,
    words_of,
)
from loop_close.text import fields_of, objects_of, parsed_json, sanitize

# Why a turn ended, among others that are none, as a hook that prevented it from going on.
_FAILURES = ("api_error", "max_turns")


class Claude(OutputReader):
    """Events have a ``type`` and a ``session_id``; the one of type ``result`` is the last."""

    name = "claude"

    def __init__(self) -> None:
        super().__init__()
        self._costs: dict[str, float] = {}
        self._handlers: dict[str, Callable[[Mapping[str, Any]], bool]] = {
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
        }

    def take(self, event: Mapping[str, Any]) -> bool:
        """Read one event; unknown types are recognized by their session."""
        self.is_closed = False
        kind = event.get("type")
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            return handler(event)
        return isinstance(kind, str) and isinstance(event.get("session_id"), str)

    def _assistant(self, event: Mapping[str, Any]) -> bool:
        message = event.get("message")
        if not isinstance(message, Mapping):
            return False
        self.is_sure = True
        content = message.get("content")
        for block in objects_of(content):
            if block.get("type") == "tool_use":
                self.calls.begin(block.get("id"), text_of(block.get("name")), block.get("input"))
        if not event.get("parent_tool_use_id"):  # else a subagent's
            self.message.say(words_of(content))
        return True

    def _user(self, event: Mapping[str, Any]) -> bool:
        message = event.get("message")
        if not isinstance(message, Mapping):
            return False
        for block in objects_of(message.get("content")):
            if block.get("type") == "tool_result":
                self._tool_result(block)
        if not event.get("parent_tool_use_id"):
            self.message.pause()
        return True

    def _tool_result(self, block: Mapping[str, Any]) -> None:
        is_error = block.get("is_error") is True
        key, content = block.get("tool_use_id"), block.get("content")
        self.calls.end(key, content, is_error=is_error, meta=block.get("_meta"))

    def _result(self, event: Mapping[str, Any]) -> bool:
        subtype, is_error = text_of(event.get("subtype")), event.get("is_error")
        if not (isinstance(is_error, bool) or subtype == "success" or subtype.startswith("error")):
            return False
        self.is_sure = True
        self.is_closed = (
            isinstance(is_error, bool) and {"session_id", "duration_ms", "subtype"} <= event.keys()
        )
        reason = text_of(event.get("terminal_reason"))
        self.is_error = is_error is True or subtype.startswith("error") or reason in _FAILURES
        self.answer = text_of(event.get("result"))
        self.error = (
            _claude_errors(event) or (reason if subtype == "success" else subtype) if self.is_error else ""
        )
        self._pay(event)
        return True

    def _pay(self, event: Mapping[str, Any]) -> None:
        # The total is a session's; several are in an output where the command starts several.
        session, total = text_of(event.get("session_id")), event.get("total_cost_usd", event.get("cost_usd"))
        before = self._costs.get(session, 0.0)
        self._costs[session] = max(money_of(total), before)
        self.cost = money_of(self.cost + self._costs[session] - before)


def _claude_errors(event: Mapping[str, Any]) -> str:
    errors = event.get("errors")
    return "\n".join(text_of(each) for each in errors) if isinstance(errors, list) else ""


def is_of_claude(event: Mapping[str, Any]) -> bool:
    """Whether an event that Cursor could have written, too, has what only Claude Code writes."""
    if event.get("type") == "result":
        return not event.keys().isdisjoint({"total_cost_usd", "cost_usd", "num_turns"})
    message = fields_of(event.get("message"))
    if event.get("type") == "assistant" and not message.keys().isdisjoint({"id", "model", "usage"}):
        return True
    kinds = [block.get("type") for block in objects_of(message.get("content"))]
    return "tool_use" in kinds or "tool_result" in kinds


# --- Cursor: ``cursor-agent -p --output-format json`` and ``stream-json``
# After cursor.com/docs/cli/reference/output-format. The results of tools and the parts that
# ``--stream-partial-output`` writes are after events of version 2026.01.28, recorded by reifying/cursor-hack.

_CURSOR_SUFFIX = "ToolCall"
# Of a result, what differs from call to call though nothing else does.
_CURSOR_VOLATILE = ("Time", "Ms", "Id", "pid")


class Cursor(Claude):
    """The events of Claude Code, but tools have their own; it reports no money."""

    name = "cursor"

    def __init__(self) -> None:
        super().__init__()
        self._parts = LastMessage("")
        self._is_own = False
        self._is_other = False
        del self._handlers["user"]  # only its session is looked at
        self._handlers["tool_call"] = self._tool_call

    def take(self, event: Mapping[str, Any]) -> bool:
        """Read one event."""
        self._is_other = self._is_other or is_of_claude(event)
        is_taken = super().take(event)
        self.is_sure = self._is_own and not self._is_other
        return is_taken

    def _assistant(self, event: Mapping[str, Any]) -> bool:
        message = event.get("message")
        if not isinstance(message, Mapping):
            return False
        text = words_of(message.get("content"))
        if "timestamp_ms" in event and "model_call_id" not in event:  # a part; the whole follows
            self._parts.say(text)
        else:
            self._parts = LastMessage("")
            self.message.pause()
            self.message.say(text)
        return True

    def _tool_call(self, event: Mapping[str, Any]) -> bool:
        call = event.get("tool_call")
        if not isinstance(call, Mapping):
            return False
        self._is_own = True
        key = text_of(event.get("call_id")) or text_of(call.get("toolCallId"))
        tool, body = _cursor_call(call)
        given = body.get("args")
        if event.get("subtype") == "started":
            self._keep_parts()
            self.calls.begin(key, tool, given)
        elif event.get("subtype") == "completed":
            self._end(key, tool, given, fields_of(body.get("result")))
        return True

    def _end(self, key: str, tool: str, given: Any, result: Mapping[str, Any]) -> None:
        if given is not None:  # the beginning may have been cut off
            self.calls.begin(key, tool, given)
        self.calls.end(key, _cursor_content(result), is_error=_is_cursor_error(result))

    def _result(self, event: Mapping[str, Any]) -> bool:
        if not isinstance(event.get("subtype"), str) and not isinstance(event.get("is_error"), bool):
            return False
        self._is_own = self._is_own or "duration_ms" in event or "request_id" in event
        self.is_closed = (
            isinstance(event.get("is_error"), bool) and {"session_id", "duration_ms"} <= event.keys()
        )
        self.is_error = event.get("is_error") is True or text_of(event.get("subtype")).startswith("error")
        self._keep_parts()
        # It is all messages of the run in one, so the last of them is the better answer.
        whole = text_of(event.get("result"))
        self.answer = whole if self.is_error else self.message.last or whole
        return True

    def _keep_parts(self) -> None:
        if self._parts.last:
            self.message.pause()
            self.message.say(self._parts.last)
            self._parts = LastMessage("")

    def result(self) -> AgentOutput:
        """The output of all events; a message that was cut off counts with its parts."""
        self._keep_parts()
        return super().result()


def _cursor_call(call: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The tool's name, which is a key, and what is below it."""
    for key, value in call.items():
        if key.endswith(_CURSOR_SUFFIX):
            body = fields_of(value)
            args = fields_of(body.get("args"))
            name = mcp_name(args.get("providerIdentifier"), args.get("toolName"))
            return name or key.removesuffix(_CURSOR_SUFFIX), body
    return "", {}


def _is_cursor_error(result: Mapping[str, Any]) -> bool:
    return "success" not in result or fields_of(result["success"]).get("isError") is True


def _cursor_content(result: Mapping[str, Any]) -> Any:
    body = next((value for value in result.values() if isinstance(value, Mapping)), {})
    if "stdout" in body or "stderr" in body:
        return "\n".join(filter(None, (text_of(body.get("stdout")), text_of(body.get("stderr")))))
    if isinstance(body.get("content"), list):
        return "\n".join(
            text_of(fields_of(each.get("text")).get("text")) for each in objects_of(body["content"])
        )
    if isinstance(body.get("content"), str):
        return body["content"]
    return {key: value for key, value in body.items() if not key.endswith(_CURSOR_VOLATILE)}


#: The readers of JSON formats; the first that recognizes the output wins. Cursor comes before Claude Code, as it has
#: the same events but for a few.
READERS: tuple[type[OutputReader], ...] = (
    Codex,
    CodexOld,
    Gemini,
    OpenCode,
    OpenHands,
    Cline,
    Cursor,
    Claude,
)

# OpenHands prints a summary for people below its events; its width is that of the last message.
_AFTERWORD = re.compile(r"^[^\w\n]{2,200}+CONVERSATION SUMMARY[^\w\n]{2,200}+$", re.MULTILINE)

# Text in a code block is quoted. The fences inside an event are within its line.
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)


def read_output(output: str) -> AgentOutput:
    """Read the output of an agent's command, in linear time and memory.

    An output has a JSON format if most of its lines are JSON, and most of the JSON is of the format: an answer that
    shows some JSON is still plain text. Lines that the format itself writes for people do not count. Without a code
    block, two more cases count. The output ends in a complete closing event of the agent, whatever a shell wrote
    before it. Or all JSON is of the format, and the summary follows that only this format has.

    :param output: any text; its beginning may be cut off.
    :returns: the output itself, without terminal controls, if no format is recognized.
    """
    found = _read_events(output)
    if found:
        return found
    text = sanitize(output)
    return read_object(text) or read_aider(text) or AgentOutput(text=text)


def _read_events(output: str) -> AgentOutput | None:
    tallies = [_Tally(reader()) for reader in READERS]
    afterword = _AFTERWORD.search(output)
    events = output[: afterword.start()] if afterword else output
    lines, lines_of_json, ends_in_json = _counted(events, tallies)
    is_quoted = bool(_FENCE.search(output))
    for tally in tallies:
        is_closed = ends_in_json and tally.is_closed
        is_whole = is_closed or (bool(afterword) and tally.is_summed_up(lines_of_json))
        lines_counted = lines if is_quoted else lines - tally.lines_of_status(events)
        is_most = lines_of_json * 2 > lines_counted
        if tally.is_of(lines_of_json) and (is_most or (is_whole and not is_quoted)):
            return tally.reader.result()
    return None


def _counted(events: str, tallies: list[_Tally]) -> tuple[int, int, bool]:
    """Number of lines, number of JSON lines, and whether the last line is JSON; every reader gets the events."""
    lines = lines_of_json = 0
    ends_in_json = False
    for chunk in chunks_of(events):
        lines += chunk.lines
        ends_in_json = bool(chunk.objects)
        if ends_in_json:
            lines_of_json += chunk.lines
            for tally in tallies:
                tally.take(chunk)
    return lines, lines_of_json, ends_in_json


class _Tally:
    """A reader, and how many lines were of its format."""

    def __init__(self, reader: OutputReader) -> None:
        self.reader = reader
        self.is_closed = False
        self._lines = 0

    def take(self, chunk: Chunk) -> None:
        taken = sum(self.reader.take(each) for each in chunk.objects)
        self._lines += chunk.lines if taken * 2 > len(chunk.objects) else 0
        self.is_closed = bool(taken) and self.reader.is_closed

    def is_of(self, lines_of_json: int) -> bool:
        return self.reader.is_sure and self._lines * 2 > lines_of_json

    def is_summed_up(self, lines_of_json: int) -> bool:
        return self.reader.sums_up and self._lines == lines_of_json

    def lines_of_status(self, events: str) -> int:
        status = self.reader.status
        return sum(1 for _ in status.finditer(events)) if status else 0


# Names of the answer in a JSON object of an unknown program.
_NAMES = ("result", "response", "output", "message", "text", "content")


def read_object(text: str) -> AgentOutput | None:
    """Read one JSON object of an unknown program: the first text under a usual name for answers.

    :param text: the output, without terminal controls.
    :returns: None for anything else.
    """
    text = text.strip()
    fields = fields_of(parsed_json(text)) if text.startswith("{") and text.endswith("}") else {}
    said = next((fields[name] for name in _NAMES if text_of(fields.get(name)).strip()), None)
    if said is None:
        return None
    return AgentOutput(text=sanitize(said), is_error=fields.get("is_error") is True, format="json")


# --- Aider: plain text, with what it cost
# After calculate_and_show_tokens_and_cost and get_announcements in aider/coders/base_coder.py of
# Aider-AI/aider (May 2026), and recorded outputs of 0.86.2. It has no output format for programs; it exits
# with 0 if the model's interface answered with an error.

_AMOUNT = r"\$\d{1,9}(?:\.\d{1,12})?+"
# Without a terminal, lines are wrapped at 80 columns, so that any space may be a line break. The line has no cost if
# the model has no price.
_REPORTED = re.compile(
    r"^(?:(?P<begun>Aider v\d[\w.+-]*$)"
    r"|(?P<failed>litellm\.(?:\w{1,80}Error|Timeout):)"
    rf"|Tokens:\s\d(?:[^$]{{1,120}}+(?<=\sCost:\s){_AMOUNT}\smessage,\s(?P<cost>{_AMOUNT})\ssession\.)?+)",
    re.MULTILINE,
)


def read_aider(text: str) -> AgentOutput | None:
    """Read the output of Aider: plain text, with the cost of the session, which is one process.

    The turn failed if the model's interface reported an error and no answer followed.

    :param text: the output, safe to show.
    :returns: None without Aider's first line.
    """
    costs: list[float] = []
    is_error = False
    if "Aider v" not in text:
        return None
    for match in _REPORTED.finditer(text):
        is_error = bool(match["failed"])  # an error before an answer does not count
        if match["begun"]:
            costs.append(0.0)
        elif match["cost"] and costs:
            costs[-1] = money_of(float(match["cost"].removeprefix("$")))
    return AgentOutput(text=text, cost=sum(costs), is_error=is_error, format="aider") if costs else None
