"""What tests call: the records, a deterministic sample of tests, and what a call graph can reach."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from types import MappingProxyType
from typing import NamedTuple
from zlib import crc32


class Called(NamedTuple):
    """One function of the code under test that ran, with the lambdas and comprehensions inside it.

    :ivar line: its first line, decorators included; ``end_line`` the last one, 0 where it is not known.
    :ivar function: the qualified name.
    :ivar digest: equal while its code is the same, wherever it stands; empty where it is not known.
    :ivar passed: how many passing tests ran it.
    :ivar lines: how many passing tests ran each of its lines, by absolute number; lines that none ran left out.
    :ivar in_import: it ran outside of any test, as while modules were imported, or in one that neither passed nor
        failed.
    :ivar is_changed: it is not what it was when the passing tests were counted, in an earlier run: of how many of
        them would run it now nothing is known.
    :ivar returned_none: in how many passing tests it returned None, where it also returns values or its caller used
        it.
    :ivar returns_value: it does so in failing tests or before them, and is to give a value: by its annotation, or as it
        never does. Not asked where nothing failed.
    :ivar none_before: it does so while modules are imported, or before the first test; where something failed, not
        if it is annotated with None.
    :ivar at_import: the lines that it ran while modules were imported, before the first test.
    :ivar named: how many passing tests use what it made then, by the names in their own code.
    :ivar uses: what was made at import and its code names, as positions in ``import_effects``. Like the last two
        not asked where nothing failed.
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


class ImportEffect(NamedTuple):
    """Statements of a module that bind a name in common, with what they ran at import and what they use.

    :ivar line: where the first of them begins, ``column`` counted in bytes from 0.
    :ivar ran: the functions that they ran, by index in ``functions``.
    :ivar needs: those whose objects they or these functions use, as positions in ``import_effects``.
    """

    file: str
    line: int
    column: int = 0
    ran: frozenset[int] = frozenset()
    needs: frozenset[int] = frozenset()


class Swallowed(NamedTuple):
    """An exception raised in the code under test, or below it, that was handled there and never reached the test.

    :ivar line: the line of the code under test where it left or was raised: of its traceback the innermost frame there.
    :ivar function: the qualified name; a lambda or a comprehension has its own.
    :ivar type: the class's qualified name without module, as in :class:`loop_close.model.Raised`.
    :ivar message: of the failing test whose node id sorts first, bounded; empty where it could not be read without
        running the program's code. Not redacted.
    :ivar caught: where that one was handled, as ``file:line``; a dotted module name for code outside of the project.
        Empty where code in C handled it, after Python code had raised it again.
    :ivar failed: node ids of the failing tests in which it was raised.
    :ivar passed: how many passing tests raised one of this type in this line.
    """

    file: str
    line: int
    function: str
    type: str
    message: str = ""
    caught: str = ""
    failed: frozenset[str] = frozenset()
    passed: int = 0


class Calls(NamedTuple):
    """What the tests of one run called.

    :ivar passed: how many passing tests are counted.
    :ivar functions: every function that ran, sorted by file, line and name.
    :ivar failed: of each failing test, by node id, the lines that it ran, as (index in ``functions``, line), in the
        order in which they ran for the first time.
    :ivar omitted: failing tests of which nothing is known: those beyond the bound, and those that were not tracked.
    :ivar remembered: how many of ``passed`` were counted in an earlier run, 0 for none.
    :ivar modules: files whose modules ran, test code left out; empty where that is not known.
    :ivar returned_none: of failing tests, the functions that returned None, by index in ``functions``.
    :ivar import_effects: what ran while modules were imported, before the first test, sorted by place. Not asked where
        nothing failed, and of so many that they are too many to follow.
    :ivar uses: of failing tests, what was made at import and their own code names, as positions in ``import_effects``.
        Nothing of modules that cannot be collected.
    :ivar swallowed: exceptions that never reached a failing test, sorted by place and type; bounded. Their counts of
        passing tests are those of this run alone, also where ``passed`` is of an earlier one.
    :ivar passed_over: how many tests that passed or failed were not tracked, as tracking them would have cost too much.
    :ivar cut: in how many tests more exceptions were handled than are looked at: ``swallowed`` may lack some of theirs.
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


# Some node ids out of many by lot, as tests that stand together are alike, but always the same ones.


def sample(nodeids: Iterable[str], number: int) -> list[str]:
    """At most so many of them, whichever comes first and whichever process asks."""
    return nsmallest(number, nodeids, key=sample_key)


def sample_key(nodeid: str) -> tuple[int, str]:
    """Its turn: those with the smallest are drawn."""
    return crc32(nodeid.encode("utf-8", "backslashreplace")), nodeid


# What can be reached in a graph, circles and all, as one number of bits for each node.


def reach(edges: Sequence[Collection[int]], own: Sequence[int]) -> list[int]:
    """Of each node the bits of all that can be reached from it, its own among them.

    Nodes on a circle reach the same (strongly connected components; Tarjan, 1972, without recursion).

    :param edges: of each node the nodes that it leads to.
    :param own: of each node its bits.
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
    """A component is complete: all that it leads to is known."""
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
    """The places of the bits that are set, the lowest first."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
