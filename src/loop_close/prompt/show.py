"""Make text from outside fit to be read: safe, free of volatile values, and short."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from loop_close.text.markdown import code, fence
from loop_close.text.sanitize import one_line

if TYPE_CHECKING:
    from loop_close.model import Source

_MAX_LINE = 160
_MAX_TEXT = 16_200  # a message that was cut when it was captured is not cut again: its count would be lost
_MARGIN = 6  # what stands before a source line: the mark, the number, a space
_NAME = 256
_EMPTY = re.compile(
    r"\s*(?:Use -v+ to get more diff|\.\.\.Full output truncated.{0,40}, use '-vv' to show)?"
)  # pytest's advice is of no use to who reads a file


def safe(text: str, limit: int = _MAX_TEXT) -> str:
    """The text without control characters, credentials, addresses and temporary paths."""
    return _safe_name(text, limit) if len(text) <= _NAME else _safe_text(text, limit)


def _safe(text: str, limit: int) -> str:
    # Not above: to compile their patterns takes half as long as all else at the end of a green run.
    from loop_close.text.clean import clean
    from loop_close.text.normalize import display

    return display(clean(text, limit))


# Files, functions and tests come again and again in thousands of failures; long messages twice in a row.
_safe_name = lru_cache(maxsize=16_384)(_safe)
_safe_text = lru_cache(maxsize=64)(_safe)


def span(text: str, limit: int = 120) -> str:
    """An inline code span."""
    return code(safe(text, 4 * limit), limit)


def spans(texts: Sequence[str], most: int, limit: int = 160) -> str:
    """The first texts as code spans, and how many more there are."""
    more = len(texts) - most
    shown = ", ".join(span(text, limit) for text in texts[:most])
    return f"{shown} and {more} more" if more > 0 else shown


def line_of(text: str, limit: int = 120) -> str:
    """The text on one line, as an inline code span."""
    return code(one_line(safe(text, 4 * limit), limit), limit)


def block(text: str, *, max_lines: int, max_chars: int) -> list[str]:
    """A fenced block with the first lines of a message; what is left out is counted."""
    lines = [_short(line.rstrip()) for line in safe(text).splitlines() if not _EMPTY.fullmatch(line)]
    kept: list[str] = []
    size = 0
    for line in lines[:max_lines]:
        size += len(line) + 1
        if kept and size > max_chars:
            break
        kept.append(line[:max_chars])
    if len(kept) < len(lines):
        kept.append(f"… {len(lines) - len(kept)} more lines")
    return fence("\n".join(kept) or "(no message)")


def _short(line: str) -> str:
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"


def excerpt(source: Source, line: int, *, before: int, after: int, column: int = 0) -> list[str]:
    """A fenced block of source with line numbers, the line in question marked.

    :param column: where to put a caret below the line, from 1; 0 for none.

    The function's first line stands on top although lines between are left out: it says what the function takes.
    """
    numbers = range(max(source.start, line - before), min(source.start + len(source.lines), line + after + 1))
    rows = [_row(source, number, number == line) for number in numbers]
    if 0 < column <= _MAX_LINE and line in numbers:
        rows.insert(line - numbers.start + 1, " " * (_MARGIN + column - 1) + "^")
    head = _definition(source, numbers.start)
    return fence("\n".join([*head, *rows]), "python") if rows else []


def opening(source: Source, body: Source | None, lines: int) -> list[str]:
    """A fenced block of the first lines of a definition; what a long docstring says is left out."""
    numbers = opening_numbers(source, body)
    rows = [_opening_row(source, body, number) for number in numbers[:lines]]
    more = ["     …"] * (len(numbers) > lines)
    return fence("\n".join([*rows, *more]), "python")


def _opening_row(source: Source, body: Source | None, number: int) -> str:
    if not number:
        return "     …"
    return _row(body if body is not None and number >= body.start else source, number, marked=False)


def opening_numbers(source: Source, body: Source | None) -> list[int]:
    """The numbers of the rows of an opening that has room for all of them; 0 for the row of what is left out."""
    end = source.start + len(source.lines)
    if body is None:
        return [*range(source.start, end)]
    return [
        *range(source.start, end),
        *[0] * (body.start > end),
        *range(body.start, body.start + len(body.lines)),
    ]


@lru_cache(maxsize=512)
def _safe_lines(source: Source) -> tuple[str, ...]:
    """The lines, each safe by itself and as part of the whole: a private key is known by its first and last line."""
    whole = safe("\n".join(source.lines))
    shown = (safe(line).replace("\n", " ") for line in source.lines)
    return tuple(line if line in whole else "[redacted]" for line in shown)


def _definition(source: Source, before: int) -> list[str]:
    """The line with ``def`` where it lies above line ``before``."""
    for number in range(source.start, min(before, source.start + len(source.lines))):
        if source.lines[number - source.start].lstrip().startswith(("def ", "async def ", "class ")):
            return [_row(source, number, marked=False)] + ["     …"] * (number + 1 < before)
    return []


def _row(source: Source, number: int, marked: bool) -> str:
    text = _safe_lines(source)[number - source.start].rstrip()[:_MAX_LINE]
    return f"{'>' if marked else ' '}{number:4} {text}".rstrip()
