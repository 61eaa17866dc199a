"""What pytest's summary says: the names of the failures, the counts, and why the run stopped early."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Phase
from loop_close.readers import CUT
from loop_close.readers.pytest_output.runs import PytestRun
from loop_close.records import Record

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
# A node id ends with its brackets, else before the words.
_NODEID = re.compile(
    r"(?:(?! - )[^\n]){1,1000}?::[^\s\[]{1,500}(?:\[(?:[^\n]*?\](?= - )|[^\n]*)|(?:(?! - )[^\n])*)"
)


@dataclass(slots=True)
class SummaryEntry:
    """One failure as the summary or a progress line names it.

    :ivar word: ``FAILED`` or ``ERROR``.
    :ivar subtest: pytest's description of the subtest.
    """

    word: str
    nodeid: str
    words: str = ""
    subtest: str = ""
    is_used: bool = False


def entries(text: str, start: int, end: int, *, has_end: bool) -> list[SummaryEntry]:
    """The failures that the summary lists, in order.

    :param has_end: the summary is complete, so that the last one's words may go on over several lines.
    """
    found: list[SummaryEntry] = []
    last: SummaryEntry | None = None
    at = start
    for match in _LINE.finditer(text, start, end):
        if last is not None:
            last.words += text[at : match.start()]
        last = None if match["other"] else _entry(match)
        found += [last] if last is not None else []
        at = match.end()
    if last is not None and has_end:
        last.words += text[at:end].rstrip("\n")
    elif last is not None and at == len(text):
        found.pop()  # the text was cut within its name
    return found


def _entry(match: re.Match[str]) -> SummaryEntry:
    subtest = match["after"] or match["before"] or ""
    word = "ERROR" if match["word"] == "ERROR" else "FAILED"
    named = _NODEID.match(match["rest"])
    nodeid = named[0] if named else match["rest"].partition(" - ")[0]
    if match["word"] in ("SUBFAIL", "SUBFAILED"):
        subtest = "(<subtest>)"
    return SummaryEntry(word, nodeid, match["rest"][len(nodeid) :].removeprefix(" - "), subtest)


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

_PHASED = re.compile(r"ERROR (?:at (?P<phase>setup|teardown) of|collecting) (?P<name>[^\n]+)\Z")
_SUBTEST = re.compile(
    r"(?P<name>[\w.]{1,500}(?:\[[^\n]{0,1000}\])?) "
    r"(?P<subtest>(?:\[[^\n]{0,500}\] )?\([^\n]{0,500}\)|\[[^\n]{0,500}\])\Z"
)
_DOCTEST = "[doctest] "
_PHASES: dict[str | None, Phase] = {"setup": "setup", "teardown": "teardown", None: "collect"}


class Heading(Record, frozen=True):
    """What the heading of a failure says.

    :ivar name: the name below the file, as the heading has it; the node id where collecting failed.
    """

    phase: Phase
    name: str
    subtest: str = ""
    is_doctest: bool = False


def heading(title: str) -> Heading:
    """Read the title of a heading."""
    phased = _PHASED.match(title)
    if phased is not None:
        return Heading(_PHASES[phased["phase"]], phased["name"])
    if title.startswith(_DOCTEST):
        return Heading("call", title.removeprefix(_DOCTEST), is_doctest=True)
    return Heading("call", title)


def with_subtest(head: Heading) -> Heading:
    """The heading of a test that no summary names, a subtest's description recognized by its form."""
    found = _SUBTEST.match(head.name) if head.phase == "call" and not head.is_doctest else None
    return Heading("call", found["name"], found["subtest"]) if found else head


def with_colons(name: str) -> str:
    """``TestCart.test_total[1.5]`` as a part of a node id."""
    names, bracket, parameters = name.partition("[")
    return names.replace(".", "::") + bracket + parameters


@dataclass(slots=True)
class NodeIds:
    """Node ids known from the summary, taken in the order in which pytest prints both.

    :ivar is_complete: every failure of the run is among the entries.
    """

    entries: list[SummaryEntry]
    is_complete: bool = False
    _by_name: dict[tuple[str, str], list[SummaryEntry]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in reversed(self.entries):
            names = {entry.nodeid, entry.nodeid.partition("::")[2] or entry.nodeid}
            for name in names:
                key = entry.word, _folded(f"{name} {entry.subtest}".rstrip())
                self._by_name.setdefault(key, []).append(entry)

    def take(self, head: Heading) -> SummaryEntry | None:
        """The line of the summary that belongs to the next heading like this."""
        is_call = head.phase == "call"
        for word in (
            ("FAILED", "ERROR") if is_call else ("ERROR", "FAILED")
        ):  # pytest-sugar has FAILED for both
            left = self._by_name.get((word, _folded(head.name)), [])
            while left:
                entry = left.pop()
                if not entry.is_used:
                    entry.is_used = True
                    return entry
        return None


def _folded(name: str) -> str:
    return name.replace("::", ".")


# --- tests by outcome, from a run's last line and its header; why a run stopped early

_COLLECTED = re.compile(
    r"(?:\n|collecting \.\.\. )(?:collected (?P<all>\d{1,9}) items?(?: / \d{1,9} errors?)?"
    r"(?: / (?P<left>\d{1,9}) deselected)?"
    r"|\d{1,6} workers? \[(?P<remote>\d{1,9}) items?\]|gw0 \[(?P<old>\d{1,9})\])"
)
_EXIT = re.compile(r"(?:_pytest\.outcomes\.)?Exit(?:: (?P<why>.+))?\Z", re.DOTALL)
_INTERRUPTED = re.compile(r"(?:[\w.]{1,200}\.)?Interrupted: (?P<why>.+)\Z", re.DOTALL)
_TOO_MANY_WARNINGS = re.compile(
    r"\nTests pass, but (?P<why>maximum allowed warnings exceeded: \d{1,9} > \d{1,9})\n\Z"
)
_STOPPING = re.compile(r"stopping after \d{1,9} failures\Z")


def counts_of(run: PytestRun, failures: Sequence[Failure]) -> Counts | None:
    """Tests by outcome; None if the line is missing.

    :param failures: those of the run. pytest counts failing subtests, here each test counts once.
    """
    if run.final is None:
        return None
    numbers = run.numbers
    twice, passed = _subtests(failures)
    counts = counts_of_numbers(numbers)
    collecting = [f.nodeid for f in failures if f.phase == "collect"]  # each worker of xdist may say it
    counts = replace(
        counts,
        errors=max(0, counts.errors - len(collecting) + len(set(collecting))),
        passed=max(0, counts.passed - passed),
        failed=max(0, counts.failed - twice),
    )
    found = (
        _COLLECTED.search(run.text, run.start, min(run.end, run.start + 20_000)) if run.has_start else None
    )
    if found is None:
        return replace(counts, collected=numbers.get("tests collected", numbers.get("test collected", 0)))
    if any(map(_STOPPING.match, run.stops)) and any(f.phase == "collect" for f in failures):
        return counts  # pytest had not counted them yet
    collected = int(found["all"] or found["remote"] or found["old"]) - int(found["left"] or 0)
    setups = {f.nodeid for f in failures if f.phase == "setup"}
    done = counts.passed + counts.failed + counts.skipped + counts.xfailed + counts.xpassed + len(setups)
    return replace(counts, collected=max(0, collected), not_run=max(0, collected - done))


def counts_of_numbers(numbers: Mapping[str, int]) -> Counts:
    """The numbers of a line of counts by their words."""
    return Counts(
        **{name: numbers.get(name, 0) for name in ("passed", "failed", "skipped", "xfailed", "xpassed")},
        failed_subtests=numbers.get("subtests failed", 0) + numbers.get("subtest failed", 0),
        errors=numbers.get("errors", 0) + numbers.get("error", 0),
    )


def _subtests(failures: Sequence[Failure]) -> tuple[int, int]:
    """How many failures are of a test that has another, and how many tests failed only in their subtests."""
    failed = [f for f in failures if f.phase == "call"]
    with_subtests = {f.nodeid for f in failed if f.subtest}
    whole = {f.nodeid for f in failed if not f.subtest}
    same = [f for f in failed if f.nodeid in with_subtests]
    return len(same) - len(with_subtests), len(with_subtests - whole)


def incomplete(run: PytestRun, counts: Counts | None) -> str:
    """Why a run ended before its end; empty if it did not."""
    if run.final is None:
        return why_stopped(run.stops[-1]) if run.stops else CUT if run.is_cut else ""
    if "collected only" in run.numbers:
        return "tests were collected and not run"
    if found := _TOO_MANY_WARNINGS.search(run.text, max(0, run.final.start - 200), run.final.start):
        return found["why"]
    is_whole = counts is not None and counts.collected > 0 and not counts.not_run
    whys = (why_stopped(stop) for stop in reversed(run.stops))  # xdist says it again, and better
    return next((why for why in whys if why and not (is_whole and _STOPPING.match(why))), "")


def why_stopped(stop: str) -> str:
    """The reason that a ``!!!`` ruler gives, in the words of the plugin."""
    if stop == "KeyboardInterrupt":
        return "interrupted by Ctrl-C"
    if found := _EXIT.match(stop):
        return f"pytest.exit: {found['why']}" if found["why"] else "interrupted"
    found = _INTERRUPTED.match(stop)
    return found["why"] if found else stop
