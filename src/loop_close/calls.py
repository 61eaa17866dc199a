"""Records of the calls of tests, a deterministic sample of node ids, and reachability in graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from types import MappingProxyType
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
    :ivar is_changed: it was edited after the passing tests were counted in an earlier run: how many of them would run
        it now is unknown.
    :ivar returned_none: in how many passing tests it returned None although it also returns values, or its caller
        used the result.
    :ivar returns_value: it did so in failing tests or before them, and should return a value: by its annotation, or
        because it never returns one. False if no test failed.
    :ivar none_before: it did so during imports or before the first test. If a test failed, False for functions whose
        annotation allows None.
    :ivar at_import: the lines that it ran during imports before the first test.
    :ivar named: how many passing tests use objects that it made during imports, by names in their own code.
    :ivar uses: the effects in ``import_effects`` whose objects its code names, by position. Empty if no test
        failed, like the previous two fields.
    """

    file: str
    line: int
    function: str
    end_line: int = 0
    digest: str = ""
    passed: int = 0
    lines: Mapping[int, int] = MappingProxyType({})
    in_import: bool = False
    is_changed: bool = False
    returned_none: int = 0
    returns_value: bool = False
    none_before: bool = False
    at_import: tuple[int, ...] = ()
    named: int = 0
    uses: frozenset[int] = frozenset()

    def line_passed(self, line: int) -> int:
        """How many passing tests ran a line.

        The first line means the whole function: Python does not report it for functions of several lines.
        """
        return self.passed if line == self.line else self.lines.get(line, 0)


class ImportEffect(NamedTuple):
    """Statements of a module that bind a common name, with the functions they ran at import and what they use.

    :ivar line: where the first of them begins; ``column`` is counted in bytes from 0.
    :ivar ran: the functions that they ran, by index in ``functions``.
    :ivar needs: the import effects whose objects they or these functions use, by position in ``import_effects``.
    """

    file: str
    line: int
    column: int = 0
    ran: frozenset[int] = frozenset()
    needs: frozenset[int] = frozenset()


class Swallowed(NamedTuple):
    """An exception raised in or below the code under test that was handled there and did not reach the test.

    :ivar line: the line of the innermost frame of its traceback in the code under test.
    :ivar function: the qualified name; lambdas and comprehensions have their own.
    :ivar type: the qualified name of the class without its module, as in :class:`loop_close.model.Raised`.
    :ivar message: the message in the failing test whose node id sorts first, bounded. Not redacted. Empty if it could
        not be read without running code of the program.
    :ivar caught: where that exception was handled, as ``file:line``, or a dotted module name outside of the project.
        Empty if C code handled it after Python code had raised it again.
    :ivar failed: node ids of the failing tests in which it was raised.
    :ivar passed: how many passing tests raised an exception of this type in this line.
    """

    file: str
    line: int
    function: str
    type: str
    message: str = ""
    caught: str = ""
    failed: frozenset[str] = frozenset()
    passed: int = 0


class Constant(NamedTuple):
    """A statement in the body of a module or class whose value functions load, such as a table or a pattern.

    :ivar owner: the qualified name of the class in whose body it is; empty for that of the module.
    :ivar name: what it binds.
    :ivar loads: file and line of each place that loads it, itself or as a part of another constant, that failing tests
        ran.
    :ivar classes: if only objects load it from their class, the classes that have it, each with its file.
    :ivar parts: those of ``loads`` that load it only as a part of another constant.
    """

    file: str
    line: int
    end_line: int
    owner: str
    name: str
    loads: tuple[tuple[str, int], ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    parts: tuple[tuple[str, int], ...] = ()


class Calls(NamedTuple):
    """What the tests of one run called.

    :ivar passed: how many passing tests were counted.
    :ivar functions: every function that ran, sorted by file, line and name.
    :ivar failed: the lines that each failing test ran, by node id, as (index in ``functions``, line), in the order in
        which they first ran.
    :ivar omitted: the number of failing tests without data: those beyond the limit, and those that were not tracked.
    :ivar remembered: how many of ``passed`` were counted in an earlier run, 0 for none.
    :ivar modules: files whose modules ran, without test code; empty if unknown.
    :ivar returned_none: for each failing test the functions that returned None, by index in ``functions``.
    :ivar import_effects: what ran during imports before the first test, sorted by position. Empty if no test failed,
        or if there are too many of them to analyze.
    :ivar uses: for each failing test the effects in ``import_effects`` whose objects its own code names, by position.
        Empty for modules that cannot be collected.
    :ivar swallowed: exceptions that did not reach a failing test, sorted by place and type; bounded. Their counts of
        passing tests are those of this run, even if ``passed`` is of an earlier one.
    :ivar passed_over: how many tests that passed or failed were not tracked, because the cost would have been too high.
    :ivar cut: how many tests handled more exceptions than were examined; ``swallowed`` may lack some of these.
    :ivar constants: what the failing tests load that no function made, sorted by place.
    :ivar like_tests: for some failing tests how far the source of functions has the words that distinguish the test
        from others of its file: pairs of an index in ``functions`` and that relevance, more than 0.
    """

    passed: int = 0
    functions: tuple[Called, ...] = ()
    failed: Mapping[str, tuple[tuple[int, int], ...]] = MappingProxyType({})
    omitted: int = 0
    remembered: int = 0
    modules: frozenset[str] = frozenset()
    returned_none: Mapping[str, frozenset[int]] = MappingProxyType({})
    import_effects: tuple[ImportEffect, ...] = ()
    uses: Mapping[str, frozenset[int]] = MappingProxyType({})
    swallowed: tuple[Swallowed, ...] = ()
    cut: int = 0
    passed_over: int = 0
    constants: tuple[Constant, ...] = ()
    like_tests: Mapping[str, tuple[tuple[int, float], ...]] = MappingProxyType({})

    @property
    def counts_all_swallowed(self) -> bool:
        """Whether ``swallowed`` counts all passing tests."""
        return not (self.remembered or self.cut or self.passed_over)

    def unusual(self, test: str) -> list[int]:
        """The functions that a failing test ran, those first of which it ran a line that few passing tests ran."""
        least: dict[int, int] = {}
        for index, line in self.failed[test]:
            passed = self.functions[index].line_passed(line)
            least[index] = min(passed, least.get(index, passed))
        return sorted(least, key=lambda index: (least[index], index))


# --- a deterministic sample of node ids: neighbouring tests resemble each other, so that the first ones would be biased


def sample(nodeids: Iterable[str], number: int) -> list[str]:
    """At most ``number`` of the node ids; independent of their order and of the process."""
    return nsmallest(number, nodeids, key=sample_key)


def sample_key(nodeid: str) -> tuple[int, str]:
    """The sort key of a node id: the smallest keys are in the sample."""
    return crc32(nodeid.encode("utf-8", "backslashreplace")), nodeid


# --- reachability in a graph that may have cycles; sets of nodes are bit masks


def reach(edges: Sequence[Collection[int]], own: Sequence[int]) -> list[int]:
    """The union of the bits of all nodes that each node can reach, including its own.

    Nodes on a cycle reach the same nodes (strongly connected components; Tarjan, 1972, without recursion).

    :param edges: the successors of each node.
    :param own: the bits of each node.
    :returns: the bits by node.
    """
    found = [-1] * len(edges)
    order = [0] * len(edges)
    low = [0] * len(edges)
    stack: list[int] = []
    count = 0
    for start in range(len(edges)):
        if order[start]:
            continue
        count += 1
        order[start] = low[start] = count
        stack.append(start)
        walk = [(start, iter(edges[start]))]
        while walk:
            node, rest = walk[-1]
            step = next(rest, None)
            if step is None:
                walk.pop()
                if low[node] == order[node]:
                    _close(node, stack, edges, own, found)
                if walk:
                    above = walk[-1][0]
                    low[above] = min(low[above], low[node])
            elif not order[step]:
                count += 1
                order[step] = low[step] = count
                stack.append(step)
                walk.append((step, iter(edges[step])))
            elif found[step] < 0:
                low[node] = min(low[node], order[step])
    return found


def _close(
    node: int, stack: list[int], edges: Sequence[Collection[int]], own: Sequence[int], found: list[int]
) -> None:
    """Complete a component: the bits of all its successors are known."""
    members: list[int] = []
    while not members or members[-1] != node:
        members.append(stack.pop())
    bits = 0
    for member in members:
        bits |= own[member]
        for step in edges[member]:
            bits |= max(found[step], 0)
    for member in members:
        found[member] = bits


def bits_of(number: int) -> Iterator[int]:
    """The positions of the bits that are set, the lowest first."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
