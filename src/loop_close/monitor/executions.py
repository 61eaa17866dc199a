"""Functions of the code under test that are tracked, and which of their lines ran."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from operator import itemgetter
from types import CodeType
from typing import NamedTuple

from loop_close.monitor.codes import Ownership, codes_in
from loop_close.monitor.handled import Handled, Note

# What ran in a part of the run: the lines of each function as one number and, where it is asked for, in
# order.

#: A line that ran: the number of the function, and the line's number.
Line = tuple[int, int]
#: Stands in the place of a line, beyond all of them: the function gave None where a value was wanted.
RETURNED_NONE = 1 << 40
#: The bits of a function's lines, by their distance from its first one; farther ones, of which a function with more
#: lines has some, get those that follow as they come.
BITS = tuple(1 << place for place in range(512))


class Function:
    """A function, and what the bits of a mask stand for that are not of its first lines."""

    __slots__ = ("_far", "code")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self._far: dict[int, int] = {}

    @property
    def first(self) -> int:
        """The line of its first bit."""
        return self.code.co_firstlineno

    def bit(self, line: int) -> int:
        """The bit of a line, or of the mark; any function may have lines that are before its first, if odd ones."""
        place = line - self.first
        if 0 <= place < len(BITS):
            return BITS[place]
        return 1 << len(BITS) + self._far.setdefault(line, len(self._far))

    def lines(self, mask: int) -> Iterator[int]:
        """The lines, and the mark, whose bits are in the mask."""
        far, digits = [*self._far], bin(mask)[:1:-1]
        place = digits.find("1")
        while place >= 0:
            yield self.first + place if place < len(BITS) else far[place - len(BITS)]
            place = digits.find("1", place + 1)


class Execution(NamedTuple):
    """What ran; it is not changed any more.

    :ivar masks: of each function that ran, by its number, the bits of its lines.
    :ivar lines: the same in the order in which they ran, each once; empty where nobody asked for it.
    :ivar nothing: functions that gave None where a value was wanted; asked for as ``lines`` are.
    :ivar swallowed: exceptions that were handled and did not reach the test.
    """

    masks: Mapping[int, int] = {}
    lines: Mapping[Line, None] = {}
    nothing: Set[int] = frozenset()
    swallowed: Mapping[Handled, Note] = {}

    @property
    def is_any(self) -> bool:
        """Whether anything ran."""
        return bool(self.masks or self.swallowed)


#: What most tests ran before they begin.
NO_EXECUTION = Execution()


def merge_executions(parts: Iterable[Execution], *, in_order: bool = True) -> Execution:
    """What ran in several parts, one after the other."""
    some = [part for part in parts if part.is_any]
    if len(some) < 2:
        return some[0] if some else NO_EXECUTION
    masks: dict[int, int] = {}
    for part in some:
        for number, mask in part.masks.items():
            masks[number] = masks.get(number, 0) | mask
    swallowed: dict[Handled, Note] = {}
    for part in reversed(some):
        swallowed |= part.swallowed
    if not in_order:
        return Execution(masks, swallowed=swallowed)
    lines = {line: None for part in some for line in part.lines}
    return Execution(masks, lines, frozenset().union(*(part.nothing for part in some)), swallowed)


# The code objects of the code under test that are followed, and which functions they are.

#: A code object and a line of it that ran, or a mark in the place of the line.
Hit = tuple[CodeType, int]
#: Functions beyond these are not followed, so that tests that make ever more of them do not fill the memory.
MAX_FUNCTIONS = 100_000
# From so many code objects on it is looked for those that nobody else holds, and again whenever they doubled.
_FEW = 2_000
_NEVER = -RETURNED_NONE  # from here every line is a far one
_LINE_OF = itemgetter(2)
_ID = id  # tests may put another one in its place


def too_many_functions() -> str:
    """What is to be said when there were more functions than are followed."""
    return f"only the first {MAX_FUNCTIONS:,} functions that ran were tracked"


class TrackedCode:
    """Code objects by id, as their own hash is that of all they hold; as ids are used again, they are kept alive.

    Functions made anew again and again, as by modules that tests reload, are one, by file, first line and name.
    Their code objects are released when nobody else holds them.

    :ivar codes: those that are followed; bodies of modules are among them.
    :ivar functions: each function, by its number, with the first code object of it, which stays alive.
    :ivar numbers: the number of the function of each code object, by the id of that.
    :ivar is_full: there were more functions than are followed.
    """

    def __init__(self, ownership: Ownership) -> None:
        self.codes: dict[int, CodeType] = {}
        self.functions: dict[int, Function] = {}
        self.numbers: dict[int, int] = {}
        self.is_full = False
        self._firsts: dict[int, int] = {}  # of code objects that ran, what to take from their lines
        self._places: dict[tuple[str | None, int, str], int] = {}
        self._ownership = ownership
        self._most = _FEW

    def add(self, code: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
        """Follow what is inside a code object.

        :return: those that are new, each with the one that it is a part of: itself, if of none.
        """
        # As a list: at the end of the stack all of it is found, or none.
        for inner, owner in list(codes_in(code)):
            if owner is not None and _ID(inner) not in self.codes and self._is_added(inner, owner):
                yield inner, owner

    def _is_added(self, code: CodeType, owner: CodeType) -> bool:
        place = self._ownership.file_of(owner.co_filename), owner.co_firstlineno, owner.co_qualname
        if place not in self._places:
            if len(self.functions) >= MAX_FUNCTIONS:
                self.is_full = True
                return False
            self._places[place] = len(self.functions)
            self.functions[self._places[place]] = Function(owner)
        self.numbers[_ID(code)] = self._places[place]
        self.codes[_ID(code)] = code
        return True

    @property
    def is_due(self) -> bool:
        """Whether there are so many that :meth:`release` is worth its while."""
        return len(self.codes) >= self._most

    def masks(self, hits: Iterable[Hit]) -> tuple[dict[int, int], Set[int]]:
        """Of each function that ran, by its number, the bits of its lines; without those that were let go of.

        :return: and the ids of the code objects.
        """
        bits, firsts = BITS, self._firsts
        by_code: dict[int, int] = {}
        last, number, mask, first = None, 0, 0, 0
        for code, line in hits:  # every line of every test: most come after another one of the same function
            if code is not last:
                by_code[number] = mask
                last, number = code, _ID(code)
                mask = by_code.get(number, 0)
                try:
                    first = firsts[number]
                except KeyError:
                    first = self._first_line(code)
            try:
                mask |= bits[line - first]
            except IndexError:
                mask |= self._far_bit(number, line)
        by_code[number] = mask
        del by_code[0]  # what came before the first
        return self._by_function(by_code), by_code.keys()

    def _first_line(self, code: CodeType) -> int:
        """What to take from its lines, so that none is less than 0: the function's first one, unless it is odd code."""
        function = self.numbers.get(_ID(code))
        if function is None:
            return _NEVER
        first = self.functions[function].first
        lines = {*map(_LINE_OF, code.co_lines())}
        is_plain = all(line is None or line >= first for line in lines)
        self._firsts[_ID(code)] = first = first if is_plain else _NEVER
        return first

    def _far_bit(self, number: int, line: int) -> int:
        function = self.numbers.get(number)
        return 0 if function is None else self.functions[function].bit(line)

    def _by_function(self, by_code: Mapping[int, int]) -> dict[int, int]:
        masks: dict[int, int] = {}
        for number, mask in by_code.items():
            function = self.numbers.get(number)
            if function is not None:
                masks[function] = masks.get(function, 0) | mask
        return masks

    def in_order(self, hits: Iterable[Hit]) -> dict[Line, None]:
        """The same lines in order, each once."""
        numbered = ((self.numbers.get(_ID(code)), line) for code, line in hits)
        return {
            (number, line): None for number, line in numbered if number is not None and line != RETURNED_NONE
        }

    def nothing(self, hits: Iterable[Hit]) -> set[int]:
        """The functions that gave None where a value was wanted."""
        numbers = (self.numbers.get(_ID(code)) for code, line in hits if line == RETURNED_NONE)
        return {number for number in numbers if number is not None}

    def ran(self, hits: Sequence[Hit]) -> Execution:
        """What ran, in no order."""
        return Execution(self.masks(hits)[0], nothing=self.nothing(hits))

    def by_first_codes(self, hits: Iterable[Hit]) -> list[Hit]:
        """What ran, by the first code objects of functions, which are never released."""
        return [(self._first(code, line), line) for code, line in hits]

    def _first(self, code: CodeType, line: int) -> CodeType:
        number = self.numbers.get(_ID(code))
        if number is None:
            return code
        function = self.functions[number]
        if line < function.first:
            self._firsts[_ID(function.code)] = _NEVER  # it has odd lines from now on
        return function.code

    def release(self) -> None:
        """Let go of what nobody else holds; a module that is still in use holds its functions."""
        known = list(self.codes.items())  # at once: other threads may add more
        held = [(number, weakref.ref(code)) for number, code in known]
        known.clear()
        self.codes.clear()
        alive = {number: code for number, ref in held if (code := ref()) is not None}
        for number, _ in held:
            if number not in alive:
                self.numbers.pop(number, None)
                self._firsts.pop(number, None)
        self.codes.update(alive)
        self._most = max(_FEW, 2 * len(alive))
