r"""A text as runs of pytest, and a run as its parts: failures, captured output, warnings, summary.

A run goes from ``test session starts`` to its line of counts. A start without an end is a run that was cut or killed.
What follows it belongs to it only below a heading of a failure or of captured output. Elsewhere a run is recognized by
its headings or by the bare counts of ``-q``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from loop_close.readers.pytest_output.pairs import (
    BLOCKS,
    PASSED,
    PROGRESS,
    SUMMARY,
    WARNINGS,
    Pair,
    Ruler,
    goes_on,
    is_deep,
    is_red,
    paired,
    rulers,
    without_printed,
)

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
class PytestRun:
    """One run.

    :ivar start: the offset of its first line, ``end`` that after its last.
    :ivar rulers: those that are the run's own by their width, in order.
    :ivar has_start: the line with which a run starts is there.
    :ivar final: the line of counts, None if it is missing.
    :ivar is_quoted: the line above opens a block of Markdown.
    """

    start: int
    end: int
    rulers: tuple[Ruler, ...]
    has_start: bool
    final: Ruler | None
    is_quoted: bool = False


def runs(text: str) -> list[PytestRun]:
    """The runs in a text, in order; one that fails may be within another that shows no output.

    :param text: begins with a line break.
    """
    found = without_printed(text, rulers(text))
    result: list[PytestRun] = []
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


def _unquoted(text: str, found: list[PytestRun]) -> list[PytestRun]:
    """The runs; one below the end of a block is not quoted any more."""
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


def _run(text: str, found: list[Ruler], pair: Pair, floor: int) -> PytestRun:
    """The run of these rulers."""
    head, final = found[pair.first], found[pair.last] if pair.is_closed else None
    width = head.width if head.is_start or final is None else final.width
    own = tuple(r for r in map(found.__getitem__, pair.own(found)) if r.char and r.fits(width))
    start = head.start if head.is_start else _first_progress(text, floor, own[0].start)
    limit = _start_of(text, found, pair.last + 1)
    end = final.end if final is not None else _last_line(text, own, limit)
    final = _last_said(own) if final is not None else None
    return PytestRun(start, end, own, head.is_start, final, is_quoted(text, start))


def _last_said(own: tuple[Ruler, ...]) -> Ruler:
    """The line of counts: the last one, unless it is printed below another that counts failures."""
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


def _headless(text: str, found: list[Ruler], floor: int, limit: int) -> list[PytestRun]:
    """Runs without a start among rulers that belong to no other: of ``-q``, or with their head cut off.

    Of lines of counts without a run between them the last one counts.
    """
    result: list[PytestRun] = []
    is_printed = False
    for part, end, is_below in _parts(found, limit):
        at = result[-1].end if result else floor
        run = _headless_run(text, part, at, end)
        if run is None:
            continue
        last = result[-1] if result else None
        is_same = last is not None and last.final is not None and not run.rulers
        if (
            last is not None and is_same and _is_lone(text, run, last.end)
        ):  # one more line of counts of the last run
            is_hiding = is_red(last.final) and not is_printed and not is_red(run.final)
            result[-1] = replace(last, end=run.end, final=last.final if is_hiding else run.final)
        elif last is not None and not last.rulers and _is_lone(text, last, floor) and not is_red(last.final):
            result[-1] = run
        else:
            result.append(run)
        is_printed = is_below
    return result


def _is_lone(text: str, run: PytestRun, floor: int) -> bool:
    return run.final is not None and PROGRESS.search(text, max(0, floor - 1), run.final.start) is None


def _parts(found: list[Ruler], limit: int) -> Iterator[tuple[list[Ruler], int, bool]]:
    """The rulers of each, where it ends, and whether its line of counts is below captured output."""
    part: list[Ruler] = []
    for index, ruler in enumerate(found):
        part.append(ruler)
        is_below = not ruler.char and is_deep(found, index, 0)
        if not ruler.char and not (is_below and goes_on(found, index)):
            yield part, ruler.end, is_below
            part = []
    yield part, limit, False


def _headless_run(text: str, part: list[Ruler], floor: int, limit: int) -> PytestRun | None:
    sections = [r for r in part if r.char == "=" and r.title in _SECTIONS]
    final = part[-1] if part and not part[-1].char else None
    if not sections and final is None:
        return None
    own = tuple(r for r in part if r.char and r.fits(sections[0].width)) if sections else ()
    start = own[0].start if own else final.start if final else 0
    end = final.end if final is not None else _last_line(text, own, limit)
    is_fenced = is_quoted(text, start)
    return PytestRun(_first_progress(text, floor, start), end, own, False, final, is_fenced)


# --- the parts of one run
#
# Captured output may contain anything, also rulers. A section of it ends at the next heading that the run itself
# drew: a ruler of the run's own width with a title that pytest writes at that place. If the summary names every
# failure, the heading of a failure has to be named there.

_TITLES = {*BLOCKS, *PASSED, *WARNINGS, SUMMARY, "rerun test summary info"}
_TITLED = re.compile(r"slowest (?:\d{1,9} )?(?:test )?durations\Z")
# Lines of this plugin and annotations for GitHub directly after the last failure.
_OWN = re.compile(r"(?:(?:\n|\A)(?:loop-close: |: ?:error title=loop-close%3A )[^\n]*+)++\n?\Z")
_COVERAGE = re.compile(r"\n(?:FAIL Required test coverage|Coverage failure: )[^\n]{0,300}")


@dataclass(slots=True)
class Block:
    """What a run prints below the heading of one failure.

    :ivar title: the heading's text; empty for failures that are printed without headings (``--tb=line``).
    :ivar body: from the heading to the captured output.
    :ivar sections: titles and texts of the captured output.
    """

    title: str
    body: str = ""
    sections: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Parts:
    """What a run consists of.

    :ivar progress: offsets of what comes before the first failure.
    :ivar warnings: the texts of the warnings summaries.
    :ivar stops: titles of the ``!!!`` rulers at the end.
    :ivar foreign: offsets of what other tools print within the run, such as the table of the coverage.
    """

    progress: tuple[int, int]
    blocks: list[Block] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    foreign: list[tuple[int, int]] = field(default_factory=list)


def summary_of(text: str, run: PytestRun) -> tuple[int, int] | None:
    """Where the short test summary is: the last ruler of that title, to the next ruler at the run's end."""
    index = next((i for i in range(len(run.rulers) - 1, -1, -1) if run.rulers[i].title == SUMMARY), None)
    if index is None:
        return None
    ruler = run.rulers[index]
    ends = (r.start for r in run.rulers[index + 1 :] if r.char in "=!")
    return ruler.end, next(ends, run.final.start if run.final is not None else run.end)


def parts_of(text: str, run: PytestRun, is_failure: Callable[[str], bool]) -> Parts:
    """The parts of a run.

    :param is_failure: whether the title of a heading is that of one of the run's failures, as far as is known.
    """
    splitter = _Splitter(text, run, is_failure)
    for ruler in run.rulers:
        splitter.take(ruler)
    splitter.finish()
    for found in _COVERAGE.finditer(text, run.start, run.end):
        splitter.parts.foreign.append((found.start() + 1, found.end()))
    return splitter.parts


class _Splitter:
    """Goes through the rulers of a run, and knows where it is."""

    def __init__(self, text: str, run: PytestRun, is_failure: Callable[[str], bool]) -> None:
        self._text, self._run, self._is_failure = text, run, is_failure
        self._region = "" if run.has_start else "FAILURES"
        self._block: Block | None = None
        self._section = ""
        self._at = run.start
        self._foreign_from: int | None = None
        self._end = self._end_of_blocks()
        self.parts = Parts(progress=(run.start, run.rulers[0].start if run.rulers else run.start))

    def _end_of_blocks(self) -> int:
        """The start of the last rulers, below all failures: reasons for stopping, and the counts."""
        end = self._run.end
        for ruler in reversed(self._run.rulers):
            if ruler is not self._run.final and ruler.char != "!":
                break
            end = ruler.start
        return end

    def take(self, ruler: Ruler) -> None:
        if ruler.is_start or ruler.is_final:
            self._mark_progress(ruler)
            if ruler.start >= self._end:
                self._enter(ruler, "")
        elif ruler.char == "=" and self._is_region(ruler.title):
            self._enter(ruler, ruler.title)
        elif ruler.char == "!" and ruler.start >= self._end:
            self._enter(ruler, "")
            self.parts.stops.append(ruler.title)
        elif self._region in (*BLOCKS, *PASSED):
            self._within(ruler)
        elif ruler.char == "-" and ruler.title.startswith("coverage:"):
            self._enter(ruler, ruler.title)

    def _mark_progress(self, ruler: Ruler) -> None:
        if ruler.is_start and ruler.start == self._run.start:
            following = next((r.start for r in self._run.rulers[1:] if r.char == "="), self._run.end)
            self.parts.progress = ruler.end, following

    def _is_region(self, title: str) -> bool:
        """What tests print may look like any other title."""
        return (
            title in _TITLES
            or title == "tests coverage"
            or not self._section
            or _TITLED.match(title) is not None
        )

    def _within(self, ruler: Ruler) -> None:
        if ruler.char == "_" and (self._region in PASSED or self._is_failure(ruler.title)):
            self._close(ruler)
            self._block = Block(ruler.title)
        elif ruler.char == "-" and self._takes_section(ruler.title):
            self._close(ruler)
            self._section = ruler.title

    def _takes_section(self, title: str) -> bool:
        """Failures without headings keep their output in between."""
        is_headed = self._block is None or bool(self._block.title)
        return is_headed and (not self._section or title.startswith("Captured "))

    def _enter(self, ruler: Ruler, region: str) -> None:
        self._close(ruler)
        if region not in {"", *_TITLES}:
            self._foreign_from = ruler.start
        self._region, self._block = region, None
        if region in BLOCKS:
            self._block = Block("")

    def _close(self, ruler: Ruler) -> None:
        """End what is open where this ruler begins."""
        self._store(self._text[self._at : ruler.start], ruler.start)
        self._section, self._at = "", ruler.end + 1

    def finish(self) -> None:
        end = self._run.final.start if self._run.final is not None else self._run.end
        self._store(self._text[self._at : end], end)

    def _store(self, content: str, end: int) -> None:
        if "loop-close: " in content:
            content = _OWN.sub("\n", content)
        if self._foreign_from is not None:
            self.parts.foreign.append((self._foreign_from, end))
            self._foreign_from = None
        if self._region in WARNINGS:
            self.parts.warnings.append(content)
        elif self._region in BLOCKS and self._block is not None:
            if self._section:
                self._block.sections.append((self._section, content))
            else:
                self._block.body = content
                self.parts.blocks.append(self._block)
