"""Read what Pyright prints: its text, and the document of ``--outputjson``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loop_close.readers.checks import ANY_PATH, Finding, Findings, is_python
from loop_close.readers.contract import Reader, Reading
from loop_close.readers.json_parts import json_documents, mapping, number, objects, string, word

_LINE = re.compile(
    rf" {{0,2}}{ANY_PATH}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}})"
    r" - (?P<kind>error|warning|information): (?P<said>.*)\Z"
)
_SUMMARY = re.compile(r"(?P<errors>\d{1,9}) errors?, \d{1,9} warnings?, \d{1,9} (?:informations?|notes?) ?\Z")
_NO_FILE = re.compile(r"File or directory \"(?:file://)?(?P<file>[^\"\n]{1,1000})\" does not exist\.?\Z")
_RULE = re.compile(r" \((?P<rule>report[A-Z]\w{1,80})\)\Z")
_DOCUMENT = re.compile(
    r'\{\s{0,20}"version": ?"[^"\n]{0,40}",\s{0,20}"time": ?"\d{0,20}",\s{0,20}"generalDiag'
)
_KINDS = (" - error: ", " - warning: ", " - information: ")
_GATES = (" - error: ", " errors, ", " error, ", '"generalDiagnostics"', "File or directory ")


def read(text: str, root: str) -> Reading:
    """Every error of Pyright; its warnings and informations do not fail a run and are none."""
    if not any(gate in text for gate in _GATES):
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="pyright", root=root)
    if '"generalDiagnostics"' in text:
        _documents(text, found)
    summary, at = "", 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        if " - " in line and any(kind in line for kind in _KINDS):
            at = _location(lines, first, found)
        elif " error" in line and (words := _SUMMARY.match(line)):
            found.is_certain = True
            found.cover(first, at)
            summary = line.strip() if int(words["errors"]) else summary
        elif line.startswith("File or directory") and (missing := _NO_FILE.match(line)):
            found.add(Finding(message="File or directory does not exist", file=missing["file"]))
            found.cover(first, at)
    if summary and not found.failures:  # the errors themselves were cut off, or filtered out
        found.add(Finding(message=summary))
    return found.reading(lines)


def _location(lines: Sequence[str], at: int, found: Findings) -> int:
    """Read the diagnostic that begins here; the first line behind it."""
    begin = _LINE.match(lines[at])
    if begin is None or not is_python(begin["file"]):
        return at + 1
    end = at + 1
    while end < len(lines) and _plain(lines[end][:4]) == "    " and not _LINE.match(lines[end]):
        end += 1
    is_headed = at > 0 and lines[at - 1] == begin["file"]
    found.cover(at - 1 if is_headed else at, end)
    if begin["kind"] == "error":
        found.add(_finding(begin, [_plain(line[2:]).rstrip() for line in lines[at + 1 : end]]))
    return end


def _plain(text: str) -> str:
    # Pyright indents with no-break spaces, as some editors fold others.
    return text.replace("\xa0", " ")


def _finding(begin: re.Match[str], notes: list[str]) -> Finding:
    said = [_plain(begin["said"]).rstrip(), *notes]
    rule = _RULE.search(said[-1])
    if rule is not None:
        said[-1] = said[-1][: rule.start()]
    return Finding(
        message=said[0],
        code=rule["rule"] if rule else "",
        file=begin["file"],
        line=int(begin["line"]),
        column=int(begin["column"]),
        notes=said[1:],
    )


def _documents(text: str, found: Findings) -> None:
    for document, start, end in json_documents(text, _DOCUMENT):
        diagnostics = mapping(document).get("generalDiagnostics")
        if not isinstance(diagnostics, list) or "summary" not in document:
            continue
        found.is_certain = True
        found.spans.append((start, end))
        for diagnostic in objects(diagnostics):
            if diagnostic.get("severity") == "error":
                found.add(_from_json(diagnostic))


def _from_json(diagnostic: Mapping[str, Any]) -> Finding:
    """One diagnostic of the document, where lines and columns count from 0."""
    start = mapping(mapping(diagnostic.get("range")).get("start"))
    said = _plain(string(diagnostic.get("message"))).split("\n")
    return Finding(
        message=said[0],
        code=word(diagnostic.get("rule")),
        file=word(diagnostic.get("file")),
        line=number(start.get("line")) + 1 if start else 0,
        column=number(start.get("character")) + 1 if start else 0,
        notes=said[1:],
    )


READER = Reader(id="pyright", description="Pyright and basedpyright: text, --outputjson", read=read)
