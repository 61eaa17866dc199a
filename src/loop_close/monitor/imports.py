"""Modules that are being imported, and what ran meanwhile: it is no matter of the test that imported them first."""

from __future__ import annotations

from collections.abc import Collection

from loop_close.monitor.ran import Ran

#: Where a module's body was: its file, as its code object has it, and the line.
Spot = tuple[str, int]


class _Body:
    """A module's body that is not over.

    :ivar begun: how many lines had run when its statement began.
    :ivar line: the line that it is at, 0 before the first.
    """

    __slots__ = ("begun", "line")

    def __init__(self, begun: int) -> None:
        self.begun = begun
        self.line = 0


class Imports:
    """Remembers what had run before a module's first line did, and before each of its statements.

    :ivar modules: files whose modules ran.
    :ivar functions: those that ran while a module was imported; ``nothing``: those of them that gave None where a value
        was wanted.
    :ivar statements: by where the module's body was, the functions that ran then; ``lines``: of each function the bits
        of the lines that ran in any of them.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.functions: set[int] = set()
        self.nothing: set[int] = set()
        self.statements: dict[Spot, set[int]] = {}
        self.lines: dict[int, int] = {}
        self._open: dict[int, _Body] = {}

    def begin(self, module: int, ran: int) -> None:
        """A module's body begins.

        :param module: the id of its code object.
        :param ran: how many lines ran until now.
        """
        self._open[module] = _Body(ran)

    def is_open(self, module: int) -> bool:
        """Whether its body has not ended, as far as is known."""
        return module in self._open

    def turn(self, module: int, line: int) -> tuple[int, int]:
        """Its body goes on to another line: how many lines had run before the last one, and which that was."""
        body = self._open[module]
        last, body.line = body.line, line
        return body.begun, last

    def end(self, module: int, ran: int) -> tuple[int, int]:
        """Its body is over: the same; ``ran`` and 0 where that is not known."""
        body = self._open.pop(module, _Body(ran))
        return body.begun, body.line

    def keep(self, modules: Collection[int]) -> None:
        """Forget all others: they failed to be imported."""
        for module in self._open.keys() - set(modules):
            del self._open[module]

    def forget_statements(self) -> None:
        """What is known of them is not all."""
        self.statements.clear()
        self.lines.clear()

    def add(self, ran: Ran, spot: Spot | None = None) -> None:
        """Note what ran since a module's statement began, and where that is, if it is known."""
        self.functions |= ran.masks.keys()
        self.nothing |= ran.nothing
        if spot is not None and ran.masks:
            self.statements.setdefault(spot, set()).update(ran.masks)
            for number, mask in ran.masks.items():
                self.lines[number] = self.lines.get(number, 0) | mask
