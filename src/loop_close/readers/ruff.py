"""Read what Ruff prints: ``ruff check`` in its formats for people, and ``ruff format --check``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loop_close.readers.checks import ANY_PATH, PATH, Finding, Findings, is_python
from loop_close.readers.contract import Reader, Reading
from loop_close.readers.excerpts import Excerpt, excerpt_at, notes_at, read_rows
from loop_close.readers.lint_lines import CODE, FULL, SUMMARY, SYNTAX, LintLine, can_have, lint_lines
from loop_close.readers.paths import project_path
from loop_close.readers.ruff_json import read_json

_REFORMAT = re.compile(r"Would reformat: (?P<file>\S[^\n]{0,400})\Z")
_UNPARSED = re.compile(
    rf"error: Failed to parse {ANY_PATH}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}}): (?P<said>.*)\Z"
)
_FORMATTED = re.compile(r"\d{1,9} files? would be reformatted(?:, \d{1,9} files? already formatted)?\Z")
_FIXABLE = re.compile(r"(?:\[\*\] \d{1,9} fixable with |No fixes available \()")
_GATES = ("--> ", '"noqa_row"', "Would reformat: ", "Failed to parse ", ".py:\n", ".pyi:\n", ".ipynb:\n")
_GROUP = re.compile(rf"{PATH}:\Z")
_GROUPED = re.compile(
    rf" {{2,10}}(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}}) {{1,8}}"
    rf"(?:(?P<code>{CODE})|(?P<name>{SYNTAX}):)(?: \[\*\])? (?P<said>\S.*)\Z"
)


def read(text: str, root: str) -> Reading:
    """Every finding of Ruff, a file that it would reformat and one that it cannot parse among them."""
    has_lines = can_have(text)
    if not has_lines and not any(gate in text for gate in _GATES):
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="ruff", root=root)
    if '"noqa_row"' in text:
        read_json(text, lines, found)
    if has_lines:
        for one in lint_lines(lines):
            if one.is_ruff:
                _line(lines, one, found)
    _rest(lines, found)
    return found.reading(lines)


def _line(lines: Sequence[str], one: LintLine, found: Findings) -> None:
    """A concise line, or a full one of Ruff before 0.13, which has its excerpt below."""
    match = one.match
    code = "invalid-syntax" if one.code in SYNTAX.split("|") else one.code
    line, column = int(match["line"]), int(match["column"] or 0)
    excerpt = Excerpt(match["file"], match["cell"] or "", line, column, one.at + 1)
    read_rows(excerpt, lines)
    notes, end = notes_at(lines, excerpt.end) if excerpt.end > one.at + 1 else ([], excerpt.end)
    found.cover(one.at, end)
    found.add(excerpt.finding(match["said"], code, notes))


def _rest(lines: Sequence[str], found: Findings) -> None:
    """What is not in lines of one shape: excerpts, groups, the formatter, summaries."""
    ends: list[int] = []
    unparsed: list[Finding] = []
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        if line.startswith(("Found ", "[*] ", "No fixes ")) or " would be reformatted" in line:
            ends += [first] * any(words.match(line) for words in (SUMMARY, _FIXABLE, _FORMATTED))
        elif at < len(lines) and "--> " in lines[at][:16]:
            at = _full(lines, first, found)
        elif line.endswith((".py:", ".pyi:", ".ipynb:")):
            at = _group(lines, first, found)
        elif line.startswith(("Would reformat: ", "error: Failed to parse ")):
            unparsed += _formatter(line, first, found)
    _add_new(unparsed, found)
    if found.ranges and any(SUMMARY.match(lines[end]) or _FORMATTED.match(lines[end]) for end in ends):
        found.is_certain = True
        found.ranges += [(end, end + 1) for end in ends]


def _full(lines: Sequence[str], at: int, found: Findings) -> int:
    """The finding whose first line this is; the first line behind it."""
    header = FULL.match(lines[at])
    excerpt = excerpt_at(lines, at + 1) if header else None
    if header is None or excerpt is None or not _is_own(excerpt.file, header["code"]):
        return at + 1
    code = header["code"] or {"unformatted": "format"}.get(header["name"], "invalid-syntax")
    notes, end = notes_at(lines, excerpt.end)
    found.cover(at, end)
    found.add(excerpt.finding(header["said"], code, notes))
    return end


def _is_own(file: str, code: str | None) -> bool:
    return is_python(file) or (code is not None and file.endswith(".toml"))


def _group(lines: Sequence[str], at: int, found: Findings) -> int:
    """The findings of ``--output-format grouped`` below the name of their file; the first line behind them."""
    group, end = _GROUP.match(lines[at]), at + 1
    while group and end < len(lines) and (one := _GROUPED.match(lines[end])):
        finding = Finding(
            message=one["said"],
            code=one["code"] or "invalid-syntax",
            file=group["file"],
            line=int(one["line"]),
            column=int(one["column"]),
        )
        found.add(finding)
        end += 1
    if end > at + 1:
        found.cover(at, end)
    return end


def _formatter(line: str, at: int, found: Findings) -> list[Finding]:
    """Take a line of ``ruff format --check``; what it says of a file that cannot be parsed is given back."""
    unformatted, unparsed = _REFORMAT.match(line), _UNPARSED.match(line)
    if unformatted:
        found.add(Finding(message="Would reformat", code="format", file=unformatted["file"]))
    if unformatted or unparsed:
        found.cover(at, at + 1)
    return [_unparsed(unparsed)] if unparsed else []


def _unparsed(said: re.Match[str]) -> Finding:
    return Finding(
        message=said["said"],
        code="invalid-syntax",
        file=said["file"],
        line=int(said["line"]),
        column=int(said["column"]),
    )


def _add_new(unparsed: Sequence[Finding], found: Findings) -> None:
    """Add what does not parse, unless ``ruff check`` has said the same."""
    known = {(failure.file, failure.line) for failure in found.failures}
    for finding in unparsed:
        if (project_path(finding.file, found.root), finding.line) not in known:
            found.add(finding)


READER = Reader(
    id="ruff", description="Ruff: check (full, concise, grouped, json), format --check", read=read
)
