r"""Cut a text into the runs of pytest that it holds.

A run goes from ``test session starts`` to its line of counts. Tests of pytest plugins print whole runs of pytest,
which end up in captured output: starts and ends pair like brackets, and a run within a run is text of the outer one
where that one shows the output of its tests.
A start that no end pairs with is a run that was cut or killed; what follows it is its own only where it stands below
a heading of a failure or of captured output. Outside of these a run is known by its headings or the bare counts of
``-q``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from loop_close.readers.pytest_output.pairs import (
    BLOCKS,
    PASSED,
    PROGRESS,
    SUMMARY,
    WARNINGS,
    Pair,
    goes_on,
    is_deep,
    is_red,
    paired,
)
from loop_close.readers.pytest_output.quiet import without_printed
from loop_close.readers.pytest_output.rulers import Ruler, rulers

__all__ = ["BLOCKS", "PASSED", "SUMMARY", "WARNINGS", "Run", "runs"]
_SECTIONS = {*BLOCKS, *PASSED, *WARNINGS, SUMMARY}
_PROGRESS = re.compile(r"\n[^\n]{0,300}\[ {0,2}\d{1,3}%\](?=\n)")
# What a run that was killed shows last.
_ANY_PROGRESS = re.compile(
    r"\n(?:[^\s\n]{1,300}\.py(?:::[^\n]{0,2000}| [.FEsxXRru,]++(?=[\s+]|\Z)[^\n]{0,300})|\[gw\d{1,4}\] [^\n]{0,2000}"
    r"|[^\n]{0,300}\[ {0,2}\d{1,3}%\])(?=\n|\Z)"
)
_OTHER = re.compile(r"\n(?:Fatal Python error: |Segmentation fault|[\w.:-]{1,60}: commands\[\d)")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)[^\n]*\Z")

_FENCES = re.compile(r"\n[ \t]*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    :ivar start: the offset of its first line, ``end`` that after its last.
    :ivar rulers: those that are the run's own by their width, in order.
    :ivar has_start: the line with which a run starts is there.
    :ivar final: the line of counts, None where it is missing.
    :ivar is_quoted: the line above opens a block of Markdown.
    """

    start: int
    end: int
    rulers: tuple[Ruler, ...]
    has_start: bool
    final: Ruler | None
    is_quoted: bool = False


def runs(text: str) -> list[Run]:
    """The runs in a text, in order; one that fails may stand within another where that one shows no output.

    :param text: begins with a line break.
    """
    found = without_printed(text, rulers(text))
    result: list[Run] = []
    at = floor = 0
    for pair in [*paired(found), Pair(len(found), len(found), False)]:
        headless = _headless(text, found[at : pair.first], floor, _start_of(text, found, pair.first))
        floor = headless[-1].end if headless else floor
        result += headless
        if pair.first < len(found):
            nested = [_run(text, found, one, floor) for one in pair.runs()]
            floor = max([floor, *(run.end for run in nested)])
            result += nested
        at = pair.last + 1
    return _unquoted(text, result)


def _start_of(text: str, found: list[Ruler], index: int) -> int:
    return found[index].start if index < len(found) else len(text)


def is_quoted(text: str, start: int) -> bool:
    """Whether the line above opens a block of Markdown."""
    before = text.rfind("\n", max(0, start - 200), max(0, start - 1))
    return _FENCE.fullmatch(text, before + 1, max(0, start - 1)) is not None


def _unquoted(text: str, found: list[Run]) -> list[Run]:
    """The runs, one that stands below the end of a block no more quoted."""
    opened: int | None = None
    for index, run in enumerate(found):
        if not run.is_quoted:
            continue
        above = text.rfind("\n", max(0, run.start - 200), run.start - 1)
        if opened is not None and _FENCES.search(text, opened, above + 1) is None:
            found[index], opened = replace(run, is_quoted=False), None
        else:
            opened = run.start
    return found


def _run(text: str, found: list[Ruler], pair: Pair, floor: int) -> Run:
    """The run of these rulers."""
    head, final = found[pair.first], found[pair.last] if pair.is_closed else None
    width = head.width if head.is_start or final is None else final.width
    own = tuple(r for r in map(found.__getitem__, pair.own(found)) if r.char and r.fits(width))
    start = head.start if head.is_start else _first_progress(text, floor, own[0].start)
    limit = _start_of(text, found, pair.last + 1)
    end = final.end if final is not None else _last_line(text, own, limit)
    final = _last_said(own) if final is not None else None
    return Run(start, end, own, head.is_start, final, is_quoted(text, start))


def _last_said(own: tuple[Ruler, ...]) -> Ruler:
    """The line of counts: the last, but for one that is printed below another that counts failures."""
    final = own[-1]
    if not is_red(final):
        for index in range(len(own) - 2, 0, -1):
            if not own[index].is_final:
                break
            if is_red(own[index]) and not is_deep(list(own[index - 1 : index + 1]), 1, 0):
                return own[index]
    return final


def _first_progress(text: str, floor: int, start: int) -> int:
    progress = _PROGRESS.search(text, floor, start)
    return progress.start() + 1 if progress else start


def _last_line(text: str, own: tuple[Ruler, ...], limit: int) -> int:
    """Where a run without an end leaves off: after its progress, or at the line of another tool."""
    at = own[-1].end
    if own[-1].is_start or own[-1].char == "-":
        return max((found.end() for found in _ANY_PROGRESS.finditer(text, at, limit)), default=at)
    other = _OTHER.search(text, at, limit)
    return other.start() if other else limit


def _headless(text: str, found: list[Ruler], floor: int, limit: int) -> list[Run]:
    """Runs without a start among rulers that belong to no other: of ``-q``, or with their head cut off.

    Of lines of counts with nothing of a run between them the last one counts.
    """
    result: list[Run] = []
    is_printed = False
    for part, end, is_below in _parts(found, limit):
        at = result[-1].end if result else floor
        run = _headless_run(text, part, at, end)
        if run is None:
            continue
        last = result[-1] if result else None
        if last is not None and _is_same(text, last, run):
            is_hiding = is_red(last.final) and not is_printed and not is_red(run.final)
            result[-1] = replace(last, end=run.end, final=last.final if is_hiding else run.final)
        elif last is not None and not last.rulers and _is_lone(text, last, floor) and not is_red(last.final):
            result[-1] = run
        else:
            result.append(run)
        is_printed = is_below
    return result


def _is_same(text: str, last: Run, run: Run) -> bool:
    """Whether a run is but one more line of counts of the last one."""
    return last.final is not None and not run.rulers and _is_lone(text, run, last.end)


def _is_lone(text: str, run: Run, floor: int) -> bool:
    return run.final is not None and PROGRESS.search(text, max(0, floor - 1), run.final.start) is None


def _parts(found: list[Ruler], limit: int) -> Iterator[tuple[list[Ruler], int, bool]]:
    """The rulers of each, where it ends, and whether its line of counts stands below captured output."""
    part: list[Ruler] = []
    for index, ruler in enumerate(found):
        part.append(ruler)
        is_below = not ruler.char and is_deep(found, index, 0)
        if not ruler.char and not (is_below and goes_on(found, index)):
            yield part, ruler.end, is_below
            part = []
    yield part, limit, False


def _headless_run(text: str, part: list[Ruler], floor: int, limit: int) -> Run | None:
    sections = [r for r in part if r.char == "=" and r.title in _SECTIONS]
    final = part[-1] if part and not part[-1].char else None
    if not sections and final is None:
        return None
    own = tuple(r for r in part if r.char and r.fits(sections[0].width)) if sections else ()
    start = own[0].start if own else final.start if final else 0
    end = final.end if final is not None else _last_line(text, own, limit)
    is_fenced = is_quoted(text, start)
    return Run(_first_progress(text, floor, start), end, own, False, final, is_fenced)
