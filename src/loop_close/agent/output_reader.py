"""What readers of agents' output formats share: JSON values, events, messages and tool calls."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from loop_close.agent import is_finite, is_number
from loop_close.agent.supervisor import ToolResult
from loop_close.records import Record
from loop_close.text import fields_of, objects_of, parsed_json, sanitize


def text_of(value: object) -> str:
    """The value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def words_of(content: object) -> str:
    """The text of a message: a string, or the blocks of type ``text`` in a list."""
    if isinstance(content, str):
        return content
    return "\n".join(
        text_of(block.get("text")) for block in objects_of(content) if block.get("type") == "text"
    )


def money_of(value: object) -> float:
    """An amount of money: a finite number above 0, else 0.0."""
    return float(value) if is_finite(value) and value > 0 else 0.0


def is_failing_code(value: object) -> bool:
    """Whether a value is the exit code of a program that failed."""
    return is_number(value) and value != 0


def mcp_name(server: object, tool: object) -> str:
    """The name of an MCP tool, the same for every host: ``mcp__SERVER__TOOL``, as in Claude Code."""
    names = [text_of(server), text_of(tool)]
    return "__".join(["mcp", *names]) if all(names) else names[1]


class AgentOutput(Record, frozen=True, kw_only=True):
    """The output of an agent in one turn.

    :ivar text: the final answer, safe to show; the whole output if no format is recognized.
    :ivar cost: the cost of the turn in the agent's currency; 0.0 if it reports none.
    :ivar is_error: the agent itself reports that the turn failed.
    :ivar results: the last results of its tools, in order, if the format has them.
    :ivar format: the name of the recognized format; empty for plain text.
    """

    text: str
    cost: float = 0.0
    is_error: bool = False
    results: tuple[ToolResult, ...] = ()
    format: str = ""


#: The most tool results that are kept, and the most calls that wait for a result.
KEPT = 200
_OPEN = 1_000


class LastMessage:
    """The last message of the agent.

    :param joint: joins the parts of a message.
    """

    def __init__(self, joint: str = "\n") -> None:
        self._joint = joint
        self._parts: list[str] = []
        self._is_over = True

    def say(self, text: str) -> None:
        """Add a part to the message, or begin the next one."""
        if self._is_over and not text.strip():
            return
        if self._is_over:
            self._parts = []
        self._parts.append(text)
        self._is_over = False

    def pause(self) -> None:
        """End the message."""
        self._is_over = True

    @property
    def last(self) -> str:
        """The last message that is not blank."""
        return self._joint.join(self._parts)


class ToolCalls:
    """The last tool calls that have a result."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, Any]] = {}
        self._results: deque[ToolResult] = deque(maxlen=KEPT)

    def begin(self, key: object, tool: str, given: Any) -> None:
        """Note a call, whose result comes under the same key."""
        if isinstance(key, str):
            self._open[key] = (tool, given)
            if len(self._open) > _OPEN:
                del self._open[next(iter(self._open))]

    def end(self, key: object, content: Any, *, is_error: bool, meta: object = None) -> None:
        """Add a result; dropped if its call is unknown."""
        called = self._open.pop(key, None) if isinstance(key, str) else None
        if called:
            self.add(*called, content, is_error=is_error, meta=meta)

    def add(self, tool: str, given: Any, content: Any, *, is_error: bool, meta: object = None) -> None:
        """Add a call with its result; dropped if the tool has no name."""
        if tool:
            about = fields_of(meta)
            self._results.append(
                ToolResult(tool=tool, input=given, content=content, is_error=is_error, meta=about)
            )

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The last results, in order."""
        return tuple(self._results)


class OutputReader(ABC):
    """Reads the events of one format.

    :ivar is_sure: an event came that only this format has.
    :ivar is_closed: the last event is the closing one of the format, with all its fields.
    """

    name: ClassVar[str]
    #: Whether a summary for people follows the events.
    sums_up: ClassVar[bool] = False
    #: The lines for people between the events.
    status: ClassVar[re.Pattern[str] | None] = None

    def __init__(self) -> None:
        self.message = LastMessage()
        self.calls = ToolCalls()
        self.answer = ""
        self.error = ""
        self.cost = 0.0
        self.is_error = False
        self.is_sure = False
        self.is_closed = False

    @abstractmethod
    def take(self, event: Mapping[str, Any]) -> bool:
        """Read one event.

        :param event: any JSON object.
        :returns: whether it is of this format.
        """

    def result(self) -> AgentOutput:
        """The output of all events; its text is the final answer, else the last message, else the error."""
        texts = (self.answer, self.message.last, self.error)
        return AgentOutput(
            text=sanitize(next((text for text in texts if text.strip()), "")).strip(),
            cost=self.cost,
            is_error=self.is_error,
            results=self.calls.results,
            format=self.name,
        )


# Not str.splitlines: a JSON string may contain U+2028.
_LINE = re.compile(r"[^\n]+")
_OPENS = ("{", "[")
_CLOSES = {"{": "}", "[": "]"}
_ENDS = ("}", "]")
_LAST_OF_LIST = ',{"type":"result"'


class Chunk(NamedTuple):
    """A part of an output.

    :ivar lines: number of its lines that are not blank.
    :ivar objects: the JSON objects in it, none of them empty; empty for other text.
    """

    lines: int
    objects: tuple[Mapping[str, Any], ...] = ()


def chunks_of(output: str) -> Iterator[Chunk]:
    """The parts of an output, in order and in linear time.

    JSON is an object, or a list of objects, on a line of its own. As pretty-printers write it, it is also recognized
    on several lines, of which the first and the last are a single bracket.

    :param output: any text.
    """
    block: list[str] = []
    for line in _lines(output):
        if block and not line.startswith(_OPENS):
            block.append(line)
            if line == _CLOSES[block[0]]:
                yield _chunk(block)
                block = []
            continue
        if block:  # the inside of a pretty-printed value is indented, so this one was cut off
            yield Chunk(len(block))
        block = [line] if line in _CLOSES else []
        if not block:
            yield _chunk([line])
    if block:
        yield Chunk(len(block))


def _lines(output: str) -> Iterator[str]:
    """The lines that are not blank, with their indentation. JSON has no escape characters: those are the terminal's."""
    for match in _LINE.finditer(output):
        line = match[0]
        line = (sanitize(line) if "\x1b" in line else line).rstrip()
        if line:
            yield line


def _chunk(lines: list[str]) -> Chunk:
    text = "\n".join(lines).strip()
    value = parsed_json(text) if text.startswith(_OPENS) and text.endswith(_ENDS) else None
    if value is None and text.endswith("}]") and _LAST_OF_LIST in text:
        # The beginning of the list was cut off, and its last object is whole.
        value = parsed_json(text[text.rindex(_LAST_OF_LIST) + 1 : -1])
    values = value if isinstance(value, list) else [value]
    objects = tuple(each for each in values if each and isinstance(each, Mapping))
    return Chunk(len(lines), objects if len(objects) == len(values) else ())
