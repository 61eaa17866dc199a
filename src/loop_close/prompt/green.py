"""What the prompt says of a run in which all is well; it loads nothing that only a red run needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loop_close.model import EditsRun, Report

_MOST_NAMED = 5


def green_title(known: str) -> str:
    """The heading, with the exit code as it is told."""
    return f"# No stall detected: the tests pass ({known})"


def told_counts(
    *, failed: int = 0, errors: int = 0, passed: int = 0, skipped: int = 0, xfailed: int = 0, xpassed: int = 0
) -> str:
    """Tests by outcome in pytest's words, worst first; ``No test ran`` where all are 0."""
    named = (
        (failed, "failed"),
        (errors, "error" if errors == 1 else "errors"),
        (passed, "passed"),
        (skipped, "skipped"),
        (xfailed, "xfailed"),
        (xpassed, "xpassed"),
    )
    return ", ".join(f"{number} {name}" for number, name in named if number) or "No test ran"


def green_prompt(*, passed: int, skipped: int, xfailed: int, xpassed: int) -> str:
    """The whole prompt of a run in which every test that was collected passed, or failed as expected."""
    counts = told_counts(passed=passed, skipped=skipped, xfailed=xfailed, xpassed=xpassed)
    return f"{green_title('exit 0')}\n\n{counts}.\n"


def edits_not_run_line(report: Report) -> str:
    """Which edited functions no test ran, as markdown; empty where all were run, or it is not known."""
    from loop_close.prompt.show import span

    return _not_run(report.edits_run, lambda text: span(text, 100))


def edits_not_run_words(edits_run: EditsRun | None) -> str:
    """The same as plain text on one line."""
    from loop_close.prompt.show import safe
    from loop_close.text.sanitize import one_line

    return _not_run(edits_run, lambda text: one_line(safe(text, 400), 100))


def _not_run(ran: EditsRun | None, shown: Callable[[str], str]) -> str:
    """The sentence: ``1 of 5 edited functions was not run by any test: total (src/cart.py).``."""
    if ran is None or not ran.not_run:
        return ""
    number = len(ran.not_run) + ran.omitted
    names = ", ".join(f"{shown(function)} ({shown(file)})" for file, function in ran.not_run[:_MOST_NAMED])
    more = number - min(len(ran.not_run), _MOST_NAMED)
    which = f"{number} of {ran.edited} edited functions" if ran.edited > 1 else "The edited function"
    return (
        f"{which} {'was' if number == 1 else 'were'} not run by any test: {names}"
        f"{f' and {more} more' if more else ''}."
    )
