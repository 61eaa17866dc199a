"""Make text from outside fit to be read: safe, free of volatile values, and short."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from loop_close.text.sanitize import code, one_line

_MAX_LINE = 160
_MAX_TEXT = 16_200  # a message that was cut when it was captured is not cut again: its count would be lost
_NAME = 256
_PLAIN = re.compile(r"[A-Za-z0-9](?:[\w./():-]*[\w/():-])?", re.ASCII)
# What a renderer may take for emphasis or for a link.
_MARKUP = re.compile(r"(?<![^\W_])_|_(?![^\W_])|//|www\.", re.IGNORECASE)
_EMPTY = re.compile(
    r"\s*(?:Use -v+ to get more diff|\.\.\.Full output truncated.{0,40}, use '-vv' to show)?"
)  # pytest's advice is of no use to who reads a file


def safe(text: str, limit: int = _MAX_TEXT) -> str:
    """The text without control characters, credentials, addresses and temporary paths."""
    return _safe_name(text, limit) if len(text) <= _NAME else _safe_text(text, limit)


def _safe(text: str, limit: int) -> str:
    # Not above: to compile their patterns takes half as long as all else at the end of a green run.
    from loop_close.text.normalize import display
    from loop_close.text.redact import clean

    return display(clean(text, limit))


def safe_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Each line safe by itself and as part of the whole: a private key is known by its first and last line."""
    from loop_close.text.normalize import display
    from loop_close.text.redact import clean, mark

    numbers: dict[str, int] = {}
    whole = display(clean("\n".join(lines), numbers=numbers))
    keys = [value for value in numbers if "\n" in value]
    shown = (display(clean(line, _MAX_TEXT, numbers)).replace("\n", " ") for line in lines)
    # A line that is not in the whole is part of a longer credential.
    return tuple(
        line if line in whole else mark(next((key for key in keys if line in key), line), numbers)
        for line in shown
    )


# Files, functions and tests come again and again in thousands of failures; long messages twice in a row.
_safe_name = lru_cache(maxsize=16_384)(_safe)
_safe_text = lru_cache(maxsize=64)(_safe)


def plain_values(record: object, *names: str) -> dict[str, Any]:
    """Fields of a record by name, as plain values for JSON, texts made safe."""
    values = ((name, getattr(record, name)) for name in names)
    return {name: safe(value) if isinstance(value, str) else value for name, value in values}


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


def message_lines(text: str) -> list[str]:
    """The lines of a message that say something, each bounded; pytest's advice on its options is left out."""
    return [short(line.rstrip()) for line in safe(text).splitlines() if not _EMPTY.fullmatch(line)]


def short(line: str) -> str:
    """A line of bounded length."""
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"


def plain(text: str, limit: int = 120) -> str:
    """A name or a path for a title: as it is where nothing in it means anything in markdown, else a code span."""
    shown = one_line(safe(text, 4 * limit), limit)
    return shown if _PLAIN.fullmatch(shown) and not _MARKUP.search(shown) else code(shown, limit)
