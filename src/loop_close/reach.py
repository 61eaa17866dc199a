"""What can be reached in a graph, circles and all, as one number of bits for each node."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence


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
