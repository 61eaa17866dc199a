"""Checkers of types and of style: a grammar for each tool, and the one function that reads by it.

A summary that counts findings of which no item is left is one failure for all of them.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Annotated

import msgspec

from loop_close.conventions import is_test_file
from loop_close.model import Failure, Frame, Raised, Site, SourceLines
from loop_close.readers import Read, Reading, merged, project_path
from loop_close.records import Record
from loop_close.text import cut, one_line, sanitize

_MAX_FAILURES = 20_000
_MAX_NOTES = 40
_MAX_BROKEN = 5
_MAX_SOURCE = 1_000
_NEVER = re.compile(r"(?!)")
#: The kinds of items that fail a run; an item without a kind does, too.
_RED = (None, "error", "fatal", "ERROR")


class Finding(Record, frozen=True, kw_only=True):
    """One finding as a checker wrote it.

    :ivar file: the path as written; empty if it has none.
    :ivar cell: the notebook cell that ``line`` counts in; empty for none.
    :ivar notes: what is said below the message and belongs to it.
    :ivar source: the line of the file.
    :ivar number: how many findings it represents.
    """

    message: str
    code: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    cell: str = ""
    notes: Sequence[str] = ()
    source: str = ""
    number: int = 1


class Item(Record, frozen=True, kw_only=True):
    """One finding in a tool's JSON. A subclass has the fields that the tool writes."""

    def finding(self) -> Finding | None:
        """What it says; None if it does not fail a run."""
        raise NotImplementedError


class Tool(Record, frozen=True, kw_only=True):
    """How one checker writes.

    :ivar like: what each line with an item or a summary contains; it is searched for in the whole text.
    :ivar items: the lines with a finding. Groups: ``file``, ``line``, ``column``, ``cell``, ``kind``, ``code``,
        ``said``. Without ``file``, the place is in the excerpt below or in the heading above.
    :ivar summary: a line that counts the findings. Group ``number``; it is missing when nothing was found.
    :ivar below: a line that goes on with the finding above; group ``note`` for what it adds. If it has ``file`` and
        ``line``, they are those of the finding.
    :ivar heading: the name of the file above its items.
    :ivar ending: the rule where it ends a message; group ``code``.
    :ivar caret: how many lines below an item the caret may stand. Between them are the rest of the message and the
        line of the file.
    :ivar key: the JSON of the tool contains it; ``item`` is one finding in it, ``inside`` the field that lists them.
    """

    name: str
    like: re.Pattern[str]
    items: tuple[re.Pattern[str], ...]
    summary: re.Pattern[str]
    below: re.Pattern[str] = _NEVER
    heading: re.Pattern[str] = _NEVER
    ending: re.Pattern[str] = _NEVER
    caret: int = 0
    key: str = "\0"
    item: type[Item] = Item
    inside: str = ""


#: Offsets of a part of the text, and the findings in it.
_Part = tuple[int, int, Sequence[Finding]]


def read_checker(tools: Sequence[Tool], text: str, root: str) -> Reading:
    """What a checker found. One that writes in several ways has a grammar for each."""
    parts: list[_Part] = []
    is_certain = False
    for tool in tools:
        documents = list(_documents(tool, text))
        items, summaries = _lines(tool, _without(text, documents))
        counted = [] if items or documents else [part for part in summaries if part[2]][:1]
        parts += [*documents, *items, *counted, *((start, end, ()) for start, end, _ in summaries)]
        is_certain = is_certain or bool(documents or summaries)
    findings = [finding for _, _, found in parts for finding in found]
    failures = (_failure(tools[0].name, finding, root) for finding in findings[:_MAX_FAILURES])
    return Reading(
        failures=tuple(failures),
        spans=merged((start, end) for start, end, _ in parts),
        is_certain=is_certain or bool(findings),
    )


def _without(text: str, parts: Sequence[_Part]) -> str:
    """The text with spaces in place of what was read, so that offsets stay."""
    kept, at = [], 0
    for start, end, _ in parts:
        kept += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
        at = end
    return "".join((*kept, text[at:]))


# --- lines of text


def _lines(tool: Tool, text: str) -> tuple[list[_Part], list[_Part]]:
    """The items in the lines of a text; the summaries, each as one finding for all that it counts."""
    items: list[_Part] = []
    summaries: list[_Part] = []
    if not tool.like.search(text):
        return items, summaries
    text = text.replace("\xa0", " ")  # Pyright indents with no-break spaces
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    end, file = 0, ""
    for found in tool.like.finditer(text):
        at = bisect_right(starts, found.start()) - 1
        if at < end:
            continue
        heading = tool.heading.match(lines[at - 1]) if at else None
        file = heading["file"] if heading is not None else file if at == end else ""
        item = _item(tool, lines[at])
        finding, end = _finding(tool, item, lines, at + 1, file) if item is not None else (None, at + 1)
        if item is not None and finding is not None:
            is_red = item.groupdict().get("kind") in _RED
            items.append((starts[at], starts[end] - 1, [finding] * is_red))
        elif summary := tool.summary.match(lines[at]):
            number = int(summary["number"] or 0)
            counted = [Finding(message=summary[0].strip(), number=number)] if number else []
            summaries.append((starts[at], starts[end] - 1, counted))
    return items, summaries


def _item(tool: Tool, line: str) -> re.Match[str] | None:
    """The finding that begins on a line; None for other lines."""
    return next((found for item in tool.items if (found := item.match(line))), None)


def _finding(
    tool: Tool, item: re.Match[str], lines: Sequence[str], at: int, heading: str
) -> tuple[Finding | None, int]:
    """The finding with all that is said below its first line, and the first line behind it; None without a place."""
    given = item.groupdict()
    said, source, at = _wrapped(tool, lines, at, given.get("said") or "")
    shown = _excerpt(lines, at)
    place = shown.place if "file" not in given and not heading else None
    given |= place.groupdict() if place is not None else {}
    file = given.get("file", heading or None)
    if file is None:
        return None, at
    notes, end = _notes(tool, item, lines, shown.end, has_excerpt=shown.end > at)
    code = given.get("code") or ""
    line = int(given.get("line") or 0)
    label = shown.label if shown.label not in (said, code) else ""
    texts = [text for text in (said, label) if text] or [code]
    texts += notes
    for number in (0, -1):
        if not code and (ending := tool.ending.search(texts[number])):
            code, texts[number] = ending["code"], texts[number][: ending.start()].rstrip()
    finding = Finding(
        message=texts[0],
        code=_CODES.get(code, code),
        file=file,
        line=line,
        column=int(given.get("column") or 0),
        cell=given.get("cell") or "",
        notes=texts[1:],
        source=shown.sources.get(line, source),
    )
    return finding, end


def _wrapped(tool: Tool, lines: Sequence[str], at: int, said: str) -> tuple[str, str, int]:
    """The whole message, the line of the file above the caret, and the first line behind both."""
    for below in range(at, min(at + tool.caret, len(lines))):
        line = lines[below]
        if below > at and _CARET.match(line):
            return (
                " ".join((said, *map(str.strip, lines[at : below - 1]))),
                lines[below - 1].strip(),
                below + 1,
            )
        if not line or _item(tool, line) or tool.summary.match(line):
            break
    return said, "", at


def _notes(
    tool: Tool, item: re.Match[str], lines: Sequence[str], at: int, *, has_excerpt: bool
) -> tuple[list[str], int]:
    """What is said below a finding, and the first line behind it.

    Places that notes point to are named in parentheses; proposed fixes are passed over.
    """
    notes: list[str] = []
    while at < len(lines):
        more = tool.below.match(lines[at])
        if more is not None:
            said = more.groupdict()
            if said.get("file") and [said["file"], said["line"] or ""] != [item["file"], item["line"]]:
                break
            notes += [said["note"].rstrip()] if said["note"] is not None else []
            at += 1
        elif has_excerpt and (place := _LOCATION.match(lines[at])):
            if notes and not place["file"].startswith(("stdlib/", "vendored:")):
                notes[-1] += f" ({place['file']}:{place['line']})"
            at = _excerpt(lines, at).end
        elif has_excerpt and (_FIX.match(lines[at]) or _ROW.match(lines[at])):
            at += 1
        else:
            break
    return notes, at


class _Excerpt(Record, frozen=True, kw_only=True):
    """Lines of a file in the style of rustc, as ty, Pyrefly and Ruff print them below a message.

    :ivar place: groups ``file``, ``cell``, ``line``, ``column``; None if it begins without them.
    :ivar sources: the lines shown, by their numbers.
    :ivar label: what is written behind the carets.
    :ivar end: the first line of the output behind it.
    """

    place: re.Match[str] | None
    sources: dict[int, str]
    label: str
    end: int


def _excerpt(lines: Sequence[str], at: int) -> _Excerpt:
    """The excerpt that begins on this line; its end is this line if there is none."""
    place = _LOCATION.match(lines[at]) if at < len(lines) else None
    at += place is not None
    sources: dict[int, str] = {}
    label = ""
    is_begun = place is not None or (at < len(lines) and _GUTTER.match(lines[at]) is not None)
    while is_begun and at < len(lines) and (row := _ROW.match(lines[at])):
        if row["line"]:
            sources[int(row["line"])] = _MARGIN.sub("", row["text"] or "").strip()
        elif not label and (labelled := _LABEL.match(row["text"] or "")):
            label = labelled["label"].rstrip()
        at += 1
    return _Excerpt(place=place, sources=sources, label=label, end=at)


#: A path at the start of a line: none of what begins quoted or commented text, and no spaces.
_PATH = (
    r"(?P<file>(?:[A-Za-z]:(?=[\\/]))?[^\s:\"'`#>*+|(\[-][^\s:\"'`<>|*?]{0,400}\.(?:pyi?|ipynb|toml)|<string>)"
    r"(?::cell (?P<cell>\d{1,6}))?"
)
#: A path that the text around it shows to be one.
_ANY_PATH = (
    r"(?P<file>(?:[A-Za-z]:(?=[\\/]))?[^:#\n]{1,400}\.(?:pyi?|ipynb|toml))(?:(?::cell |#)(?P<cell>\d{1,6}))?"
)
_AT = r":(?P<line>\d{1,9}):(?P<column>\d{1,9})"
_LOCATION = re.compile(rf" {{0,12}}--> {_ANY_PATH}{_AT}\Z")
_ROW = re.compile(r"(?: {0,12}(?P<line>\d{1,9}) | {1,13})\|(?: (?P<text>.*))?\Z")
_GUTTER = re.compile(r" {1,13}\|\Z")
_LABEL = re.compile(r"[^^]*+\^++ (?P<label>[^\s^-].*)\Z")
_MARGIN = re.compile(r"\A[/|] ")  # of marks over several lines
_CARET = re.compile(r"\s{0,2000}\^~{0,1000}\Z")
# What only a proposed fix has: another cell, changed lines, a ruler between its parts.
_FIX = re.compile(r" {0,12}(?:::: |\d{0,9} {1,12}[+-](?: |\Z)|\.\.\.\Z)|-{10,200}\Z")


# --- JSON

_OPENING = re.compile(r'^[ \t]{0,12}(?=(?:\[\s{0,20})?\{\s{0,20}")', re.MULTILINE)
_Number = Annotated[int, msgspec.Meta(ge=-1, lt=999_999_999)]


def _documents(tool: Tool, text: str) -> Iterator[_Part]:
    """The findings in each JSON value that is the tool's; of an output that was cut, in each item that is whole."""
    decoder, end, broken = json.JSONDecoder(), 0, 0
    for opening in _OPENING.finditer(text) if tool.key in text else ():
        if opening.start() < end or broken >= _MAX_BROKEN:
            continue
        try:
            value, end = decoder.raw_decode(text, opening.end())
        except (ValueError, RecursionError):
            broken += 1
            continue
        if isinstance(value, dict):
            value = value.get(tool.inside, [value])
        with suppress(msgspec.ValidationError):
            items = msgspec.convert(value, list[tool.item])  # type: ignore[name-defined]
            found = (item.finding() for item in items)
            yield opening.start(), end, [_sanitized(finding) for finding in found if finding is not None]


def _sanitized(finding: Finding) -> Finding:
    """The finding without what the escapes of JSON can spell."""
    first, *rest = sanitize(finding.message.replace("\xa0", " ")).split("\n")
    return msgspec.structs.replace(
        finding,
        message=first,
        code=_CODES.get(finding.code, one_line(finding.code, 1_000)),
        file=one_line(finding.file, 1_000),
        notes=[*rest, *map(sanitize, finding.notes)],
    )


# --- findings as failures


def _failure(tool: str, finding: Finding, root: str) -> Failure:
    file = project_path(finding.file, root) or ""
    line = finding.line if file and not finding.cell else 0
    message = _message(finding, is_foreign=finding.file != "" and not file)
    if root:
        message = message.replace(f"{root.rstrip('/')}/", "")
    source = (
        SourceLines(start=line, lines=(finding.source[:_MAX_SOURCE],)) if finding.source and line else None
    )
    frame = (
        Frame(file=file, line=line, function="", is_test=is_test_file(file), source=source) if file else None
    )
    statement = " ".join(source.lines[0].split()) if source is not None else ""
    raised = Raised(
        type=tool,
        message=message,
        frames=(frame,) if frame else (),
        details={"column": str(finding.column)} if finding.column > 0 and line else {},
        site=Site(frame=frame, statement=statement) if frame else None,
    )
    return Failure(
        nodeid="",
        phase="check",
        tool=tool,
        code=finding.code,
        file=file,
        line=line,
        message=message,
        raised=raised,
        number=finding.number,
    )


def _message(finding: Finding, *, is_foreign: bool) -> str:
    """The message with its notes, and the place where ``file`` and ``line`` of a failure cannot hold it."""
    notes = list(finding.notes[:_MAX_NOTES])
    if len(finding.notes) > _MAX_NOTES:
        notes.append(f"… {len(finding.notes) - _MAX_NOTES} lines left out …")
    if finding.cell:
        notes.append(f"in cell {finding.cell}, line {finding.line}")
    if is_foreign:
        notes.append(f"in {_without_machine(finding.file)}, line {finding.line}")
    return cut("\n".join((finding.message.strip(), *notes)))


def _without_machine(path: str) -> str:
    """A path of another's file without what is particular to this machine."""
    path = path.replace("\\", "/")
    return re.split("/(?:site|dist)-packages/", path)[-1] if "-packages/" in path else path.rpartition("/")[2]


# --- the tools

#: Rules that a tool names otherwise, or used to.
_CODES = {
    **dict.fromkeys(("SyntaxError", "Failed to parse"), "invalid-syntax"),
    **dict.fromkeys(("unformatted", "Would reformat"), "format"),
}


class _MypyItem(Item, frozen=True, kw_only=True):
    """A line of ``mypy --output json``; columns count from 0."""

    file: str
    line: _Number
    column: _Number
    message: str
    hint: str | None
    code: str | None
    severity: str

    def finding(self) -> Finding | None:
        """An error; notes are none."""
        if self.severity != "error":
            return None
        notes = (self.hint or "").splitlines()
        return Finding(
            message=self.message,
            code=self.code or "",
            file=self.file,
            line=max(self.line, 0),
            column=self.column + 1,
            notes=notes,
        )


_MYPY = Tool(
    name="mypy",
    like=re.compile(r": error: |mypy: |please use --show|source file|errors prevented"),
    items=(
        re.compile(
            rf"{_PATH}:(?P<line>\d{{1,9}})(?::(?P<column>\d{{1,9}})(?::\d{{1,9}}:\d{{1,9}})?)?"
            r": (?:: )?error: (?P<said>.*)\Z"
        ),
        # argparse says the same of what has no line
        re.compile(rf"{_PATH}(?P<line>): error: (?P<said>(?:Duplicate|Cannot|Source|INTERNAL) .*)\Z"),
        re.compile(rf"{_PATH}(?::\d{{1,9}})?: note: (?P<said>please use --show-traceback .*)\Z"),
        re.compile(r"mypy: (?P<file>)(?:error: |(?=can't ))(?P<said>.+)\Z"),
    ),
    summary=re.compile(
        r"^(?:Found (?P<number>\d{1,9}) errors? in \d{1,9} files?"
        r" \((?:checked \d{1,9} source files?|errors prevented further checking)\)"
        r"|Success: no issues found in \d{1,9} source files?)$",
        re.MULTILINE,
    ),
    below=re.compile(
        rf"(?:{_PATH}(?::(?P<line>\d{{1,9}})(?::\d{{1,9}}){{0,3}})?: (?:: )?note: |(?=version: ))"
        r"(?:please use --show-traceback.*|(?P<note>.*))\Z"
        r"|https://mypy\.readthedocs\.io/|If this issue continues |Please report a bug "
    ),
    ending=re.compile(r" {1,2}\[(?P<code>[a-z][a-z0-9-]{0,60})\]\Z"),
    caret=14,
    key='"severity": "',
    item=_MypyItem,
)


class _Place(Record, frozen=True, kw_only=True):
    line: _Number = 0
    character: _Number = 0


class _Range(Record, frozen=True, kw_only=True):
    start: _Place


class _PyrightItem(Item, frozen=True, kw_only=True):
    """One of ``generalDiagnostics``; lines and columns count from 0."""

    file: str
    severity: str
    message: str
    rule: str = ""
    range: _Range | None = None

    def finding(self) -> Finding | None:
        """An error; warnings and informations do not fail a run."""
        if self.severity != "error":
            return None
        line, column = (self.range.start.line + 1, self.range.start.character + 1) if self.range else (0, 0)
        return Finding(message=self.message, code=self.rule, file=self.file, line=line, column=column)


_PYRIGHT = Tool(
    name="pyright",
    like=re.compile(r" - (?:error|warning|information): |File or directory |errors?, \d"),
    items=(
        re.compile(rf" {{0,2}}{_ANY_PATH}{_AT} - (?P<kind>error|warning|information): (?P<said>.*)\Z"),
        re.compile(
            r"(?P<said>File or directory \"(?:file://)?(?P<file>[^\"\n]{1,1000})\" does not exist)\.?\Z"
        ),
    ),
    summary=re.compile(
        r"^(?:0|(?P<number>\d{1,9})) errors?, \d{1,9} warnings?, \d{1,9} (?:informations?|notes?) ?$",
        re.MULTILINE,
    ),
    below=re.compile(r"(?! {0,2}\S[^\n]* - (?:error|warning|information): )  (?P<note>  .*)\Z"),
    ending=re.compile(r" \((?P<code>report[A-Z]\w{1,80})\)\Z"),
    key='"generalDiagnostics"',
    item=_PyrightItem,
    inside="generalDiagnostics",
)


class _PyreflyItem(Item, frozen=True, kw_only=True):
    """One of ``errors``."""

    line: _Number
    column: _Number
    path: str
    name: str
    description: str
    concise_description: str
    severity: str = "error"
    cell: int | None = None

    def finding(self) -> Finding | None:
        """An error; warnings and informations do not fail a run."""
        if self.severity != "error":
            return None
        first, *rest = self.description.split("\n")
        more = [found["note"] for line in rest if (found := _PYREFLY.below.match(line.replace("\xa0", " ")))]
        return Finding(
            message=first,
            code=self.name,
            file=self.path,
            line=max(self.line, 0),
            column=self.column,
            cell=str(self.cell or ""),
            notes=[note for note in more if note is not None],
        )


_LEVEL = r" {0,2}(?P<kind>ERROR|WARN|INFO) "
_PYREFLY_CODE = r" \[(?P<code>[a-z][a-z0-9-]{0,80})\]\Z"
_PYREFLY = Tool(
    name="pyrefly",
    like=re.compile(r"\[[a-z][a-z0-9-]{0,80}\]$|INFO \d{1,9} (?:error|diagnostic)", re.MULTILINE),
    items=(
        re.compile(rf"{_LEVEL}{_ANY_PATH}{_AT}(?:-\d{{1,9}}(?::\d{{1,9}})?)?: (?P<said>.*){_PYREFLY_CODE}"),
        re.compile(rf"{_LEVEL}(?P<said>.*){_PYREFLY_CODE}"),
    ),
    # what the log of the program says goes to the other stream: it may follow a JSON document on the same line
    summary=re.compile(
        r"^[\]}]? {0,2}INFO (?:0|(?P<number>\d{1,9})) (?:errors?|diagnostics?)(?: \([^\n]{1,200}\))?$",
        re.MULTILINE,
    ),
    below=re.compile(
        r"  (?:Looked in these locations.*|[A-Z][^:\n]{0,120}: [\"\[].*|(?!WARN |INFO |ERROR )(?P<note>.*))\Z"
    ),
    key='"concise_description"',
    item=_PyreflyItem,
    inside="errors",
)

_RULE = r"(?P<kind>error|fatal|warning|info)\[(?P<code>[a-z][a-z0-9:-]{0,80})\]"
# without what is said of every finding alike, and the folders that imports were searched in
_NOTE = re.compile(
    r"(?: {1,12}= )?(?:(?:info|note): |(?=help: ))(?:(?:help: )?(?:Searched in the following paths|  \d+\. "
    r"|rule `[^`\n]{1,100}` (?:is|was) (?:enabled|selected)\b|make sure your Python environment is properly"
    r"|This is an unsafe fix\b).*|(?P<note>.*))\Z"
)
_TY = Tool(
    name="ty",
    like=re.compile(r"(?:error|fatal|warning|info)\[|Found \d"),
    items=(
        re.compile(rf"{_PATH}{_AT}: {_RULE}(?: (?P<said>.*))?\Z"),
        re.compile(r"error\[(?P<code>io)\](?P<file>): (?P<said>.*)\Z"),
        # rustc's own codes are capitals and digits: E0308
        re.compile(rf"{_RULE}(?:: (?P<said>.*))?\Z"),
    ),
    summary=re.compile(r"^Found (?P<number>\d{1,9}) diagnostics?$", re.MULTILINE),
    below=_NOTE,
)


class _Location(Record, frozen=True, kw_only=True):
    row: _Number
    column: _Number


class _Fix(Record, frozen=True, kw_only=True):
    message: str | None = None


class _RuffItem(Item, frozen=True, kw_only=True):
    """One of ``ruff check --output-format json``."""

    code: str | None
    filename: str
    location: _Location
    message: str
    noqa_row: int | None
    fix: _Fix | None = None
    cell: int | None = None

    def finding(self) -> Finding:
        """Every one fails the run; Ruff once had no name for a syntax error."""
        advice = self.fix.message if self.fix is not None else None
        return Finding(
            message=self.message,
            code=self.code or "invalid-syntax",
            file=self.filename,
            line=max(self.location.row, 0),
            column=self.location.column,
            cell=str(self.cell or ""),
            notes=[f"help: {advice}"] if advice else [],
        )


_CODE = r"(?P<code>[A-Z]{1,6}\d{3,5}(?!:)|(?:invalid-syntax|SyntaxError)(?=:)):?"
_LINES = (
    re.compile(rf"{_PATH}{_AT}: {_CODE}(?: \[\*\])? (?P<said>\S.*)\Z"),
    re.compile(rf"{_PATH}:(?P<line>\d{{1,9}}): \[(?P<code>[A-Z]{{1,6}}\d{{3,5}})\] (?P<said>\S.*)\Z"),
)
_PLACED = r"\.(?:pyi?|ipynb(?::cell \d{1,6})?|toml):\d"
_FLAKE8 = Tool(name="flake8", like=re.compile(_PLACED), items=_LINES, summary=_NEVER, caret=2)
#: What only Ruff writes: then the lines that flake8 writes alike are Ruff's.
_RUFFS = re.compile(
    r"Found \d{1,9} errors?(?: \(\d{1,9} fixed, \d{1,9} remaining\))?\.$|\[\*\] |\n {1,13}\|$|\"noqa_row\"|/ruff/rules/"
    r"|: (?:invalid-syntax|SyntaxError): |:error title=[Rr]uff |logissue type=error;sourcepath=",
    re.MULTILINE,
)
_RUFF = Tool(
    name="ruff",
    like=re.compile(
        rf"{_PLACED}|^(?:[A-Z]{{1,6}}\d{{3,5}}|invalid-syntax:|SyntaxError:) |^ {{2,10}}\d{{1,9}}:\d|Found \d"
        r"|\[\*\] \d|/ruff/rules/|:error title=|logissue ",
        re.MULTILINE,
    ),
    items=(
        *_LINES,
        re.compile(rf"{_CODE}(?: \[\*\])? (?P<said>\S.*)\Z"),
        re.compile(rf" {{2,10}}{_AT[1:]} {{1,8}}{_CODE}(?: \[\*\])? (?P<said>\S.*)\Z"),
        re.compile(
            r": ?:error title=[Rr]uff \((?P<code>[^)\n]{1,80})\),file=(?P<file>[^,\n]{1,1000})"
            r",line=(?P<line>\d{1,9})[^:\n]{0,200}::(?:\S{1,1000}: )?(?:[A-Z]{1,6}\d{3,5} )?"
            r"(?P<said>(?:(?!%0A).)*).*\Z"
        ),
        re.compile(
            r"# ?#vso\[task\.logissue type=error;sourcepath=(?P<file>[^;\n]{1,1000});linenumber=(?P<line>\d{1,9});"
            r"columnnumber=(?P<column>\d{1,9});code=(?P<code>[^;\n]{0,80});\](?P<said>.*)\Z"
        ),
        # the end of a finding in JSON of which the beginning was cut
        re.compile(r'\s{0,12}"url": "https://docs\.astral\.sh/ruff/rules/(?P<file>)(?P<said>[\w-]{1,100})"'),
    ),
    summary=re.compile(
        r"^(?:Found (?:\d{1,9} errors? \(\d{1,9} fixed, )?|\[\*\] )(?P<number>\d{1,9})"
        r"(?: errors?\.| remaining\)\.| fixable with [^\n]{1,200})$",
        re.MULTILINE,
    ),
    below=_NOTE,
    heading=re.compile(rf"{_PATH}:\Z"),
    key='"noqa_row"',
    item=_RuffItem,
)
_RUFF_FORMAT = Tool(
    name="ruff",
    like=re.compile(r"Would reformat: |unformatted: |Failed to parse |would be reformatted"),
    items=(
        re.compile(r"(?P<code>Would reformat): (?P<file>\S[^\n]{0,400})\Z"),
        re.compile(r"(?P<code>unformatted): (?P<said>.*)\Z"),
        re.compile(rf"error: (?P<code>Failed to parse) {_ANY_PATH}{_AT}: (?P<said>.*)\Z"),
    ),
    summary=re.compile(
        r"^(?P<number>\d{1,9}) files? would be reformatted(?:, \d{1,9} files? already formatted)?$",
        re.MULTILINE,
    ),
)


def _reader(*tools: Tool) -> Read:
    return lambda text, root: read_checker(tools, text, root)


def read_ruff(text: str, root: str) -> Reading:
    """Every finding of Ruff, a file that it would reformat and one that it cannot parse among them."""
    return read_checker([_RUFF, _RUFF_FORMAT] if _RUFFS.search(text) else [_RUFF_FORMAT], text, root)


def read_flake8(text: str, root: str) -> Reading:
    """Every finding of flake8, which prints no summary."""
    return Reading() if _RUFFS.search(text) else read_checker([_FLAKE8], text, root)


READERS: dict[str, Read] = {
    "mypy": _reader(_MYPY),
    "pyright": _reader(_PYRIGHT),
    "pyrefly": _reader(_PYREFLY),
    "ty": _reader(_TY),
    "ruff": read_ruff,
    "flake8": read_flake8,
}
