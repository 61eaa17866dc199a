"""pytest's terminal output as failures, warnings and counts, as far as the text has them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from loop_close.conventions import is_test_file
from loop_close.facts import failure_order
from loop_close.model import Counts, Failure, Frame, Phase, Raised, Site, Warned
from loop_close.readers import Read, Reading, merged, project_path, sum_of
from loop_close.readers.pytest_output.runs import Block, PytestRun, runs
from loop_close.readers.pytest_output.summary import (
    Heading,
    NodeIds,
    SummaryEntry,
    counts_of,
    entries,
    heading,
    incomplete,
    progress,
    with_colons,
    with_subtest,
)
from loop_close.readers.pytest_output.tracebacks import (
    missing_fixture,
    raised_from_words,
    read_doctest,
    read_traceback,
)
from loop_close.text import cut

#: Why a run is incomplete that could not begin.
NOT_STARTED = "pytest ended before it collected any test"
_MAX_FAILURES = 20_000
_MAX_RUNS = 1_000
_CUT_BEFORE = "the output ends before the exception is shown"
_ROOT = re.compile(r"\nrootdir: (?P<root>[^\n,]{1,1000})")


def read_pytest(text: str, root: str = "") -> Reading:
    """Every run of pytest in a text."""
    text = f"\n{text}"
    found = _Found(text, root)
    for run in deque(runs(text), _MAX_RUNS):
        found.take_run(run)
    found.take_early()
    return found.reading()


@dataclass(slots=True)
class _Found:
    """What was read so far.

    :ivar closed: offsets of what a run prints about its failures, where nothing else is looked for.
    :ivar is_certain: some run has its whole form.
    """

    text: str
    root: str
    failures: list[Failure] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    closed: list[tuple[int, int]] = field(default_factory=list)
    incomplete: str = ""
    is_certain: bool = False

    def take_run(self, run: PytestRun) -> None:
        named = _ROOT.search(self.text, run.start, min(run.end, run.start + 5_000)) if run.has_start else None
        root = named["root"].strip() if named else self.root
        failures = _failures(run, _names(run), root)
        with_subtests = {f.nodeid for f in failures if f.subtest}  # the test only says that these failed
        self.failures += [
            f for f in failures if f.raised or f.nodeid not in with_subtests or not _ECHO.match(f.message)
        ]
        for warnings in run.warnings:
            self.warnings += warned_in(f"\n{warnings}", root)
        counts = counts_of(run, failures)
        self.counts += [counts] if counts is not None else []
        self.incomplete = self.incomplete or incomplete(run, counts)
        self.is_certain = self.is_certain or run.is_cut or run.final is not None
        self.spans += _without(run.start, run.end, run.foreign)
        self.closed += [(run.shown, run.end)] if run.shown is not None else []

    def take_early(self) -> None:
        """What ended pytest before its tests, apart from the runs' own failures."""
        for pattern, phase, why in _EARLY:
            for found in pattern.finditer(self.text):
                start, end = found.span()
                failure = _early(found, phase, self.root)
                if failure is not None and not any(a < end and start < b for a, b in self.closed):
                    self.failures.append(failure)
                    self.spans.append((start + 1, end))
                    self.counts += [Counts(errors=1)] if why == NOT_STARTED else []
                    self.incomplete, self.is_certain = self.incomplete or why, True

    def reading(self) -> Reading:
        failures: dict[tuple[str | int, ...], Failure] = {}
        for failure in self.failures:
            failures.setdefault(failure_order(failure), failure)
        return Reading(
            failures=tuple(failures.values())[:_MAX_FAILURES],
            warnings=tuple(dict.fromkeys(self.warnings))[:_MAX_WARNINGS],
            counts=sum_of(self.counts) if self.counts else None,
            # as offsets of the text without the line break put in front of it
            spans=merged((max(s - 1, 0), min(e - 1, len(self.text) - 1)) for s, e in self.spans),
            is_certain=self.is_certain,
            incomplete=self.incomplete,
        )


def _names(run: PytestRun) -> NodeIds:
    """The lines of the summary; if they are not all, those of ``-v`` too."""
    found = entries(run.text, *run.summary, has_end=run.final is not None) if run.summary else []
    is_complete = len(found) >= run.failed > 0
    if not is_complete and (run.failed or run.final is None) and run.progress is not None:
        named = {entry.nodeid for entry in found}
        found += [entry for entry in progress(run.text, *run.progress) if entry.nodeid not in named]
    return NodeIds(found, is_complete=is_complete)


def _without(start: int, end: int, holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for first, last in sorted(holes):
        if start < first:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


# --- failures: from blocks with tracebacks, lines of the summary, and what ends a run early

_WORKER = re.compile(r"\A\n*\[gw\d{1,6}\] [^\n]* -- Python [^\n]*(?=\n)")
_HALF = re.compile(r"\n(?P<place>\S[^\n]{0,1000}:\d{1,9}: |)[^\n]*\s*\Z")
_CRASHED = re.compile(r"worker '[^'\n]{1,60}' crashed while running '(?P<id>[^\n]{1,2000})'\s*\Z")
_LETTERS = re.compile(
    r"\n(?P<file>[^\s\n]{1,300}\.py) (?P<letters>[.sxXuRrp,]{0,2000}[FE][.FEsxXuRrp,]{0,2000})(?=\s|\Z)"
)
# Of these pytest's own words say more than the exception they are raised from.
_EXPLAINED = ("ImportPathMismatchError", "Skipped")
_ECHO = re.compile(r"contains \d{1,9} failed subtests?\Z")


def _failures(run: PytestRun, names: NodeIds, root: str) -> list[Failure]:
    """The failures of a run; lines of the summary that no block takes are failures by themselves."""
    found: list[Failure] = []
    for block in run.blocks if run.is_known or run.failed else ():
        found += (
            _failure(block, names, root)
            if block.title
            else _crash_lines(f"\n{block.body}", names.entries, root)
        )
    found += [failure_of_entry(entry, root) for entry in names.entries if not entry.is_used]
    return found if found or run.final is not None else list(_failed_letters(run))


def _failed_letters(run: PytestRun) -> Iterator[Failure]:
    """What the progress of a run shows whose output ends before anything else does: ``test_a.py .F..``."""
    for found in _LETTERS.finditer(run.text, run.start, run.end):
        number = found["letters"].count("F") + found["letters"].count("E")
        message = f"{number} failing test{'s' * (number != 1)} in the progress of {found['file']}, none of them shown"
        yield Failure(nodeid="", phase="call", message=message, file=found["file"], number=number)


def _failure(block: Block, names: NodeIds, root: str) -> Iterator[Failure]:
    """The failure below a heading; none where a test printed the heading of a test that is not in the summary."""
    head = heading(block.title)
    entry = names.take(head)
    if entry is None and names.is_complete:
        return
    if entry is None:
        head = with_subtest(head)
    body = "\n" + _WORKER.sub("", block.body, count=1)
    if block.is_cut:
        body = _HALF.sub(r"\n\g<place>", body)  # half of a name would be another one
    missing = missing_fixture(body)
    raised, file, line = missing or (_raised(body, head.name, root, head.is_doctest), "", 0)
    if head.phase == "collect" and raised is not None and raised.type.endswith("CollectError"):
        wrapped = raised.cause
        raised = wrapped if wrapped is not None and wrapped.type not in _EXPLAINED else raised
    words = _CUT_BEFORE if block.is_cut else cut(body.strip("\n"))
    raised = raised or _plain(words, head.phase, entry)
    nodeid = entry.nodeid if entry is not None else _nodeid(head, raised, project_path(file, root), words)
    yield Failure(
        nodeid=nodeid,
        phase=head.phase,
        message=raised.message if raised is not None else words,
        file=nodeid if head.phase == "collect" else _file_of(nodeid),
        line=line,
        subtest=entry.subtest if entry is not None else head.subtest,
        raised=raised,
    )


def _raised(body: str, name: str, root: str, is_doctest: bool) -> Raised | None:
    return (read_doctest(body, name, root) if is_doctest else None) or read_traceback(body, root)


def _plain(words: str, phase: Phase, entry: SummaryEntry | None) -> Raised | None:
    """What is printed without a traceback: ``pytest.fail`` that wants none, or an error of collecting."""
    if entry is not None and entry.words.startswith("Failed: "):
        return Raised(type="Failed", message=words, bases=("OutcomeException", "BaseException"))
    if phase == "collect" and words:
        bases = ("Exception", "BaseException")
        return Raised(type="Collector.CollectError", module="_pytest.nodes", message=words, bases=bases)
    return None


def _nodeid(head: Heading, raised: Raised | None, file: str | None, words: str) -> str:
    """As much of the node id as the text has without a summary."""
    if head.phase == "collect":
        return head.name
    if crashed := _CRASHED.search(words.rstrip()):
        return crashed["id"]
    frames = raised.frames if raised is not None else ()
    places = [file, *(f.file for f in frames if f.is_test), *(f.file for f in frames)]
    name = head.name if head.is_doctest else with_colons(head.name)
    return "::".join([*[*filter(None, places)][:1], name])


def _file_of(nodeid: str) -> str:
    """The file of a node id; empty where it begins with the name of a class or of the test."""
    file, colons, _ = nodeid.partition("::")
    return file if colons and ("/" in file or "." in file) else ""


def failure_of_entry(entry: SummaryEntry, root: str) -> Failure:
    """A failure that only a line of the summary shows."""
    raised = raised_from_words(entry.words, root)
    phase: Phase = "call" if entry.word == "FAILED" else "setup" if "::" in entry.nodeid else "collect"
    return Failure(
        nodeid=entry.nodeid,
        phase=phase,
        message=raised.message if raised is not None else cut(entry.words),
        file=entry.nodeid.partition("::")[0],
        subtest=entry.subtest,
        raised=raised,
    )


# --- failures without headings (``--tb=line``): the place, then the message

_CRASH = re.compile(
    r"\n(?P<file>(?:/|[A-Za-z]:[\\/])[^\n:]{1,1000}):(?P<line>\d{1,9}): (?P<said>[^\n]*)(?=\n)"
)


def _crash_lines(text: str, listed: list[SummaryEntry], root: str) -> Iterator[Failure]:
    """The failures of such a region, each for the next line of the summary that begins to say the same."""
    left = [entry for entry in listed if entry.words]
    for crash in _CRASH.finditer(text):
        entry = next((e for e in left if crash["said"].startswith(e.words.removesuffix("..."))), None)
        if entry is None:
            continue
        left.remove(entry)
        entry.is_used, entry.words = True, crash["said"]
        failure, file = failure_of_entry(entry, root), project_path(crash["file"], root)
        if failure.raised is not None and file is not None:
            frame = Frame(file=file, line=int(crash["line"]), function="", is_test=is_test_file(file))
            raised = replace(failure.raised, frames=(frame,), site=Site(frame=frame))
            failure = replace(failure, raised=raised)
        yield failure


# --- pytest ended before any test: usage errors, a broken conftest, internal errors

_EARLY: tuple[tuple[re.Pattern[str], Phase, str], ...] = (
    (
        re.compile(r"\nINTERNALERROR>[^\n]*+(?:\nINTERNALERROR>[^\n]*+)*+"),
        "session",
        "an internal error ended it",
    ),
    (
        re.compile(
            r"\nImportError while loading conftest '(?P<file>[^'\n]{1,1000})'\."
            r"(?P<body>(?:\n(?:E(?: [^\n]*+)?(?=\n|\Z)|    [^\n]*+|[^\s:][^\n:]{0,1000}:\d{1,9}: in [^\n]*+))++)"
        ),
        "collect",
        NOT_STARTED,
    ),
    (
        re.compile(
            r"\nERROR: (?P<words>usage: [^\n]+\n[^\n]{1,200}: error: [^\n]*+(?:\n  (?:inifile|rootdir): [^\n]*+)++"
            r"|[^\n]{0,500}?(?:pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|pytest\.toml)(?::\d{1,9})?: [^\n]+"
            r"|Error importing plugin \"[^\n]+|Missing required plugins: [^\n]+|Unknown config option: [^\n]+)(?=\n|\Z)"
        ),
        "collect",
        NOT_STARTED,
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


def _early(found: re.Match[str], phase: Phase, root: str) -> Failure | None:
    parts = found.groupdict()
    raised: Raised | None
    if words := parts.get("words"):
        bases = ("Exception", "BaseException")
        words = words.replace(f"{root}/", "") if root else words
        raised = Raised(type="UsageError", module="_pytest.config.exceptions", message=words, bases=bases)
    else:
        body = parts.get("body") or found[0].replace("\nINTERNALERROR> ", "\n").replace(
            "\nINTERNALERROR>", "\n"
        )
        raised = read_traceback(f"{body}\n", root)
    return (
        Failure(nodeid="", phase=phase, message=raised.message, raised=raised) if raised is not None else None
    )


# --- warnings about errors outside of tests

_MAX_WARNINGS = 200
_WARNING = re.compile(
    r"\n(?P<tests>(?:[^\s-][^\n]*\n)*+)  (?P<file>[^\n:]{1,1000}):(?P<line>\d{1,9}): (?P<category>[\w.]{1,200}): "
    r"(?P<message>[^\n]*(?:\n[ \t]+[^\n]*+|\n(?=\n*+  ))*+)"
)


def warned_in(text: str, root: str = "") -> Iterator[Warned]:
    """The warnings of pytest itself, and of coroutines never awaited; the others do not show a failure.

    :param text: a warnings summary, beginning with a line break.
    """
    if "never awaited" not in text and ": Pytest" not in text:
        return
    for found in _WARNING.finditer(text):
        category = found["category"].rpartition(".")[2]
        message = _warning_message(found["message"])
        if category.startswith("Pytest") or "never awaited" in message:
            file = project_path(found["file"], root) or ""
            line = int(found["line"]) if file else 0
            yield Warned(category=category, message=message, file=file, line=line)


def _warning_message(text: str) -> str:
    """The message without margin, without the line of source and the advice that pytest puts below it."""
    lines = [
        line.removeprefix("  ") for line in text.partition("\n  Enable tracemalloc to get")[0].split("\n")
    ]
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    if len(lines) > 1 and lines[-1].startswith("  "):
        lines.pop()
    return "\n".join(lines).strip("\n")


READERS: dict[str, Read] = {"pytest": read_pytest}
