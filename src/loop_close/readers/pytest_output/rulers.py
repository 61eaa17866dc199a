r"""The rulers of pytest's output: the runs that they begin and end, and the parts of a run between them.

Tests of pytest plugins print whole runs of pytest, which end up in captured output. Tests also print lines that look
like a start or an end. Starts and ends pair like brackets: a start with the next end that is as wide. A run within a
run is text of the outer one only if the outer one shows the output of its tests: below ``FAILURES`` if its last line
counts failures, or below ``PASSES``. Elsewhere a run that fails is a run of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from loop_close.records import Record

SUMMARY = "short test summary info"
BLOCKS = ("ERRORS", "FAILURES")
PASSED = ("PASSES", "XPASSES", "XFAILURES")
WARNINGS = ("warnings summary", "warnings summary (final)")
#: What a run shows of its tests while they run.
PROGRESS = re.compile(r"\n(?:[.FEsxXR]{1,300}|[^\n]{0,300}\[ {0,2}\d{1,3}%\])(?=\n)")
# Deeper nested runs that all fail are not runs of tests. Each is read as a whole, which takes time.
_MAX_HEIGHT = 4


@dataclass(slots=True)
class Pair:
    """Where a run begins and ends.

    :ivar first: the index of its first ruler; ``last`` that of its last.
    :ivar is_closed: its line of counts is the last one.
    :ivar within: runs within it that have an end; their rulers are not its own.
    :ivar inner: runs within it that are not text of it.
    :ivar is_red: it counts or lists failures.
    :ivar has_blocks: it shows failures.
    :ivar height: how many runs of their own are nested in it.
    """

    first: int
    last: int
    is_closed: bool
    within: list[tuple[int, int]] = field(default_factory=list)
    inner: list[Pair] = field(default_factory=list)
    is_red: bool = False
    has_blocks: bool = False
    height: int = 0

    def own(self) -> Iterator[int]:
        """The indexes of the rulers that are in no other run."""
        at = self.first
        for first, last in [*self.within, (self.last + 1, self.last)]:
            yield from range(at, first)
            at = max(at, last + 1)

    def drew(self, ruler: Ruler, found: list[Ruler]) -> bool:
        """Whether a ruler is as wide as the first or the last one: the terminal may be resized while tests run."""
        head, final = found[self.first], found[self.last] if self.is_closed else None
        if final is not None and (ruler is final or ruler.fits(final.width) or ruler.is_stop):
            return True
        return ruler.fits(head.width) and (head.is_start or final is None)

    def runs(self) -> Iterator[Pair]:
        """Itself and the runs in it that are runs of their own, in order."""
        open_ = [self]
        while open_:
            pair = open_.pop()
            if (pair is self or pair.is_red) and pair.height <= _MAX_HEIGHT:
                yield pair
            open_ += reversed(pair.inner)


def is_red(ruler: Ruler | None) -> bool:
    """Whether a line of counts has failures."""
    counts = counts_in(ruler.title) if ruler is not None else None
    return any(word.split()[-1] in ("failed", "error", "errors") for word in counts or ())


def is_deep(found: list[Ruler], index: int, floor: int) -> bool:
    """Whether a ruler is below the heading of a failure or of captured output."""
    if index <= floor:
        return False
    above = found[index - 1]
    if above.char == "-":
        return above.title.startswith("Captured ")
    return above.char == "_" or (above.char == "=" and above.title in (*BLOCKS, *PASSED))


def goes_on(found: list[Ruler], index: int) -> bool:
    """Whether a line of counts below captured output is text that a test printed."""
    after = found[index + 1] if index + 1 < len(found) else None
    return after is not None and (after.char in ("_", "-") or after.title in (*WARNINGS, SUMMARY))


def paired(found: list[Ruler]) -> list[Pair]:
    """The runs that have a start or a ruled end, in order, none within another."""
    return _Pairing(found).pairs()


class _Pairing:
    """Goes through the rulers.

    :ivar begun: the starts that have no end yet; ``by_width`` the same by their width.
    :ivar closed: the runs that ended and are in no other ended run.
    """

    def __init__(self, found: list[Ruler]) -> None:
        self.found = found
        self.begun: list[int] = []
        self.by_width: dict[int, list[int]] = {}
        self.closed: list[Pair] = []
        self.last_end = {r.width: i for i, r in enumerate(found) if r.is_final}

    def pairs(self) -> list[Pair]:
        for index, ruler in enumerate(self.found):
            if ruler.is_start:
                self.begun.append(index)
                self.by_width.setdefault(ruler.width, []).append(index)
            elif ruler.is_final:
                first = self._opening(index)
                if first is not None:
                    self._close(first, index)
        return _top(self.found, self._with_cut(self.begun, self.closed, len(self.found)))

    def _opening(self, index: int) -> int | None:
        """Where the run began that ends here; None if a test printed this end."""
        ruler = self.found[index]
        if not self.begun:
            return self._reopened()
        same = self.by_width.get(ruler.width)
        if same:
            return same[-1]
        if not ruler.fits(self.found[self.begun[-1]].width):
            widths = (self.found[self.begun[i]].width for i in (-1, 0))
            if any(self.last_end.get(width, 0) > index for width in widths):
                return None
        return self.begun[-1]

    def _reopened(self) -> int:
        if not self.closed:
            return 0
        first = self.closed[-1].first  # that end was printed by a test
        return 0 if is_deep(self.found, first, 0) else first

    def _close(self, first: int, last: int) -> None:
        """A run from the one to the other, with everything between them."""
        opened, within = [], []
        while self.begun and self.begun[-1] >= first:
            index = self.begun.pop()
            self.by_width[self.found[index].width].pop()
            opened += [index] if index > first else []
        while self.closed and self.closed[-1].first >= first:
            within.append(self.closed.pop())
        pair = Pair(first, last, True)
        if within and within[-1].first == first:  # the same run, which only seemed to have ended
            same = within.pop()
            pair.within, pair.inner = same.within, same.inner
        inner = self._with_cut(opened[::-1], within[::-1], last)
        for one in inner:
            pair.within += [(one.first, one.last)] if one.is_closed else one.within
        pair.inner += inner
        self.closed.append(pair)  # finished when no other end can be its own

    def _with_cut(self, open_: list[int], closed: list[Pair], end: int) -> list[Pair]:
        """The runs, those among them whose end is missing; these go to the next one."""
        for pair in closed:
            self._finish(pair)
        result: list[Pair] = []
        for pair in sorted([*closed, *(Pair(i, i, False) for i in open_)], key=lambda p: p.first):
            outer = result[-1] if result else None
            if outer is not None and not outer.is_closed and is_deep(self.found, pair.first, outer.first):
                self._take_in(outer, pair)
            else:
                result.append(pair)
        for index, pair in enumerate(result):
            if not pair.is_closed:
                pair.last = (result[index + 1].first if index + 1 < len(result) else end) - 1
                self._finish(pair)
        return result

    def _take_in(self, outer: Pair, pair: Pair) -> None:
        """A run below a heading of one without an end: text of it, unless it has only printed a start."""
        outer.last = pair.last
        if pair.is_closed and is_red(self.found[pair.last]) and not pair.has_blocks:
            # a test printed the start: what follows counts failures and shows none
            outer.is_closed = True
            outer.within += pair.within
            self._finish(outer)
        elif pair.is_closed:
            outer.within.append((pair.first, pair.last))

    def _finish(self, pair: Pair) -> None:
        """With what is known of a run once it is known where it ends."""
        final = self.found[pair.last] if pair.is_closed else None
        own = [r for r in map(self.found.__getitem__, pair.own()) if pair.drew(r, self.found)]
        pair.has_blocks = any(r.title in BLOCKS and r.char == "=" for r in own)
        is_listed = final is None and any(r.title == SUMMARY for r in own)
        pair.is_red = pair.has_blocks or is_listed or is_red(final)
        shown = {*PASSED, *(BLOCKS if final is None or is_red(final) else ())}
        output = next((r.start for r in own if r.char == "=" and r.title in shown), None)
        if output is not None:
            pair.inner = [p for p in pair.inner if self.found[p.first].start < output]
        pair.inner = [p for p in pair.inner if p.is_red or p.inner]
        heights = [p.height + p.is_red for p in pair.inner]
        pair.height = min(max(heights, default=0), _MAX_HEIGHT + 1)


def _top(found: list[Ruler], pairs: list[Pair]) -> list[Pair]:
    """With the runs whose head is cut off, where a test printed the start that the end was paired with."""
    for index, pair in enumerate(pairs):
        if (
            pair.is_closed
            and not pair.has_blocks
            and is_deep(found, pair.first, 0)
            and is_red(found[pair.last])
        ):
            at = pairs[index - 1].last + 1 if index else 0
            width = found[pair.last].width
            heads = (i for i in range(at, pair.first) if found[i].title in BLOCKS and found[i].fits(width))
            head = next(heads, None)
            if head is not None:
                pair.first = head
    return pairs


# --- rulers with a title, and lines of counts

_MAX_LINE = 5_000
# A bullet and an underscored word begin like a ruler, but do not end with the same character.
_CANDIDATE = re.compile(
    r"\n(?:([=_!-])(?:\1|(?= ))[^\n]*+|(?:\d{1,7} [a-z]|no tests (?:ran|coll))[^\n]{0,400}+(?=\n|\Z))"
)
_COUNTED = r"\d{1,9} [a-z][a-z -]{0,40}"
_FINAL = re.compile(
    rf"(?P<counts>no tests ran|no tests collected|\d{{1,9}}(?:/\d{{1,9}})? tests? collected|{_COUNTED})"
    rf"(?P<more>(?: \(\d{{1,9}} deselected\))?(?:, {_COUNTED}){{0,20}}) in \d{{1,9}}\.\d\ds(?: \([^()\n]{{1,60}}\))?"
)
_STOP = re.compile(
    r"(?:[\w.]{1,100}\.)?(?:KeyboardInterrupt\Z|Exit: |Interrupted: |stopping after \d+ failures\Z)"
)
_KNOWN_FIRST = re.compile(
    r"(?:\d{1,9} (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests )"
    r"|\d{1,9}(?:/\d{1,9})? tests? collected|no tests )"
)


class Ruler(NamedTuple):
    """A titled line.

    :ivar char: what it is drawn with; empty for the line of counts that ``-q`` prints bare.
    :ivar start: the offset of its first character; ``end`` that of the line break after it.
    :ivar fill: how many characters are drawn on the left.
    """

    char: str
    title: str
    start: int
    end: int
    fill: int

    @property
    def width(self) -> int:
        """Its length, which all rulers of one run share unless the title is too long."""
        return self.end - self.start

    @property
    def is_start(self) -> bool:
        """Whether a run begins here."""
        return self.char == "=" and self.title == "test session starts"

    @property
    def is_final(self) -> bool:
        """Whether it holds the counts that end a run, with a ruler."""
        return self.char == "=" and _FINAL.fullmatch(self.title) is not None

    @property
    def is_stop(self) -> bool:
        """Whether pytest stopped early there, whatever the width of the terminal was."""
        return self.char == "!" and _STOP.match(self.title) is not None

    def fits(self, width: int) -> bool:
        """Whether a run whose rulers are this wide may have drawn it."""
        return self.width == width or (self.fill == 1 and self.width >= width)


def rulers(text: str) -> list[Ruler]:
    """Every ruler and bare line of counts, in order.

    :param text: begins with a line break.
    """
    return [found for match in _CANDIDATE.finditer(text) if (found := _ruler(match)) is not None]


def _ruler(match: re.Match[str]) -> Ruler | None:
    start, end, char = match.start() + 1, match.end(), match[1]
    line = match.string[start : min(end, start + _MAX_LINE + 1)]
    if char is None:
        is_bare = _KNOWN_FIRST.match(line) is not None and _FINAL.fullmatch(line) is not None
        return Ruler("", line, start, end, 0) if is_bare else None
    if len(line) > _MAX_LINE or (not line.endswith(f" {char}") and not line.endswith(char * 2)):
        return None
    title = line.strip(char)
    if len(title) < 3 or title[0] != " " or title[-1] != " " or not title.strip(f"{char} "):
        return None
    fill = len(line) - len(line.lstrip(char))
    right = len(line) - fill - len(title)
    if not 0 <= right - fill <= 1 or (char == "-" and fill < 2):
        return None
    return Ruler(char, title[1:-1], start, end, fill)


def counts_in(title: str) -> dict[str, int] | None:
    """The numbers of a line of counts by their words; None if it is another line."""
    found = _FINAL.fullmatch(title)
    if found is None:
        return None
    parts = re.findall(r"(\d{1,9}) ([a-z][a-z -]*)", f"{found['counts']}{found['more']}")
    numbers = {word.strip(): int(number) for number, word in parts}
    if "collected" in found["counts"]:
        numbers["collected only"] = 1
    return numbers


class PytestRun(Record, frozen=True):
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
    :ivar is_cut: the text ends within the body.
    """

    title: str
    body: str = ""
    is_cut: bool = False
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
