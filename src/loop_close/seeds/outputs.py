"""The output of an agent's command: its answer, what the turn cost, whether it failed. One table of formats.

The events of Claude Code, Cursor, opencode, OpenHands, Cline, Gemini CLI and Codex are JSON. Any other output is
the answer itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from loop_close.records import Record
from loop_close.text import fields_of, objects_of, parsed_json, sanitize


class AgentOutput(Record, frozen=True, kw_only=True):
    """The output of an agent in one turn.

    :ivar text: the final answer, safe to show; the whole output if no format is recognized.
    :ivar cost: the cost of the turn in the agent's currency; 0.0 if it reports none.
    :ivar is_error: the agent itself reports that the turn failed.
    """

    text: str
    cost: float = 0.0
    is_error: bool = False


class Event(NamedTuple):
    """One kind of event. A path such as ``item.text`` is a place in it; the first of ``a|b`` that has a text counts.

    :ivar when: a pattern for the whole text of each path; all must match. An empty one: there is nothing.
    :ivar message: path of a message of the agent; ``part`` of a piece of one, which continues the piece just before.
    :ivar answer: path of the final answer, or of the reason if the turn failed.
    :ivar error: path of the reason why the turn failed.
    :ivar fails: patterns as in ``when``, any of which means that the turn failed; none: it did not. None says nothing.
    :ivar cost: path of what the session of the event cost so far; ``step_cost`` of what one step cost.
    """

    when: Mapping[str, str]
    message: str = ""
    part: str = ""
    answer: str = ""
    error: str = ""
    fails: Mapping[str, str] | None = None
    cost: str = ""
    step_cost: str = ""


_ANY = r"(?s:.+)"
_TYPE = {"type": _ANY}

#: What each event of a format has, as in :attr:`Event.when`; and its events.
FORMATS: tuple[tuple[Mapping[str, str], tuple[Event, ...]], ...] = (
    # Claude Code: types of anthropics/claude-agent-sdk-python. Cursor: cursor.com/docs/cli/reference/output-format; the
    # result of Cursor is all messages in one, so the last message is the better answer.
    (
        {**_TYPE, "session_id|is_error": _ANY},
        (
            Event({"type": "assistant", "timestamp_ms": _ANY, "model_call_id": ""}, part="message.content"),
            Event({"type": "assistant", "parent_tool_use_id": ""}, message="message.content"),
            Event(
                {"type": "result"},
                answer="result",
                error="errors|terminal_reason|subtype",
                fails={"is_error": "true", "subtype": "error.*", "terminal_reason": "api_error|max_turns"},
                cost="total_cost_usd|cost_usd",
            ),
        ),
    ),
    # opencode: run.ts.
    (
        {**_TYPE, "sessionID": _ANY},
        (
            Event({"type": "text"}, message="part.text"),
            Event({"type": "step_finish"}, fails={}, step_cost="part.cost"),
            Event({"type": "error"}, error="error.data.message|error.name", fails={"type": _ANY}),
        ),
    ),
    # OpenHands: json_callback of OpenHands/OpenHands-CLI, events of openhands-sdk.
    (
        {"kind": _ANY, "id": _ANY, "source": _ANY},
        (
            Event({"kind": "MessageEvent", "source": "agent"}, message="llm_message.content"),
            Event({"kind": "ActionEvent", "action.kind": "FinishAction"}, message="action.message"),
            Event({"kind": "ActionEvent"}, message="thought"),
            Event({"kind": "ConversationErrorEvent"}, error="detail|code", fails={"kind": _ANY}),
        ),
    ),
    # Cline: recorded outputs of 3.0.65.
    (
        {"ts": _ANY, "type": "hook_event|agent_event|run_result"},
        (
            Event(
                {"event.type": "content_end", "event.contentType": "text", "event.parentAgentId": ""},
                message="event.text",
            ),
            Event({"event.type": "usage"}, cost="event.totalCost"),
            Event({"event.type": "error"}, error="event.error.message"),
            Event(
                {"type": "run_result"},
                answer="text",
                fails={"finishReason": "(?!completed).+"},
                cost="aggregateUsage.totalCost|usage.totalCost",
            ),
        ),
    ),
    # Gemini CLI: types.ts and nonInteractiveCli.ts of google-gemini/gemini-cli.
    (
        {"type": "init|message|tool_use|tool_result|error|result", "timestamp": _ANY},
        (
            Event({"type": "message", "role": "assistant"}, part="content"),
            Event({"type": "result"}, error="error.message", fails={"status": "error"}),
        ),
    ),
    (
        {"type": "", "stats|session_id|error.type": _ANY},
        (Event({}, message="response", error="error.message", fails={"error.message": _ANY}),),
    ),
    # Codex: exec_events.rs of openai/codex, 0.44 and later.
    (
        {"type": r"(?:thread|turn|item)\.\w+|error"},
        (
            Event({"type": "item.completed", "item.type": "agent_message"}, message="item.text"),
            Event({"type": "turn.failed|error"}, error="error.message|message", fails={"type": _ANY}),
            Event({"type": r"turn\.\w+"}, fails={}),
        ),
    ),
)

# A line of JSON, or several as pretty-printers write them: what is inside of the first and the last is indented.
_JSON = re.compile(r"^(?:[{\[]\n(?>(?:[ \t].*\n)*)[}\]]|[{\[].*[}\]])[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
# What OpenHands prints for people around its events.
_FOR_PEOPLE = re.compile(
    r"^(?:Agent is working|Agent finished|Initializing agent\.\.\.|✓ (?:Agent|Hooks) .*"
    r"|OpenHands CLI terminal UI may not work .*|To override Rich's detection, .*)$"
    r"|^[^\w\n]{2,200}+CONVERSATION SUMMARY[^\w\n]{2,200}+$(?s:.*)",
    re.MULTILINE,
)


def read_output(output: str) -> AgentOutput:
    """The answer in an agent's output, in linear time.

    An output has a format if most of its lines are JSON, or if it ends in JSON and shows no code block before, and if
    most of the JSON is of that format.

    :param output: any text; its beginning may be cut off.
    """
    output = output.replace("\r\n", "\n")
    if "\x1b" in output:  # not in JSON: a terminal's
        output = "\n".join(map(sanitize, output.split("\n")))
    shown = _FOR_PEOPLE.sub("", output)
    found = [match[0] for match in _JSON.finditer(shown)]
    others = _JSON.sub("", shown)
    is_most = sum(each.count("\n") + 1 for each in found) > sum(map(bool, map(str.strip, others.split("\n"))))
    is_last = bool(found) and shown.rstrip().endswith(found[-1].rstrip()) and not _FENCE.search(others)
    values = [parsed_json(each) for each in found] if is_most or is_last else []
    events = [
        event for value in values for event in objects_of(value if isinstance(value, list) else [value])
    ]
    for marks, kinds in FORMATS:
        own = [event for event in events if _has(event, marks)]
        if 2 * len(own) > len(events):
            said = _answer(own, kinds)
            if said.text:
                return said
    return AgentOutput(text=sanitize(output))


def _answer(events: Iterable[Mapping[str, Any]], kinds: tuple[Event, ...]) -> AgentOutput:
    """What the events of one format say together."""
    message = answer = error = ""
    is_error = is_part = False
    costs: dict[str, float] = {}
    for event in events:
        kind = next((kind for kind in kinds if _has(event, kind.when)), Event({}))
        part, whole = _text(event, kind.part), _text(event, kind.message)
        if part:
            message = f"{message}{part}" if is_part else part
        elif whole.strip():
            message = whole
        is_part = bool(part)
        answer = _text(event, kind.answer) or answer
        error = _text(event, kind.error) or error
        if kind.fails is not None:
            is_error = any(_matches(event, path, pattern) for path, pattern in kind.fails.items())
        session = _text(event, "session_id")
        costs[session] = max(costs.get(session, 0.0), _amount(event, kind.cost)) + _amount(
            event, kind.step_cost
        )
    texts = (answer, message, error) if is_error else (message, answer, error)
    text = sanitize(next(filter(str.strip, texts), "")).strip()
    return AgentOutput(text=text, cost=sum(costs.values()), is_error=is_error)


def _has(event: Mapping[str, Any], patterns: Mapping[str, str]) -> bool:
    return all(_matches(event, path, pattern) for path, pattern in patterns.items())


def _matches(event: Mapping[str, Any], path: str, pattern: str) -> bool:
    return re.fullmatch(pattern, _text(event, path)) is not None


def _text(event: Mapping[str, Any], path: str) -> str:
    """The text at the first place that has one."""
    for place in path.split("|"):
        value: Any = event
        for name in place.split("."):
            value = fields_of(value).get(name)
        if text := _words(value):
            return text
    return ""


def _words(value: Any) -> str:
    """A text, the texts and blocks of type ``text`` in a list, or another value as JSON; nothing for null."""
    if isinstance(value, list):
        texts = (each if isinstance(each, str) else fields_of(each).get("text") for each in value)
        return "\n".join(each for each in texts if isinstance(each, str))
    if value is None or isinstance(value, str):
        return value or ""
    return "{}" if isinstance(value, Mapping) else json.dumps(value)


def _amount(event: Mapping[str, Any], path: str) -> float:
    """An amount of money: a number of common length, else 0."""
    found = re.fullmatch(r"\d{1,9}(?:\.\d{1,20})?(?:e-\d\d?)?", _text(event, path))
    return float(found[0]) if found else 0.0
