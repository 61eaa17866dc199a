"""Reports to text: the next prompt and the JSON report.

Here: untrusted text made safe for Markdown, and counts in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from loop_close.text import code, cut_apart, listed, one_line

#: Characters of a line of source or of a message.
MAX_LINE = 160
_MAX_TEXT = 16_200  # a message that was cut when it was captured is not cut again: its count would be lost
_NAME = 256
_MOST_NAMED = 5
_PLAIN = re.compile(r"[A-Za-z0-9](?:[\w./():-]*[\w/():-])?", re.ASCII)
# What a renderer may take for emphasis or for a link.
_MARKUP = re.compile(r"(?<![^\W_])_|_(?![^\W_])|//|www\.", re.IGNORECASE)


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
    whole = display(clean("\n".join(lines), numbers=numbers)).replace("\n", " ")
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


def span(text: str, limit: int = 120) -> str:
    """An inline code span."""
    return code(safe(text, 4 * limit), limit)


def spans(texts: Sequence[str], most: int, limit: int = 160) -> str:
    """The first texts as code spans, and how many more there are."""
    return listed(texts, most, lambda text: span(text, limit))


def spans_apart(texts: Sequence[str], limit: int) -> list[str]:
    """Texts shown side by side, each on one line as a code span, cut around what differs."""
    return [
        code(text, limit) for text in cut_apart([one_line(safe(text), _MAX_TEXT) for text in texts], limit)
    ]


def short(line: str) -> str:
    """A line of bounded length."""
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…"


def plain(text: str, limit: int = 120) -> str:
    """A name or a path for a title: as it is where nothing in it means anything in markdown, else a code span."""
    shown = one_line(safe(text, 4 * limit), limit)
    return shown if _PLAIN.fullmatch(shown) and not _MARKUP.search(shown) else code(shown, limit)


# --- counts in words


def failing(tests: int, subtests: int) -> str:
    """How many tests and subtests fail: in sum what pytest counts as failed."""
    if not subtests:
        return number_of(tests, "test fails", "tests fail")
    inner = number_of(subtests, "subtest", "subtests")
    if not tests:
        return f"{inner} fail{'s' * (subtests == 1)}"
    return f"{number_of(tests, 'test', 'tests')} and {inner} fail"


def number_of(number: int, one: str, more: str) -> str:
    """``1 error``, ``2 errors``; empty for none."""
    return f"{number:,} {one if number == 1 else more}" if number else ""


def edits_not_run(edited: Sequence[tuple[str, str, bool]] | None, shown: Callable[[str], str]) -> str:
    """``No test was seen to run 1 of 5 edited functions: total (src/cart.py).``; empty if all were, or it is unknown.

    :param edited: as :attr:`loop_close.model.Report.edited`. :param shown: how a name is to be written.
    """
    not_run = [(file, function) for file, function, is_run in edited or () if not is_run]
    if not edited or not not_run:
        return ""
    number = len(not_run)
    named = [f"{shown(function)} ({shown(file)})" for file, function in not_run[:_MOST_NAMED]]
    which = f"{number} of {len(edited)} edited functions" if len(edited) > 1 else "the edited function"
    names = listed([*named, *[""] * (number - len(named))], len(named))
    return f"No test was seen to run {which}: {names}."
