"""Find Python's printed tracebacks in text: frames, chains, exception groups."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from loop_close.model import Raised
from loop_close.readers.printed_parts import (
    FRAME,
    GROUP_LINE,
    HEADER,
    LINKS,
    assemble,
    is_exception,
    link_texts,
)
from loop_close.readers.printed_scan import Scanner

_MAX_PREFIX = 200
_MAX_FIRST = 100
_MAX_LAST = 300
_MAX_BEFORE = 2_000
_MAX_TYPED = 20
# What stands before every line of text that is quoted: comments, Markdown, diffs.
_QUOTES = {"#", "//", ">", "*", "--", ";", "%", "+", "-", "<", "..."}


def raised_in(text: str, root: str = "") -> Raised | None:
    """The exception that a printed traceback tells of, the last where there are several; None without one.

    :param text: tracebacks with little else, such as what a report holds of one test.
    :param root: the project's root, empty when it is not known.
    """
    last = deque(_found(Scanner(text, root, is_whole=True)), maxlen=1)
    return last[0][0] if last else None


def raised_in_line(said: str, root: str = "") -> Raised | None:
    """The exception of ``Type: message`` alone, the message of any number of lines; None for other text."""
    return assemble(said, (), root=root) if is_exception(said.partition("\n")[0]) else None


def printed_tracebacks(text: str, root: str = "") -> Iterator[tuple[Raised, int, int]]:
    """Every traceback in a text, a chain as one, with the offsets of its start and end.

    One needs at least a line that names a file, and the line with the exception. Of very many only the first
    and the last are given. A line without indentation below the exception counts as its message only where
    something shows that it is.
    """
    yield from _found(Scanner(text, root))


def _found(scanner: Scanner) -> Iterator[tuple[Raised, int, int]]:
    text = scanner.text
    heads = scanner.heads
    if len(heads) > _MAX_FIRST + _MAX_LAST:
        heads = heads[:_MAX_FIRST] + heads[-_MAX_LAST:]
    for head in heads:
        start = text.rfind("\n", max(0, head - _MAX_PREFIX - 1), head) + 1
        if start < scanner.at or head - start > _MAX_PREFIX:
            continue
        if not scanner.is_whole and _is_transcript(text, start):
            continue
        scanner.at = start
        found = _traceback(scanner, text[start:head])
        if found is not None:
            raised, before = found
            yield raised, start if before is None else before, scanner.end


def _is_transcript(text: str, start: int) -> bool:
    """Whether the line above was typed at a prompt: documentation shows what a statement raises, doctests expect it."""
    for _ in range(_MAX_TYPED):
        end, start = start - 1, text.rfind("\n", max(0, start - _MAX_PREFIX), max(start - 1, 0)) + 1
        line = text[start : max(end, start)].lstrip()
        if not line.startswith("... ") and line != "...":
            return line.startswith(">>> ")
    return False


def _traceback(scanner: Scanner, prefix: str) -> tuple[Raised, int | None] | None:
    """The traceback whose header is on the current line, and where what comes before it in its chain begins."""
    top = prefix.removesuffix(GROUP_LINE.removesuffix(HEADER))
    is_group = top != prefix
    is_other = prefix.strip() in _QUOTES or (scanner.line() or "")[len(prefix) + len(HEADER) :].strip()
    before = _before(scanner, top) if not is_other else None
    scanner.move()
    margins = [f"{top}  | "] if is_group else [prefix, _indentation(prefix)]
    margin = next((m for m in margins if FRAME.match(scanner.body(m) or "")), None)
    if margin is None or is_other:
        return None
    first = scanner.headless(margin, 1 if is_group else 0)
    if first is None:
        return None
    chain = scanner.chain(top if is_group else margin, 0, first, before[:2] if before else None)
    return chain, before[2] if before else None


def _indentation(prefix: str) -> str:
    return prefix[: len(prefix) - len(prefix.lstrip())]


def _before(scanner: Scanner, margin: str) -> tuple[str, Raised, int] | None:
    """The first of a chain where it was never raised, so that it has no header; how it is linked; its start."""
    for kind in LINKS:
        for link in link_texts(margin, kind):
            end = scanner.at - len(link)
            if end > 0 and scanner.text.startswith(link, end):
                said, start = _paragraph(scanner.text, end, margin)
                raised = raised_in_line(said, scanner.root)
                return (kind, raised, start) if raised is not None else None
    return None


def _paragraph(text: str, end: int, margin: str) -> tuple[str, int]:
    """The lines up to ``end`` that no blank line parts, without their margin, and where they start."""
    blank = f"\n{margin.rstrip()}\n"
    floor = max(end - _MAX_BEFORE, 0)
    at = text.rfind(blank, floor, end)
    start = at + len(blank) if at >= 0 else floor
    return "\n".join(line.removeprefix(margin) for line in text[start:end].rstrip("\n").split("\n")), start
