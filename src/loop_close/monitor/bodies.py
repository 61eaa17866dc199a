"""Bodies of modules while they are imported: what ran for each of their statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any

from loop_close.monitor.codes import LONGEST_TABLE, is_import
from loop_close.monitor.followed import Hit
from loop_close.monitor.imports import Imports
from loop_close.monitor.ownership import Ownership
from loop_close.monitor.ran import Ran

#: Called for a line of a code object.
OnLine = Callable[[CodeType, int], Any]
#: With more functions run than these, each counted once for every line of a module that ran it, it takes too long.
MOST_RUN = 50_000
_ID = id  # tests may put another one in its place


class Bodies:
    """Follows each body line by line until the first test begins, after that only to its end.

    :param hits: what ran since the last time.
    :param set_aside: takes out of these what came after so many, which is told again when it runs again.
    :ivar imports: what ran meanwhile.
    """

    def __init__(self, ownership: Ownership, hits: Sequence[Hit], set_aside: Callable[[int], Ran]) -> None:
        self.imports = Imports()
        self._ownership = ownership
        self._hits = hits
        self._set_aside = set_aside
        self._is_by_line = True
        self._run = 0

    def is_one(self, code: CodeType, frame: FrameType, *, is_ours: bool) -> bool:
        """Whether it is a body to follow: of the code under test, or of tests while its lines are told."""
        if code.co_name != "<module>" or not is_import(frame.f_globals):
            return False
        return is_ours or (self._is_by_line and self._ownership.is_test(code.co_filename))

    def events(self, monitoring: Any, code: CodeType) -> int:
        """The events of ``sys.monitoring`` that one of them needs."""
        events, is_long = monitoring.events, len(code.co_linetable) > LONGEST_TABLE
        return int(events.PY_RETURN | events.LINE if self._is_by_line and not is_long else events.PY_RETURN)

    def on_line(self, otherwise: OnLine, disable: object, take_fault: Callable[[Exception], None]) -> OnLine:
        """What to call for each line.

        :param otherwise: what to call for the lines of functions.
        """
        id, is_open = _ID, self.imports.is_open

        def on_line(code: CodeType, line: int) -> Any:
            if not is_open(id(code)):
                return otherwise(code, line)
            try:
                self._turn(code, line)
            except Exception as fault:  # at the end of the stack as well: a body runs but once
                take_fault(fault)
            return disable

        return on_line

    def end_collection(self) -> None:
        """The first test is about to begin: the bodies of what is imported from now on are not told by line."""
        self._is_by_line = False

    def begin(self, code: CodeType) -> None:
        """A body begins."""
        self.imports.begin(_ID(code), len(self._hits))

    def _turn(self, code: CodeType, line: int) -> None:
        """It goes on to another line: set aside what ran for the last one, so that it is told for this one again."""
        begun, last = self.imports.turn(_ID(code), line)
        if len(self._hits) > begun and self._run <= MOST_RUN:
            ran = self._set_aside(begun)
            self._run += len(ran.masks)
            self.imports.add(ran, (code.co_filename, last))

    def end(self, code: CodeType) -> None:
        """It is over: what ran is no matter of the test that imported it first.

        An import that fails is not heard of again: what it ran counts for the test that fails by it.
        """
        begun, line = self.imports.end(_ID(code), len(self._hits))
        self.imports.add(self._set_aside(begun), (code.co_filename, line))
        if self._run > MOST_RUN:
            self.imports.forget_statements()
