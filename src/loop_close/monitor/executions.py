"""Functions of the code under test that are tracked, and which of their lines ran."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from operator import itemgetter
from types import CodeType
from typing import NamedTuple

from loop_close.monitor.codes import Ownership, codes_in
from loop_close.monitor.handled import Handled, Note

# --- what ran between two points of the test run

#: A line that ran: the number of the function, and the line's number.
Line = tuple[int, int]
#: Takes the place of a line number, beyond all real ones: the function returned None where a value was expected.
RETURNED_NONE = 1 << 40
#: Bits of a function's first 512 lines, by their distance from ``co_firstlineno``. The other lines of a longer
#: function get the bits above these, in the order in which they first run.
BITS = tuple(1 << place for place in range(512))


class Function:
    """A function, and the mapping from its lines to the bits of a mask."""

    __slots__ = ("_far", "code")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self._far: dict[int, int] = {}

    @property
    def first(self) -> int:
        """The line of the lowest bit."""
        return self.code.co_firstlineno

    def bit(self, line: int) -> int:
        """The bit of a line or of ``RETURNED_NONE``; in unusual code, lines may come before the first line."""
        place = line - self.first
        if 0 <= place < len(BITS):
            return BITS[place]
        return 1 << len(BITS) + self._far.setdefault(line, len(self._far))

    def lines(self, mask: int) -> Iterator[int]:
        """The lines, and possibly ``RETURNED_NONE``, whose bits are set in the mask."""
        far, digits = [*self._far], bin(mask)[:1:-1]
        place = digits.find("1")
        while place >= 0:
            yield self.first + place if place < len(BITS) else far[place - len(BITS)]
            place = digits.find("1", place + 1)


class Execution(NamedTuple):
    """What ran between two points of the test run; not modified after it was made.

    :ivar masks: the bits of the lines that ran, by the number of the function.
    :ivar lines: the same lines in the order in which they first ran; empty unless the order was requested.
    :ivar returned_none: functions that returned None where a value was expected; empty unless requested.
    :ivar swallowed: exceptions that were handled and did not reach the test.
    """

    masks: Mapping[int, int] = {}
    lines: Mapping[Line, None] = {}
    returned_none: Set[int] = frozenset()
    swallowed: Mapping[Handled, Note] = {}

    @property
    def has_any(self) -> bool:
        """Whether anything ran."""
        return bool(self.masks or self.swallowed)


#: The shared empty record.
NO_EXECUTION = Execution()


def merge_executions(parts: Iterable[Execution], *, in_order: bool = True) -> Execution:
    """What ran in several consecutive parts.

    :param in_order: merge ``lines`` and ``returned_none`` as well.
    """
    some = [part for part in parts if part.has_any]
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
    return Execution(masks, lines, frozenset().union(*(part.returned_none for part in some)), swallowed)


# --- tracked code objects, and the functions that they belong to

#: A code object with a line of it that ran, or with ``RETURNED_NONE``.
Hit = tuple[CodeType, int]
#: At most this many functions are tracked, so that tests that keep making functions do not exhaust the memory.
MAX_FUNCTIONS = 100_000
# At this number of code objects the unused ones are released for the first time, then whenever the number doubled.
_FIRST_RELEASE = 2_000
_NEVER = -RETURNED_NONE  # as first line: no line is then within reach of ``BITS``
_LINE_OF = itemgetter(2)
_ID = id  # tests may patch the builtin


def too_many_functions() -> str:
    """The message for a session with more functions than are tracked."""
    return f"only the first {MAX_FUNCTIONS:,} functions that ran were tracked"


class TrackedCode:
    """Tracked code objects by ``id``, because hashing a code object hashes all its contents.

    Ids are reused, so the code objects are kept alive. Functions with the same file, first line and qualified name
    are one function, such as those of a module that tests reload. Of its code objects the first stays alive. The
    others are released when nothing else refers to them.

    :ivar codes: tracked code objects by id, module bodies included.
    :ivar functions: each function by its number, with its first code object.
    :ivar numbers: the number of the function, by the id of a code object.
    :ivar is_full: there were more functions than are tracked.
    """

    def __init__(self, ownership: Ownership) -> None:
        self.codes: dict[int, CodeType] = {}
        self.functions: dict[int, Function] = {}
        self.numbers: dict[int, int] = {}
        self.is_full = False
        self._firsts: dict[int, int] = {}  # by the id of a code object that ran, the line of its lowest bit
        self._places: dict[tuple[str | None, int, str], int] = {}
        self._ownership = ownership
        self._most = _FIRST_RELEASE

    def add(self, code: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
        """Track a code object and those inside it.

        :returns: pairs of each new code object and its function: the code object itself if it is not part of another.
        """
        # As a list: after a RecursionError either all of it is tracked, or nothing.
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
        """Whether there are enough code objects to make :meth:`release` worthwhile."""
        return len(self.codes) >= self._most

    def masks(self, hits: Iterable[Hit]) -> tuple[dict[int, int], Set[int]]:
        """Convert hits to masks. Code objects that were released meanwhile are left out.

        :returns: the bits of the lines by the number of the function, and the ids of the code objects.
        """
        bits, firsts = BITS, self._firsts
        by_code: dict[int, int] = {}
        last, number, mask, first = None, 0, 0, 0
        for code, line in hits:  # every line of every test: most follow another line of the same function
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
        del by_code[0]  # the initial values, which belong to no code object
        return self._by_function(by_code), by_code.keys()

    def _first_line(self, code: CodeType) -> int:
        """The line of the lowest bit: the function's first line, or ``_NEVER`` if the code has lines before it."""
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
        """The lines in the order in which they first ran, each once, as (number of the function, line)."""
        numbered = ((self.numbers.get(_ID(code)), line) for code, line in hits)
        return {
            (number, line): None for number, line in numbered if number is not None and line != RETURNED_NONE
        }

    def returned_none(self, hits: Iterable[Hit]) -> set[int]:
        """The functions that returned None where a value was expected."""
        numbers = (self.numbers.get(_ID(code)) for code, line in hits if line == RETURNED_NONE)
        return {number for number in numbers if number is not None}

    def ran(self, hits: Sequence[Hit]) -> Execution:
        """What ran, without the order of lines."""
        return Execution(self.masks(hits)[0], returned_none=self.returned_none(hits))

    def by_first_codes(self, hits: Iterable[Hit]) -> list[Hit]:
        """The same hits with the first code object of each function, which is never released."""
        return [(self._first(code, line), line) for code, line in hits]

    def _first(self, code: CodeType, line: int) -> CodeType:
        number = self.numbers.get(_ID(code))
        if number is None:
            return code
        function = self.functions[number]
        if line < function.first:
            self._firsts[_ID(function.code)] = _NEVER  # from now on it has lines before its first
        return function.code

    def release(self) -> None:
        """Stop tracking code objects that nothing else refers to; functions of modules in use remain."""
        known = list(self.codes.items())  # a copy: other threads may add more
        held = [(number, weakref.ref(code)) for number, code in known]
        known.clear()
        self.codes.clear()
        alive = {number: code for number, ref in held if (code := ref()) is not None}
        for number, _ in held:
            if number not in alive:
                self.numbers.pop(number, None)
                self._firsts.pop(number, None)
        self.codes.update(alive)
        self._most = max(_FIRST_RELEASE, 2 * len(alive))
