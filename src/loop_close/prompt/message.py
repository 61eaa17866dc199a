"""The message of a failure as rows: cut, without a traceback in it, of a doctest and of unequal values what differs."""

from __future__ import annotations

import re
import textwrap
from itertools import chain, zip_longest

from loop_close.facts import differences, is_a
from loop_close.model import Difference, Failure
from loop_close.prompt.show import message_lines, safe, short
from loop_close.text.sanitize import one_line

# By level of detail.
_MESSAGE_LINES = (0, 3, 4, 6, 6)
_MESSAGE_CHARS = (0, 240, 320, 480, 480)


def message_rows(failure: Failure, level: int) -> list[str]:
    """The message with its type, its first lines; instead of pytest's diff the places where the values differ."""
    raised = failure.raised
    is_doctest = is_a(raised, "DocTestFailure") and "\nExpected:\n" in failure.message
    lines = _of_doctest(failure.message) if is_doctest else _without_traceback(message_lines(failure.message))
    if raised is not None and raised.type != "AssertionError":
        first = lines[0] if lines else ""
        name = one_line(safe(raised.type), 100)
        lines = [f"{name}: {first}" if first else name, *lines[1:]]
    found = differences(failure)
    # Of values that differ as a whole a short message says it all.
    if any(each.path for each in found) or (found and len(lines) > 2):
        first = short(lines[0]) if lines else ""
        lines = [first, *(difference_row(each) for each in found if not _is_said(each, first))]
    kept: list[str] = []
    size = 0
    for line in lines[: _MESSAGE_LINES[level]]:
        size += len(line) + 1
        if kept and size > _MESSAGE_CHARS[level]:
            break
        kept.append(line[: _MESSAGE_CHARS[level]])
    more = len(lines) - len(kept)
    return [*kept, *([f"… {more} more line{'s' * (more != 1)}"] if more else [])]


def _without_traceback(lines: list[str]) -> list[str]:
    """The message without the frames of a traceback in it, as a thread's has: its last line says what was raised."""
    first = next(
        (n for n, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")), None
    )
    if first is None or len(lines) - first < 3:
        return lines
    return [*lines[:first], f"… {len(lines) - first - 1} lines of a traceback", lines[-1]]


def _of_doctest(message: str) -> list[str]:
    """Of a doctest's failure its example and what differs: the exceptions, or the first line of the output.

    Its options are not known, so lines are compared without regard to space first. Where the expected output has
    ``...``, the ends are shown of both.
    """
    example, _, rest = safe(message, 100_000).partition("\nExpected:\n")
    sides = [textwrap.dedent(side).splitlines() for side in rest.partition("\nGot:\n")[::2]]
    expected, got = sides
    where = ""
    if expected[:1] == ["Traceback (most recent call last):"]:
        texts = [short((side or [""])[-1]) for side in sides]
    elif any("..." in line for line in expected) or len(expected) == len(got) == 1:
        ends = (" … ".join(dict.fromkeys((side[0], side[-1]))) if side else "(nothing)" for side in sides)
        texts = [*map(short, ends)]
    else:
        lines = ([line.replace("<BLANKLINE>", "") for line in side] for side in sides)
        pairs = [*zip_longest(*lines)] or [(None, None)]  # the message may have been cut before them
        loosely = (n for n, (one, other) in enumerate(pairs) if (one or "").split() != (other or "").split())
        exactly = (n for n, (one, other) in enumerate(pairs) if one != other)
        number = next(chain(loosely, exactly), 0)
        texts, where = [*_apart(*pairs[number])], f", line {number + 1}"
    heads = (f"Expected{where}", f"Got{where}")
    shown = (f"{head}: {text}" for head, text in zip(heads, texts, strict=True))
    return [*(short(line) for line in example.splitlines()[:2]), *shown]


def _apart(left: str | None, right: str | None) -> tuple[str, str]:
    """Two lines for comparison, without a long beginning that both have; None for none."""
    pairs = zip_longest(left or "", right or "")
    same = next((n for n, (one, other) in enumerate(pairs) if one != other), 0)
    cut = max(0, same - 20) if same > 60 else 0
    is_space = left is not None and right is not None and left.split() == right.split()
    texts = (
        ("…" * bool(cut) + text[cut:] if text is not None else "(no such line)") for text in (left, right)
    )
    first, second = (short(repr(text) if is_space else text) for text in texts)
    return first, second


def _is_said(found: Difference, message: str) -> bool:
    """Whether the message has both values whole, as ``assert 4 == 3``."""
    sides = re.split("==|!=", message.removeprefix("assert "), maxsplit=1)
    return not found.path and [side.strip() for side in sides] == [found.left, found.right]


def difference_row(found: Difference) -> str:
    """Where two values differ, as ``left["a"]: 3 != 4``."""
    path, left, right = (one_line(safe(text), 160) for text in (found.path, found.left, found.right))
    if not left or not right:
        return f"only in the {'left' if left else 'right'} value: {path} = {left or right}"
    return f"left{path}: {left} != {right}"
