"""pytest's terminal output as failures, warnings and counts, as far as the text has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from loop_close.conventions import is_test_file
from loop_close.facts import failure_order
from loop_close.model import Counts, Failure, Frame, Phase, Raised, Site, Warned
from loop_close.readers import (
    Read,
    Reading,
    is_at_end,
    is_quoted_until,
    merged,
    project_path,
    sum_of,
)
from loop_close.readers.printed import raised_in
from loop_close.readers.pytest_output.rulers import (
    BLOCKS,
    PASSED,
    Block,
    Parts,
    PytestRun,
    counts_in,
    is_red,
    parts_of,
)
from loop_close.readers.pytest_output.runs import (
    ELLIPSIS,
    Heading,
    NodeIds,
    SummaryEntry,
    counts_of,
    end_of_entries,
    entries,
    heading,
    incomplete,
    is_more_than_collected,
    is_quoted,
    progress,
    runs,
    summary_of,
    without_summary,
    worker_crash,
)
from loop_close.readers.pytest_output.tracebacks import (
    missing_fixture,
    raised_from_words,
    read_doctest,
    read_traceback,
)
from loop_close.readers.pytest_reports import bounded_sections
from loop_close.text import cut

_MAX_FAILURES = 20_000
_MAX_RUNS = 1_000
_HALF = re.compile(r"\n(?:E[ \w.]*|\w[\w.]*)\s*\Z")
_HALF_PLACE = re.compile(r"\n\S[^\n]{0,1000}:\d{1,9}: (?P<name>\w{1,200})\s*\Z")
_CUT_BEFORE = "the output ends before the exception is shown"
_MARKS = (
    *("= test session starts =", "= FAILURES =", "= ERRORS =", "= short test summary info ="),
    *("\nINTERNALERROR>", "ImportError while loading conftest '", "\nERROR: "),
)
_BARE = re.compile(
    r"\n(?:\d{1,7} (?:failed|passed|skipped|deselected|xfailed|xpassed|warning|error)|no tests ran)[^\n]{0,300}? in \d"
)
_ROOT = re.compile(r"\nrootdir: (?P<root>[^\n,]{1,1000})")


def read_pytest(text: str, root: str = "") -> Reading:
    """Read every run of pytest in a text."""
    text = f"\n{text}"
    if not any(mark in text for mark in _MARKS) and _BARE.search(text) is None:
        return Reading()
    found = _RunsFound(text, root)
    quoted = _RunsFound(text, root)
    every = runs(text)[-_MAX_RUNS:]
    for index, run in enumerate(every):
        limit = every[index + 1].start if index + 1 < len(every) else len(text)
        (quoted if run.is_quoted else found).take_run(run, limit)
    found.take_early(quoted)
    return found.reading(quoted)


@dataclass(slots=True)
class _RunsFound:
    """What was read so far.

    :ivar closed: offsets of what a run prints about its failures, where nothing else is looked for.
    :ivar is_certain: some run has its whole form, and counts no more tests than it collected.
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

    def take_run(self, run: PytestRun, limit: int) -> None:
        root = self._root_of(run)
        names, run = _names(self.text, run)
        parts = parts_of(self.text, run, names.knows)
        if not names.is_complete:
            names.entries += _from_progress(self.text, run, parts, names.entries)
        for block in parts.blocks[-1:]:
            said = block.body.rstrip()
            block.is_cut = run.final is None and bool(said) and self.text.rstrip().endswith(said)
        failures = failures_from(parts.blocks, names, root)
        self.failures += without_echoes(failures)
        for warnings in parts.warnings:
            self.warnings += warned_in(f"\n{warnings}", root)
        counts = counts_of(self.text, run, failures)
        self.counts += [counts] if counts is not None else []
        self.incomplete = self.incomplete or incomplete(self.text, run, parts.stops, counts)
        self._close(run, parts, root, limit, is_doubtful=is_more_than_collected(self.text, run, counts))

    def _root_of(self, run: PytestRun) -> str:
        found = _ROOT.search(self.text, run.start, min(run.end, run.start + 5_000)) if run.has_start else None
        return found["root"].strip() if found else self.root

    def _close(self, run: PytestRun, parts: Parts, root: str, limit: int, *, is_doubtful: bool) -> None:
        """Note the place of a run, and the failure if pytest-timeout ended the run."""
        end = run.end
        dump = timed_out(self.text, run.start, limit, root) if run.final is None else None
        if dump is not None and run.has_start:
            self.failures.append(dump[0])
            end = max(end, dump[1])
        is_whole = run.final is not None and (bool(run.rulers) or run.start < run.final.start)
        if run.final is not None:
            is_cut = is_at_end(self.text, end) and is_red(run.final)
        else:
            is_cut = bool(run.has_start or self.incomplete) and not is_quoted_until(self.text[end:])
        self.is_certain = self.is_certain or ((is_whole or is_cut) and not is_doubtful)
        self.spans += _without(run.start, end, parts.foreign)
        first = next((r for r in run.rulers if r.title in (*BLOCKS, *PASSED)), None)
        self.closed += [(first.start, end)] if first is not None else []

    def take_early(self, quoted: _RunsFound) -> None:
        for failure, start, end in internal_errors(self.text, self.root):
            found = self._take(failure, start, end, quoted)
            if found is not None:
                found.incomplete, found.is_certain = found.incomplete or "an internal error ended it", True
        for failure, start, end in broken_conftests(self.text, self.root):
            found = self._take(failure, start, end, quoted)
            if found is not None:
                found._not_started()
        for failure, start, end in usage_errors(self.text, self.root):
            found = self._take(failure, start, end, quoted)
            if found is not None and failure.phase == "collect":
                found._not_started()

    def _not_started(self) -> None:
        self.counts.append(Counts(errors=1))
        self.incomplete, self.is_certain = self.incomplete or NOT_STARTED, True

    def _take(self, failure: Failure, start: int, end: int, quoted: _RunsFound) -> _RunsFound | None:
        """Keep a failure from outside of the runs' own failures, with what is quoted if Markdown quotes it."""
        if any(a < end and start < b for a, b in (*self.closed, *quoted.closed)):
            return None
        found = quoted if is_quoted(self.text, start) else self
        found.failures.append(failure)
        found.spans.append((start, end))
        return found

    def reading(self, quoted: _RunsFound) -> Reading:
        """What was read. A quoted run counts only if there is no other, or if it has failures."""
        if not self.spans:
            return replace(quoted.whole(), is_certain=False)
        if not quoted.failures:
            return self.whole()
        is_green = not self.failures and not self.is_failing()
        self.failures += quoted.failures
        self.warnings += quoted.warnings
        self.counts += quoted.counts
        self.spans += quoted.spans
        self.incomplete = self.incomplete or quoted.incomplete
        self.is_certain = self.is_certain and not is_green
        return self.whole()

    def is_failing(self) -> bool:
        """Whether the numbers include failures."""
        return bool(self.incomplete) or any(c.failed or c.errors for c in self.counts)

    def whole(self) -> Reading:
        failures: dict[tuple[str | int, ...], Failure] = {}
        for failure in self.failures:
            failures.setdefault(failure_order(failure), failure)
        return Reading(
            failures=tuple(failures.values())[:_MAX_FAILURES],
            warnings=tuple(dict.fromkeys(self.warnings))[:MAX_WARNINGS],
            counts=sum_of(self.counts) if self.counts else None,
            # as offsets of the text without the line break put in front of it
            spans=merged((max(s - 1, 0), min(e - 1, len(self.text) - 1)) for s, e in self.spans),
            is_certain=self.is_certain,
            incomplete=self.incomplete,
        )


def _names(text: str, run: PytestRun) -> tuple[NodeIds, PytestRun]:
    """The lines of the summary; the run ends with them where nothing follows."""
    place = summary_of(run)
    if place is None:
        return NodeIds([]), run
    found = entries(text, *place, has_end=run.final is not None)
    if run.final is None and place[1] == run.end:
        run = replace(run, end=end_of_entries(text, *place))
    numbers = (counts_in(run.final.title) if run.final is not None else None) or {}
    failed = numbers.get("failed", 0) + numbers.get("error", 0) + numbers.get("errors", 0)
    return NodeIds(found, is_complete=bool(found) and len(found) >= failed > 0), run


def _from_progress(text: str, run: PytestRun, parts: Parts, known: list[SummaryEntry]) -> list[SummaryEntry]:
    """The failures that only the lines of ``-v`` name."""
    counts = counts_in(run.final.title) if run.final is not None else None
    if counts is not None and not is_red(run.final):
        return []  # with ``-s`` the output of tests is on these lines, too
    named = {entry.split()[0] for entry in known}
    shown = progress(text, *parts.progress)
    return [entry for entry in shown if entry.rest not in named]


def _without(start: int, end: int, holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for first, last in sorted(holes):
        if start < first:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


# --- failures: from blocks with tracebacks, lines of the summary, and what ends a run early


_WORKER = re.compile(r"\A\n*\[gw\d{1,6}\] [^\n]* -- Python [^\n]*(?=\n)")
# Of these pytest's own words say more than the exception they are raised from.
_EXPLAINED = ("ImportPathMismatchError", "Skipped")
_ECHO = re.compile(r"contains \d{1,9} failed subtests?\Z")


def failures_from(blocks: list[Block], names: NodeIds, root: str) -> list[Failure]:
    """The failures of a run.

    :param names: the summary's lines; those that no block takes are failures by themselves.
    """
    found: list[Failure] = []
    for block in blocks:
        if block.title:
            found.append(_failure(block, names, root))
        else:
            found += _crash_lines(f"\n{block.body}", names.entries, root)
    return found + [failure_of_entry(entry, root) for entry in names.entries if not entry.is_used]


def without_echoes(found: list[Failure]) -> list[Failure]:
    """Without those that only say that subtests failed, which are failures of their own."""
    with_subtests = {f.nodeid for f in found if f.subtest}
    echoes = {id(f) for f in found if f.raised is None and _ECHO.match(f.message)}
    return [f for f in found if f.nodeid not in with_subtests or id(f) not in echoes]


def _failure(block: Block, names: NodeIds, root: str) -> Failure:
    nodeid, entry = names.take(block.title)
    head = heading(block.title) if nodeid else without_summary(block.title)
    subtest = entry.subtest if entry is not None else head.subtest
    name = nodeid.partition("::")[2]
    if name and name != head.name:
        head = replace(head, name=name)
    body = "\n" + _WORKER.sub("", block.body, count=1)
    if block.is_cut:
        body = _without_half(body)
    raised, file, line = _raised(body, head, root)
    words = cut(body.strip("\n")) if not block.is_cut else _CUT_BEFORE
    if block.is_cut and raised is not None and not raised.type:
        raised = replace(raised, message=words)
    if raised is None:
        raised = _plain(words, head.phase, entry, nodeid)
    nodeid = nodeid or _nodeid(head, raised, file, words)
    if raised is not None:
        raised = _qualified(raised, head.name, nodeid)
    return Failure(
        nodeid=nodeid,
        phase=head.phase,
        message=raised.message if raised is not None else words,
        file=nodeid if head.phase == "collect" else _file_of(nodeid),
        line=line or _first_line(raised, head.name),
        subtest=subtest,
        raised=raised,
        sections=bounded_sections(block.sections),
    )


def _without_half(body: str) -> str:
    """What is shown of a failure, without half of the name of its exception at the end: that would be another one."""
    if half := _HALF.search(body):
        return body[: half.start() + 1]
    if place := _HALF_PLACE.search(body):
        named = re.search(rf"\nE +(?:[\w.]+\.)?(?P<name>{place['name']}\w*)(?=[:\n])", body)
        is_assert = "AssertionError".startswith(place["name"]) and "\nE       assert " in body
        name = named["name"] if named else "AssertionError" if is_assert else place["name"]
        return f"{body[: place.start('name')]}{name}\n"
    return body


def _raised(body: str, head: Heading, root: str) -> tuple[Raised | None, str, int]:
    """The exception, and the place of the test if the text has it apart from the frames."""
    missing = missing_fixture(body)
    if missing is not None:
        raised, file, line = missing
        return raised, project_path(file, root) or "", line
    found = read_doctest(body, head.name, root) if head.is_doctest else None
    found = found or read_traceback(body, root)
    is_wrapped = found is not None and head.phase == "collect" and found.type.endswith("CollectError")
    if found is not None and is_wrapped and found.cause is not None and found.cause.type not in _EXPLAINED:
        found = found.cause
    return found, "", 0


def _plain(words: str, phase: Phase, entry: SummaryEntry | None, nodeid: str) -> Raised | None:
    """What is printed without a traceback: ``pytest.fail`` that wants none, or an error of collecting."""
    words_of_entry = entry.split(nodeid)[1] if entry is not None else ""
    if words_of_entry.startswith("Failed: "):
        return Raised(type="Failed", message=words, bases=("OutcomeException", "BaseException"))
    if phase == "collect" and words:
        bases = ("Exception", "BaseException")
        return Raised(type="Collector.CollectError", module="_pytest.nodes", message=words, bases=bases)
    return None


def _nodeid(head: Heading, raised: Raised | None, file: str, words: str) -> str:
    """As much of the node id as the text has without a summary."""
    if head.phase == "collect":
        return head.name
    frames = raised.frames if raised is not None else ()
    first = next((f for f in frames if f.is_test), frames[0] if frames else None)
    file = file or (first.file if first is not None else "")
    return worker_crash(words) or (f"{file}::{head.name}" if file else head.name)


def _file_of(nodeid: str) -> str:
    """The file of a node id; empty where it begins with the name of a class or of the test."""
    file, colons, _ = nodeid.partition("::")
    return file if colons and ("/" in file or "." in file) else ""


def _qualified(raised: Raised, name: str, nodeid: str) -> Raised:
    """With the class in the name of the test function, from the heading."""
    qualname = name.partition("[")[0].replace("::", ".")
    path, short = nodeid.partition("::")[0], qualname.rpartition(".")[2]
    if short == qualname or (
        raised.cause is raised.context is None and all(f.function != short for f in raised.frames)
    ):
        return raised

    def named(frame: Frame) -> Frame:
        is_it = frame.function == short and frame.file == path
        return replace(frame, function=qualname) if is_it else frame

    site = replace(raised.site, frame=named(raised.site.frame)) if raised.site is not None else None
    return replace(
        raised,
        frames=tuple(named(f) for f in raised.frames),
        site=site,
        cause=_qualified(raised.cause, name, nodeid) if raised.cause is not None else None,
        context=_qualified(raised.context, name, nodeid) if raised.context is not None else None,
    )


def _first_line(raised: Raised | None, name: str) -> int:
    """The test's first line, where the whole function is shown."""
    qualname = name.partition("[")[0].replace("::", ".")
    for frame in raised.frames if raised is not None else ():
        if frame.function == qualname and frame.source is not None and frame.source.start < frame.line:
            return frame.source.start
    return 0


def failure_of_entry(entry: SummaryEntry, root: str) -> Failure:
    """A failure that only a line of the summary shows."""
    nodeid, words = entry.split()
    raised = raised_from_words(words, root)
    phase: Phase = "call" if entry.word == "FAILED" else "setup" if "::" in nodeid else "collect"
    return Failure(
        nodeid=nodeid,
        phase=phase,
        message=raised.message if raised is not None else cut(words),
        file=nodeid.partition("::")[0],
        subtest=entry.subtest,
        raised=raised,
    )


# --- failures without headings (``--tb=line``): the message, then the place

_CRASH = re.compile(
    r"\n(?P<file>(?:/|[A-Za-z]:[\\/])[^\n:]{1,1000}):(?P<line>\d{1,9}): (?P<said>[^\n]*)(?=\n)"
)
_SAID = re.compile(
    r"(?:\nE   [^\n]*+(?:\n    [^\n]*+|\n(?=\n*+    ))*+|\n(?=\nThe above |\nDuring handling )"
    r"|\nThe above exception was the direct cause of the following exception:"
    r"|\nDuring handling of the above exception, another exception occurred:)*+"
)


def _crash_lines(text: str, entries: list[SummaryEntry], root: str = "") -> Iterator[Failure]:
    """The failures of such a region; each takes its node id from the next line of the summary that says the same.

    :param text: begins with a line break.
    """
    at = 0
    for crash in _CRASH.finditer(text):
        said = _SAID.match(text, at, crash.start())
        said = said if said is not None and "\nE   " in said.group() else None
        if said is not None:
            last = said.group().rindex("\nE   ") + 5  # of a chain the last exception
            if said.group()[last:].partition("\n")[0] != crash["said"]:
                continue
        entry = next((e for e in entries if not e.is_used and _is_said_by(e, crash["said"])), None)
        if entry is None and entries:
            continue
        at = crash.end()
        raised = read_traceback(f"{said.group()}\n", root) if said is not None else None
        yield _crash_line_failure(crash, raised or raised_from_words(crash["said"], root), entry, root)


def _is_said_by(entry: SummaryEntry, said: str) -> bool:
    _, words = entry.split()
    return (
        entry.word == "FAILED"
        and words != ""
        and (said.startswith(words.removesuffix(ELLIPSIS)) or words.startswith(said))
    )


def _crash_line_failure(
    crash: re.Match[str], raised: Raised | None, entry: SummaryEntry | None, root: str
) -> Failure:
    file = project_path(crash["file"], root)
    nodeid = ""
    if entry is not None:
        entry.is_used = True
        nodeid, _ = entry.split()
    if raised is not None and file is not None:
        frame = Frame(file=file, line=int(crash["line"]), function="", is_test=is_test_file(file))
        raised = replace(raised, frames=(frame,), site=Site(frame=frame))
    return Failure(
        nodeid=nodeid or file or crash["file"],
        phase="call",
        message=raised.message if raised is not None else crash["said"],
        file=nodeid.partition("::")[0] or file or "",
        subtest=entry.subtest if entry is not None else "",
        raised=raised,
    )


# --- pytest ended before any test: usage errors, a broken conftest, internal errors

NOT_STARTED = "pytest ended before it collected any test"
_INTERNAL = re.compile(r"(?:\nINTERNALERROR>[^\n]*+)++")
_CONFTEST = re.compile(
    r"\nImportError while loading conftest '(?P<file>[^'\n]{1,1000})'\."
    r"(?P<body>(?:\n(?:E(?: [^\n]*+)?(?=\n|\Z)|    [^\n]*+"
    r"|[^\s:][^\n:]{0,1000}:\d{1,9}: in [^\n]*+))++)"
)
_USAGE = re.compile(
    r"\nERROR: (?P<words>usage: [^\n]+\n[^\n]{1,200}: error: [^\n]*+(?:\n  (?:inifile|rootdir): [^\n]*+)++"
    r"|(?P<found>file or directory not found: [^\n]+|not found: [^\n]+\n\(no [^\n]+|found no collectors for [^\n]+"
    r"|Wrong expression passed to '-[km]': [^\n]+)"
    r"|[^\n]{0,500}?(?:pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|pytest\.toml)(?::\d{1,9})?: [^\n]+"
    r"|Error importing plugin \"[^\n]+|Missing required plugins: [^\n]+|Unknown config option: [^\n]+)(?=\n|\Z)"
)


def internal_errors(text: str, root: str = "") -> Iterator[tuple[Failure, int, int]]:
    """Internal errors of pytest, with their offsets."""
    if "\nINTERNALERROR>" not in text:
        return
    for found in _INTERNAL.finditer(text):
        body = found.group().replace("\nINTERNALERROR> ", "\n").replace("\nINTERNALERROR>", "\n")
        raised = read_traceback(f"{body}\n", root)
        if raised is not None:
            yield _early_failure("session", raised), found.start() + 1, found.end()


def broken_conftests(text: str, root: str = "") -> Iterator[tuple[Failure, int, int]]:
    """Conftests that cannot be imported, with the offsets."""
    if "\nImportError while loading conftest '" not in text:
        return
    for found in _CONFTEST.finditer(text):
        raised = read_traceback(f"{found['body']}\n", root)
        if raised is not None:
            yield _early_failure("collect", raised), found.start() + 1, found.end()


def usage_errors(text: str, root: str = "") -> Iterator[tuple[Failure, int, int]]:
    """Wrong options, arguments and settings, with the offsets."""
    if "\nERROR: " not in text:
        return
    for found in _USAGE.finditer(text):
        words = found["words"].replace(f"{root}/", "") if root else found["words"]
        raised = Raised(
            type="UsageError",
            module="_pytest.config.exceptions",
            message=words,
            bases=("Exception", "BaseException"),
        )
        phase: Phase = "session" if found["found"] else "collect"
        yield _early_failure(phase, raised), found.start() + 1, found.end()


def _early_failure(phase: Phase, raised: Raised) -> Failure:
    return Failure(nodeid="", phase=phase, message=raised.message, raised=raised)


# --- pytest-timeout ended the whole process (``timeout_method=thread``)

_RULER = re.compile(r" Timeout \+{5,80}(?=\n)")
_STACK = re.compile(r"\n~+ Stack of MainThread [^\n]{1,60} ~+\n(?P<frames>(?:  [^\n]*\n)++)")
_LIMIT = re.compile(r"\ntimeout: (?P<seconds>[\d.]{1,20})s")
_RUNNING = re.compile(r"\n(?P<id>[^\s\n][^\n]{0,2000}?) ?\Z")


def timed_out(text: str, start: int, end: int, root: str = "") -> tuple[Failure, int] | None:
    """The test that ran when its time was over, and where the dump of the stacks ends."""
    first = _RULER.search(text, start, end)
    stack = _STACK.search(text, first.end(), end) if first is not None else None
    if first is None or stack is None:
        return None
    limit = _LIMIT.search(text, start, first.start())
    said = f"Failed: Timeout (>{limit['seconds'] + 's' if limit else 'its limit'}) from pytest-timeout."
    raised = raised_in(f"Traceback (most recent call last):\n{stack['frames']}{said}\n", root)
    if raised is None:
        return None
    test = next((f for f in raised.frames if f.is_test), None)
    begun = _RUNNING.search(text, max(start, first.start() - 2_000), first.start())
    nodeid = begun["id"] if begun and "::" in begun["id"] else ""
    if not nodeid and test is not None:
        nodeid = f"{test.file}::{test.function}"
    if not nodeid:
        return None
    failure = Failure(
        nodeid=nodeid, phase="call", message=raised.message, file=nodeid.partition("::")[0], raised=raised
    )
    last = _RULER.search(text, stack.end(), end)
    return failure, last.end() if last is not None else stack.end()


# --- warnings about errors outside of tests

MAX_WARNINGS = 200
_WARNING = re.compile(
    r"\n(?P<tests>(?:[^\s-][^\n]*\n)*+)  (?P<file>[^\n:]{1,1000}):(?P<line>\d{1,9}): (?P<category>[\w.]{1,200}): "
    r"(?P<message>[^\n]*(?:\n[ \t]+[^\n]*+|\n(?=\n*+  ))*+)"
)
_ADVICE = re.compile(r"\nEnable tracemalloc to get traceback where the object was allocated\.")


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
            tests = [t for t in found["tests"].split("\n") if t] or [""]
            for test in tests:
                yield Warned(category=category, message=message, nodeid=test, file=file, line=line)


def _warning_message(text: str) -> str:
    """The message without margin, without the line of source and the advice that pytest puts below it."""
    lines = [line.removeprefix("  ") for line in text.split("\n")]
    advice = next((i for i, line in enumerate(lines) if line.startswith("Enable tracemalloc to get")), None)
    if advice is not None and advice > 1 and not lines[advice - 1].startswith("  "):
        return "\n".join(lines).strip("\n")  # the message's own: there is no source above it
    lines = lines[:advice]
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    if len(lines) > 1 and lines[-1].startswith("  "):
        lines.pop()
    return "\n".join(lines).strip("\n")


READERS: dict[str, Read] = {"pytest": read_pytest}
