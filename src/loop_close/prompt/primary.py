"""The root causes, each with as much detail as the budget allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.model import Report, RootCause
from loop_close.prompt.cause import LEVELS, brief_lines, cause_lines, definition_of
from loop_close.prompt.past import past_lines
from loop_close.text.budget import estimate_tokens

#: More than ten at a time nobody works on (seed of the format: ten primaries, the rest counted).
MAX_PRIMARIES = 10
_RESERVE = 40


def primary(report: Report, tokens: int) -> Iterator[str]:
    """Every root cause in one line before any gets more; then detail, the first cause first."""
    causes = report.causes
    if not causes:
        return
    rendered = _first_lines(causes, tokens - _RESERVE)
    left = tokens - _RESERVE - sum(_cost(lines) for lines in rendered)
    shown: dict[tuple[str, int] | None, int] = {}
    past = [list(past_lines(cause, report.progress)) for cause in causes[:MAX_PRIMARIES]]
    for index, level in _wishes(len(rendered)):
        others = [d for d, by in shown.items() if by != index]
        wanted = _lines(index, causes[index], level, others, past[index] if index < len(past) else ())
        change = _cost(wanted) - _cost(rendered[index])
        if change <= left:
            rendered[index] = wanted
            left -= change
            if level > 1:
                shown.setdefault(definition_of(causes[index]), index)
    yield from _joined(rendered[:MAX_PRIMARIES])
    yield from _in_brief(rendered[MAX_PRIMARIES:])
    if len(rendered) < len(causes):
        yield ""
        yield f"… and {len(causes) - len(rendered)} more root causes, left out to keep the budget."


def _in_brief(rendered: Sequence[Sequence[str]]) -> Iterator[str]:
    """The root causes beyond the first ten."""
    if rendered:
        yield from ("", f"… and {len(rendered)} more, in a line each:", "")
    for lines in rendered:
        yield from lines


def _wishes(number: int) -> Iterator[tuple[int, int]]:
    """(index, level) in the order of their use: all messages, all about the first, the source of the others.

    The first cause is the one to fix next; the rest will be shown whole when it is their turn.
    """
    yield from ((index, 1) for index in range(number))
    yield from ((0, level) for level in range(2, LEVELS))
    yield from ((index, 2) for index in range(1, min(number, MAX_PRIMARIES)))


def _lines(
    index: int,
    cause: RootCause,
    level: int,
    shown: Sequence[tuple[str, int] | None] = (),
    past: Sequence[str] = (),
) -> list[str]:
    if index < MAX_PRIMARIES:
        return cause_lines(index + 1, cause, level, shown, past)
    return brief_lines(index + 1, cause, level)


def _first_lines(causes: Sequence[RootCause], tokens: int) -> list[list[str]]:
    kept: list[list[str]] = []
    spent = 0
    for number, cause in enumerate(causes, 1):
        lines = _lines(number - 1, cause, 0)
        spent += _cost(lines)
        if kept and spent > tokens:
            break
        kept.append(lines)
    return kept


def _cost(lines: Sequence[str]) -> int:
    return estimate_tokens("\n".join(lines)) + 1


def _joined(rendered: Sequence[Sequence[str]]) -> Iterator[str]:
    for number, lines in enumerate(rendered):
        if number:
            yield ""
        yield from lines
