"""Make failures of one run from its blocks and its summary, each failure once."""

from __future__ import annotations

import re
from dataclasses import replace

from loop_close.model import Failure, Frame, Phase, Raised
from loop_close.readers.paths import project_path
from loop_close.readers.pytest_output.crash_lines import crash_lines
from loop_close.readers.pytest_output.doctests import read_doctest
from loop_close.readers.pytest_output.naming import Heading, Names, heading, without_summary, worker_crash
from loop_close.readers.pytest_output.parts import Block
from loop_close.readers.pytest_output.said import missing_fixture, raised_from_words
from loop_close.readers.pytest_output.summary import Entry
from loop_close.readers.pytest_output.tracebacks import read_traceback
from loop_close.readers.pytest_reports import bounded_sections
from loop_close.text import cut

_WORKER = re.compile(r"\A\n*\[gw\d{1,6}\] [^\n]* -- Python [^\n]*(?=\n)")
# Of these pytest's own words say more than the exception they are raised from.
_EXPLAINED = ("ImportPathMismatchError", "Skipped")
_ECHO = re.compile(r"contains \d{1,9} failed subtests?\Z")


def failures_from(blocks: list[Block], names: Names, root: str) -> list[Failure]:
    """The failures of a run.

    :param names: the summary's lines; those that no block takes are failures by themselves.
    """
    found: list[Failure] = []
    for block in blocks:
        if block.title:
            found.append(_failure(block, names, root))
        else:
            found += crash_lines(f"\n{block.body}", names.entries, root)
    return found + [failure_of_entry(entry, root) for entry in names.entries if not entry.is_used]


def without_echoes(found: list[Failure]) -> list[Failure]:
    """Without those that only say that subtests failed, which are failures of their own."""
    with_subtests = {f.nodeid for f in found if f.subtest}
    return [f for f in found if f.nodeid not in with_subtests or not is_echo(f)]


def is_echo(failure: Failure) -> bool:
    """Whether pytest fails a test for its subtests alone."""
    return failure.raised is None and _ECHO.match(failure.message) is not None


def _failure(block: Block, names: Names, root: str) -> Failure:
    nodeid, entry = names.take(block.title)
    head = heading(block.title) if nodeid else without_summary(block.title)
    subtest = entry.subtest if entry is not None else head.subtest
    name = nodeid.partition("::")[2]
    if name and name != head.name:
        head = replace(head, name=name)
    body = "\n" + _WORKER.sub("", block.body, count=1)
    raised, file, line = _raised(body, head, root)
    words = cut(body.strip("\n"))
    if raised is None:
        raised = _plain(words, head.phase, entry, nodeid)
    nodeid = nodeid or _nodeid(head, raised, file, words)
    if raised is not None:
        raised = _qualified(raised, head.name, nodeid)
    return Failure(
        nodeid=nodeid,
        phase=head.phase,
        message=raised.message if raised is not None else words,
        file=nodeid.partition("::")[0],
        line=line or _first_line(raised, head.name),
        subtest=subtest,
        raised=raised,
        sections=bounded_sections(block.sections),
    )


def _raised(body: str, head: Heading, root: str) -> tuple[Raised | None, str, int]:
    """The exception, and where the test stands if the text tells that apart from the frames."""
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


def _plain(words: str, phase: Phase, entry: Entry | None, nodeid: str) -> Raised | None:
    """What is printed without a traceback: ``pytest.fail`` that wants none, or an error of collecting."""
    told = entry.split(nodeid)[1] if entry is not None else ""
    if told.startswith("Failed: "):
        return Raised(type="Failed", message=words, bases=("OutcomeException", "BaseException"))
    if phase == "collect" and words:
        bases = ("Exception", "BaseException")
        return Raised(type="Collector.CollectError", module="_pytest.nodes", message=words, bases=bases)
    return None


def _nodeid(head: Heading, raised: Raised | None, file: str, words: str) -> str:
    """As much of the node id as the text tells without a summary."""
    if head.phase == "collect":
        return head.name
    frames = raised.frames if raised is not None else ()
    first = next((f for f in frames if f.is_test), frames[0] if frames else None)
    file = file or (first.file if first is not None else "")
    return worker_crash(words) or (f"{file}::{head.name}" if file else head.name)


def _qualified(raised: Raised, name: str, nodeid: str) -> Raised:
    """With the class in the name of the test function, which the heading tells."""
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


def failure_of_entry(entry: Entry, root: str) -> Failure:
    """A failure of which only a line of the summary tells."""
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
