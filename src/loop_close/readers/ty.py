"""Read what ty prints: its full output with excerpts, and its concise lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loop_close.readers.checks import CELL, PATH, Finding, Findings, is_path, is_python
from loop_close.readers.contract import Reader, Reading
from loop_close.readers.excerpts import Excerpt, excerpt_at, notes_at

_RULE = r"(?P<kind>error|fatal|warning|info)\[(?P<code>[a-z][a-z0-9:-]{0,80})\]"
# rustc's own codes are capitals and digits: E0308.
_FULL = re.compile(_RULE + r"(?:: (?P<said>.*))?\Z")
_CONCISE = re.compile(rf"{PATH}{CELL}:(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}}): {_RULE}(?: (?P<said>.*))?\Z")
_SUMMARY = re.compile(r"Found \d{1,9} diagnostics?\Z")
_KINDS = ("error[", "fatal[", "warning[", "info[")
_FAILING = ("error", "fatal")


def read(text: str, root: str) -> Reading:
    """Every error of ty; its warnings do not fail a run and are none."""
    if "error[" not in text and "fatal[" not in text:
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="ty", root=root)
    summaries = [at for at, line in enumerate(lines) if line.startswith("Found ") and _SUMMARY.match(line)]
    at = 0
    while at < len(lines):
        if not any(kind in lines[at] for kind in _KINDS):
            at += 1
        elif lines[at].startswith(_KINDS):
            at = _full(lines, at, found, bool(summaries))
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
        finding = Finding(
            message=said["said"] or said["code"],
            code=said["code"],
            file=said["file"],
            line=int(said["line"]),
            column=int(said["column"]),
            cell=said["cell"] or "",
        )
        found.add(finding)


def _full(lines: Sequence[str], at: int, found: Findings, is_certain: bool) -> int:
    """Read the diagnostic that begins here; the first line behind it."""
    header = _FULL.match(lines[at])
    excerpt = excerpt_at(lines, at + 1) if header else None
    is_own = is_python(excerpt.file) if excerpt else is_certain  # "error[io]" has no place
    if header is None or not is_own:
        return at + 1
    notes, end = notes_at(lines, excerpt.end if excerpt else at + 1)
    found.cover(at, end)
    if header["kind"] in _FAILING:
        found.add(_finding(header, excerpt, notes))
    return end


def _finding(header: re.Match[str], excerpt: Excerpt | None, notes: list[str]) -> Finding:
    label = excerpt.label if excerpt else ""
    message = header["said"] or label or header["code"]
    said = [label, *notes] if label and label != message else notes
    if excerpt is None:
        return Finding(message=message, code=header["code"], notes=said)
    return excerpt.finding(message, header["code"], said)


READER = Reader(id="ty", description="ty: full and concise output", read=read)
