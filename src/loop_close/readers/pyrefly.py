"""Read what Pyrefly prints: full text with excerpts, min-text lines, and its JSON document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loop_close.readers.checks import ANY_PATH, CELL, Finding, Findings, is_python, said_notes
from loop_close.readers.contract import Reader, Reading
from loop_close.readers.excerpts import excerpt_at
from loop_close.readers.json_parts import json_documents, mapping, number, objects, string, word

_LEVEL = r" {0,2}(?P<level>ERROR|WARN|INFO) "
_CODE = r" \[(?P<code>[a-z][a-z0-9-]{0,80})\]\Z"
_FULL = re.compile(rf"{_LEVEL}(?P<said>.*){_CODE}")
_MINIMAL = re.compile(
    rf"{_LEVEL}{ANY_PATH}{CELL}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}})"
    rf"(?:-\d{{1,9}}(?::\d{{1,9}})?)?: (?P<said>.*){_CODE}"
)
# What the log of the program says goes to the other stream: it may follow a JSON document on the same line.
_SUMMARY = re.compile(r"[\]}]? {0,2}INFO \d{1,9} (?:errors?|diagnostics?)\b[^\n]{0,200}\Z")
_DOCUMENT = re.compile(r'^\{\s{0,20}"errors": ?\[', re.MULTILINE)
_JSON_KEYS = {"line", "column", "path", "name", "description", "concise_description"}
_LEVELS = ("ERROR ", "WARN ", "INFO ")


def read(text: str, root: str) -> Reading:
    """Every error of Pyrefly; its warnings and informations are none."""
    if "ERROR " not in text and '"concise_description"' not in text and "pyrefly" not in text:
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="pyrefly", root=root)
    if '"concise_description"' in text:
        _documents(text, found)
    summaries: list[tuple[int, int]] = []
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        if " INFO " in line and _SUMMARY.match(line):
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
            found.add(_from_line(minimal))
        return at + 1
    full = _FULL.match(lines[at])
    return _full(lines, at, full, found) if full is not None else at + 1


def _full(lines: Sequence[str], at: int, header: re.Match[str], found: Findings) -> int:
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


def _from_line(line: re.Match[str]) -> Finding:
    return Finding(
        message=line["said"],
        code=line["code"],
        file=line["file"],
        line=int(line["line"]),
        column=int(line["column"]),
        cell=line["cell"] or "",
    )


def _documents(text: str, found: Findings) -> None:
    for document, start, end in json_documents(text, _DOCUMENT):
        errors = objects(mapping(document).get("errors"))
        if not errors or not all(_JSON_KEYS.issubset(error) for error in errors):
            continue
        found.is_certain = True
        found.spans.append((start, end))
        for error in errors:
            if error.get("severity", "error") == "error":
                found.add(_from_json(error))


def _from_json(error: Mapping[str, Any]) -> Finding:
    said = string(error["description"]).split("\n")
    return Finding(
        message=said[0],
        code=word(error["name"]),
        file=word(error["path"]),
        line=number(error["line"]),
        column=number(error["column"]),
        cell=str(number(error.get("cell")) or ""),
        notes=said_notes(line.removeprefix("  ") for line in said[1:]),
    )


READER = Reader(id="pyrefly", description="Pyrefly: full-text, min-text, json", read=read)
