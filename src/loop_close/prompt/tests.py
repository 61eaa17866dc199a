"""What was done to tests since the loop began, in the words of the prompt and of the commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from loop_close.memory import ChangedTest
from loop_close.model import Report
from loop_close.progress.tampering import KINDS
from loop_close.prompt.show import safe, span
from loop_close.text.sanitize import fence, one_line

_MAX_SHOWN, _MAX_DIFFS = 8, 3
_MAX_LINES = 8
_WIDTH = 120
_OPEN = (
    "The loop is done once these tests are as they were when it began, or a person accepts the changes"
    " (`loop-close accept`)."
)
_ASKED = "It cannot be decided whether these tests still demand what they did. Restore them, or say why they changed."
_UNEDITED = "These tests failed before. Say why they pass now, or find out whether they fail now and then:"
_HINTS = "Of the code under test, to be looked at by a person:"


def changed_tests(report: Report, tokens: int) -> Iterator[str]:
    """The section of the prompt: what was done to which test, with the lines that differ, and what to do."""
    if report.progress is not None:
        yield from lines_of(report.progress.tests)


def lines_of(changes: Sequence[ChangedTest]) -> list[str]:
    """The same as markdown lines; none where there is nothing to tell."""
    lines: list[str] = []
    room = _MAX_DIFFS
    groups = (("open", _OPEN), ("asked", _ASKED), ("no-edit", _UNEDITED), ("hint", _HINTS))
    for state, words in groups:
        is_group = (c.state not in ("open", "accepted") and c.kind == "no-edit" for c in changes)
        found = [
            c
            for c, is_own in zip(changes, is_group, strict=True)
            if state == ("no-edit" if is_own else c.state)
        ]
        if not found:
            continue
        lines += [*([""] if lines else []), words, ""]
        for change in found[:_MAX_SHOWN]:
            lines.append(f"- {span(change.id, 160)} ({KINDS.get(change.kind, 'changed')}): {_what(change)}")
            if room and (rows := diff_of(change)):
                room -= 1
                lines += fence("\n".join(rows), "diff")
        more = len(found) - _MAX_SHOWN
        lines += [f"- and {more} more"] if more > 0 else []
    return lines


def _what(change: ChangedTest) -> str:
    return one_line(safe(change.what), 240)


def diff_of(change: ChangedTest) -> list[str]:
    """The lines that differ, at most eight, those that are gone first."""
    old, new = (
        [line.rstrip() for line in safe(text).split("\n") if line.strip()]
        for text in (change.before, change.after)
    )
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    rows = [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    if len(rows) > _MAX_LINES:
        half = _MAX_LINES // 2
        old, new = old[: max(half, _MAX_LINES - len(new))], new[: max(half, _MAX_LINES - len(old))]
        rows = [*(f"-{line}" for line in old), *(f"+{line}" for line in new), "…"]
    return [row if len(row) <= _WIDTH else f"{row[: _WIDTH - 1]}…" for row in rows]


def plain_line(change: ChangedTest) -> str:
    """A change on one line of plain text: ``weakened: tests/test_a.py::test_f: asserts less``."""
    what = _what(change)
    name = f"{KINDS.get(change.kind, 'changed')}: {one_line(safe(change.id), 160)}"
    return f"{name}: {what}" if what else name


def tests_document(changes: Sequence[ChangedTest]) -> list[dict[str, Any]]:
    """The changes as plain values, as the report and ``status --json`` have them."""
    return [
        {
            "file": safe(change.file),
            "test": safe(change.test),
            "kind": change.kind,
            "what": safe(change.what),
            "before": safe(change.before),
            "after": safe(change.after),
            "line": change.line,
            "state": change.state,
            "accepted": change.state == "accepted",
        }
        for change in changes
    ]
