"""The signals that fired, in a line each."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.memory import Signal
from loop_close.model import Report
from loop_close.prompt.show import spans
from loop_close.text.sanitize import one_line

_MAX_TESTS = 2


def signal_lines(report: Report, tokens: int) -> Iterator[str]:
    """Each with its runs, what it is about, and the reason."""
    for signal in report.progress.signals if report.progress is not None else ():
        if signal.is_on:
            yield f"- `{signal.kind}`: {_about(signal)}{one_line(signal.explanation, 300)}."


def _about(signal: Signal) -> str:
    return f"{spans(signal.tests, _MAX_TESTS)}: " if signal.tests else ""
