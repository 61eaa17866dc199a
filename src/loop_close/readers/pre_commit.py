"""The hooks that pre-commit says have failed, where no other reader knows what they printed."""

from __future__ import annotations

import re

from loop_close.model import Failure
from loop_close.readers.contract import Reader, Reading
from loop_close.readers.good_news import MARK

_MAX_FAILURES = 200
_MAX_LINES = 8
_MAX_LINE = 500
# NAME.....(REASON)STATUS, as pre_commit/commands/run.py writes it (4.7)
_STATUS = re.compile(
    r"^(?P<name>[^\n]{0,200}?)\.{3,200}(?:\([^()\n]{1,60}\))?(?P<status>Passed|Failed|Skipped)$", re.MULTILINE
)
_DETAIL = re.compile(
    r"\n- hook id: (?P<id>[^\n]{1,200})(?:\n- duration: [^\n]{1,40})?(?:\n- exit code: (?P<code>-?\d{1,10}))?"
    r"(?P<modified>\n- files were modified by this hook)?(?=\n|\Z)"
)


def read(text: str, root: str) -> Reading:
    """A failure for each hook that changed files, or whose output has lines that no reader knows."""
    if "- hook id: " not in text:
        return Reading()
    lines = [*_STATUS.finditer(text)]
    failures, spans = [], []
    for number, line in enumerate(lines):
        detail = _DETAIL.match(text, line.end()) if line["status"] == "Failed" else None
        if detail is None:
            continue
        end = lines[number + 1].start() if number + 1 < len(lines) else len(text)
        output = text[detail.end() : end]
        rest = [each for each in output.split("\n") if each.strip() and each != MARK]
        spans.append((line.start(), end if rest else detail.end()))
        if (rest and MARK not in output) or detail["modified"] or not output.strip():
            failures.append(_failure(detail, rest))
    return Reading(failures=tuple(failures[:_MAX_FAILURES]), spans=tuple(spans), is_certain=bool(spans))


def _failure(detail: re.Match[str], lines: list[str]) -> Failure:
    why = "it modified files" if detail["modified"] else f"exit code {detail['code'] or 1}"
    said = "\n".join(each[:_MAX_LINE] for each in lines[:_MAX_LINES])
    message = f"{detail['id']}: {why}{f':{chr(10)}{said}' if said else ''}"
    return Failure(nodeid="", phase="process", tool="pre-commit", code=detail["id"], message=message)


READER = Reader(id="pre_commit", description="hooks that pre-commit says have failed", read=read)
