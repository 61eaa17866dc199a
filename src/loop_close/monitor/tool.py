"""The id under which ``sys.monitoring`` knows us, which whoever asks for that very one gets."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

#: Tool ids to try. Whoever takes any that has no name begins with 3 or 4, and Hypothesis with 3; 5 is for
#: optimizers, of which there are hardly any.
FREE_IDS = (5, 4, 3)


class Tool:
    """One tool id of ``sys.monitoring``.

    A test that asks for the very id that is ours would fail by us. It gets it, and we go on under another one: to
    hear of it ``sys.monitoring.use_tool_id`` is ours as long as we hold an id.

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
        self._use: Any = None
        self._asked: Any = None
        self._events = 0

    def start(self) -> str:
        """Take an id; why there is none, empty when there is. Nothing is told before :meth:`listen`."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            return f"Python {version} does not report calls; 3.12 and newer do"
        self._monitoring, self._use = monitoring, monitoring.use_tool_id
        if not self._hold(FREE_IDS):
            return "all tool ids of sys.monitoring are in use"
        self._asked = monitoring.use_tool_id = _asked_first(self._use, self._make_way)
        return ""

    def _hold(self, ids: Iterable[int]) -> bool:
        free = [tool for tool in ids if self._monitoring.get_tool(tool) is None]
        if not free:
            return False
        self.id = free[0]
        self._use(self.id, self.name)
        for event, callback in self._callbacks.items():
            self._monitoring.register_callback(self.id, getattr(self._monitoring.events, event), callback)
        return True

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

    def _make_way(self, tool: object) -> None:
        """Somebody asks for a tool id. Where it is ours, and the only one left, we are done."""
        if type(tool) is not int or tool != self.id or not (self.is_ours() or self._retaken()):
            return
        if self._leave() and self._hold(free for free in FREE_IDS if free != tool):
            self.listen()

    def is_ours(self) -> bool:
        """Whether we have an id that nobody took from us."""
        return self._monitoring is not None and self._monitoring.get_tool(self.id) == self.name

    def _retaken(self) -> bool:
        """Take the id again where the program freed it: what we asked for is still there, for whoever takes it next."""
        if self.id < 0 or self._monitoring is None or self._monitoring.get_tool(self.id) is not None:
            return False
        self._use(self.id, self.name)
        return True

    def _leave(self) -> bool:
        """Give the id back; whether the program had left our events and callbacks as they were."""
        monitoring = self._monitoring
        is_whole: bool = monitoring.get_events(self.id) == self._events
        monitoring.set_events(self.id, 0)
        for code, _ in self._armed():
            monitoring.set_local_events(self.id, code, 0)
        for event, callback in self._callbacks.items():
            number = getattr(monitoring.events, event)
            is_whole &= monitoring.register_callback(self.id, number, None) is callback
        monitoring.free_tool_id(self.id)
        return is_whole

    def stop(self) -> bool:
        """Leave everything as it was; more than once is fine.

        :return: whether we had an id until now, with what we asked for.
        """
        if self._monitoring is None:
            return True
        is_ours = self.is_ours()
        if self._monitoring.use_tool_id is self._asked:  # else somebody put another one around it
            self._monitoring.use_tool_id = self._use
        if is_ours or self._retaken():
            is_ours &= self._leave()
        self._monitoring = None
        return is_ours


def _asked_first(use: Callable[..., None], ask: Callable[[object], None]) -> Callable[..., None]:
    @functools.wraps(use)
    def use_tool_id(*arguments: Any) -> None:
        __tracebackhide__ = True
        for tool in arguments[:1]:
            ask(tool)
        use(*arguments)

    return use_tool_id
