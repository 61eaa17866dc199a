"""Ruff and flake8, and which of them wrote a line of the form ``path:line:column: CODE message``.

A line is Ruff's if it has what only Ruff writes: ``[*]``, a syntax error without a code, an excerpt with a gutter below
it. It is also Ruff's if it is one of the last N before Ruff's ``Found N errors.``; without such a summary, if it is
next to one that is Ruff's. Every other line is flake8's. Both readers use one function, so no line is read twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loop_close.readers import Read, Reading, project_path
from loop_close.readers.checks import (
    ANY_PATH,
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
    read_rows,
    string,
    word,
)
from loop_close.text import fields_of, objects_of, parsed_json

#: The code of a rule, of Ruff and of the plugins of flake8.
_CODE = r"[A-Z]{1,6}\d{3,5}"
#: Ruff's name for what it cannot parse, of today and of before.
_SYNTAX = r"invalid-syntax|SyntaxError"
#: How Ruff ends; ``left`` counts those that it did not fix.
_SUMMARY = re.compile(
    r"Found (?P<all>\d{1,9}) errors?(?: \(\d{1,9} fixed, (?P<left>\d{1,9}) remaining\))?\.\Z"
)
#: The first line of Ruff's full output, since 0.13; the excerpt follows.
_FULL = re.compile(rf"(?:(?P<code>{_CODE})(?: \[\*\])?|(?P<name>{_SYNTAX}|unformatted):) (?P<said>\S.*)\Z")
_LINE = re.compile(
    rf"{PATH}{CELL}:(?P<line>\d{{1,9}}):(?:(?P<column>\d{{1,9}}):)?"
    rf" (?:(?P<code>{_CODE})|(?P<syntax>{_SYNTAX}):|\[(?P<boxed>{_CODE}|{_SYNTAX})\])(?P<fix> \[\*\])? (?P<said>\S.*)\Z"
)
# Begins with what is rare in a text, to be found fast.
_LIKE = re.compile(
    rf"\.(?:pyi?|ipynb(?::cell \d{{1,6}})?|toml):\d{{1,9}}:(?:\d{{1,9}}:)? \[?(?:{_CODE}\]? |{_SYNTAX})"
)
_GUTTER = re.compile(r" {1,13}\|\Z")
#: With ``--show-source`` there are two lines between findings.
_NEAR = 3


@dataclass(slots=True)
class LintLine:
    """One such line.

    :ivar at: its place among the lines of the output.
    """

    at: int
    match: re.Match[str]
    is_ruff: bool = False

    @property
    def code(self) -> str:
        """The rule's code."""
        found: str = self.match["code"] or self.match["syntax"] or self.match["boxed"]
        return found


def _can_have(text: str) -> bool:
    """Whether a text may have such lines; cheap."""
    return _LIKE.search(text) is not None


def lint_lines(lines: Sequence[str]) -> list[LintLine]:
    """All of them in order, with their owner."""
    found = [one for at, line in enumerate(lines) if (one := _lint_line(lines, at, line)) is not None]
    if found:
        _by_neighbour(found[_by_summary(lines, found) :])
    return found


def _lint_line(lines: Sequence[str], at: int, line: str) -> LintLine | None:
    match = _LINE.match(line) if ".py" in line or ".ipynb:" in line or ".toml:" in line else None
    if match is None or bool(match["boxed"]) == bool(match["column"]):
        return None
    if not is_path(match["file"].removesuffix(".toml") + (".py" if ".toml" in match["file"] else ""), False):
        return None
    one = LintLine(at, match)
    has_gutter = at + 1 < len(lines) and _GUTTER.match(lines[at + 1]) is not None
    one.is_ruff = bool(match["fix"]) or one.code in _SYNTAX.split("|") or has_gutter
    return one


def _by_summary(lines: Sequence[str], found: Sequence[LintLine]) -> int:
    """Give Ruff the last lines before each of its summaries, as many as it counts; how many are settled."""
    first, waiting = 0, 0
    for at, line in enumerate(lines):
        summary = _SUMMARY.match(line) if line.startswith("Found ") else None
        if " --> " in line[:16] and at and _FULL.match(lines[at - 1]):
            waiting -= 1  # the summary counts this one, which is not such a line
        if summary:
            waiting += int(summary["left"] or summary["all"])
            end = bisect_left(found, at, key=lambda one: one.at)
            for one in found[max(first, end - max(waiting, 0)) : end]:
                one.is_ruff = True
            first, waiting = end, 0
    return first


def _by_neighbour(found: Sequence[LintLine]) -> None:
    """Pass ownership on to the lines next to those that show what they are."""
    for here, there in ((found, found[1:]), (found[::-1], found[::-1][1:])):
        for one, other in zip(here, there, strict=False):
            if one.is_ruff and abs(one.at - other.at) <= _NEAR:
                other.is_ruff = True


# --- flake8: its default lines, with and without the source, and its pylint format

_CARET = re.compile(r"\s{0,2000}\^\Z")


def read_flake8(text: str, root: str) -> Reading:
    """Every finding of flake8. It prints no summary, so this is never certain."""
    if not _can_have(text):
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="flake8", root=root)
    for one in lint_lines(lines):
        if not one.is_ruff:
            source = _source(lines, one.at)
            found.cover(one.at, one.at + (3 if source else 1))
            found.add(_flake8_finding(one, source))
    return found.reading(lines)


def _source(lines: Sequence[str], at: int) -> tuple[str, ...]:
    """The line of the file below a finding, if there is a caret below it."""
    below = lines[at + 1 : at + 3]
    return (below[0],) if len(below) == 2 and _CARET.match(below[1]) else ()


def _flake8_finding(one: LintLine, source: tuple[str, ...]) -> CheckerFinding:
    match = one.match
    return CheckerFinding(
        message=match["said"],
        code=one.code,
        file=match["file"],
        line=int(match["line"]),
        column=int(match["column"] or 0),
        source=source,
        source_start=int(match["line"]),
    )


# --- Ruff: ``ruff check`` in its formats for people, and ``ruff format --check``

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
    rf"(?:(?P<code>{_CODE})|(?P<name>{_SYNTAX}):)(?: \[\*\])? (?P<said>\S.*)\Z"
)


def read_ruff(text: str, root: str) -> Reading:
    """Every finding of Ruff, a file that it would reformat and one that it cannot parse among them."""
    has_lines = _can_have(text)
    if not has_lines and not any(gate in text for gate in _GATES):
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="ruff", root=root)
    if '"noqa_row"' in text:
        _read_json(text, lines, found)
    if has_lines:
        for one in lint_lines(lines):
            if one.is_ruff:
                _ruff_line(lines, one, found)
    _rest(lines, found)
    return found.reading(lines)


def _ruff_line(lines: Sequence[str], one: LintLine, found: Findings) -> None:
    """A concise line, or a full one of Ruff before 0.13, which has its excerpt below."""
    match = one.match
    code = "invalid-syntax" if one.code in _SYNTAX.split("|") else one.code
    line, column = int(match["line"]), int(match["column"] or 0)
    excerpt = Excerpt(match["file"], match["cell"] or "", line, column, one.at + 1)
    read_rows(excerpt, lines)
    notes, end = notes_at(lines, excerpt.end) if excerpt.end > one.at + 1 else ([], excerpt.end)
    found.cover(one.at, end)
    found.add(excerpt.finding(match["said"], code, notes))


def _rest(lines: Sequence[str], found: Findings) -> None:
    """What is not in lines of one shape: excerpts, groups, the formatter, summaries."""
    ends: list[int] = []
    unparsed: list[CheckerFinding] = []
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        at += 1
        if line.startswith(("Found ", "[*] ", "No fixes ")) or " would be reformatted" in line:
            ends += [first] * any(words.match(line) for words in (_SUMMARY, _FIXABLE, _FORMATTED))
        elif at < len(lines) and "--> " in lines[at][:16]:
            at = _full(lines, first, found)
        elif line.endswith((".py:", ".pyi:", ".ipynb:")):
            at = _group(lines, first, found)
        elif line.startswith(("Would reformat: ", "error: Failed to parse ")):
            unparsed += _formatter(line, first, found)
    _add_new(unparsed, found)
    if found.ranges and any(_SUMMARY.match(lines[end]) or _FORMATTED.match(lines[end]) for end in ends):
        found.is_certain = True
        found.ranges += [(end, end + 1) for end in ends]


def _full(lines: Sequence[str], at: int, found: Findings) -> int:
    """The finding whose first line this is; the first line behind it."""
    header = _FULL.match(lines[at])
    excerpt = excerpt_at(lines, at + 1) if header else None
    if header is None or excerpt is None:
        return at + 1
    if not (is_python(excerpt.file) or (header["code"] and excerpt.file.endswith(".toml"))):
        return at + 1
    code = header["code"] or {"unformatted": "format"}.get(header["name"], "invalid-syntax")
    notes, end = notes_at(lines, excerpt.end)
    found.cover(at, end)
    found.add(excerpt.finding(header["said"], code, notes))
    return end


def _group(lines: Sequence[str], at: int, found: Findings) -> int:
    """The findings of ``--output-format grouped`` below the name of their file; the first line behind them."""
    group, end = _GROUP.match(lines[at]), at + 1
    while group and end < len(lines) and (one := _GROUPED.match(lines[end])):
        finding = CheckerFinding(
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


def _formatter(line: str, at: int, found: Findings) -> list[CheckerFinding]:
    """Take a line of ``ruff format --check``; returns the finding of a file that cannot be parsed."""
    unformatted, unparsed = _REFORMAT.match(line), _UNPARSED.match(line)
    if unformatted:
        found.add(CheckerFinding(message="Would reformat", code="format", file=unformatted["file"]))
    if unformatted or unparsed:
        found.cover(at, at + 1)
    return [finding_at(unparsed, unparsed["said"], "invalid-syntax")] if unparsed else []


def _add_new(unparsed: Sequence[CheckerFinding], found: Findings) -> None:
    """Add what does not parse, unless ``ruff check`` has said the same."""
    known = {(failure.file, failure.line) for failure in found.failures}
    for finding in unparsed:
        if (project_path(finding.file, found.root), finding.line) not in known:
            found.add(finding)


# --- Ruff's JSON: one document, or an object on each line

_DOCUMENT = re.compile(r'^\[\s{0,20}\{\s{0,20}"', re.MULTILINE)
_KEYS = {"code", "end_location", "filename", "location", "message", "noqa_row"}


def _read_json(text: str, lines: Sequence[str], found: Findings) -> None:
    """Add what ``--output-format json`` and ``json-lines`` say."""
    found.add_documents(text, _DOCUMENT, _ruff_items, _ruff_json_finding)
    for at, line in enumerate(lines):
        if (
            line.startswith("{")
            and '"noqa_row"' in line
            and _KEYS.issubset(item := fields_of(parsed_json(line)))
        ):
            found.is_certain = True
            found.cover(at, at + 1)
            found.add(_ruff_json_finding(item))


def _ruff_items(document: object) -> list[Mapping[str, Any]] | None:
    items = objects_of(document)
    return items if items and all(_KEYS.issubset(item) for item in items) else None


def _ruff_json_finding(item: Mapping[str, Any]) -> CheckerFinding:
    location = fields_of(item["location"])
    help_text = string(fields_of(item.get("fix")).get("message"))
    return CheckerFinding(
        message=string(item["message"]),
        code=word(item["code"]) or "invalid-syntax",  # null, before Ruff had a name for it
        file=word(item["filename"]),
        line=number(location.get("row")),
        column=number(location.get("column")),
        cell=str(number(item.get("cell")) or ""),
        notes=(f"help: {help_text}",) if help_text else (),
    )


READERS: dict[str, Read] = {"flake8": read_flake8, "ruff": read_ruff}
