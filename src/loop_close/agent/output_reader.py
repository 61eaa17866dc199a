"""What readers of agents' output formats share: JSON values, events, messages and tool calls."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from loop_close.agent.saved import is_finite, is_number
from loop_close.agent.tool_results import ToolResult
from loop_close.text.sanitize import sanitize

_NOTHING: Mapping[str, Any] = {}


def parsed(text: str) -> Any:
    """The value of a JSON text; None where it is none, or none that can be held."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # numbers of thousands of digits are ValueErrors, too
        return None


def text_of(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def fields_of(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else _NOTHING


def blocks_of(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects in a list, if it is one."""
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else iter(())


def words_of(content: object) -> str:
    """The text of a message's content: a text, or blocks, of which those of type ``text`` count."""
    if isinstance(content, str):
        return content
    return "\n".join(
        text_of(block.get("text")) for block in blocks_of(content) if block.get("type") == "text"
    )


def money_of(value: object) -> float:
    """An amount of money: a finite number above 0, else 0.0."""
    return float(value) if is_finite(value) and value > 0 else 0.0


def is_failing_code(value: object) -> bool:
    """Whether a program's exit code says that it failed."""
    return is_number(value) and value != 0


def mcp_name(server: object, tool: object) -> str:
    """A name for a tool of an MCP server, the same for every host: ``mcp__SERVER__TOOL``, as Claude Code has it."""
    names = [text_of(server), text_of(tool)]
    return "__".join(["mcp", *names]) if all(names) else names[1]


# What an agent's output comes to.


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentOutput:
    """What an agent said in a turn.

    :ivar text: its final answer in plain words, safe to show; the whole output where no format is recognized.
    :ivar cost: what the turn cost in the currency that the agent reports; 0.0 where it reports none.
    :ivar is_error: the agent itself reports that the turn failed.
    :ivar results: what its tools gave back, in order: the last ones, where the format tells them.
    :ivar format: the name of what was recognized; empty for plain text.
    """

    text: str
    cost: float = 0.0
    is_error: bool = False
    results: tuple[ToolResult, ...] = ()
    format: str = ""


# What the readers of the formats have in common: they take events and keep what counts of them.

#: How many results of tools are kept, and how many calls are remembered that have none yet.
KEPT = 200
_OPEN = 1_000


class LastMessage:
    """The last message of the agent.

    :param joint: what stands between the parts of a message.
    """

    def __init__(self, joint: str = "\n") -> None:
        self._joint = joint
        self._parts: list[str] = []
        self._is_over = True

    def say(self, text: str) -> None:
        """Another part of the message, or the first of the next."""
        if self._is_over and not text.strip():
            return
        if self._is_over:
            self._parts = []
        self._parts.append(text)
        self._is_over = False

    def pause(self) -> None:
        """What is said next is another message."""
        self._is_over = True

    @property
    def last(self) -> str:
        """The last message that says anything."""
        return self._joint.join(self._parts)


class ToolCalls:
    """Calls of tools with their results, the last of them."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, Any]] = {}
        self._results: deque[ToolResult] = deque(maxlen=KEPT)

    def begin(self, key: object, tool: str, given: Any) -> None:
        """A tool is called; its result will come under the same key."""
        if isinstance(key, str):
            self._open[key] = (tool, given)
            if len(self._open) > _OPEN:
                del self._open[next(iter(self._open))]

    def end(self, key: object, content: Any, *, is_error: bool, meta: object = None) -> None:
        """A tool gave back a result; dropped where its call was not seen."""
        called = self._open.pop(key, None) if isinstance(key, str) else None
        if called:
            self.add(*called, content, is_error=is_error, meta=meta)

    def add(self, tool: str, given: Any, content: Any, *, is_error: bool, meta: object = None) -> None:
        """A call with its result; dropped where the tool has no name."""
        if tool:
            result = ToolResult(
                tool=tool, input=given, content=content, is_error=is_error, meta=fields_of(meta)
            )
            self._results.append(result)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The last results, in order."""
        return tuple(self._results)


class OutputReader(ABC):
    """What one format makes of an output, event by event.

    :ivar is_sure: an event came that only this format has.
    :ivar is_closed: the last event is the one that closes an output, with all its fields.
    """

    name: ClassVar[str]
    #: Whether below its events there is a summary for people.
    sums_up: ClassVar[bool] = False
    #: The lines for people that it writes between its events.
    status: ClassVar[re.Pattern[str] | None] = None

    def __init__(self) -> None:
        self.words = LastMessage()
        self.calls = ToolCalls()
        self.answer = ""
        self.trouble = ""
        self.cost = 0.0
        self.is_error = False
        self.is_sure = False
        self.is_closed = False

    @abstractmethod
    def take(self, event: Mapping[str, Any]) -> bool:
        """Keep what counts of an event.

        :param event: any JSON object.
        :returns: whether it is of this format.
        """

    def said(self) -> AgentOutput:
        """What all the events come to: the final answer, else the last message, else what went wrong."""
        texts = (self.answer, self.words.last, self.trouble)
        return AgentOutput(
            text=sanitize(next((text for text in texts if text.strip()), "")).strip(),
            cost=self.cost,
            is_error=self.is_error,
            results=self.calls.results,
            format=self.name,
        )


# The JSON objects in an output, and the lines between them.

# Not str.splitlines: JSON may have U+2028 in its texts.
_LINE = re.compile(r"[^\n]+")
_OPENS = ("{", "[")
_CLOSES = {"{": "}", "[": "]"}
_ENDS = ("}", "]")
_LAST_OF_LIST = ',{"type":"result"'


class Chunk(NamedTuple):
    """A part of an output.

    :ivar lines: how many lines that are not blank it takes.
    :ivar objects: what JSON it is, none of them empty; nothing where it is none.
    """

    lines: int
    objects: tuple[Mapping[str, Any], ...] = ()


def chunks_of(output: str) -> Iterator[Chunk]:
    """The parts of an output, in order, each line in one of them; linear, and one part at a time.

    JSON is seen where an object, or a list of objects, takes a line of its own, or several, the first and the
    last of which are a bracket alone, as each pretty-printer has it.

    :param output: any text.
    """
    block: list[str] = []
    for line in _lines(output):
        if block and not line.startswith(_OPENS):
            block.append(line)
            if line == _CLOSES[block[0]]:
                yield _piece(block)
                block = []
            continue
        if block:  # what is within a pretty-printed value is indented: this one was broken off
            yield Chunk(len(block))
        block = [line] if line in _CLOSES else []
        if not block:
            yield _piece([line])
    if block:
        yield Chunk(len(block))


def _lines(output: str) -> Iterator[str]:
    """The lines that are not blank, their indents kept; JSON writes no escape character, so one is of the terminal."""
    for match in _LINE.finditer(output):
        line = match[0]
        line = (sanitize(line) if "\x1b" in line else line).rstrip()
        if line:
            yield line


def _piece(lines: list[str]) -> Chunk:
    text = "\n".join(lines).strip()
    value = parsed(text) if text.startswith(_OPENS) and text.endswith(_ENDS) else None
    if value is None and text.endswith("}]") and _LAST_OF_LIST in text:
        # The beginning of a list was cut off: its last object is whole yet.
        value = parsed(text[text.rindex(_LAST_OF_LIST) + 1 : -1])
    values = value if isinstance(value, list) else [value]
    objects = tuple(each for each in values if each and isinstance(each, Mapping))
    return Chunk(len(lines), objects if len(objects) == len(values) else ())
