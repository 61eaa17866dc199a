"""The code objects of the code under test that are followed, and which functions they are."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from types import CodeType

from loop_close.monitor.codes import codes_in
from loop_close.monitor.count import Hit
from loop_close.monitor.ownership import Ownership

#: Functions beyond these are not followed, so that tests that make ever more of them do not fill the memory.
MAX_FUNCTIONS = 100_000
# From so many code objects on it is looked for those that nobody else holds, and again whenever they doubled.
_FEW = 2_000


def too_many() -> str:
    """What is to be said when there were more functions than are followed."""
    return f"only the first {MAX_FUNCTIONS:,} functions that ran were looked at"


class Followed:
    """Code objects by id, as their own hash is that of all they hold; as ids are used again, they are kept alive.

    Functions made anew again and again, as by modules that tests reload, are one, by file, first line and name.
    Their code objects are released when nobody else holds them.

    :ivar codes: those that are followed; bodies of modules are among them.
    :ivar functions: each function, by the id of its first code object, which is its number and stays alive.
    :ivar parts: the number of those that are not the first code object of their function.
    :ivar is_full: there were more functions than are followed.
    """

    def __init__(self, ownership: Ownership) -> None:
        self.codes: dict[int, CodeType] = {}
        self.functions: dict[int, CodeType] = {}
        self.parts: dict[int, int] = {}
        self.is_full = False
        self._places: dict[tuple[str | None, int, str], int] = {}
        self._ownership = ownership
        self._most = _FEW

    def add(self, code: CodeType) -> Iterator[tuple[CodeType, bool]]:
        """Follow what is inside a code object.

        :return: those that are new, each with whether it is a part of another one.
        """
        # As a list: at the end of the stack all of it is found, or none.
        for inner, owner in list(codes_in(code)):
            if owner is not None and id(inner) not in self.codes and self._is_added(inner, owner):
                yield inner, inner is not owner

    def _is_added(self, code: CodeType, owner: CodeType) -> bool:
        place = self._ownership.file_of(owner.co_filename), owner.co_firstlineno, owner.co_qualname
        if place not in self._places:
            if len(self.functions) >= MAX_FUNCTIONS:
                self.is_full = True
                return False
            self.functions[id(owner)] = owner
            self._places[place] = id(owner)
        first = self._places[place]
        if first != id(code):
            self.parts[id(code)] = first
        self.codes[id(code)] = code
        return True

    @property
    def is_due(self) -> bool:
        """Whether there are so many that :meth:`release` is worth its while."""
        return len(self.codes) >= self._most

    def numbered(self, ran: list[Hit]) -> list[Hit]:
        """What ran, by functions in place of code objects."""
        parts = self.parts
        if not parts:
            return ran
        return [(parts.get(number, number), line) for number, line in ran]

    def release(self) -> None:
        """Let go of what nobody else holds; a module that is still in use holds its functions."""
        held = [(number, weakref.ref(code)) for number, code in self.codes.items()]
        self.codes.clear()
        alive = {number: code for number, ref in held if (code := ref()) is not None}
        for number, _ in held:
            if number not in alive:
                self.parts.pop(number, None)
        self.codes.update(alive)
        self._most = max(_FEW, 2 * len(alive))
