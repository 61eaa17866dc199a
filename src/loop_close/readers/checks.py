"""What readers of static checkers share: a finding becomes a Failure, lines become spans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from loop_close.conventions import is_test_file
from loop_close.model import Failure, Frame, Raised, Site, Source
from loop_close.readers.contract import Reading
from loop_close.readers.paths import project_path
from loop_close.text import MAX_MESSAGE
from loop_close.text.redact import clean

MAX_FAILURES = 20_000
_MAX_NOTES = 40
_MAX_SOURCE_LINES = 12
_MAX_SOURCE_LINE = 1_000

#: A path at the start of a line, for use in a pattern: none of what starts quoted or commented text.
BARE_PATH = r"(?:[A-Za-z]:(?=[\\/]))?[^\s:\"'`#>*+|(\[-][^:\"'`<>|*?\n]{0,400}"
PATH = rf"(?P<file>{BARE_PATH})"
#: A path where the text around it tells that it is one.
ANY_PATH = r"(?P<file>(?:[A-Za-z]:(?=[\\/]))?[^:#\n]{1,400})"
#: The cell of a notebook, as Ruff and ty write it, and as Pyrefly does.
CELL = r"(?:(?::cell |#)(?P<cell>\d{1,6}))?"
_PYTHON = (".py", ".pyi", ".ipynb")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One complaint as a checker wrote it.

    :ivar file: the path as written, with any separators; empty when it has none.
    :ivar cell: the notebook cell that ``line`` counts in.
    :ivar notes: what was said below the message and belongs to it.
    :ivar source: consecutive lines of the file, the first of them being line ``source_start``.
    """

    message: str
    code: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    cell: str = ""
    notes: Sequence[str] = ()
    source: Sequence[str] = ()
    source_start: int = 0


@dataclass(slots=True)
class Findings:
    """Collects what one tool said in one text.

    :ivar spans: offsets of what was read; ``ranges`` the same as line numbers from 0, the end excluded.
    """

    tool: str
    root: str
    failures: list[Failure] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    is_certain: bool = False

    def add(self, finding: Finding) -> None:
        """Keep one finding, unless there are far too many already."""
        if len(self.failures) < MAX_FAILURES:
            self.failures.append(_failure(self.tool, finding, self.root))

    def cover(self, first: int, end: int) -> None:
        """Mark lines as read."""
        self.ranges.append((first, end))

    def reading(self, lines: Sequence[str]) -> Reading:
        """What was collected; nothing where that is neither a failure nor the tool's own green words."""
        if not self.failures and not self.is_certain:
            return Reading()
        spans = self.spans + _offsets(lines, self.ranges)
        return Reading(failures=tuple(self.failures), spans=_merged(spans), is_certain=self.is_certain)


def is_python(path: str) -> bool:
    """Whether a path is one that a checker of Python reads, by its ending."""
    return path.endswith(_PYTHON)


def is_path(path: str, is_certain: bool) -> bool:
    """Whether what stands before a line number can be the path of a Python file.

    :param is_certain: the tool's summary is there: then paths may hold spaces, and need no ending.
    """
    spaced = path.find(" ")
    if spaced >= 0 and not (is_certain and ("/" in path[:spaced] or "\\" in path[:spaced])):
        return False
    name = path.replace("\\", "/").rpartition("/")[2]
    return is_python(path) or (is_certain and "." not in name[1:])


def said_notes(lines: Iterable[str]) -> list[str]:
    """Notes without the folders that imports were searched in: those differ from machine to machine."""
    kept: list[str] = []
    is_search = False
    for line in lines:
        starts = line.startswith(("Searched in the following paths", "Looked in these locations"))
        is_search = starts or (is_search and _SEARCHED.match(line) is not None)
        if not is_search:
            kept.append(line.rstrip())
    return kept


_SEARCHED = re.compile(r"\s*+(?:\d+\. |[A-Z][^:\n]{0,120}: [\"\[])")


def _failure(tool: str, finding: Finding, root: str) -> Failure:
    file = project_path(finding.file, root) if finding.file else None
    line = finding.line if file and not finding.cell else 0
    message = _message(finding, is_foreign=bool(finding.file) and file is None)
    if root and root in message:
        message = message.replace(f"{root.rstrip('/')}/", "")
    frame = _frame(finding, file, line) if file else None
    site = Site(frame=frame, statement=_statement(finding)) if frame else None
    raised = Raised(
        type=tool,
        message=message,
        frames=(frame,) if frame else (),
        details={"column": str(finding.column)} if finding.column > 0 and line else {},
        site=site,
    )
    return Failure(
        nodeid="",
        phase="check",
        tool=tool,
        code=finding.code,
        file=file or "",
        line=line,
        message=message,
        raised=raised,
    )


def _message(finding: Finding, is_foreign: bool) -> str:
    notes = list(finding.notes[:_MAX_NOTES])
    if len(finding.notes) > _MAX_NOTES:
        notes.append(f"… {len(finding.notes) - _MAX_NOTES} lines left out …")
    if finding.cell:
        notes.append(f"in cell {finding.cell}, line {finding.line}")
    if is_foreign:
        notes.append(f"in {_short(finding.file)}, line {finding.line}")
    message = "\n".join((finding.message.strip(), *notes)) if notes else finding.message.strip()
    return message if len(message) <= MAX_MESSAGE else clean(message[: 2 * MAX_MESSAGE], MAX_MESSAGE)


def _short(path: str) -> str:
    """A foreign path without what is particular to this machine."""
    path = path.replace("\\", "/")
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in path:
            return path.rpartition(folder)[2]
    return path.rpartition("/")[2]


def _frame(finding: Finding, file: str, line: int) -> Frame:
    source = None
    if finding.source and line and finding.source_start > 0:
        kept = tuple(_bounded(text) for text in finding.source[:_MAX_SOURCE_LINES])
        source = Source(start=finding.source_start, lines=kept)
    return Frame(file=file, line=line, function="", is_test=is_test_file(file), source=source)


def _statement(finding: Finding) -> str:
    at = finding.line - finding.source_start
    return " ".join(_bounded(finding.source[at]).split()) if 0 <= at < len(finding.source) else ""


def _bounded(line: str) -> str:
    return line if len(line) <= _MAX_SOURCE_LINE else clean(line[: 2 * _MAX_SOURCE_LINE])[:_MAX_SOURCE_LINE]


def _offsets(lines: Sequence[str], ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    if not ranges:
        return []
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return [(starts[first], min(starts[end], starts[-1] - 1)) for first, end in ranges]


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        elif end > start:
            merged.append((start, end))
    return tuple(merged)
