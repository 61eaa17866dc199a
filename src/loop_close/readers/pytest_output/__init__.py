"""pytest's terminal output as failures, warnings and counts, as far as the text has them.

A run goes from ``test session starts`` to its line of counts; with ``-q``, or with its head cut off, from its first
heading. A run that starts within captured output is what a test printed, if the run around it has a line of counts.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from loop_close.model import Counts, Failure, Phase, Raised, Warned
from loop_close.readers import CUT, PHASES, Read, Reading, joined, line_end, merged, project_path, warning_at
from loop_close.readers.pytest_output.tracebacks import (
    missing_fixture,
    raised_from_words,
    read_doctest,
    read_traceback,
)
from loop_close.text import cut

_MAX_FAILURES = 20_000
_MAX_WARNINGS = 200
_MAX_RUNS = 1_000


def read_pytest(text: str, root: str = "") -> Reading:
    """Every run of pytest in a text."""
    text = f"\n{text}"
    runs = deque(_runs(text), _MAX_RUNS)
    readings = [_read_run(run, root) for run in runs]
    for start, end in _gaps(0, len(text), ((run.shown, run.end) for run in runs)):
        readings += _early(text, start, end, root)
    found = joined(readings)
    return replace(
        found,
        failures=found.failures[:_MAX_FAILURES],
        warnings=found.warnings[:_MAX_WARNINGS],
        # as offsets of the text without the line break put in front of it
        spans=merged((max(start - 1, 0), min(end - 1, len(text) - 1)) for start, end in found.spans),
    )


def _gaps(start: int, end: int, holes: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What is left of a stretch of text without its holes, which are given in order."""
    for first, last in holes:
        if start < first:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


# --- the lines that pytest draws across the terminal

_SUMMARY = "short test summary info"
_BLOCKS = ("ERRORS", "FAILURES")
_SHOWN = (*_BLOCKS, "PASSES", "XPASSES", "XFAILURES")
_WARNED = ("warnings summary", "warnings summary (final)")
_START = "test session starts"
_TITLES = (*_SHOWN, *_WARNED, _SUMMARY, "rerun test summary info")
# Titles that begin a part of a run anywhere; a line that a test printed may look like any of the others.
_KNOWN = re.compile(
    rf"(?:{'|'.join(map(re.escape, _TITLES))}|tests coverage|slowest (?:\d{{1,9}} )?(?:test )?durations"
    r"|(?:[\w.]{1,100}\.)?KeyboardInterrupt|stopping after \d+ failures)\Z"
    r"|Captured |(?:[\w.]{1,100}\.)?(?:Exit|Interrupted): "
)
_COUNTED = r"\d{1,9} [a-z][a-z -]{0,40}"
_COUNTS = (
    rf"(?:no tests ran|no tests collected|\d{{1,9}}(?:/\d{{1,9}})? tests? collected|{_COUNTED})"
    rf"(?: \(\d{{1,9}} deselected\))?(?:, {_COUNTED}){{0,20}}"
    r" in \d{1,9}\.\d{1,3} ?s(?:econds)?(?: \([^()\n]{1,60}\))?"
)
_FINAL = re.compile(rf"{_COUNTS}\Z|Results \(")
_RULER = re.compile(
    r"\n(?:(?P<char>[=_!―-])(?>(?P=char)*) (?=[^\n]*?[^\W_])(?P<title>[^\n]*?) (?>(?P=char)+)(?=\n|\Z)"
    r"|(?P<bare>(?=no tests |\d{1,9}(?:/\d{1,9})? (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?"
    rf"|rerun|subtests |tests? )){_COUNTS})(?=\n|\Z)"
    # pytest-sugar and pytest-pretty
    r"|(?P<sugar>Test session starts \(platform: [^\n]{0,300}"
    r"|Results \([\d.]{1,12}s[^\n]{0,60}\):(?>(?:\n[ \t]+(?:\d{1,9} [a-z]+|- [^\n]*)[^\n]*+)*)))"
)
_NUMBER = re.compile(r"(?:\A(?:\d{1,9}/)?|, |\(|\n[ \t]+)(\d{1,9}) ([a-z][a-z -]*?)(?= in \d|[,)\n]|\Z)")


class _Ruler(NamedTuple):
    """A line of pytest that begins or ends something.

    :ivar char: what it is drawn with; empty for the line of counts that ``-q`` prints bare.
    :ivar start: the offset of its first character; ``end`` that of the line break after it.
    """

    char: str
    title: str
    start: int
    end: int

    @property
    def is_final(self) -> bool:
        """Whether it holds the counts that end a run."""
        return not self.char or (self.char == "=" and _FINAL.match(self.title) is not None)


def _rulers(text: str) -> Iterator[_Ruler]:
    """Every line that pytest draws, in order."""
    for found in _RULER.finditer(text):
        start, end = found.start() + 1, found.end()
        if sugar := found["sugar"]:
            yield _Ruler("=", _START if sugar.startswith("Test") else sugar, start, end)
        else:
            yield _Ruler(found["char"] or "", found["title"] or found["bare"], start, end)


# --- the runs


@dataclass(slots=True)
class _Run:
    """One run.

    :ivar start: the offset of its first line in the text, ``end`` that after its last.
    :ivar has_start: the line with which a run starts is there.
    :ivar is_known: so is a title that only pytest writes.
    :ivar guessed: so many parts come before such a title; they may be of any program.
    :ivar parts: the ruler of each part, with the title of the part of the run that it is in.
    :ivar final: the line of counts, None if it is missing.
    """

    text: str
    start: int
    has_start: bool = False
    is_known: bool = False
    guessed: int = 0
    parts: list[tuple[str, _Ruler]] = field(default_factory=list)
    final: _Ruler | None = None
    end: int = 0

    @property
    def is_captured(self) -> bool:
        """Whether the current part is captured output."""
        return bool(self.parts) and self.parts[-1][0] in _SHOWN and self.parts[-1][1].char == "-"

    @property
    def shown(self) -> int:
        """The offset of the first failure or output of a test."""
        return next((ruler.start for region, ruler in self.parts if region in _SHOWN), self.end)

    def take(self, ruler: _Ruler) -> None:
        """Read a ruler that neither begins nor ends the run."""
        char, title = ruler.char, ruler.title
        is_known = _KNOWN.match(title) is not None
        self.is_known = self.is_known or is_known
        is_begun = self.has_start or not (is_known or char == "_")
        region, last = self.parts[-1] if self.parts else ("" if is_begun else "FAILURES", None)
        # without headings (--tb=line) there is output between failures
        is_output = self.is_captured or (region in _BLOCKS and last is not None and last.char == "=")
        if (is_output and char not in "_―" and not is_known) or (char == "!" and not is_known):
            return
        if char in "=!" or title.startswith("coverage:"):
            region = title if char != "!" else ""
        elif char == "―":
            region = "FAILURES"
        elif region not in _SHOWN:
            return
        self.parts.append((region, ruler))
        self.guessed += not self.is_known

    def finish(self, final: _Ruler | None, end: int) -> _Run:
        """The run, which ends with this line of counts, or without one at an offset."""
        self.final, self.end = final, end
        if self.guessed and final is not None and not _failed(_numbers(final)):
            del self.parts[: self.guessed]
            self.start = next((ruler.start for _, ruler in self.parts), final.start)
        return self

    @property
    def contents(self) -> Iterator[tuple[str, _Ruler, str]]:
        """Each part with its text."""
        ends = [*(ruler.start for _, ruler in self.parts[1:]), self.final.start if self.final else self.end]
        for (region, ruler), end in zip(self.parts, ends, strict=False):
            yield region, ruler, self.text[ruler.end + 1 : end]


def _runs(text: str) -> Iterator[_Run]:
    """The runs in a text, in order.

    :param text: begins with a line break.
    """
    rulers = [*_rulers(text)]
    run: _Run | None = None
    begun = 0
    for index, (ruler, printed) in enumerate(zip(rulers, _printed(rulers), strict=True)):
        is_start = ruler.title == _START
        if index < begun:
            continue
        if run is not None and run.is_captured and (is_start or (ruler.is_final and printed)):
            begun = printed
        elif is_start or ruler.is_final:
            if run is not None and run.is_known and (is_start or (run.has_start and not ruler.char)):
                yield run.finish(None, ruler.start - 1)
                run = None
            if is_start:
                run = _Run(text, ruler.start, has_start=True, is_known=True)
            else:
                yield (run or _Run(text, ruler.start)).finish(ruler, ruler.end)
                run = None
        else:
            if run is None or (not run.is_known and ruler.title in _SHOWN):
                run = _Run(text, ruler.start)
            run.take(ruler)
            run = run if run.has_start or run.parts else None
    if run is not None and run.is_known:
        yield run.finish(None, len(text))


def _printed(rulers: Sequence[_Ruler]) -> list[int]:
    """For each ruler the index after the next line of counts, if more of a run follows there; else 0."""
    found: list[int] = []
    is_open, end = False, 0
    for index in range(len(rulers) - 1, -1, -1):
        if rulers[index].is_final:
            end = index + 1 if is_open else 0
        is_open = end > 0 or rulers[index].title != _START
        found.append(end)
    return found[::-1]


# --- a run as a reading

_ROOT = re.compile(r"\nrootdir: (?P<root>[^\n,]{1,1000})")
_ECHO = re.compile(r"contains \d{1,9} failed subtests?\Z")


def _read_run(run: _Run, root: str) -> Reading:
    named = _ROOT.search(run.text, run.start, min(run.end, run.start + 5_000)) if run.has_start else None
    root = named["root"].strip() if named else root
    parts = [*run.contents]
    numbers = _numbers(run.final)
    failures = [*_failures(run, _failed(numbers), root)]
    counts = _counts(run, numbers, failures)
    with_subtests = {f.nodeid for f in failures if f.subtest}  # the test only says that these failed
    is_cut = run.final is None and (run.has_start or not parts[-1][2].strip())
    is_shown = parts or run.final
    foreign = [
        (r.end + 1, r.end + 1 + len(content)) for region, r, content in parts if region not in ("", *_TITLES)
    ]
    warnings = [_warnings(f"\n{content}", root) for region, _, content in parts if region in _WARNED]
    return Reading(
        failures=tuple(f for f in failures if f.nodeid not in with_subtests or not _ECHO.match(f.message)),
        warnings=tuple(chain.from_iterable(warnings)),
        counts=counts if run.final is not None else None,
        spans=tuple(_gaps(run.start, run.end if is_shown else line_end(run.text, run.start), foreign)),
        is_certain=is_cut or run.final is not None,
        incomplete=_incomplete(run, numbers) or (CUT if is_cut else ""),
    )


def _numbers(final: _Ruler | None) -> Mapping[str, int]:
    """The numbers of a line of counts by their words; none without one."""
    found = _NUMBER.findall(final.title) if final is not None else []
    return Counter({word: int(number) for number, word in found})


def _failed(numbers: Mapping[str, int]) -> int:
    """How many failures a line of counts has."""
    return sum(numbers[word] for word in ("failed", "subtests failed", "subtest failed", "errors", "error"))


# --- failures: from blocks with tracebacks and lines of the summary

_HEADING = re.compile(
    r"(?:ERROR (?:at )?(?P<phase>setup|teardown|collect)(?: of|ing) )?"
    r"(?:(?:(?<=collecting )|\[doctest\] )(?P<whole>[^\n]+)|(?P<name>[\w.]{1,500}(?:\[[^\n]{0,1000}\])?|[^\n]+)"
    r"(?: (?P<subtest>(?:\[[^\n]{0,500}\] )?\([^\n]{0,500}\)|\[[^\n]{0,500}\]))?)\Z"
)
_WORKER = re.compile(r"\A\n*\[gw\d{1,6}\] [^\n]* -- Python [^\n]*(?=\n)")
_HALF = re.compile(r"\n(?P<place>\S[^\n]{0,1000}:\d{1,9}: |)[^\n]*\s*\Z")
_CUT_BEFORE = "the output ends before the exception is shown"
# A failure without a heading (``--tb=line``): the place, then the message.
_PLACED = re.compile(
    r"(?:^|\n)(?P<file>(?:/|[A-Za-z]:[\\/])[^\n:]{1,1000}):(?P<line>\d{1,9}): (?P<said>[^\n]*)(?=\n)"
)


def _failures(run: _Run, failed: int, root: str) -> Iterator[Failure]:
    """The failures of a run; lines of the summary that no block takes are failures by themselves.

    :param failed: how many the run counts.
    """
    listed, is_complete = _listed(run, failed)
    waiting: dict[tuple[bool, str], list[Failure]] = {}
    for each in reversed(listed):
        waiting.setdefault(_heading_of(each), []).append(each)
    blocks: list[tuple[_Ruler, str, list[str]]] = []  # heading, body, and what was captured
    for region, ruler, content in run.contents:
        if region in _BLOCKS and ruler.char != "-":
            blocks.append((ruler, content, []))
        elif region in _BLOCKS and blocks:
            blocks[-1][2].append(content)
    for ruler, body, captured in blocks:
        head = _HEADING.match(ruler.title)
        if head is None or ruler.char == "=":
            for line, placed in _placed("".join([body, *captured]), waiting):
                waiting[_heading_of(line)].remove(line)
                yield _failure(line, line.phase, placed, root)
            continue
        when, whole, written, subtest = head.groups("")
        phase, name = PHASES[when or "call"], whole or _with_colons(written)
        unlisted = Failure(nodeid=name, phase=phase, message="", subtest=subtest)
        says = _folded(f"{name} {unlisted.subtest}")
        # pytest-sugar has FAILED for both
        kinds = (phase == "call", phase != "call")
        line = next((left for kind in kinds if (left := waiting.get((kind, says)))), [unlisted]).pop()
        if line is not unlisted or not is_complete:  # else a test printed the heading
            is_last = ruler is run.parts[-1][1] and run.final is None and run.end == len(run.text)
            yield _failure(line, phase, body, root, is_cut=is_last)
    unread = {id(line) for lines in waiting.values() for line in lines}
    yield from (by_its_line(line, root) for line in listed if id(line) in unread)


def _with_colons(name: str) -> str:
    """``TestCart.test_total[1.5]`` as a part of a node id."""
    names, bracket, parameters = name.partition("[")
    return names.replace(".", "::") + bracket + parameters


def _failure(line: Failure, phase: Phase, body: str, root: str, *, is_cut: bool = False) -> Failure:
    """The failure below a heading.

    :param line: as its line of the summary names it; without one, and then without a file, as the heading does.
    :param is_cut: the text ends within the body.
    """
    body = "\n" + _WORKER.sub("", body, count=1)
    if is_cut:
        body = _HALF.sub(r"\n\g<place>", body)  # half of a name would be another one
    raised, asking, at = missing_fixture(body) or (None, "", 0)
    example = line.nodeid.rpartition("::")[2]
    raised = raised or read_doctest(body, example, root) or read_traceback(body, root)
    words = _CUT_BEFORE if is_cut else cut(body.strip("\n"))
    if raised is None and line.message.startswith("Failed: "):  # by pytest.fail
        raised = Raised(type="Failed", message=words, bases=("OutcomeException", "BaseException"))
    nodeid, file = line.nodeid, line.nodeid.partition("::")[0]
    if not line.file and phase != "collect":
        frames = raised.frames if raised is not None else ()
        places = [
            project_path(asking, root),
            *(f.file for f in frames if f.is_test),
            *(f.file for f in frames),
        ]
        file = next(filter(None, places), "")
        nodeid = "::".join(filter(None, (file, nodeid)))
    message = raised.message if raised is not None else words
    return replace(line, nodeid=nodeid, phase=phase, message=message, file=file, line=at, raised=raised)


def _placed(
    body: str, waiting: Mapping[tuple[bool, str], Sequence[Failure]]
) -> Iterator[tuple[Failure, str]]:
    """Failures without headings, each with the next line of the summary that begins to say the same."""
    places = [*_PLACED.finditer(body)]
    left = [line for lines in waiting.values() for line in lines if line.message][::-1] if places else []
    for found in places:
        line = next((e for e in left if found["said"].startswith(e.message.removesuffix("..."))), None)
        if line is not None:
            left.remove(line)
            yield line, f"E   {found['said']}\n\n{found['file']}:{found['line']}: \n"


# --- lines that name a test: of the summary, and of ``-v`` while the tests run

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


def of_line(word: str, nodeid: str, words: str = "", subtest: str = "") -> Failure:
    """A failure as a line of the summary or of progress names it; its message is what the line says of it.

    :param word: ``ERROR``, or another one for the call of a test.
    """
    phase: Phase = "call" if word != "ERROR" else "setup" if "::" in nodeid else "collect"
    file = nodeid.partition("::")[0]
    return Failure(nodeid=nodeid, phase=phase, message=words, file=file, subtest=subtest)


def by_its_line(line: Failure, root: str) -> Failure:
    """A failure that only a line of the summary shows."""
    raised = raised_from_words(line.message, root)
    return replace(line, message=raised.message if raised is not None else cut(line.message), raised=raised)


def _heading_of(line: Failure) -> tuple[bool, str]:
    """Whether the call failed; what the heading of the failure says, without the file: ``TestCart.test_total[1]``."""
    name = line.nodeid.partition("::")[2] or line.nodeid
    return line.phase == "call", _folded(f"{name} {line.subtest}")


def _folded(name: str) -> str:
    return name.replace("::", ".").rstrip()


def _listed(run: _Run, failed: int) -> tuple[list[Failure], bool]:
    """The failures that the summary or else ``-v`` names; and whether the summary has all that the run counts."""
    summary = next((content for region, _, content in [*run.contents][::-1] if region == _SUMMARY), "")
    if run.final is None and run.end == len(run.text):  # the text may be cut within a name
        summary = summary[: summary.rfind("\n") + 1]
    found = [*_entries(f"\n{summary}")]
    is_complete = len(found) >= failed > 0
    if not is_complete and (failed or run.final is None):
        named = {line.nodeid for line in found}
        shown = run.text[run.start : run.parts[0][1].start if run.parts else run.end]
        found += [line for line in _progress(shown) if line.nodeid not in named]
    return found, is_complete


def _entries(summary: str) -> Iterator[Failure]:
    """The failures that the summary lists, in order."""
    for line in _LINE.finditer(summary):
        if not line["other"]:
            subtest = line["after"] or line["before"] or ("(<subtest>)" if "SUB" in line["word"] else "")
            named = _NODEID.match(line["rest"])
            nodeid = named[0] if named else line["rest"].partition(" - ")[0]
            words = line["rest"][len(nodeid) :].removeprefix(" - ")
            yield of_line(line["word"], nodeid, words, subtest)


def _progress(text: str) -> Iterator[Failure]:
    """The failures that ``-v`` shows as they happen."""
    if any(word in text for word in (" FAILED", " ERROR", " SUBFAIL")):
        for line in _OUTCOME_LINE.finditer(text):
            nodeid = (line["remote"] or line["id"]).rstrip()
            if "::" in nodeid:
                yield of_line(line["worker"] or line["word"], nodeid)


# --- tests by outcome, from a run's last line and its header; why a run stopped early

_COLLECTED = re.compile(
    r"(?:\n|collecting \.\.\. )(?:collected |\d{1,6} workers? \[|gw0 \[)(?P<all>\d{1,9})"
    r"(?: items?(?: / \d{1,9} errors?)?(?: / (?P<left>\d{1,9}) deselected)?|\])"
)
_PREFIX = re.compile(r"\A(?:[\w.]{1,200}\.)?(?:Interrupted: |(?=Exit))")
_TOO_MANY_WARNINGS = re.compile(
    r"\nTests pass, but (?P<why>maximum allowed warnings exceeded: \d{1,9} > \d{1,9})\n\Z"
)


def _counts(run: _Run, numbers: Mapping[str, int], failures: Sequence[Failure]) -> Counts:
    """Tests by outcome. pytest counts failing subtests, here each test counts once.

    :param failures: those of the run.
    """
    called = [f for f in failures if f.phase == "call"]
    with_subtests = {f.nodeid for f in called if f.subtest}
    whole = {f.nodeid for f in called if not f.subtest}
    twice = sum(f.nodeid in with_subtests for f in called) - len(with_subtests)
    counts = Counts(
        passed=max(0, numbers["passed"] - len(with_subtests - whole)),
        failed=max(0, numbers["failed"] - twice),
        failed_subtests=numbers["subtests failed"] + numbers["subtest failed"],
        errors=numbers["errors"] + numbers["error"],
        skipped=numbers["skipped"],
        xfailed=numbers["xfailed"],
        xpassed=numbers["xpassed"],
        collected=numbers["tests collected"] + numbers["test collected"],
    )
    found = (
        _COLLECTED.search(run.text, run.start, min(run.end, run.start + 20_000)) if run.has_start else None
    )
    if found is None:
        return counts
    collected = int(found["all"]) - int(found["left"] or 0)
    setups = {f.nodeid for f in failures if f.phase == "setup"}
    done = counts.passed + counts.failed + counts.skipped + counts.xfailed + counts.xpassed + len(setups)
    return replace(counts, collected=max(0, collected), not_run=max(0, collected - done))


def _incomplete(run: _Run, numbers: Mapping[str, int]) -> str:
    """Why a run ended before its end, in the words of the plugin; empty if it did not."""
    if numbers["tests collected"] or numbers["test collected"]:
        return "tests were collected and not run"
    end = run.final.start if run.final else run.start
    if found := _TOO_MANY_WARNINGS.search(run.text, max(0, end - 200), end):
        return found["why"]
    stops = ["", *(ruler.title for _, ruler in run.parts if ruler.char == "!")]
    why = _PREFIX.sub("", stops[-1])  # xdist says it again, and better
    return why.replace("KeyboardInterrupt", "interrupted by Ctrl-C").replace("Exit: ", "pytest.exit: ")


# --- pytest ended before any test: usage errors, a broken conftest, internal errors

_NOT_STARTED = "pytest ended before it collected any test"
_INTERNAL = "an internal error ended it"
_EARLY: tuple[tuple[re.Pattern[str], Phase, str], ...] = (
    (re.compile(r"\nINTERNALERROR>[^\n]*+(?>(?:\nINTERNALERROR>[^\n]*+)*)"), "session", _INTERNAL),
    (
        re.compile(
            r"\nImportError while loading conftest '[^'\n]{1,1000}'\."
            r"(?P<body>(?>(?:\n(?:E(?: [^\n]*+)?(?=\n|\Z)|    [^\n]*+|[^\s:][^\n:]{0,1000}:\d{1,9}: in [^\n]*+))+))"
        ),
        "collect",
        _NOT_STARTED,
    ),
    (
        re.compile(
            r"\nERROR: (?P<words>usage: [^\n]+\n[^\n]{1,200}: error: [^\n]*+(?>(?:\n  (?:inifile|rootdir): [^\n]*+)+)"
            r"|[^\n]{0,500}?(?:pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|pytest\.toml)(?::\d{1,9})?: [^\n]+"
            r"|Error importing plugin \"[^\n]+|Missing required plugins: [^\n]+|Unknown config option: [^\n]+)(?=\n|\Z)"
        ),
        "collect",
        _NOT_STARTED,
    ),
    (
        re.compile(
            r"\nERROR: (?P<words>file or directory not found: [^\n]+|not found: [^\n]+\n\(no [^\n]+"
            r"|found no collectors for [^\n]+|Wrong expression passed to '-[km]': [^\n]+)(?=\n|\Z)"
        ),
        "session",
        "",
    ),
)


def _early(text: str, start: int, end: int, root: str) -> Iterator[Reading]:
    """What ended pytest before its tests, in a part of the text."""
    for pattern, phase, why in _EARLY:
        for found in pattern.finditer(text, start, end):
            parts = found.groupdict()
            raised: Raised | None
            if words := parts.get("words"):
                words = words.replace(f"{root}/", "") if root else words
                bases = ("Exception", "BaseException")
                raised = Raised(
                    type="UsageError", module="_pytest.config.exceptions", message=words, bases=bases
                )
            else:
                body = parts.get("body") or re.sub(r"\nINTERNALERROR> ?", "\n", found[0])
                raised = read_traceback(f"{body}\n", root)
            if raised is not None:
                yield Reading(
                    failures=(Failure(nodeid="", phase=phase, message=raised.message, raised=raised),),
                    counts=Counts(errors=1) if why == _NOT_STARTED else None,
                    spans=((found.start() + 1, found.end()),),
                    is_certain=True,
                    incomplete=why,
                )


# --- warnings about errors outside of tests

_WARNING = re.compile(
    r"\n  (?P<file>[^\n:]{1,1000}):(?P<line>\d{1,9}): (?P<category>[\w.]{1,200}): "
    r"(?P<message>[^\n]*(?>(?:\n[ \t]+[^\n]*+|\n(?=\n*+  ))*))"
)


def _warnings(text: str, root: str) -> Iterator[Warned]:
    """The warnings of pytest itself, and of coroutines never awaited; the others do not show a failure.

    :param text: a warnings summary, beginning with a line break.
    """
    for found in _WARNING.finditer(text):
        category = found["category"].rpartition(".")[2]
        message, _, _ = found["message"].partition("\n  Enable tracemalloc to get")
        message = message.replace("\n  ", "\n").strip("\n")
        above, _, source = message.rpartition("\n")
        if source.startswith("  "):  # pytest puts the line of source below it
            message = above.strip("\n")
        if category.startswith("Pytest") or "never awaited" in message:
            yield warning_at(category, message, found["file"], found["line"], root)


READERS: dict[str, Read] = {"pytest": read_pytest}
