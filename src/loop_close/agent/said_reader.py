"""What the readers of the formats have in common: they take events and keep what counts of them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

from loop_close.agent.said_record import Said
from loop_close.agent.said_values import fields_of
from loop_close.agent.tool_results import ToolResult
from loop_close.text.sanitize import sanitize

#: How many results of tools are kept, and how many calls are remembered that have none yet.
KEPT = 200
_OPEN = 1_000


class Words:
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


class Calls:
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


class Reader(ABC):
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
        self.words = Words()
        self.calls = Calls()
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

    def said(self) -> Said:
        """What all the events come to: the final answer, else the last message, else what went wrong."""
        texts = (self.answer, self.words.last, self.trouble)
        return Said(
            text=sanitize(next((text for text in texts if text.strip()), "")).strip(),
            cost=self.cost,
            is_error=self.is_error,
            results=self.calls.results,
            format=self.name,
        )
