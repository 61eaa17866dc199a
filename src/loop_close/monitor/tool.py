"""The id under which ``sys.monitoring`` knows us."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

#: Tool ids to try. Nobody asks for them by a name but optimizers (5), of which there are hardly any. Hypothesis and
#: others that take any id begin with 3.
FREE_IDS = (5, 4)


class Tool:
    """One tool id of ``sys.monitoring``.

    :param callbacks: what to call, by the name of the event.
    :param armed: gives the code objects that have events of their own, with these.
    :ivar id: the tool id, ``name`` what it is known by.
    """

    def __init__(
        self,
        callbacks: dict[str, Callable[..., Any] | None],
        armed: Callable[[], Iterable[tuple[CodeType, int]]],
    ) -> None:
        self.id = -1
        self.name = f"loop-close {id(self):x}"
        self._callbacks = callbacks
        self._armed = armed
        self._monitoring: Any = None
        self._events = 0

    def start(self) -> str:
        """Take an id; why there is none, empty when there is. Nothing is told before :meth:`listen`."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            return f"Python {version} does not report calls; 3.12 and newer do"
        free = [tool for tool in FREE_IDS if monitoring.get_tool(tool) is None]
        if not free:
            return "the tool ids of sys.monitoring that loop-close may use (5 and 4) are in use"
        self._monitoring = monitoring
        self.id = free[0]
        monitoring.use_tool_id(self.id, self.name)
        for event, callback in self._callbacks.items():
            monitoring.register_callback(self.id, getattr(monitoring.events, event), callback)
        return ""

    def listen(self) -> None:
        """Have all functions told when they start, and exceptions when they meet a handler; of some code more."""
        for code, events in self._armed():
            self._monitoring.set_local_events(self.id, code, events)
        # Exceptions are told of all code or of none. To hear of no more, a callback is taken away: that is cheap.
        self._events = self._monitoring.events.PY_START | self._monitoring.events.EXCEPTION_HANDLED
        self._monitoring.set_events(self.id, self._events)

    def replace(self, event: str, callback: Callable[..., Any] | None) -> None:
        """Call another one for an event from now on, or none."""
        self._callbacks[event] = callback
        if self.is_ours():
            self._monitoring.register_callback(self.id, getattr(self._monitoring.events, event), callback)

    def is_ours(self) -> bool:
        """Whether we have an id that nobody took from us."""
        return self._monitoring is not None and self._monitoring.get_tool(self.id) == self.name

    def stop(self) -> bool:
        """Leave everything as it was; more than once is fine.

        :return: whether we had an id until now, with what we asked for.
        """
        monitoring, self._monitoring = self._monitoring, None
        if monitoring is None:
            return True
        is_ours: bool = monitoring.get_tool(self.id) == self.name
        if not is_ours:
            if monitoring.get_tool(self.id) is not None:
                return False
            # The program freed the id: what we asked for is still there, for whoever takes it next.
            monitoring.use_tool_id(self.id, self.name)
        is_ours &= monitoring.get_events(self.id) == self._events
        monitoring.set_events(self.id, 0)
        for code, _ in self._armed():
            monitoring.set_local_events(self.id, code, 0)
        for event, callback in self._callbacks.items():
            number = getattr(monitoring.events, event)
            is_ours &= monitoring.register_callback(self.id, number, None) is callback
        monitoring.free_tool_id(self.id)
        return is_ours
