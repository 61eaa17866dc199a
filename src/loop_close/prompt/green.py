"""What the prompt says of a run in which all is well; it loads nothing that only a red run needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loop_close.model import Counts, EditsRun, Report

_MOST_NAMED = 5


def green_title(counts: Counts, known: str, *, has_tests: bool = True, known_failing: int = 0) -> str:
    """The heading.

    :param known: the exit code in words, for a command that runs no tests.
    :param known_failing: how many tests failed and do not count.
    """
    if not has_tests:
        return f"# No failure ({known})"
    said = in_words(
        passed=counts.passed, skipped=counts.skipped, xfailed=counts.xfailed, xpassed=counts.xpassed
    )
    if known_failing:
        but = f"The tests pass but for {known_words(known_failing)}: "
        said = but + said.removeprefix("The tests pass: ")
    return f"# {said}".removesuffix(": ")


def known_words(number: int) -> str:
    """``2 known failures``; empty for none."""
    return f"{number:,} known failure{'s' * (number != 1)}" if number else ""


def in_words(*, passed: int, skipped: int = 0, xfailed: int = 0, xpassed: int = 0) -> str:
    """``The tests pass: 36 passed, 2 skipped``, in pytest's words for the outcomes."""
    named = ((passed, "passed"), (skipped, "skipped"), (xfailed, "xfailed"), (xpassed, "xpassed"))
    return "The tests pass: " + ", ".join(f"{number:,} {name}" for number, name in named if number)


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
