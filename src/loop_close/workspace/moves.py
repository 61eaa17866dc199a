"""Find what was moved: gone in one place, and there again with the same meaning in another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from loop_close.syntax.meaning import Part
from loop_close.workspace.compare import UNKNOWN, Difference

# Smaller ones are alike by chance: a function that passes has 2 nodes, one that returns an attribute 4.
_SMALLEST = 10


def with_moves(differences: Sequence[Difference]) -> list[Difference]:
    """Join each part that was removed with the one that was added in its stead.

    The same name in another file is preferred, else the last part of it (another class), else whatever is the
    only candidate; what is tiny has to keep its name. Equal meanings are those of one process.
    """
    moves = dict(_pairs(differences))
    arrived = set(moves.values())
    joined = []
    for at, difference in enumerate(differences):
        if at in moves:
            target = differences[moves[at]]
            is_effective = difference.is_effective or target.is_effective
            moved = replace(difference, new=target.new, path_after=target.path, is_effective=is_effective)
            joined.append(moved)
        elif at not in arrived:
            joined.append(difference)
    return joined


def _pairs(differences: Sequence[Difference]) -> Iterator[tuple[int, int]]:
    """Positions of what was removed, with those of what was added in its stead."""
    groups: dict[str, tuple[list[int], list[int]]] = {}
    for at, difference in enumerate(differences):
        if difference.old is None or difference.new is None:
            removed, added = groups.setdefault(difference.part.meaning, ([], []))
            (added if difference.old is None else removed).append(at)
    for removed, added in groups.values():
        if removed and added:
            yield from _matched(differences, removed, added)


def _matched(
    differences: Sequence[Difference], removed: list[int], added: list[int]
) -> Iterator[tuple[int, int]]:
    """Match parts of one meaning; the lists lose what was matched."""

    def key(at: int, tier: int) -> str:
        path, name = differences[at].path, differences[at].part.name
        return (f"{path.rpartition('/')[2]}:{name}", name, name.rpartition(".")[2])[tier]

    for tier in range(3):
        by_key: dict[str, list[int]] = {}
        for at in added:
            by_key.setdefault(key(at, tier), []).append(at)
        for gone in list(removed):
            candidates = by_key.get(key(gone, tier), [])
            # A mere last part, such as "setUp", may stand in many classes.
            if candidates and (tier < 2 or len(candidates) == 1):
                found = candidates.pop(0)
                removed.remove(gone)
                added.remove(found)
                yield gone, found
    if len(removed) == len(added) == 1 and not _is_tiny(differences[added[0]].part):
        yield removed[0], added[0]


def _is_tiny(part: Part) -> bool:
    return UNKNOWN < part.size < _SMALLEST and not part.inner  # a class is known by its methods
