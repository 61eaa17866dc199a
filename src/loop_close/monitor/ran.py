"""What ran in a part of the run: the lines of each function as one number and, where it is asked for, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from types import CodeType
from typing import NamedTuple

from loop_close.monitor.handled import Handled, Note

#: A line that ran: the number of the function, and the line's number.
Line = tuple[int, int]
#: Stands in the place of a line, beyond all of them: the function gave None where a value was wanted.
NOTHING = 1 << 40
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


class Ran(NamedTuple):
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
NOT_ANY = Ran()


def joined(parts: Iterable[Ran], *, in_order: bool = True) -> Ran:
    """What ran in several parts, one after the other."""
    some = [part for part in parts if part.is_any]
    if len(some) < 2:
        return some[0] if some else NOT_ANY
    masks: dict[int, int] = {}
    for part in some:
        for number, mask in part.masks.items():
            masks[number] = masks.get(number, 0) | mask
    swallowed: dict[Handled, Note] = {}
    for part in reversed(some):
        swallowed |= part.swallowed
    if not in_order:
        return Ran(masks, swallowed=swallowed)
    lines = {line: None for part in some for line in part.lines}
    return Ran(masks, lines, frozenset().union(*(part.nothing for part in some)), swallowed)
