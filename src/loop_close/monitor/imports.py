"""Modules that are being imported, and what ran meanwhile: it is no matter of the test that imported them first."""

from __future__ import annotations

from collections.abc import Collection

from loop_close.monitor.ran import Ran


class Imports:
    """Remembers what had run before a module's first line did.

    :ivar modules: files whose modules ran.
    :ivar functions: those that ran while a module was imported; ``nothing``: those of them that gave None where a value
        was wanted.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.functions: set[int] = set()
        self.nothing: set[int] = set()
        self._begun: dict[int, int] = {}

    def begin(self, module: int, ran: int) -> None:
        """A module's body begins.

        :param module: the id of its code object.
        :param ran: how many lines ran until now.
        """
        self._begun[module] = ran

    def is_open(self, module: int) -> bool:
        """Whether its body has not ended, as far as is known."""
        return module in self._begun

    def end(self, module: int, ran: int) -> int:
        """Its body is over: how many lines had run when it began; ``ran`` where that is not known."""
        return self._begun.pop(module, ran)

    def keep(self, modules: Collection[int]) -> None:
        """Forget all others: they failed to be imported."""
        for module in self._begun.keys() - set(modules):
            del self._begun[module]

    def add(self, ran: Ran) -> None:
        """Note what ran since a module's first line did."""
        self.functions |= ran.masks.keys()
        self.nothing |= ran.nothing
