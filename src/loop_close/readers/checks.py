"""What readers of static checkers share: findings as failures, source excerpts, values out of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from loop_close.conventions import is_test_file
from loop_close.model import Failure, Frame, Raised, Site, SourceLines
from loop_close.readers import Reading, merged, project_path
from loop_close.text import MAX_MESSAGE, one_line, sanitize
from loop_close.text.redact import clean

_MAX_FAILURES = 20_000
_MAX_NOTES = 40
_MAX_SOURCE_LINES = 12
_MAX_SOURCE_LINE = 1_000

#: A path at the start of a line, for use in a pattern: none of what starts quoted or commented text.
BARE_PATH = r"(?:[A-Za-z]:(?=[\\/]))?[^\s:\"'`#>*+|(\[-][^:\"'`<>|*?\n]{0,400}"
PATH = rf"(?P<file>{BARE_PATH})"
#: A path that the text around it shows to be one.
ANY_PATH = r"(?P<file>(?:[A-Za-z]:(?=[\\/]))?[^:#\n]{1,400})"
#: The cell of a notebook, as Ruff and ty write it, and as Pyrefly does.
CELL = r"(?:(?::cell |#)(?P<cell>\d{1,6}))?"
_PYTHON = (".py", ".pyi", ".ipynb")


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckerFinding:
    """One finding as a checker wrote it.

    :ivar file: the path as written, with any separators; empty if it has none.
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


def finding_at(place: re.Match[str], message: str, code: str, notes: Sequence[str] = ()) -> CheckerFinding:
    """A finding at the place in a match: groups ``file``, ``line``, ``column`` and, for notebooks, ``cell``."""
    groups = place.groupdict()
    return CheckerFinding(
        message=message,
        code=code,
        file=groups["file"],
        line=int(groups["line"]),
        column=int(groups["column"]),
        cell=groups.get("cell") or "",
        notes=notes,
    )


@dataclass(slots=True)
class Findings:
    """The findings of one tool in one text.

    :ivar spans: offsets of the text that was read; ``ranges`` the same as line numbers from 0, the end excluded.
    """

    tool: str
    root: str
    failures: list[Failure] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    is_certain: bool = False

    def add(self, finding: CheckerFinding) -> None:
        """Keep one finding, unless there are far too many already."""
        if len(self.failures) < _MAX_FAILURES:
            self.failures.append(_failure(self.tool, finding, self.root))

    def cover(self, first: int, end: int) -> None:
        """Mark lines as read."""
        self.ranges.append((first, end))

    def add_documents(
        self,
        text: str,
        opening: re.Pattern[str],
        items_of: Callable[[Any], list[Mapping[str, Any]] | None],
        finding_of: Callable[[Mapping[str, Any]], CheckerFinding],
    ) -> None:
        """Keep the findings of the JSON documents in a text, which is certain then.

        :param opening: how such a document begins.
        :param items_of: the failing items of a document; None if it is of another tool.
        """
        for document, start, end in json_documents(text, opening):
            items = items_of(document)
            if items is not None:
                self.is_certain = True
                self.spans.append((start, end))
                for item in items:
                    self.add(finding_of(item))

    def reading(self, lines: Sequence[str]) -> Reading:
        """All findings; empty without a finding or a summary of the tool."""
        if not self.failures and not self.is_certain:
            return Reading()
        spans = self.spans + _offsets(lines, self.ranges)
        return Reading(failures=tuple(self.failures), spans=merged(spans), is_certain=self.is_certain)


def is_python(path: str) -> bool:
    """Whether a path is one that a checker of Python reads, by its ending."""
    return path.endswith(_PYTHON)


def is_path(path: str, is_certain: bool) -> bool:
    """Whether the text before a line number can be the path of a Python file.

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


def _failure(tool: str, finding: CheckerFinding, root: str) -> Failure:
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


def _message(finding: CheckerFinding, is_foreign: bool) -> str:
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


def _frame(finding: CheckerFinding, file: str, line: int) -> Frame:
    source = None
    if finding.source and line and finding.source_start > 0:
        kept = tuple(_bounded(text) for text in finding.source[:_MAX_SOURCE_LINES])
        source = SourceLines(start=finding.source_start, lines=kept)
    return Frame(file=file, line=line, function="", is_test=is_test_file(file), source=source)


def _statement(finding: CheckerFinding) -> str:
    at = finding.line - finding.source_start
    return " ".join(_bounded(finding.source[at]).split()) if 0 <= at < len(finding.source) else ""


def _bounded(line: str) -> str:
    return line if len(line) <= _MAX_SOURCE_LINE else clean(line[: 2 * _MAX_SOURCE_LINE])[:_MAX_SOURCE_LINE]


def _offsets(lines: Sequence[str], ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    if not ranges:
        return []
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return [(starts[first], min(starts[end], starts[-1] - 1)) for first, end in ranges]


# --- source excerpts in the style of rustc, as ty, Pyrefly and Ruff print them below a message

#: Where an excerpt begins: `` --> src/shop/prices.py:9:12``.
LOCATION = re.compile(rf" {{0,12}}--> {ANY_PATH}{CELL}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}})\Z")
_SOURCE = re.compile(r" {0,12}(?P<line>\d{1,9}) \|(?: (?P<text>.*))?\Z")
_MARKS = re.compile(r" {1,13}\|(?: (?P<text>.*))?\Z")
# What only a proposed fix has: another cell, changed lines, a ruler between its parts.
_FIX = re.compile(r" {0,12}(?:::: |\d{0,9} {1,12}[+-](?: |\Z)|\.\.\.\Z)|-{10,200}\Z")
_NOTE = re.compile(r"(?: {1,12}= )?(?P<kind>info|help|note):(?: (?P<text>.*))?\Z")
_MULTILINE = re.compile(r"(?:\| ?| )_+\^")
_LABEL = re.compile(r"[^^]*+\^++ (?P<label>[^\s^-].*)\Z")
# Said of every finding alike.
_ADVICE = re.compile(
    r"rule `[^`\n]{1,100}` (?:is|was) (?:enabled|selected)\b|make sure your Python environment is properly"
    r"|This is an unsafe fix\b"
)


@dataclass(slots=True)
class Excerpt:
    """Lines of a file with marks below what is meant.

    :ivar sources: the lines shown as (number, text); ``marks`` as (number of the line above, text).
    :ivar end: the first line of the output behind it.
    """

    file: str
    cell: str
    line: int
    column: int
    end: int
    sources: list[tuple[int, str]] = field(default_factory=list)
    marks: list[tuple[int, str]] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What is written behind the marks of the place itself, if anything is."""
        found = (_LABEL.match(text) for _, text in self.marks)
        return next((match["label"].rstrip() for match in found if match), "")

    def finding(self, message: str, code: str, notes: Sequence[str] = ()) -> CheckerFinding:
        """A finding at this place."""
        line, column = self._place()
        start, source = self._around(line)
        return CheckerFinding(
            message=message,
            code=code,
            file=self.file,
            line=line,
            column=column,
            cell=self.cell,
            notes=notes,
            source=source,
            source_start=start,
        )

    def _place(self) -> tuple[int, int]:
        """The place of the carets, if the named line has only dashes, which mark a secondary place."""
        own = [text for number, text in self.marks if number == self.line]
        if own and not any("^" in text for text in own):
            for number, text in self.marks:
                if "^" in text:
                    return number, text.index("^") + 1
        return self.line, self.column

    def _around(self, line: int) -> tuple[int, list[str]]:
        """The consecutive lines shown that hold this one, without the margin of marks over several lines."""
        margin = 2 if any(_MULTILINE.match(text) for _, text in self.marks) else 0
        start, kept = 0, list[str]()
        for number, text in self.sources:
            if kept and number != start + len(kept):
                if start <= line < start + len(kept):
                    break
                kept = []
            if not kept:
                start = number
            kept.append(text[margin:])
        return (start, kept) if start <= line < start + len(kept) else (0, [])


def excerpt_at(lines: Sequence[str], at: int) -> Excerpt | None:
    """The excerpt whose ``-->`` is on this line; None if there is none."""
    place = LOCATION.match(lines[at]) if at < len(lines) and "--> " in lines[at] else None
    if place is None:
        return None
    excerpt = Excerpt(place["file"], place["cell"] or "", int(place["line"]), int(place["column"]), at + 1)
    read_rows(excerpt, lines)
    return excerpt


def read_rows(excerpt: Excerpt, lines: Sequence[str]) -> None:
    """Add the lines and marks that follow; ``excerpt.end`` moves behind them."""
    above = 0
    while excerpt.end < len(lines):
        line = lines[excerpt.end]
        source = _SOURCE.match(line)
        marks = None if source else _MARKS.match(line)
        if source:
            above = int(source["line"])
            excerpt.sources.append((above, source["text"] or ""))
        elif marks:
            excerpt.marks.append((above, marks["text"] or ""))
        else:
            return
        excerpt.end += 1


def notes_at(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """What is said below an excerpt, and the first line behind it.

    Places that notes point to are named in parentheses; proposed fixes are passed over.
    """
    notes: list[str] = []
    while at < len(lines):
        note = _NOTE.match(lines[at])
        below = None if note else excerpt_at(lines, at)
        if note:
            prefix = "help: " if note["kind"] == "help" else ""
            notes.append(prefix + (note["text"] or "").rstrip())
        elif below is not None:
            if notes and not below.file.startswith(("stdlib/", "vendored:")):
                notes[-1] += f" ({below.file}:{below.line})"
        elif not (_FIX.match(lines[at]) or _SOURCE.match(lines[at]) or _MARKS.match(lines[at])):
            break
        at = below.end if below is not None else at + 1
    return [note for note in said_notes(notes) if not _ADVICE.match(note)], at


# --- JSON in text, and values out of it of any type

_MAX_DOCUMENTS = 50
_MAX_BROKEN_DOCUMENTS = 5


def json_documents(text: str, opening: re.Pattern[str]) -> Iterator[tuple[Any, int, int]]:
    """JSON documents between other text, each with the offsets of its start and end.

    :param opening: how such a document begins.
    """
    decoder, at, found, broken = json.JSONDecoder(), 0, 0, 0
    while found < _MAX_DOCUMENTS and broken < _MAX_BROKEN_DOCUMENTS:
        begins = opening.search(text, at)
        if begins is None:
            return
        try:
            document, at = decoder.raw_decode(text, begins.start())
        except (ValueError, RecursionError):
            broken, at = broken + 1, begins.end()
            continue
        found += 1
        yield document, begins.start(), at


def number(value: object) -> int:
    """A line or column out of JSON; 0 for what cannot be one."""
    return value if isinstance(value, int) and 0 <= value <= 999_999_999 else 0


def string(value: object) -> str:
    """A text out of JSON; empty for what is none. Its escapes can spell what the text around it cannot hold."""
    return sanitize(value) if isinstance(value, str) else ""


def word(value: object) -> str:
    """A path or the name of a rule out of JSON; empty for other values."""
    return one_line(value, 1_000) if isinstance(value, str) else ""
