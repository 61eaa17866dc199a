"""The numbers and names that a run of pytest prints: line of counts, short summary, headings of failures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge

from loop_close.model import Counts, Failure, Phase
from loop_close.readers import CUT
from loop_close.readers.pytest_output.pairs import counts_in
from loop_close.readers.pytest_output.runs import PytestRun

_LINE = re.compile(
    r"\n(?:(?P<word>FAILED|ERROR|SUBFAILED|SUBFAIL) "
    r"|SUBFAILED(?P<after>[\[(<][^\n]{0,500}?[\])>]) (?![\[(])"
    r"|(?P<before>[\[(<][^\n]{0,500}?[\])>]) SUBFAIL (?![\[(])"
    r"|(?P<other>PASSED|SKIPPED|XFAIL|XPASS|RERUN|SUBPASS|SUBSKIP|\[[^\n]{0,500}?SUB(?:PASS|SKIP)))(?P<rest>[^\n]*)"
)
_PROGRESS = re.compile(
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
    for match in _PROGRESS.finditer(text, start, end):
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


@dataclass(frozen=True, slots=True)
class Heading:
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
        return counted  # pytest had not come to count them
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
