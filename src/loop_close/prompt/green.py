"""What the prompt says of a run in which all is well; it loads nothing that only a red run needs."""

from __future__ import annotations


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
