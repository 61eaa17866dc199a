"""The section of the prompt that only a shared history can fill: what other agents' runs say of a root cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.model import MachineCount, OtherAttempt, Report, RootCause, SharedFacts
from loop_close.prompt import span, spans_apart
from loop_close.syntax.meaning import MODULE

_MOST_ATTEMPTS = 3
_MOST_EDITS = 2


def shared_lines(report: Report, tokens: int) -> Iterator[str]:
    """The section of the prompt: what other agents' runs say of each root cause, a line each."""
    shared = report.shared
    if shared is None:
        return
    for number, cause in enumerate(report.causes, 1):
        which = f"{number}. " if len(report.causes) > 1 else ""
        yield from (f"- {which}{line}" for line in _lines_of(cause, shared))


def _lines_of(cause: RootCause, shared: SharedFacts) -> Iterator[str]:
    yield from (_machines(each) for each in shared.machines if each.cause == cause.id)
    attempts = [each for each in shared.attempts if each.cause == cause.id]
    yield from (f"{_attempt(each)}." for each in attempts[:_MOST_ATTEMPTS])


def _machines(found: MachineCount) -> str:
    return f"Fails on {found.failing} of {found.machines} machines."


def _attempt(found: OtherAttempt) -> str:
    branch = f", branch {span(found.branch, 60)}" if found.branch else ""
    edit = "this edit" if found.is_same else _edits(found.edits)
    tests = f"{found.failing} test{'s' * (found.failing != 1)} failed after it"
    effect = f"this cause was gone, {tests}" if found.is_cleared else tests
    return f"Another agent tried {edit} for this cause in run {found.run} ({span(found.machine, 60)}{branch}): {effect}"


def _edits(edits: Sequence[tuple[str, str, str, str]]) -> str:
    named = []
    for file, function, before, after in edits[:_MOST_EDITS]:
        place = (
            f"{span(function, 60)} in {span(file, 100)}" if function not in ("", MODULE) else span(file, 100)
        )
        change = f" ({' → '.join(spans_apart((before, after), 60))})" if before or after else ""
        named.append(f"{place}{change}")
    more = len(edits) - _MOST_EDITS
    return f"an edit of {', '.join(named)}{f' and {more} more' if more > 0 else ''}"
