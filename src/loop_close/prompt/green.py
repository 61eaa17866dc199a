"""What the prompt says of a run in which all is well; it loads nothing that only a red run needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loop_close.model import Counts


def green_title(counts: Counts, known: str, *, has_tests: bool = True) -> str:
    """The heading.

    :param known: the exit code in words, for a command that runs no tests.
    """
    if not has_tests:
        return f"# No failure ({known})"
    return f"# {in_words(passed=counts.passed, skipped=counts.skipped, xfailed=counts.xfailed, xpassed=counts.xpassed)}"


def in_words(*, passed: int, skipped: int = 0, xfailed: int = 0, xpassed: int = 0) -> str:
    """``The tests pass: 36 passed, 2 skipped``, in pytest's words for the outcomes."""
    named = ((passed, "passed"), (skipped, "skipped"), (xfailed, "xfailed"), (xpassed, "xpassed"))
    return "The tests pass: " + ", ".join(f"{number:,} {name}" for number, name in named if number)
