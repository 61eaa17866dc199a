"""Type checkers: mypy, Pyright, Pyrefly and ty, each in its forms of text and JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from loop_close.readers import Read, Reading
from loop_close.readers.checks import (
    ANY_PATH,
    BARE_PATH,
    CELL,
    PATH,
    CheckerFinding,
    Excerpt,
    Findings,
    excerpt_at,
    finding_at,
    is_path,
    is_python,
    notes_at,
    number,
    said_notes,
    string,
    word,
)
from loop_close.text import fields_of, objects_of, parsed_json

_MYPY_LINE = re.compile(
    rf"(?P<file><string>|{BARE_PATH})"
    r"(?::(?P<line>\d{1,9})(?::(?P<column>\d{1,9})(?::\d{1,9}:\d{1,9})?)?)?: (?:: )?"
    r"(?P<kind>error|note): (?P<said>.*)\Z"
)
# "Found 1 error." alone is Ruff's.
_MYPY_SUMMARY = re.compile(
    r"Found (?P<errors>\d{1,9}) errors? in \d{1,9} files?"
    r" \((?:checked \d{1,9} source files?|errors prevented further checking)\)\Z"
)
_GREEN = re.compile(r"Success: no issues found in \d{1,9} source files?\Z")
_USAGE = re.compile(r"mypy: (?:error: |(?=can't ))(?P<said>.+)\Z")
_CARETS = re.compile(r" {4,1000}\^~{0,1000}\Z")
_MYPY_CODE = re.compile(r"[a-z][a-z0-9-]{0,60}\Z")
_ADVICE = ("https://", "If this issue ", "Please report a bug ")
_CRASH = "INTERNAL ERROR -- "
_MYPY_JSON_KEYS = {"file", "line", "column", "message", "hint", "code", "severity"}
#: Then what it does not name may still be wrong.
_STOPPED = "errors prevented further checking"
_MYPY_GATES = ("mypy: ", " source file", _STOPPED, '"severity": "')
_MAX_PRETTY = 14
_MAX_CRASH = 400


@dataclass(slots=True)
class _Error:
    """An error of mypy while its notes are still to come."""

    message: str
    code: str
    file: str
    line: str
    column: str
    end: int
    source: str = ""
    notes: list[str] = field(default_factory=list)


def read_mypy(text: str, root: str) -> Reading:
    """Every error of mypy, each with its notes; notes alone, such as revealed types, are none."""
    has_errors = ": error: " in text and (".py" in text or ".ipynb" in text)
    if not has_errors and not any(gate in text for gate in _MYPY_GATES):
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="mypy", root=root)
    summary = _summary(lines, found)
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        if line.startswith("mypy: ") and (usage := _USAGE.match(line)):
            found.add(CheckerFinding(message=usage["said"]))
            found.cover(first, at)
        elif ": error: " in line or ": note: " in line:
            at = _mypy_location(lines, first, found)
        elif line.startswith("{") and '"severity": "' in line:
            _json(line, first, found)
    if summary and not found.failures:  # the errors themselves were cut off, or filtered out
        found.add(CheckerFinding(message=summary))
        found.failures[0] = replace(found.failures[0], number=int(summary.split()[1]))
    reading = found.reading(lines)
    return replace(reading, incomplete=f"mypy: {_STOPPED}") if _STOPPED in summary else reading


def _summary(lines: Sequence[str], found: Findings) -> str:
    """The words of a summary that counts errors; empty without one."""
    said = ""
    for at, line in enumerate(lines):
        if line.startswith(("Found ", "Success: ")):
            summary = _MYPY_SUMMARY.match(line)
            if summary or _GREEN.match(line):
                found.is_certain = True
                found.cover(at, at + 1)
                said = line if summary else said
    return said


def _mypy_location(lines: Sequence[str], at: int, found: Findings) -> int:
    """Read the error or note that begins here; the first line behind it and its notes."""
    begin = _MYPY_LINE.match(lines[at])
    if begin is None or not _is_own(begin, found.is_certain):
        return at + 1
    if begin["kind"] == "note":
        found.is_certain = found.is_certain or begin["said"].startswith("please use --show-traceback")
        found.cover(at, at + 1)
        return at + 1
    is_crash = begin["said"].startswith(_CRASH)
    error = _crash(lines, at, begin) if is_crash else _error(lines, at, begin)
    if not is_crash:
        _take_notes(lines, error, begin)
    found.is_certain = found.is_certain or is_crash
    found.cover(at, error.end)
    found.add(_mypy_finding(error))
    return error.end


def _is_own(begin: re.Match[str], is_certain: bool) -> bool:
    """Whether it is mypy's: compilers write such lines of their files, and argparse of any script."""
    file = begin["file"]
    if begin["line"] is None:
        return is_certain and is_python(file)
    return file == "<string>" or is_path(file, is_certain)


def _error(lines: Sequence[str], at: int, begin: re.Match[str]) -> _Error:
    said, source, end = _unwrapped(lines, at, begin["said"])
    message, code = _split_code(said)
    return _Error(message, code, begin["file"], begin["line"] or "", begin["column"] or "", end, source)


def _unwrapped(lines: Sequence[str], at: int, said: str) -> tuple[str, str, int]:
    """The whole message, the source line below it, and the first line behind both."""
    end = min(at + _MAX_PRETTY, len(lines))
    for below in range(at + 1, end):
        line = lines[below]
        if _CARETS.match(line) and below > at + 1:
            wrapped = [said, *lines[at + 1 : below - 1]]
            return " ".join(part.strip() for part in wrapped), lines[below - 1][4:], below + 1
        if not line or (": " in line and _MYPY_LINE.match(line)) or line.startswith("Found "):
            break
    return said, "", at + 1


def _split_code(said: str) -> tuple[str, str]:
    if said.endswith("]"):
        message, _, code = said[:-1].rpartition(" [")
        if message and _MYPY_CODE.match(code):
            return message.rstrip(), code
    return said, ""


def _take_notes(lines: Sequence[str], error: _Error, begin: re.Match[str]) -> None:
    """Add the notes that follow on the same line of the same file."""
    while error.end < len(lines) and ": note: " in lines[error.end]:
        note = _MYPY_LINE.match(lines[error.end])
        if note is None or (note["file"], note["line"]) != (begin["file"], begin["line"]):
            return
        error.notes.append(note["said"].rstrip())
        error.end += 1


def _crash(lines: Sequence[str], at: int, begin: re.Match[str]) -> _Error:
    """An internal error with the traceback below it, up to the note that ends both."""
    error = _Error(begin["said"], "", begin["file"], begin["line"] or "", begin["column"] or "", at + 1)
    for end in range(at + 1, min(at + _MAX_CRASH, len(lines))):
        if ": error: " in lines[end]:
            break
        if ": note: " in lines[end] and _MYPY_LINE.match(lines[end]):
            error.notes = [line for line in lines[at + 1 : end] if not line.startswith(_ADVICE)]
            error.end = end + 1
            return error
    return error


def _mypy_finding(error: _Error) -> CheckerFinding:
    line = int(error.line or 0)
    # An ellipsis in place of an end is mypy's, to fit the terminal: such a line is not the file's.
    is_cut = error.source.startswith("...") or (error.source.endswith("...") and len(error.source) > 60)
    return CheckerFinding(
        message=error.message,
        code=error.code,
        file=error.file,
        line=line,
        column=int(error.column or 0),
        notes=error.notes,
        source=(error.source,) if error.source and not is_cut else (),
        source_start=line,
    )


def _json(line: str, at: int, found: Findings) -> None:
    """One line of ``--output json``, where columns count from 0."""
    said = fields_of(parsed_json(line))
    if not _MYPY_JSON_KEYS.issubset(said):
        return
    found.is_certain = True
    found.cover(at, at + 1)
    if said["severity"] == "error":
        column = said["column"] if isinstance(said["column"], int) else -1
        finding = CheckerFinding(
            message=string(said["message"]),
            code=word(said["code"]),
            file=word(said["file"]),
            line=number(said["line"]),
            column=number(column + 1),
            notes=string(said["hint"]).splitlines(),
        )
        found.add(finding)


# --- Pyright: its text, and the document of ``--outputjson``

_PYRIGHT_LINE = re.compile(
    rf" {{0,2}}{ANY_PATH}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}})"
    r" - (?P<kind>error|warning|information): (?P<said>.*)\Z"
)
_PYRIGHT_SUMMARY = re.compile(
    r"(?P<errors>\d{1,9}) errors?, \d{1,9} warnings?, \d{1,9} (?:informations?|notes?) ?\Z"
)
_NO_FILE = re.compile(r"File or directory \"(?:file://)?(?P<file>[^\"\n]{1,1000})\" does not exist\.?\Z")
_PYRIGHT_RULE = re.compile(r" \((?P<rule>report[A-Z]\w{1,80})\)\Z")
_PYRIGHT_DOCUMENT = re.compile(
    r'\{\s{0,20}"version": ?"[^"\n]{0,40}",\s{0,20}"time": ?"\d{0,20}",\s{0,20}"generalDiag'
)
_PYRIGHT_KINDS = (" - error: ", " - warning: ", " - information: ")
_PYRIGHT_GATES = (" - error: ", " errors, ", " error, ", '"generalDiagnostics"', "File or directory ")


def read_pyright(text: str, root: str) -> Reading:
    """Every error of Pyright; its warnings and informations do not fail a run and are none."""
    if not any(gate in text for gate in _PYRIGHT_GATES):
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="pyright", root=root)
    if '"generalDiagnostics"' in text:
        found.add_documents(text, _PYRIGHT_DOCUMENT, _pyright_errors, _pyright_from_json)
    summary, at = "", 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        if " - " in line and any(kind in line for kind in _PYRIGHT_KINDS):
            at = _pyright_location(lines, first, found)
        elif " error" in line and (words := _PYRIGHT_SUMMARY.match(line)):
            found.is_certain = True
            found.cover(first, at)
            summary = line.strip() if int(words["errors"]) else summary
        elif line.startswith("File or directory") and (missing := _NO_FILE.match(line)):
            found.add(CheckerFinding(message="File or directory does not exist", file=missing["file"]))
            found.cover(first, at)
    if summary and not found.failures:  # the errors themselves were cut off, or filtered out
        found.add(CheckerFinding(message=summary))
    return found.reading(lines)


def _pyright_location(lines: Sequence[str], at: int, found: Findings) -> int:
    """Read the diagnostic that begins here; the first line behind it."""
    begin = _PYRIGHT_LINE.match(lines[at])
    if begin is None or not is_python(begin["file"]):
        return at + 1
    end = at + 1
    while end < len(lines) and _plain(lines[end][:4]) == "    " and not _PYRIGHT_LINE.match(lines[end]):
        end += 1
    is_headed = at > 0 and lines[at - 1] == begin["file"]
    found.cover(at - 1 if is_headed else at, end)
    if begin["kind"] == "error":
        found.add(_pyright_finding(begin, [_plain(line[2:]).rstrip() for line in lines[at + 1 : end]]))
    return end


def _plain(text: str) -> str:
    # Pyright indents with no-break spaces, as some editors fold others.
    return text.replace("\xa0", " ")


def _pyright_finding(begin: re.Match[str], notes: list[str]) -> CheckerFinding:
    said = [_plain(begin["said"]).rstrip(), *notes]
    rule = _PYRIGHT_RULE.search(said[-1])
    if rule is not None:
        said[-1] = said[-1][: rule.start()]
    return finding_at(begin, said[0], rule["rule"] if rule else "", said[1:])


def _pyright_errors(document: object) -> list[Mapping[str, Any]] | None:
    diagnostics = fields_of(document).get("generalDiagnostics")
    if not isinstance(diagnostics, list) or "summary" not in fields_of(document):
        return None
    return [each for each in objects_of(diagnostics) if each.get("severity") == "error"]


def _pyright_from_json(diagnostic: Mapping[str, Any]) -> CheckerFinding:
    """One diagnostic of the document, where lines and columns count from 0."""
    start = fields_of(fields_of(diagnostic.get("range")).get("start"))
    said = _plain(string(diagnostic.get("message"))).split("\n")
    return CheckerFinding(
        message=said[0],
        code=word(diagnostic.get("rule")),
        file=word(diagnostic.get("file")),
        line=number(start.get("line")) + 1 if start else 0,
        column=number(start.get("character")) + 1 if start else 0,
        notes=said[1:],
    )


# --- Pyrefly: full text with excerpts, min-text lines, and its JSON document

_LEVEL = r" {0,2}(?P<level>ERROR|WARN|INFO) "
_PYREFLY_CODE = r" \[(?P<code>[a-z][a-z0-9-]{0,80})\]\Z"
_PYREFLY_FULL = re.compile(rf"{_LEVEL}(?P<said>.*){_PYREFLY_CODE}")
_MINIMAL = re.compile(
    rf"{_LEVEL}{ANY_PATH}{CELL}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}})"
    rf"(?:-\d{{1,9}}(?::\d{{1,9}})?)?: (?P<said>.*){_PYREFLY_CODE}"
)
# What the log of the program says goes to the other stream: it may follow a JSON document on the same line.
_PYREFLY_SUMMARY = re.compile(r"[\]}]? {0,2}INFO \d{1,9} (?:errors?|diagnostics?)\b[^\n]{0,200}\Z")
_PYREFLY_DOCUMENT = re.compile(r'^\{\s{0,20}"errors": ?\[', re.MULTILINE)
_PYREFLY_JSON_KEYS = {"line", "column", "path", "name", "description", "concise_description"}
_LEVELS = ("ERROR ", "WARN ", "INFO ")


def read_pyrefly(text: str, root: str) -> Reading:
    """Every error of Pyrefly; its warnings and informations are none."""
    if "ERROR " not in text and '"concise_description"' not in text and "pyrefly" not in text:
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="pyrefly", root=root)
    if '"concise_description"' in text:
        found.add_documents(text, _PYREFLY_DOCUMENT, _pyrefly_errors, _pyrefly_from_json)
    summaries: list[tuple[int, int]] = []
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        if " INFO " in line and _PYREFLY_SUMMARY.match(line):
            # Errors that are counted and not shown are for the reader of what was cut off.
            summaries += [(first, at)] if found.failures or " 0 errors" in line else []
        elif line.lstrip(" ").startswith(_LEVELS):
            at = _diagnostic(lines, first, found)
    if summaries and (found.ranges or found.spans or "pyrefly.toml" in text):
        found.is_certain = True
        found.ranges += summaries
    return found.reading(lines)


def _diagnostic(lines: Sequence[str], at: int, found: Findings) -> int:
    """Read what begins here, in either form of text; the first line behind it."""
    minimal = _MINIMAL.match(lines[at])
    if minimal is not None and is_python(minimal["file"]):
        found.cover(at, at + 1)
        if minimal["level"] == "ERROR":
            found.add(finding_at(minimal, minimal["said"], minimal["code"]))
        return at + 1
    full = _PYREFLY_FULL.match(lines[at])
    return _pyrefly_full(lines, at, full, found) if full is not None else at + 1


def _pyrefly_full(lines: Sequence[str], at: int, header: re.Match[str], found: Findings) -> int:
    excerpt = excerpt_at(lines, at + 1)
    if excerpt is None or not is_python(excerpt.file):
        return at + 1
    end = excerpt.end
    while end < len(lines) and lines[end].startswith("  ") and not lines[end].startswith("  WARN"):
        end += 1
    found.cover(at, end)
    if header["level"] == "ERROR":
        notes = said_notes(line[2:] for line in lines[excerpt.end : end])
        found.add(excerpt.finding(header["said"], header["code"], notes))
    return end


def _pyrefly_errors(document: object) -> list[Mapping[str, Any]] | None:
    errors = objects_of(fields_of(document).get("errors"))
    if not errors or not all(_PYREFLY_JSON_KEYS.issubset(error) for error in errors):
        return None
    return [error for error in errors if error.get("severity", "error") == "error"]


def _pyrefly_from_json(error: Mapping[str, Any]) -> CheckerFinding:
    said = string(error["description"]).split("\n")
    return CheckerFinding(
        message=said[0],
        code=word(error["name"]),
        file=word(error["path"]),
        line=number(error["line"]),
        column=number(error["column"]),
        cell=str(number(error.get("cell")) or ""),
        notes=said_notes(line.removeprefix("  ") for line in said[1:]),
    )


# --- ty: its full output with excerpts, and its concise lines

_TY_RULE = r"(?P<kind>error|fatal|warning|info)\[(?P<code>[a-z][a-z0-9:-]{0,80})\]"
# rustc's own codes are capitals and digits: E0308.
_TY_FULL = re.compile(_TY_RULE + r"(?:: (?P<said>.*))?\Z")
_CONCISE = re.compile(
    rf"{PATH}{CELL}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}}): {_TY_RULE}(?: (?P<said>.*))?\Z"
)
_TY_SUMMARY = re.compile(r"Found \d{1,9} diagnostics?\Z")
_TY_KINDS = ("error[", "fatal[", "warning[", "info[")
_FAILING = ("error", "fatal")


def read_ty(text: str, root: str) -> Reading:
    """Every error of ty; its warnings do not fail a run and are none."""
    lines = text.split("\n")
    found = Findings(tool="ty", root=root)
    summaries = [at for at, line in enumerate(lines) if line.startswith("Found ") and _TY_SUMMARY.match(line)]
    at = 0
    while at < len(lines):
        if not any(kind in lines[at] for kind in _TY_KINDS):
            at += 1
        elif lines[at].startswith(_TY_KINDS):
            at = _ty_full(lines, at, found, bool(summaries))
        else:
            _concise(lines[at], at, found, bool(summaries))
            at += 1
    if found.ranges:  # others count diagnostics in these words, too
        found.is_certain = bool(summaries)
        found.ranges.extend((summary, summary + 1) for summary in summaries)
    return found.reading(lines)


def _concise(line: str, at: int, found: Findings, is_certain: bool) -> None:
    said = _CONCISE.match(line)
    if said is None or not is_path(said["file"], is_certain):
        return
    found.cover(at, at + 1)
    if said["kind"] in _FAILING:
        found.add(finding_at(said, said["said"] or said["code"], said["code"]))


def _ty_full(lines: Sequence[str], at: int, found: Findings, is_certain: bool) -> int:
    """Read the diagnostic that begins here; the first line behind it."""
    header = _TY_FULL.match(lines[at])
    excerpt = excerpt_at(lines, at + 1) if header else None
    is_own = is_python(excerpt.file) if excerpt else is_certain  # "error[io]" has no place
    if header is None or not is_own:
        return at + 1
    notes, end = notes_at(lines, excerpt.end if excerpt else at + 1)
    found.cover(at, end)
    if header["kind"] in _FAILING:
        found.add(_ty_finding(header, excerpt, notes))
    return end


def _ty_finding(header: re.Match[str], excerpt: Excerpt | None, notes: list[str]) -> CheckerFinding:
    label = excerpt.label if excerpt else ""
    message = header["said"] or label or header["code"]
    said = [label, *notes] if label and label != message else notes
    if excerpt is None:
        return CheckerFinding(message=message, code=header["code"], notes=said)
    return excerpt.finding(message, header["code"], said)


READERS: dict[str, Read] = {
    "mypy": read_mypy,
    "pyright": read_pyright,
    "pyrefly": read_pyrefly,
    "ty": read_ty,
}
