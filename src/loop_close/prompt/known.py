"""The failures that are known and do not count, in the words of the prompt and of the JSON report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from loop_close.model import KnownFailure, KnownState, Observation, Report
from loop_close.prompt.show import line_of, safe, span

_MOST_NAMED = 8
#: What is said of each group, those first that change what counts.
_SAID: tuple[tuple[KnownState, str], ...] = (
    (
        "not-accepted",
        "Added since the loop began, so they count until a person accepts them (`loop-close accept`):",
    ),
    ("expired", "Their last day has passed, so they count again:"),
    ("known", "They fail, and do not count:"),
    ("not-needed", "No longer needed, as these tests pass:"),
)


def known_failing(observation: Observation) -> int:
    """How many tests failed and do not count."""
    return len({each.test for each in observation.known_failing})


def known_failures(report: Report, tokens: int) -> Iterator[str]:
    """The section of the prompt: each test with where it is tracked and until when, in groups."""
    is_first = True
    for state, words in _SAID:
        found = [each for each in report.observation.known if each.state == state]
        if found:
            yield from (words,) if is_first else ("", words)
            yield ""
            yield from _lines(found)
            is_first = False


def _lines(found: Sequence[KnownFailure]) -> Iterator[str]:
    for each in found[:_MOST_NAMED]:
        more = [line_of(each.issue, 160)] if each.issue else []
        more += [f"until {each.until}"] if each.until else []
        told = f" ({', '.join(more)})" if more else ""
        yield f"- {span(each.test, 160)}{told}"
    if len(found) > _MOST_NAMED:
        yield f"- and {len(found) - _MOST_NAMED} more"


def known_document(observation: Observation) -> list[dict[str, Any]]:
    """The same as plain values, for the JSON report."""
    return [
        {
            "test": safe(each.test),
            "state": each.state,
            "cause": each.cause,
            "message": safe(each.message),
            "issue": safe(each.issue),
            "until": each.until,
        }
        for each in observation.known
    ]
