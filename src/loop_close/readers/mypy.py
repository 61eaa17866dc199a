"""Read what mypy prints: its lines, with and without source excerpts, and its JSON lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from loop_close.readers.checks import BARE_PATH, Finding, Findings, is_path, is_python
from loop_close.readers.contract import Reader, Reading
from loop_close.readers.json_parts import json_line, number, string, word

_LINE = re.compile(
    rf"(?P<file><string>|{BARE_PATH})"
    r"(?::(?P<line>\d{1,9})(?::(?P<column>\d{1,9})(?::\d{1,9}:\d{1,9})?)?)?: (?:: )?"
    r"(?P<kind>error|note): (?P<said>.*)\Z"
)
# "Found 1 error." alone is Ruff's.
_SUMMARY = re.compile(
    r"Found (?P<errors>\d{1,9}) errors? in \d{1,9} files?"
    r" \((?:checked \d{1,9} source files?|errors prevented further checking)\)\Z"
)
_GREEN = re.compile(r"Success: no issues found in \d{1,9} source files?\Z")
_USAGE = re.compile(r"mypy: (?:error: |(?=can't ))(?P<said>.+)\Z")
_CARETS = re.compile(r" {4,1000}\^~{0,1000}\Z")
_CODE = re.compile(r"[a-z][a-z0-9-]{0,60}\Z")
_ADVICE = ("https://", "If this issue ", "Please report a bug ")
_CRASH = "INTERNAL ERROR -- "
_JSON_KEYS = {"file", "line", "column", "message", "hint", "code", "severity"}
#: Then what it does not name may be wrong all the same.
_STOPPED = "errors prevented further checking"
_GATES = ("mypy: ", " source file", _STOPPED, '"severity": "')
_MAX_PRETTY = 14
_MAX_CRASH = 400


@dataclass(slots=True)
class _Told:
    """A finding while its notes are still to come."""

    message: str
    code: str
    file: str
    line: str
    column: str
    end: int
    source: str = ""
    notes: list[str] = field(default_factory=list)


def read(text: str, root: str) -> Reading:
    """Every error of mypy, each with its notes; notes alone, such as revealed types, are none."""
    has_errors = ": error: " in text and (".py" in text or ".ipynb" in text)
    if not has_errors and not any(gate in text for gate in _GATES):
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="mypy", root=root)
    summary = _summary(lines, found)
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        if line.startswith("mypy: ") and (usage := _USAGE.match(line)):
            found.add(Finding(message=usage["said"]))
            found.cover(first, at)
        elif ": error: " in line or ": note: " in line:
            at = _location(lines, first, found)
        elif line.startswith("{") and '"severity": "' in line:
            _json(line, first, found)
    if summary and not found.failures:  # the errors themselves were cut off, or filtered out
        found.add(Finding(message=summary))
        found.failures[0] = replace(found.failures[0], number=int(summary.split()[1]))
    reading = found.reading(lines)
    return replace(reading, incomplete=f"mypy: {_STOPPED}") if _STOPPED in summary else reading


def _summary(lines: Sequence[str], found: Findings) -> str:
    """The words of a summary that counts errors; empty without one."""
    said = ""
    for at, line in enumerate(lines):
        if line.startswith(("Found ", "Success: ")):
            summary = _SUMMARY.match(line)
            if summary or _GREEN.match(line):
                found.is_certain = True
                found.cover(at, at + 1)
                said = line if summary else said
    return said


def _location(lines: Sequence[str], at: int, found: Findings) -> int:
    """Read the error or note that begins here; the first line behind it and its notes."""
    begin = _LINE.match(lines[at])
    if begin is None or not _is_own(begin, found.is_certain):
        return at + 1
    if begin["kind"] == "note":
        found.is_certain = found.is_certain or begin["said"].startswith("please use --show-traceback")
        found.cover(at, at + 1)
        return at + 1
    is_crash = begin["said"].startswith(_CRASH)
    told = _crash(lines, at, begin) if is_crash else _error(lines, at, begin)
    if not is_crash:
        _take_notes(lines, told, begin)
    found.is_certain = found.is_certain or is_crash
    found.cover(at, told.end)
    found.add(_finding(told))
    return told.end


def _is_own(begin: re.Match[str], is_certain: bool) -> bool:
    """Whether it is mypy's: compilers write such lines of their files, and argparse of any script."""
    file = begin["file"]
    if begin["line"] is None:
        return is_certain and is_python(file)
    return file == "<string>" or is_path(file, is_certain)


def _error(lines: Sequence[str], at: int, begin: re.Match[str]) -> _Told:
    said, source, end = _unwrapped(lines, at, begin["said"])
    message, code = _split_code(said)
    return _Told(message, code, begin["file"], begin["line"] or "", begin["column"] or "", end, source)


def _unwrapped(lines: Sequence[str], at: int, said: str) -> tuple[str, str, int]:
    """The whole message, the source line below it, and the first line behind both."""
    end = min(at + _MAX_PRETTY, len(lines))
    for below in range(at + 1, end):
        line = lines[below]
        if _CARETS.match(line) and below > at + 1:
            wrapped = [said, *lines[at + 1 : below - 1]]
            return " ".join(part.strip() for part in wrapped), lines[below - 1][4:], below + 1
        if not line or (": " in line and _LINE.match(line)) or line.startswith("Found "):
            break
    return said, "", at + 1


def _split_code(said: str) -> tuple[str, str]:
    if said.endswith("]"):
        message, _, code = said[:-1].rpartition(" [")
        if message and _CODE.match(code):
            return message.rstrip(), code
    return said, ""


def _take_notes(lines: Sequence[str], told: _Told, begin: re.Match[str]) -> None:
    """Add the notes that follow on the same line of the same file."""
    while told.end < len(lines) and ": note: " in lines[told.end]:
        note = _LINE.match(lines[told.end])
        if note is None or (note["file"], note["line"]) != (begin["file"], begin["line"]):
            return
        told.notes.append(note["said"].rstrip())
        told.end += 1


def _crash(lines: Sequence[str], at: int, begin: re.Match[str]) -> _Told:
    """An internal error with the traceback below it, up to the note that ends both."""
    told = _Told(begin["said"], "", begin["file"], begin["line"] or "", begin["column"] or "", at + 1)
    for end in range(at + 1, min(at + _MAX_CRASH, len(lines))):
        if ": error: " in lines[end]:
            break
        if ": note: " in lines[end] and _LINE.match(lines[end]):
            told.notes = [line for line in lines[at + 1 : end] if not line.startswith(_ADVICE)]
            told.end = end + 1
            return told
    return told


def _finding(told: _Told) -> Finding:
    line = int(told.line or 0)
    # An ellipsis in place of an end is mypy's, to fit the terminal: such a line is not the file's.
    is_cut = told.source.startswith("...") or (told.source.endswith("...") and len(told.source) > 60)
    return Finding(
        message=told.message,
        code=told.code,
        file=told.file,
        line=line,
        column=int(told.column or 0),
        notes=told.notes,
        source=(told.source,) if told.source and not is_cut else (),
        source_start=line,
    )


def _json(line: str, at: int, found: Findings) -> None:
    """One line of ``--output json``, where columns count from 0."""
    said = json_line(line)
    if not _JSON_KEYS.issubset(said):
        return
    found.is_certain = True
    found.cover(at, at + 1)
    if said["severity"] == "error":
        column = said["column"] if isinstance(said["column"], int) else -1
        finding = Finding(
            message=string(said["message"]),
            code=word(said["code"]),
            file=word(said["file"]),
            line=number(said["line"]),
            column=number(column + 1),
            notes=string(said["hint"]).splitlines(),
        )
        found.add(finding)


READER = Reader(id="mypy", description="mypy and dmypy: text, --pretty, --output json", read=read)
