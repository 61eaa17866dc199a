"""Read what flake8 prints: its default lines, with and without the source, and its pylint format."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loop_close.readers.checks import Finding, Findings
from loop_close.readers.contract import Reader, Reading
from loop_close.readers.lint_lines import LintLine, can_have, lint_lines

_CARET = re.compile(r"\s{0,2000}\^\Z")


def read(text: str, root: str) -> Reading:
    """Every finding of flake8. It prints no summary, so this is never certain."""
    if not can_have(text):
        return Reading()
    lines = text.split("\n")
    found = Findings(tool="flake8", root=root)
    for one in lint_lines(lines):
        if not one.is_ruff:
            source = _source(lines, one.at)
            found.cover(one.at, one.at + (3 if source else 1))
            found.add(_finding(one, source))
    return found.reading(lines)


def _source(lines: Sequence[str], at: int) -> tuple[str, ...]:
    """The line of the file below a finding, where a caret below tells that it is one."""
    below = lines[at + 1 : at + 3]
    return (below[0],) if len(below) == 2 and _CARET.match(below[1]) else ()


def _finding(one: LintLine, source: tuple[str, ...]) -> Finding:
    match = one.match
    return Finding(
        message=match["said"],
        code=one.code,
        file=match["file"],
        line=int(match["line"]),
        column=int(match["column"] or 0),
        source=source,
        source_start=int(match["line"]),
    )


READER = Reader(id="flake8", description="flake8: default output, --show-source, pylint format", read=read)
