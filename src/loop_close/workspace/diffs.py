"""Show what differs between two versions of a function: short, redacted, in bounded time."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import islice

from loop_close.text.redact import clean

MAX_LINES = 12
MAX_CHARACTERS = 900
_LONGEST_LINE = 160
# difflib takes length times length, and more for lines that repeat: 400 lines are some 10 ms.
_LONGEST = 400


def diff_of(before: Sequence[str], after: Sequence[str]) -> str:
    """A unified diff without its headers, at most 12 lines and 900 characters.

    :returns: cleaned text; a last line ``… 5 more lines`` where it was cut.
    """
    # Whole before they are compared: a line of a key between two of a diff no longer looks like one.
    numbers: dict[str, int] = {}
    texts = (
        clean("\n".join(lines), numbers=numbers).split("\n") if lines else [] for lines in (before, after)
    )
    lines = clean("\n".join(_compared(*texts)), numbers=numbers).split("\n")
    return _cut(lines) if lines != [""] else ""


def _compared(old: list[str], new: list[str]) -> Iterator[str]:
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(removed), len(added)) > _LONGEST:
        yield from (f"-{line}" for line in removed)
        yield from (f"+{line}" for line in added)
        return
    around = max(head - 1, 0), min(tail, 1)  # one line of context
    old, new = (lines[around[0] : len(lines) - tail + around[1]] for lines in (old, new))
    for line in islice(difflib.unified_diff(old, new, n=1, lineterm=""), 2, None):
        if not line.startswith("@@"):
            yield line


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines are equal from the start."""
    pairs = zip(old, new, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _cut(lines: list[str]) -> str:
    lines = [line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…" for line in lines]
    text = "\n".join(lines)
    if len(lines) <= MAX_LINES and len(text) <= MAX_CHARACTERS:
        return text
    kept = lines[: MAX_LINES - 1]
    while sum(map(len, kept)) + len(kept) + len(_more(lines, kept)) > MAX_CHARACTERS:
        kept.pop()
    return "\n".join([*kept, _more(lines, kept)])


def _more(lines: list[str], kept: list[str]) -> str:
    left = len(lines) - len(kept)
    return f"… {left} more line{'s' if left != 1 else ''}"
