"""Take one run apart: failures with their captured output, warnings, summary, reasons for stopping.

Captured output may hold anything, rulers too. A section of it ends at the next heading that the run itself drew: a
ruler of the run's own width, its title one that pytest gives at that place. Where the summary names every failure,
a heading of a failure has to be named there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from loop_close.readers.pytest_output.rulers import Ruler
from loop_close.readers.pytest_output.runs import BLOCKS, PASSED, SUMMARY, WARNINGS, Run

_TITLES = {*BLOCKS, *PASSED, *WARNINGS, SUMMARY, "rerun test summary info"}
_TITLED = re.compile(r"slowest (?:\d{1,9} )?(?:test )?durations\Z")
# What this plugin itself adds, with annotations for GitHub, where nothing parts it from the last failure.
_OWN = re.compile(r"(?:(?:\n|\A)(?:loop-close: |: ?:error title=loop-close%3A )[^\n]*+)++\n?\Z")
_COVERAGE = re.compile(r"\n(?:FAIL Required test coverage|Coverage failure: )[^\n]{0,300}")


@dataclass(slots=True)
class Block:
    """What a run prints below the heading of one failure.

    :ivar title: the heading's text; empty for failures that are printed without headings (``--tb=line``).
    :ivar body: from the heading to the captured output.
    :ivar sections: titles and texts of the captured output.
    """

    region: str
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


def summary_of(text: str, run: Run) -> tuple[int, int] | None:
    """Where the short test summary is: the last ruler of that title, to the next ruler at the run's end."""
    index = next((i for i in range(len(run.rulers) - 1, -1, -1) if run.rulers[i].title == SUMMARY), None)
    if index is None:
        return None
    ruler = run.rulers[index]
    ends = (r.start for r in run.rulers[index + 1 :] if r.char in "=!")
    return ruler.end, next(ends, run.final.start if run.final is not None else run.end)


def parts_of(text: str, run: Run, is_failure: Callable[[str], bool]) -> Parts:
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

    def __init__(self, text: str, run: Run, is_failure: Callable[[str], bool]) -> None:
        self._text, self._run, self._is_failure = text, run, is_failure
        self._region = "" if run.has_start else "FAILURES"
        self._block: Block | None = None
        self._section = ""
        self._at = run.start
        self._foreign_from: int | None = None
        self._end = self._end_of_blocks()
        self.parts = Parts(progress=(run.start, run.rulers[0].start if run.rulers else run.start))

    def _end_of_blocks(self) -> int:
        """Where the last rulers are that nothing of a failure follows: reasons for stopping, and the counts."""
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
            self._block = Block(self._region, ruler.title)
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
            self._block = Block(region, "")

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
