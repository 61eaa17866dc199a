"""The record of an exit strategy, used by the built-in ones and by third parties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loop_close.agent.decision import Decision, Standing


@dataclass(frozen=True, kw_only=True, slots=True)
class ExitStrategy:
    """One way to decide whether the loop goes on.

    :ivar name: unique; what users type, without spaces and ``+``.
    :ivar decide: a pure function from a :class:`Standing` to a :class:`Decision`. A ``done`` that the tests
        do not confirm becomes ``continue``.
    :ivar description: one line for a list of strategies.
    :raises TypeError: for a field of another type.
    """

    name: str
    decide: Callable[[Standing], Decision]
    description: str = ""

    def __post_init__(self) -> None:
        for field in ("name", "description"):
            if not isinstance(getattr(self, field), str):
                raise TypeError(f"ExitStrategy.{field} is {type(getattr(self, field)).__name__}, not str")
        if not callable(self.decide):
            raise TypeError(f"ExitStrategy.decide is {type(self.decide).__name__}, which is not callable")
