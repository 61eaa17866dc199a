r"""Cut a text into the runs of pytest that it holds.

A run goes from ``test session starts`` to its line of counts. Tests of pytest plugins print whole runs of pytest,
which end up in captured output: starts and ends pair like brackets, and a run within a run is text of the outer one.
A start that no end pairs with is a run that was cut or killed; what follows it is its own only where it stands below
a heading of a failure or of captured output. Outside of these a run is known by its headings or the bare counts of
``-q``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from loop_close.readers.pytest_output.rulers import Ruler, rulers

SUMMARY = "short test summary info"
BLOCKS = ("ERRORS", "FAILURES")
PASSED = ("PASSES", "XPASSES", "XFAILURES")
WARNINGS = ("warnings summary", "warnings summary (final)")
_SECTIONS = {*BLOCKS, *PASSED, *WARNINGS, SUMMARY}
_PROGRESS = re.compile(r"\n[^\n]{0,300}\[ {0,2}\d{1,3}%\](?=\n)")
# What a run that was killed shows last.
_ANY_PROGRESS = re.compile(
    r"\n(?:[^\s\n]{1,300}\.py(?:::[^\n]{0,2000}| [.FEsxXRru,]++(?=[\s+]|\Z)[^\n]{0,300})|\[gw\d{1,4}\] [^\n]{0,2000}"
    r"|[^\n]{0,300}\[ {0,2}\d{1,3}%\])(?=\n|\Z)"
)
_OTHER = re.compile(r"\n(?:Fatal Python error: |Segmentation fault|[\w.:-]{1,60}: commands\[\d)")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)[^\n]*\Z")


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    :ivar start: the offset of its first line, ``end`` that after its last.
    :ivar rulers: those that are the run's own by their width, in order.
    :ivar has_start: the line with which a run starts is there.
    :ivar final: the line of counts, None where it is missing.
    """

    start: int
    end: int
    rulers: tuple[Ruler, ...]
    has_start: bool
    final: Ruler | None


def runs(text: str) -> list[Run]:
    """The runs in a text, in order, none within another.

    :param text: begins with a line break.
    """
    found = rulers(text)
    result: list[Run] = []
    at = floor = 0
    for first, last, is_closed in [*_paired(found), (len(found), len(found), False)]:
        limit = found[first].start if first < len(found) else len(text)
        result += _headless(text, found[at:first], floor, limit)
        if first < len(found):
            floor = result[-1].end if result else 0
            result += _run(text, found[first : last + 1], is_closed, floor, _start_of(text, found, last + 1))
        at, floor = last + 1, result[-1].end if result else 0
    return result


def _start_of(text: str, found: list[Ruler], index: int) -> int:
    return found[index].start if index < len(found) else len(text)


def is_quoted(text: str, start: int) -> bool:
    """Whether the line above opens a block of Markdown."""
    before = text.rfind("\n", max(0, start - 200), max(0, start - 1))
    return _FENCE.fullmatch(text, before + 1, max(0, start - 1)) is not None


def _paired(found: list[Ruler]) -> list[tuple[int, int, bool]]:
    """Indexes of the first and last ruler of each run that has a start or a ruled end; whether it has the end."""
    open_: list[int] = []
    closed: list[tuple[int, int, bool]] = []
    for index, ruler in enumerate(found):
        if ruler.is_start:
            open_.append(index)
        elif ruler.is_final:
            first = _opening(found, open_, closed, index)
            while closed and closed[-1][0] >= first:
                closed.pop()
            closed.append((first, index, True))
    return _with_cut(found, open_, closed)


def _opening(found: list[Ruler], open_: list[int], closed: list[tuple[int, int, bool]], index: int) -> int:
    """Where the run began that ends here."""
    if open_:
        return open_.pop()
    if not closed:
        return 0
    first = closed[-1][0]  # that end was printed by a test
    return 0 if _is_deep(found, first, 0) else first


def _with_cut(
    found: list[Ruler], open_: list[int], closed: list[tuple[int, int, bool]]
) -> list[tuple[int, int, bool]]:
    """The runs, those among them whose end is missing."""
    result: list[tuple[int, int, bool]] = []
    starts = sorted([*closed, *((first, first, False) for first in open_)])
    for first, last, is_closed in starts:
        if result and not result[-1][2] and _is_deep(found, first, result[-1][0]):
            result[-1] = (result[-1][0], last, False)
            continue
        result.append((first, last, is_closed))
    ends = [*(first for first, _, _ in result[1:]), len(found)][: len(result)]
    return [(f, last if c else end - 1, c) for (f, last, c), end in zip(result, ends, strict=True)]


def _is_deep(found: list[Ruler], index: int, floor: int) -> bool:
    """Whether a ruler stands below the heading of a failure or of captured output."""
    if index <= floor:
        return False
    above = found[index - 1]
    if above.char == "-":
        return above.title.startswith("Captured ")
    return above.char == "_" or (above.char == "=" and above.title in (*BLOCKS, *PASSED))


def _run(text: str, found: list[Ruler], is_closed: bool, floor: int, limit: int) -> list[Run]:
    """The run of these rulers; nothing where it is quoted."""
    head, final = found[0], found[-1] if is_closed else None
    width = head.width if head.is_start or final is None else final.width
    own = tuple(r for r in _outer(found) if r.char and r.fits(width))
    start = head.start if head.is_start else _first_progress(text, floor, own[0].start)
    end = final.end if final is not None else _last_line(text, own, limit)
    return [] if is_quoted(text, start) else [Run(start, end, own, head.is_start, final)]


def _outer(found: list[Ruler]) -> list[Ruler]:
    """Without those of runs within this one."""
    depth, kept = 0, []
    for index, ruler in enumerate(found):
        depth += ruler.is_start and index > 0
        if depth == 0:
            kept.append(ruler)
        elif ruler.is_final:
            depth -= 1
    return kept if depth == 0 else found


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
    """Runs without a start among rulers that belong to no other: of ``-q``, or with their head cut off."""
    result: list[Run] = []
    for part, end in _parts(found, limit):
        run = _headless_run(text, part, result[-1].end if result else floor, end)
        result += [run] if run is not None else []
    return result


def _parts(found: list[Ruler], limit: int) -> Iterator[tuple[list[Ruler], int]]:
    part: list[Ruler] = []
    for index, ruler in enumerate(found):
        part.append(ruler)
        if not ruler.char and not (_is_deep(found, index, 0) and _goes_on(found, index)):
            yield part, ruler.end
            part = []
    yield part, limit


def _goes_on(found: list[Ruler], index: int) -> bool:
    """Whether a bare line of counts below captured output is text that a test printed."""
    after = found[index + 1] if index + 1 < len(found) else None
    return after is not None and (after.char in ("_", "-") or after.title in (*WARNINGS, SUMMARY))


def _headless_run(text: str, part: list[Ruler], floor: int, limit: int) -> Run | None:
    sections = [r for r in part if r.char == "=" and r.title in _SECTIONS]
    final = part[-1] if part and not part[-1].char else None
    if not sections and final is None:
        return None
    own = tuple(r for r in part if r.char and r.fits(sections[0].width)) if sections else ()
    start = own[0].start if own else final.start if final else 0
    if is_quoted(text, start):
        return None
    end = final.end if final is not None else _last_line(text, own, limit)
    return Run(_first_progress(text, floor, start), end, own, False, final)
