"""The figures as a table: for each tool, how often the faulty function is named first, early, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from statistics import median

from benchmarks.localize.faults import Fault
from benchmarks.localize.score import Score

_HEADS = ("half", "faults", "tool", "n", "first", "first 3", "first 5", "file", "line", "tokens", "groups")
_BINS = 10


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
                    found.append((half, name, tool, *_figures(chosen, [s.rank for s in chosen])))
                if read := [s for s in chosen if s.is_read]:
                    found.append((half, name, f"{tool}, text", *_figures(read, [s.read for s in read])))
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


def _figures(scores: Sequence[Score], ranks: Sequence[int | None]) -> Iterator[str]:
    yield str(len(scores))
    for first in (1, 3, 5):
        yield _share([rank is not None and rank <= first for rank in ranks])
    yield _share([score.has_file for score in scores])
    yield _share([score.has_line for score in scores])
    yield f"{median(score.tokens for score in scores):.0f}"
    groups = [score.groups for score in scores if score.groups is not None]
    yield f"{median(groups):g}" if groups else "n/a"


def _share(true: Sequence[bool]) -> str:
    return f"{100 * sum(true) / len(true):.0f} %"


def calibration(scores: Iterable[Score]) -> list[tuple[str, ...]]:
    """Of ten bins of stated probability how many places are in each, the mean probability, and the share that is right.

    The last row has all of them, and the expected calibration error: the mean distance of what is stated in a bin from
    the share that is right, each bin by its number of places (Naeini, Cooper and Hauskrecht, 2015).
    """
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for chance, is_right in (each for score in scores for each in score.chances):
        bins[min(_BINS - 1, int(chance * _BINS))].append((chance, is_right))
    rows: list[tuple[str, ...]] = [("stated", "places", "mean", "right")]
    error = 0.0
    number = sum(map(len, bins))
    for place, each in enumerate(bins):
        if each:
            stated = sum(chance for chance, _ in each) / len(each)
            right = sum(is_right for _, is_right in each) / len(each)
            error += len(each) / number * abs(stated - right)
            span = f"{100 * place // _BINS}-{100 * (place + 1) // _BINS} %"
            rows.append((span, str(len(each)), f"{100 * stated:.0f} %", f"{100 * right:.0f} %"))
    rows.append(("all", str(number), "expected calibration error", f"{error:.3f}"))
    return rows


def plain(table: Sequence[Sequence[str]]) -> str:
    """Columns, for a terminal."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)) for row in table)
    return "\n".join(line.rstrip() for line in lines)


def markdown(table: Sequence[Sequence[str]]) -> str:
    """The same for a document."""
    rule = ["---"] * len(table[0])
    return "\n".join(f"| {' | '.join(row)} |" for row in (table[0], rule, *table[1:]))
