r"""The runs of pytest in a text, the lines of their summaries, and their counts.

A run goes from ``test session starts`` to its line of counts. A start without an end is a run that was cut or killed.
What follows it belongs to it only below a heading of a failure or of captured output. Elsewhere a run is recognized by
its headings or by the bare counts of ``-q``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Phase
from loop_close.readers import CUT
from loop_close.readers.pytest_output.quiet import without_printed
from loop_close.readers.pytest_output.rulers import (
    BLOCKS,
    PASSED,
    PROGRESS,
    SUMMARY,
    WARNINGS,
    Pair,
    PytestRun,
    Ruler,
    counts_in,
    goes_on,
    is_deep,
    is_red,
    paired,
    rulers,
)
from loop_close.records import Record

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
    own = tuple(r for r in map(found.__getitem__, pair.own()) if r.char and pair.drew(r, found))
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


# --- the lines of the short summary, the tests that they name, and the counts


def summary_of(run: PytestRun) -> tuple[int, int] | None:
    """Where the short test summary is: the last ruler of that title, to the next ruler at the run's end."""
    index = next((i for i in range(len(run.rulers) - 1, -1, -1) if run.rulers[i].title == SUMMARY), None)
    if index is None:
        return None
    ruler = run.rulers[index]
    ends = (r.start for r in run.rulers[index + 1 :] if r.char in "=!")
    return ruler.end, next(ends, run.final.start if run.final is not None else run.end)


_LINE = re.compile(
    r"\n(?:(?P<word>FAILED|ERROR|SUBFAILED|SUBFAIL) "
    r"|SUBFAILED(?P<after>[\[(<][^\n]{0,500}?[\])>]) (?![\[(])"
    r"|(?P<before>[\[(<][^\n]{0,500}?[\])>]) SUBFAIL (?![\[(])"
    r"|(?P<other>PASSED|SKIPPED|XFAIL|XPASS|RERUN|SUBPASS|SUBSKIP|\[[^\n]{0,500}?SUB(?:PASS|SKIP)))(?P<rest>[^\n]*)"
)
_OUTCOME_LINE = re.compile(
    r"\n(?:\[gw\d{1,6}\] +(?:\[ *\d{1,3}%\] +)?(?P<worker>FAILED|ERROR|SUBFAIL\w*) (?P<remote>[^\n]{1,2000}?) *"
    r"|(?P<id>[^\s\[][^\n]{0,2000}?) (?P<word>FAILED|ERROR)(?: +\[ *\d{1,3}%\]| +\d[\d.]*[mu]?s)?)(?=\n)"
)
_NAME = re.compile(r"(?P<path>[^\n]{1,1000}?)::(?P<name>[^\s\[]{1,500})")
ELLIPSIS = "..."


@dataclass(slots=True)
class SummaryEntry:
    """One failure as the summary or a progress line names it.

    :ivar word: ``FAILED`` or ``ERROR``.
    :ivar rest: the node id, then ``" - "`` and words, which may both hold ``" - "`` themselves.
    :ivar subtest: pytest's description of the subtest.
    :ivar more: the words' further lines.
    """

    word: str
    rest: str
    subtest: str = ""
    more: str = ""
    is_used: bool = False

    def split(self, nodeid: str = "") -> tuple[str, str]:
        """The node id and the words.

        :param nodeid: what is known of it; else it is found by its brackets.
        """
        end = len(nodeid) or _end_of_id(self.rest)
        words = self.rest[end:].removeprefix(" - ")
        return self.rest[:end], words + self.more

    def id_of(self, name: str) -> str:
        """The node id, if its part below the file is this; else empty."""
        at = self.rest.find(f"::{name}")
        end = at + 2 + len(name)
        is_whole = at > 0 and (len(self.rest) == end or self.rest.startswith(" - ", end))
        return self.rest[:end] if is_whole and "::" not in self.rest[:at] else ""

    def is_of(self, path: str) -> bool:
        """Whether it is about this file or folder as a whole."""
        return self.rest == path or self.rest.startswith(f"{path} - ")


def _end_of_id(rest: str) -> int:
    named = _NAME.match(rest)
    if named is None or " - " in named["path"]:
        return (rest.find(" - ") + len(rest) + 1) % (len(rest) + 1) if " - " in rest else len(rest)
    if rest[named.end() : named.end() + 1] != "[":
        at = rest.find(" - ", named.end())
        return at if at >= 0 else len(rest)
    at = rest.find("] - ", named.end())
    return at + 1 if at >= 0 else len(rest)


def entries(text: str, start: int, end: int, *, has_end: bool) -> list[SummaryEntry]:
    """The failures that the summary lists, in order.

    :param has_end: the summary is complete, so that the last one's words may go on over several lines.
    """
    found: list[SummaryEntry] = []
    last: SummaryEntry | None = None
    at = start
    for match in _LINE.finditer(text, start, end):
        if last is not None:
            last.more = text[at : match.start()]
        last = _entry(match)
        found += [last] if last is not None else []
        at = match.end()
    if last is not None and has_end:
        last.more = text[at:end].rstrip("\n")
    if found and found[-1] is last and at == len(text):
        found.pop()  # the text was cut within its name
    return found


def _entry(match: re.Match[str]) -> SummaryEntry | None:
    if match["other"]:
        return None
    subtest = match["after"] or match["before"] or ""
    word = "ERROR" if match["word"] == "ERROR" else "FAILED"
    return SummaryEntry(
        word, match["rest"], subtest or ("(<subtest>)" if match["word"] in ("SUBFAIL", "SUBFAILED") else "")
    )


def end_of_entries(text: str, start: int, end: int) -> int:
    """Where a summary that nothing follows leaves off."""
    last = start
    for match in _LINE.finditer(text, start, end):
        last = match.end()
    return last


def progress(text: str, start: int, end: int) -> Iterator[SummaryEntry]:
    """The failures that ``-v`` shows as they happen."""
    if all(text.find(word, start, end) < 0 for word in (" FAILED", " ERROR", " SUBFAIL")):
        return
    for match in _OUTCOME_LINE.finditer(text, start, end):
        nodeid = (match["remote"] or match["id"]).rstrip()
        if "::" in nodeid:
            word = match["worker"] or match["word"]
            yield SummaryEntry("ERROR" if word == "ERROR" else "FAILED", nodeid)


# --- the node id of a failure whose heading omits the file: ``TestCart.test_total[1]``

_PHASED = re.compile(r"ERROR (?:at (?P<phase>setup|teardown) of|(?P<collect>collecting)) (?P<name>[^\n]+)\Z")
_SUBTEST = re.compile(
    r"(?P<name>[\w.]{1,500}(?:\[[^\n]{0,1000}\])?) "
    r"(?P<subtest>(?:\[[^\n]{0,500}\] )?\([^\n]{0,500}\)|\[[^\n]{0,500}\])\Z"
)
_WHILE = re.compile(r"worker '[^'\n]{1,60}' crashed while running '(?P<id>[^\n]{1,2000})'\s*\Z")
_DOCTEST = "[doctest] "
_MAX_KEYS = 40
_ANY = ""


class Heading(Record, frozen=True):
    """What the heading of a failure says.

    :ivar name: the node id below the file, with ``::``; the whole node id where collecting failed.
    """

    phase: Phase
    name: str
    subtest: str = ""
    is_doctest: bool = False


def heading(title: str) -> Heading:
    """Read the title of a heading."""
    phased = _PHASED.match(title)
    if phased is None:
        return _named("call", title)
    if phased["collect"]:
        return Heading("collect", phased["name"])
    return _named("setup" if phased["phase"] == "setup" else "teardown", phased["name"])


def _named(phase: Phase, title: str) -> Heading:
    if title.startswith(_DOCTEST):
        return Heading(phase, title.removeprefix(_DOCTEST), is_doctest=True)
    return Heading(phase, _with_colons(title))


def _with_colons(name: str) -> str:
    """``TestCart.test_total[1.5]`` as a part of a node id."""
    names, bracket, parameters = name.partition("[")
    return names.replace(".", "::") + bracket + parameters


def worker_crash(body: str) -> str:
    """The node id that a worker of xdist ran when it died; empty for other text."""
    found = _WHILE.search(body.rstrip())
    return found["id"] if found else ""


@dataclass(slots=True)
class NodeIds:
    """Node ids known from the summary, taken in the order in which pytest prints both.

    :ivar is_complete: every failure of the run is among the entries.
    """

    entries: list[SummaryEntry]
    is_complete: bool = False
    _titles: dict[str, bool] = field(default_factory=dict)
    _places: dict[str, list[int]] = field(default_factory=dict)
    _indexed: int = 0

    def knows(self, title: str) -> bool:
        """Whether a heading may be that of a failure."""
        if not self.is_complete:
            return True
        if title not in self._titles:
            found = heading(title)
            self._titles[title] = any(_nodeid(e, found, title) for e in self._candidates(found, title))
        return self._titles[title]

    def take(self, title: str) -> tuple[str, SummaryEntry | None]:
        """The node id that belongs to the next heading with this title, and its line of the summary."""
        found = heading(title)
        word = "FAILED" if found.phase == "call" else "ERROR"
        for entry in self._candidates(found, title):
            if not entry.is_used and entry.word == word:
                nodeid = _nodeid(entry, found, title)
                if nodeid:
                    entry.is_used = True
                    return nodeid, entry
        return "", None

    def _candidates(self, found: Heading, title: str) -> Iterator[SummaryEntry]:
        """The lines that may name it, in order: to try them all takes time with the square of their number."""
        for index in range(self._indexed, len(self.entries)):
            for key in _keys(self.entries[index]):
                self._places.setdefault(key, []).append(index)
        self._indexed = len(self.entries)
        keys = {_folded(found.name), _folded(title), _ANY}
        return (self.entries[i] for i in merge(*(self._places.get(key, ()) for key in keys)))


def _keys(entry: SummaryEntry) -> set[str]:
    """The possible names in a heading; ``_ANY`` if there are too many to list."""
    rest = entry.rest
    after = rest[rest.find("::") + 2 :].lstrip(":") if "::" in rest else rest
    if rest.count(" - ") + rest.count("::") > _MAX_KEYS:
        return {_ANY}
    names = [text[:end] for text in (rest, after) for end in _ends(text, " - ")]
    names += [f"{name} {entry.subtest}" for name in names] if entry.subtest else []
    return {_folded(name) for name in (*names, *(rest[:end] for end in _ends(rest, "::")))}


def _ends(text: str, separator: str) -> Iterator[int]:
    """Where the text may end: at each of the separators, and at its end."""
    at = text.find(separator)
    while at >= 0:
        yield at
        at = text.find(separator, at + 1)
    yield len(text)


def _folded(name: str) -> str:
    return name.replace(".", "::")


def _nodeid(entry: SummaryEntry, found: Heading, title: str) -> str:
    if found.phase == "collect":
        return found.name if entry.is_of(found.name) else ""
    if entry.subtest:
        name = title.removesuffix(f" {entry.subtest}")
        return entry.id_of(_with_colons(name)) if name != title else ""
    return entry.id_of(found.name) or (entry.split()[0] if entry.rest.startswith(f"{title}::") else "")


def without_summary(title: str) -> Heading:
    """The heading, a subtest's description recognized by its form."""
    found = heading(title)
    match = _SUBTEST.match(title) if found.phase == "call" and not found.is_doctest else None
    return Heading("call", _with_colons(match["name"]), match["subtest"]) if match else found


# --- tests by outcome, from a run's last line and its header; why a run stopped early

_COLLECTED = re.compile(
    r"(?:\n|collecting \.\.\. )(?:collected (?P<all>\d{1,9}) items?(?: / \d{1,9} errors?)?"
    r"(?: / (?P<left>\d{1,9}) deselected)?"
    r"|\d{1,6} workers? \[(?P<remote>\d{1,9}) items?\]|gw0 \[(?P<old>\d{1,9})\])"
)
_INTERRUPTED = re.compile(r"(?:[\w.]{1,200}\.)?Interrupted: (?P<why>.+)\Z", re.DOTALL)
_EXIT = re.compile(r"(?:_pytest\.outcomes\.)?Exit(?:: (?P<why>.+))?\Z", re.DOTALL)
# Below it there is only the line of counts.
_TOO_MANY_WARNINGS = re.compile(
    r"Tests pass, but (?P<why>maximum allowed warnings exceeded: \d{1,9} > \d{1,9})\n"
)
_STOPPING = re.compile(r"stopping after \d{1,9} failures\Z")


def counts_of(text: str, run: PytestRun, failures: Sequence[Failure]) -> Counts | None:
    """Tests by outcome; None if the line is missing.

    :param failures: those of the run. pytest counts failing subtests, here each test counts once.
    """
    numbers = counts_in(run.final.title) if run.final is not None else None
    if numbers is None:
        return None
    collected = _collected(text, run)
    twice, passed = _subtests(failures)
    counted = counts_of_numbers(numbers)
    counted = replace(counted, passed=max(0, counted.passed - passed), failed=max(0, counted.failed - twice))
    if collected is None:
        return replace(counted, collected=numbers.get("tests collected", numbers.get("test collected", 0)))
    is_stopped = any(ruler.char == "!" and _STOPPING.match(ruler.title) for ruler in run.rulers)
    if is_stopped and any(f.phase == "collect" for f in failures):
        return counted  # pytest had not counted them yet
    setups = {f.nodeid for f in failures if f.phase == "setup"}
    done = counted.passed + counted.failed + counted.skipped + counted.xfailed + counted.xpassed + len(setups)
    return replace(counted, collected=collected, not_run=max(0, collected - done))


def counts_of_numbers(numbers: Mapping[str, int]) -> Counts:
    """The numbers of a line of counts by their words."""
    return Counts(
        passed=numbers.get("passed", 0),
        failed=numbers.get("failed", 0),
        failed_subtests=numbers.get("subtests failed", 0) + numbers.get("subtest failed", 0),
        errors=numbers.get("errors", 0) + numbers.get("error", 0),
        skipped=numbers.get("skipped", 0),
        xfailed=numbers.get("xfailed", 0),
        xpassed=numbers.get("xpassed", 0),
    )


def is_more_than_collected(text: str, run: PytestRun, counts: Counts | None) -> bool:
    """Whether the last line counts more tests than the header. Modules may be skipped in addition."""
    found = _header(text, run)
    if counts is None or found is None or not found["all"]:
        return False
    return counts.passed + counts.failed + counts.xfailed + counts.xpassed > int(found["all"])


def _subtests(failures: Sequence[Failure]) -> tuple[int, int]:
    """How many failures are of a test that has another, and how many tests failed only in their subtests."""
    failed = [f for f in failures if f.phase == "call"]
    with_subtests = {f.nodeid for f in failed if f.subtest}
    whole = {f.nodeid for f in failed if not f.subtest}
    same = [f for f in failed if f.nodeid in with_subtests]
    return len(same) - len(with_subtests), len(with_subtests - whole)


def _collected(text: str, run: PytestRun) -> int | None:
    """How many tests were selected to run, by the header."""
    found = _header(text, run)
    if found is None:
        return None
    number = found["all"] or found["remote"] or found["old"]
    return max(0, int(number) - int(found["left"] or 0))


def _header(text: str, run: PytestRun) -> re.Match[str] | None:
    return _COLLECTED.search(text, run.start, min(run.end, run.start + 20_000)) if run.has_start else None


def incomplete(text: str, run: PytestRun, stops: Sequence[str], counts: Counts | None) -> str:
    """Why a run ended before its end; empty if it did not."""
    if run.final is not None and "collected only" in (counts_in(run.final.title) or {}):
        return "tests were collected and not run"
    if too_many := _too_many_warnings(text, run):
        return too_many
    for stop in reversed(stops):  # xdist says it again, and better
        why = why_stopped(stop)
        if why and not (
            _STOPPING.match(why) and counts is not None and counts.collected and not counts.not_run
        ):
            return why
    is_cut = run.has_start or bool(run.rulers and not text[run.rulers[-1].end :].strip())
    return CUT if is_cut and run.final is None else ""


def _too_many_warnings(text: str, run: PytestRun) -> str:
    """What ``--max-warnings`` says right above the line of counts."""
    if run.final is None:
        return ""
    above = text.rfind("\n", max(0, run.final.start - 200), max(0, run.final.start - 1)) + 1
    found = _TOO_MANY_WARNINGS.fullmatch(text, above, run.final.start)
    return found["why"] if found else ""


def why_stopped(stop: str) -> str:
    """The reason that a ``!!!`` ruler gives, in the words of the plugin."""
    if stop == "KeyboardInterrupt":
        return "interrupted by Ctrl-C"
    if found := _EXIT.match(stop):
        return f"pytest.exit: {found['why']}" if found["why"] else "interrupted"
    found = _INTERRUPTED.match(stop)
    return found["why"] if found else stop
