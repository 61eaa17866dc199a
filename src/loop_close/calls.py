"""Records of what tests called, and a deterministic sample of node ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import nsmallest
from typing import NamedTuple
from zlib import crc32


class Called(NamedTuple):
    """One function of the code under test that ran, including the lambdas and comprehensions inside it.

    :ivar line: its first line, decorators included; ``end_line`` the last line, 0 if unknown.
    :ivar function: the qualified name.
    :ivar digest: equal while its code is the same, even if it was moved; empty if unknown.
    :ivar passed: how many passing tests ran it.
    :ivar lines: how many passing tests ran each line, by absolute line number; lines that none ran are left out.
    :ivar in_import: it ran outside of any test, such as during an import, or in a test that neither passed nor failed.
    :ivar is_changed: it was edited after the passing tests were counted in an earlier run: they ran it as it was.
    :ivar guards: node ids of passing tests that ran it, at most three: those that ran the fewest functions, first.
    """

    file: str
    line: int
    function: str
    end_line: int = 0
    digest: str = ""
    passed: int = 0
    lines: Mapping[int, int] = {}
    in_import: bool = False
    is_changed: bool = False
    guards: tuple[str, ...] = ()

    def line_passed(self, line: int) -> int:
        """How many passing tests ran a line; the first one, unreported in longer functions, means the function."""
        return self.passed if line == self.line else self.lines.get(line, 0)


class Constant(NamedTuple):
    """A statement in the body of a module or class whose value functions load, such as a table or a pattern.

    :ivar owner: the qualified name of the class in whose body it is; empty for that of the module.
    :ivar name: what it binds.
    :ivar loads: file and line of each place that loads it, itself or as a part of another constant, that failing tests
        ran.
    """

    file: str
    line: int
    end_line: int
    owner: str
    name: str
    loads: tuple[tuple[str, int], ...] = ()


class Calls(NamedTuple):
    """What the tests of one run called.

    :ivar passed: how many passing tests were counted.
    :ivar functions: every function that ran, sorted by file, line and name.
    :ivar failed: the lines that each failing test ran, by node id, as (index in ``functions``, line), sorted.
    :ivar omitted: the number of failing tests without data: those beyond the limit, and those that were not tracked.
    :ivar remembered: how many of ``passed`` were counted in an earlier run, 0 for none.
    :ivar modules: files whose modules ran, without test code; empty if unknown.
    :ivar constants: what the failing tests load that no function made, sorted by place.
    :ivar guards: how many functions each test ran that the functions name as a guard.
    """

    passed: int = 0
    functions: tuple[Called, ...] = ()
    failed: Mapping[str, tuple[tuple[int, int], ...]] = {}
    omitted: int = 0
    remembered: int = 0
    modules: frozenset[str] = frozenset()
    constants: tuple[Constant, ...] = ()
    guards: Mapping[str, int] = {}

    def unusual(self, test: str) -> list[int]:
        """The functions that a failing test ran, those first of which it ran a line that few passing tests ran."""
        least: dict[int, int] = {}
        for index, line in self.failed[test]:
            passed = self.functions[index].line_passed(line)
            least[index] = min(passed, least.get(index, passed))
        return sorted(least, key=lambda index: (least[index], index))


NO_CALLS = Calls()  #: where nothing was recorded

# --- a deterministic sample of node ids: neighbouring tests resemble each other, so that the first ones would be biased


def sample(nodeids: Iterable[str], number: int) -> list[str]:
    """At most ``number`` of the node ids; independent of their order and of the process."""
    return nsmallest(number, nodeids, key=sample_key)


def sample_key(nodeid: str) -> tuple[int, str]:
    """The sort key of a node id: the smallest keys are in the sample."""
    return crc32(nodeid.encode("utf-8", "backslashreplace")), nodeid
