"""The code objects of the code under test that are followed, and which functions they are."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Set
from types import CodeType

from loop_close.monitor.codes import codes_in
from loop_close.monitor.hits import Hit, called, function_of
from loop_close.monitor.ownership import Ownership

#: A code object and a line of it that ran, or a mark in the place of the line.
Ran = tuple[CodeType, int]
#: Functions beyond these are not followed, so that tests that make ever more of them do not fill the memory.
MAX_FUNCTIONS = 100_000
# From so many code objects on it is looked for those that nobody else holds, and again whenever they doubled.
_FEW = 2_000
_ID = id  # tests may put another one in its place


def too_many() -> str:
    """What is to be said when there were more functions than are followed."""
    return f"only the first {MAX_FUNCTIONS:,} functions that ran were looked at"


class Followed:
    """Code objects by id, as their own hash is that of all they hold; as ids are used again, they are kept alive.

    Functions made anew again and again, as by modules that tests reload, are one, by file, first line and name.
    Their code objects are released when nobody else holds them.

    :ivar codes: those that are followed; bodies of modules are among them.
    :ivar functions: each function, by its number: the first code object of it, which stays alive.
    :ivar called: by the id of a code object, that its function ran.
    :ivar is_full: there were more functions than are followed.
    """

    def __init__(self, ownership: Ownership) -> None:
        self.codes: dict[int, CodeType] = {}
        self.functions: dict[int, CodeType] = {}
        self.called: dict[int, Hit] = {}
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
            self._places[place] = len(self.functions)
            self.functions[self._places[place]] = owner
        self.called[id(code)] = called(self._places[place])
        self.codes[id(code)] = code
        return True

    @property
    def is_due(self) -> bool:
        """Whether there are so many that :meth:`release` is worth its while."""
        return len(self.codes) >= self._most

    def by_functions(self, ran: Iterable[Ran]) -> tuple[dict[Hit, None], Set[int]]:
        """What ran, by functions in place of code objects: each function, followed by its first lines, each line once.

        :return: and the ids of the code objects.
        """
        called, number_of, last, hit = self.called, _ID, None, 0
        codes: dict[int, None] = {}
        found: dict[Hit, None] = {}
        for code, line in ran:  # every line of every test: most come after another one of the same function
            if code is not last:
                number = number_of(code)
                known = called.get(number)
                if known is None:
                    continue  # another thread let go of it
                last, hit = code, known
                codes[number] = found[hit] = None
            found[hit + line] = None
        return found, codes.keys()

    def by_first_codes(self, ran: Iterable[Ran]) -> list[Ran]:
        """What ran, by the first code objects of functions, which are never released."""
        return [(self._first(code), line) for code, line in ran]

    def _first(self, code: CodeType) -> CodeType:
        hit = self.called.get(_ID(code))
        return code if hit is None else self.functions[function_of(hit)]

    def release(self) -> None:
        """Let go of what nobody else holds; a module that is still in use holds its functions."""
        known = list(self.codes.items())  # at once: other threads may add more
        held = [(number, weakref.ref(code)) for number, code in known]
        known.clear()
        self.codes.clear()
        alive = {number: code for number, ref in held if (code := ref()) is not None}
        for number, _ in held:
            if number not in alive:
                self.called.pop(number, None)
        self.codes.update(alive)
        self._most = max(_FEW, 2 * len(alive))
