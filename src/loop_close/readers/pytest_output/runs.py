"""The lines that pytest draws across the terminal, and the runs between them.

A run goes from ``test session starts`` to its line of counts; with ``-q``, or with its head cut off, from its first
heading. Captured output may hold whole runs, which tests of pytest plugins print: a start there belongs to the test if
the outer run goes on below the line of counts that closes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from loop_close.readers import line_end

SUMMARY = "short test summary info"
BLOCKS = ("ERRORS", "FAILURES")
PASSED = ("PASSES", "XPASSES", "XFAILURES")
WARNINGS = ("warnings summary", "warnings summary (final)")
START = "test session starts"
_TITLES = {*BLOCKS, *PASSED, *WARNINGS, SUMMARY, "rerun test summary info"}
_SHOWN = {*BLOCKS, *PASSED}
# Titles that begin a part of a run wherever they stand: what tests print may look like any other one.
_KNOWN = re.compile(
    r"(?:ERRORS|FAILURES|PASSES|XPASSES|XFAILURES|warnings summary(?: \(final\))?|short test summary info"
    r"|rerun test summary info|tests coverage|slowest (?:\d{1,9} )?(?:test )?durations)\Z"
)
_RULER = re.compile(
    r"\n(?:(?P<left>=++|_++|!++|--++|―++) (?P<title>[^\n]*?) (?P<right>[=_!―-]+)(?=\n|\Z)"
    r"|(?P<bare>(?:\d{1,7} [a-z]|no tests (?:ran|coll))[^\n]{0,400}+)(?=\n|\Z)"
    # pytest-sugar and pytest-pretty
    r"|(?P<sugar>Test session starts )\(platform: [^\n]{0,300}"
    r"|Results \((?P<seconds>[\d.]{1,12})s[^\n]{0,60}\):(?P<results>(?:\n[ \t]+(?:\d{1,9} [a-z]+|- [^\n]*)[^\n]*+)*+))"
)
_COUNTED = r"\d{1,9} [a-z][a-z -]{0,40}"
_FINAL = re.compile(
    rf"(?P<counts>no tests ran|no tests collected|\d{{1,9}}(?:/\d{{1,9}})? tests? collected|{_COUNTED})"
    rf"(?P<more>(?: \(\d{{1,9}} deselected\))?(?:, {_COUNTED}){{0,20}})"
    r" in \d{1,9}\.\d{1,3} ?s(?:econds)?(?: \([^()\n]{1,60}\))?"
)
_STOP = re.compile(
    r"(?:[\w.]{1,100}\.)?(?:KeyboardInterrupt\Z|Exit: |Interrupted: |stopping after \d+ failures\Z)"
)
_KNOWN_COUNTS = re.compile(
    r"(?:\d{1,9} (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests )"
    r"|\d{1,9}(?:/\d{1,9})? tests? collected|no tests )"
)
_NUMBER = re.compile(r"(\d{1,9}) ([a-z][a-z -]*)")
#: What a run shows of its tests while they run.
_PROGRESS = re.compile(r"\n[^\n]{0,300}\[ {0,2}\d{1,3}%\](?=\n)")
# What a run that was killed shows last, and lines of other tools below it.
_LAST_PROGRESS = re.compile(
    r"\n(?:[^\s\n]{1,300}\.py(?:::[^\n]{0,2000}| [.FEsxXRru,]++(?=[\s+]|\Z)[^\n]{0,300})|\[gw\d{1,4}\] [^\n]{0,2000}"
    r"|[^\n]{0,300}\[ {0,2}\d{1,3}%\])(?=\n|\Z)"
)
_OTHER = re.compile(r"\n(?:Fatal Python error: |Segmentation fault|[\w.:-]{1,60}: commands\[\d)")
# Lines of this plugin and annotations for GitHub directly after the last failure.
_OWN = re.compile(r"(?:(?:\n|\A)(?:loop-close: |: ?:error title=loop-close%3A )[^\n]*+)++\n?\Z")
_COVERAGE = re.compile(r"\n(?:FAIL Required test coverage|Coverage failure: )[^\n]{0,300}")


class Ruler(NamedTuple):
    """A line of pytest that begins or ends something.

    :ivar char: what it is drawn with; empty for the line of counts that ``-q`` prints bare.
    :ivar start: the offset of its first character; ``end`` that of the line break after it.
    """

    char: str
    title: str
    start: int
    end: int

    @property
    def is_start(self) -> bool:
        """Whether a run begins here."""
        return self.char == "=" and self.title == START

    @property
    def is_final(self) -> bool:
        """Whether it holds the counts that end a run."""
        return not self.char or (self.char == "=" and _FINAL.fullmatch(self.title) is not None)


def rulers(text: str) -> list[Ruler]:
    """Every line that pytest draws, in order.

    :param text: begins with a line break.
    """
    return [ruler for found in _RULER.finditer(text) if (ruler := _ruler(found)) is not None]


def _ruler(found: re.Match[str]) -> Ruler | None:
    start, end = found.start() + 1, found.end()
    if found["sugar"]:
        return Ruler("=", START, start, end)
    if found["seconds"]:
        numbers = ", ".join(f"{number} {word}" for number, word in _NUMBER.findall(found["results"] or ""))
        return Ruler("=", f"{numbers or 'no tests ran'} in {float(found['seconds']):.2f}s", start, end)
    if line := found["bare"]:
        is_final = _KNOWN_COUNTS.match(line) and _FINAL.fullmatch(line)
        return Ruler("", line, start, end) if is_final else None
    char, title, right = found["left"][0], found["title"], found["right"]
    is_whole = 0 <= len(right) - len(found["left"]) <= 1
    is_drawn = not right.strip(char) and (is_whole or _FINAL.fullmatch(title) is not None)
    return Ruler(char, title, start, end) if is_drawn and title.strip(f"{char} ") else None


def counts_in(title: str) -> dict[str, int] | None:
    """The numbers of a line of counts by their words; None if it is another line."""
    found = _FINAL.fullmatch(title)
    if found is None:
        return None
    numbers = {
        word.strip(): int(number) for number, word in _NUMBER.findall(f"{found['counts']}{found['more']}")
    }
    return {**numbers, "collected only": 1} if "collected" in found["counts"] else numbers


@dataclass(slots=True)
class Block:
    """What a run prints below the heading of one failure.

    :ivar title: the heading's text; empty for failures that are printed without headings (``--tb=line``).
    :ivar body: from the heading to the captured output.
    :ivar is_cut: the text ends within the body.
    """

    title: str
    body: str = ""
    is_cut: bool = False


@dataclass(slots=True)
class PytestRun:
    """One run.

    :ivar start: the offset of its first line, ``end`` that after its last.
    :ivar has_start: the line with which a run starts is there.
    :ivar is_known: so is a title that only pytest writes: what came before may be of any program.
    :ivar is_cut: its last lines are missing.
    :ivar final: the line of counts, None if it is missing.
    :ivar progress: offsets of what comes before the first heading.
    :ivar shown: offset of the first failure; None if the run shows none.
    :ivar summary: offsets of the short test summary; None without one.
    :ivar warnings: the texts of the warnings summaries.
    :ivar stops: titles of the ``!!!`` rulers at the end.
    :ivar foreign: offsets of what other tools print within the run, such as the table of the coverage.
    :ivar region: the title of the part that is being read, ``section`` that of the captured output in it.
    """

    text: str
    start: int
    has_start: bool = False
    is_known: bool = False
    end: int = 0
    final: Ruler | None = None
    is_cut: bool = False
    progress: tuple[int, int] | None = None
    shown: int | None = None
    summary: tuple[int, int] | None = None
    blocks: list[Block] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    foreign: list[tuple[int, int]] = field(default_factory=list)
    region: str = ""
    section: str = ""
    _block: Block | None = None
    _at: int = 0

    @property
    def numbers(self) -> dict[str, int]:
        """Its counts by their words; empty without a line of counts."""
        return (counts_in(self.final.title) if self.final else None) or {}

    @property
    def failed(self) -> int:
        """How many failures it counts."""
        return sum(n for word, n in self.numbers.items() if word.split()[-1] in ("failed", "error", "errors"))

    def take(self, ruler: Ruler) -> None:
        """Read a ruler that neither begins nor ends the run."""
        char, title = ruler.char, ruler.title
        self.is_known = self.is_known or char == "―" or title in _TITLES or _STOP.match(title) is not None
        is_shown = self.region in _SHOWN
        is_headed = (
            self._block is None or self._block.title
        )  # without headings there is output between failures
        if char == "―" or (char == "_" and is_shown):
            self._enter(ruler, "FAILURES" if char == "―" else self.region)
            self._block = Block(title)
        elif char == "-" and is_shown:
            if is_headed and (not self.section or title.startswith("Captured ")):
                block = self._block
                self._enter(ruler, self.region)
                self._block, self.section = block, title
        elif char == "-" and title.startswith("coverage:"):
            self._enter(ruler, title)
        elif char == "!" and (not self.section or _STOP.match(title)):
            self._enter(ruler, "")
            self.stops.append(title)
        elif char == "=" and ((is_headed and not self.section) or _KNOWN.match(title)):
            self._enter(ruler, title)

    def _enter(self, ruler: Ruler, region: str) -> None:
        self._close(ruler.start)
        self._block = Block("") if region in BLOCKS else None
        self.progress = self.progress or (self.start, ruler.start)
        if region in _SHOWN and self.shown is None:
            self.shown = ruler.start
        self.region, self.section, self._at = region, "", ruler.end + 1

    def _close(self, end: int) -> None:
        """End the part that is being read."""
        content = self.text[self._at : end] if self._at else ""
        if "loop-close" in content:
            content = _OWN.sub("\n", content)
        if self.region in BLOCKS and self._block is not None:
            if not self.section:
                self._block.body = content
                self.blocks.append(self._block)
        elif self.region in WARNINGS:
            self.warnings.append(content)
        elif self.region == SUMMARY:
            self.summary = self._at - 1, end
        elif self.region and self.region not in _TITLES:
            self.foreign.append((self._at, end))

    def finish(self, final: Ruler | None, limit: int) -> PytestRun:
        """The run, which ends with this line of counts, or without one at the last line of its own."""
        self.final = final
        self.end = final.end if final else self._last_line(limit)
        self._close(final.start if final else self.end)
        self.progress = self.progress or (self.start, self.end)
        self.is_cut = not final and (self.has_start or not self.text[self._at :].strip())
        if not final and self.blocks and not self.section and self.region in BLOCKS:
            self.blocks[-1].is_cut = not self.text[self.end :].strip()
        self.foreign += [
            (f.start() + 1, f.end()) for f in _COVERAGE.finditer(self.text, self.start, self.end)
        ]
        return self

    def _last_line(self, limit: int) -> int:
        if self.progress is None:
            found = list(_LAST_PROGRESS.finditer(self.text, self.start, limit))
            return found[-1].end() if found else line_end(self.text, self.start)
        other = _OTHER.search(self.text, self._at, limit)
        return other.start() if other else limit


def runs(text: str) -> Iterator[PytestRun]:
    """The runs in a text, in order.

    :param text: begins with a line break.
    """
    found = rulers(text)
    closing = _closing(found)
    run: PytestRun | None = None
    floor = skipped = 0
    for index, ruler in enumerate(found):
        if index < skipped:
            continue
        is_captured = run is not None and run.section != ""
        if ruler.is_start and is_captured:
            last = closing.get(index, -1)
            skipped = last + 1 if _goes_on(found, last) else 0
        elif ruler.is_final and is_captured and _goes_on(found, index):
            continue  # a test printed it
        elif ruler.is_start or ruler.is_final:
            if run is not None and (ruler.is_start or (run.has_start and not ruler.char)):
                if run.is_known:
                    yield run.finish(None, ruler.start - 1)
                floor, run = run.end, None
            if ruler.is_start:
                run = PytestRun(text, ruler.start, has_start=True, is_known=True)
            else:
                run = run or PytestRun(text, _first_progress(text, floor, ruler.start))
                yield run.finish(ruler, ruler.end)
                floor, run = run.end, None
        else:
            if run is None or (not run.is_known and ruler.title in _SHOWN):
                run = PytestRun(text, _first_progress(text, floor, ruler.start), region="FAILURES")
            run.take(ruler)
    if run is not None and run.is_known:
        yield run.finish(None, len(text))


def _closing(found: list[Ruler]) -> dict[int, int]:
    """For each start the index of the line of counts that closes it."""
    pairs: dict[int, int] = {}
    begun: list[int] = []
    for index, ruler in enumerate(found):
        if ruler.is_start:
            begun.append(index)
        elif ruler.is_final and begun:
            pairs[begun.pop()] = index
    return pairs


def _goes_on(found: list[Ruler], index: int) -> bool:
    """Whether below a line of counts there is more of the run around it."""
    after = found[index + 1] if 0 <= index < len(found) - 1 else None
    if after is None:
        return False
    return (
        after.char in ("_", "-", "!")
        or after.title in (SUMMARY, *WARNINGS)
        or after.is_start
        or after.is_final
    )


def _first_progress(text: str, floor: int, start: int) -> int:
    """Where a run without a start begins."""
    found = _PROGRESS.search(text, floor, start)
    return found.start() + 1 if found else start
