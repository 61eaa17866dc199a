"""Notice that somebody wants the driver to stop, without being ended by it."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any, Self

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_AT_ONCE = 3


class InterruptionError(BaseException):
    """Somebody wants the driver to stop; the text names the signal. No fault: nobody may take it for one."""


class Stop:
    """While it is entered, signals that would end us are counted; those that are ignored stay so.

    :ivar asked: how often.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._last = ""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Go on unless somebody wants us to stop.

        :raises InterruptionError: when somebody does.
        """
        if self.asked:
            raise InterruptionError(self._last)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1
        self._last = signal.Signals(number).name
        if self.asked >= _AT_ONCE:  # whatever holds us up, such as a reader of our output that does not read
            raise InterruptionError(self._last)
