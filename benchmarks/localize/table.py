"""The figures as a table: for each tool, how often the faulty function is named first, early, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from statistics import median

from benchmarks.localize.faults import Fault
from benchmarks.localize.score import Score

_HEADS = ("half", "faults", "tool", "n", "first", "first 3", "first 5", "file", "line", "tokens", "groups")


def rows(faults: Mapping[str, Fault], scores: Sequence[Score], by: str = "") -> list[tuple[str, ...]]:
    """A heading and a row for each half, each group of faults, and each tool.

    :param by: a field of :class:`Fault` to make groups by; as it is, those that tracebacks hide and show.
    """
    found: list[tuple[str, ...]] = [_HEADS]
    for half in ("tune", "report"):
        for name, belongs in _groups(list(faults.values()), by):
            for tool in dict.fromkeys(score.tool for score in scores):
                chosen = [s for s in scores if s.tool == tool and _is_in(faults[s.fault], half, belongs)]
                if chosen:
                    found.append((half, name, tool, *_figures(chosen)))
    return found


def _groups(faults: Sequence[Fault], by: str) -> Iterator[tuple[str, Callable[[Fault], bool]]]:
    yield "all", lambda fault: True
    if not by:
        yield "hidden", lambda fault: fault.hidden
        yield "shown", lambda fault: not fault.hidden
        return
    of = attrgetter(by)
    for value in sorted({of(fault) for fault in faults}):
        yield value, partial(lambda wanted, fault: of(fault) == wanted, value)


def _is_in(fault: Fault, half: str, belongs: Callable[[Fault], bool]) -> bool:
    return fault.half == half and belongs(fault)


def _figures(scores: Sequence[Score]) -> Iterator[str]:
    yield str(len(scores))
    for first in (1, 3, 5):
        yield _share([score.is_among(first) for score in scores])
    yield _share([score.has_file for score in scores])
    yield _share([score.has_line for score in scores])
    yield f"{median(score.tokens for score in scores):.0f}"
    groups = [score.groups for score in scores if score.groups is not None]
    yield f"{median(groups):g}" if groups else "n/a"


def _share(true: Sequence[bool]) -> str:
    return f"{100 * sum(true) / len(true):.0f} %"


def plain(table: Sequence[Sequence[str]]) -> str:
    """Columns, for a terminal."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)) for row in table)
    return "\n".join(line.rstrip() for line in lines)


def markdown(table: Sequence[Sequence[str]]) -> str:
    """The same for a document."""
    rule = ["---"] * len(table[0])
    return "\n".join(f"| {' | '.join(row)} |" for row in (table[0], rule, *table[1:]))
