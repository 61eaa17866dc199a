"""Count tests by outcome from a run's last line and its header; say why a run stopped early."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from loop_close.model import Counts, Failure
from loop_close.readers.contract import CUT
from loop_close.readers.pytest_output.rulers import counts_in
from loop_close.readers.pytest_output.runs import Run

_COLLECTED = re.compile(
    r"(?:\n|collecting \.\.\. )(?:collected (?P<all>\d{1,9}) items?(?: / \d{1,9} errors?)?"
    r"(?: / (?P<left>\d{1,9}) deselected)?"
    r"|\d{1,6} workers? \[(?P<remote>\d{1,9}) items?\]|gw0 \[(?P<old>\d{1,9})\])"
)
_INTERRUPTED = re.compile(r"(?:[\w.]{1,200}\.)?Interrupted: (?P<why>.+)\Z", re.DOTALL)
_EXIT = re.compile(r"(?:_pytest\.outcomes\.)?Exit(?:: (?P<why>.+))?\Z", re.DOTALL)
# Below it there is only the line of counts.
_TOO_MANY_WARNINGS = re.compile(
    r"Tests pass, but (?P<why>maximum allowed warnings exceeded: \d{1,9} > \d{1,9})\n"
)
_STOPPING = re.compile(r"stopping after \d{1,9} failures\Z")


def counts_of(text: str, run: Run, failures: Sequence[Failure]) -> Counts | None:
    """Tests by outcome; None where the line is missing.

    :param failures: those of the run. pytest counts failing subtests, here each test counts once.
    """
    numbers = counts_in(run.final.title) if run.final is not None else None
    if numbers is None:
        return None
    collected = _collected(text, run)
    twice, passed = _subtests(failures)
    counted = counts_of_numbers(numbers)
    counted = replace(counted, passed=max(0, counted.passed - passed), failed=max(0, counted.failed - twice))
    if collected is None:
        return replace(counted, collected=_told(numbers))
    if any(f.phase == "collect" for f in failures) and _is_stopped(run):
        return counted  # pytest had not come to count them
    setups = {f.nodeid for f in failures if f.phase == "setup"}
    done = counted.passed + counted.failed + counted.skipped + counted.xfailed + counted.xpassed + len(setups)
    return replace(counted, collected=collected, not_run=max(0, collected - done))


def counts_of_numbers(numbers: Mapping[str, int]) -> Counts:
    """The numbers of a line of counts by their words."""
    return Counts(
        passed=numbers.get("passed", 0),
        failed=numbers.get("failed", 0),
        failed_subtests=numbers.get("subtests failed", 0) + numbers.get("subtest failed", 0),
        errors=numbers.get("errors", 0) + numbers.get("error", 0),
        skipped=numbers.get("skipped", 0),
        xfailed=numbers.get("xfailed", 0),
        xpassed=numbers.get("xpassed", 0),
    )


def _is_stopped(run: Run) -> bool:
    return any(ruler.char == "!" and _STOPPING.match(ruler.title) for ruler in run.rulers)


def is_more_than_collected(text: str, run: Run, counts: Counts | None) -> bool:
    """Whether the last line counts tests that the header knows nothing of. Modules may be skipped besides."""
    found = _header(text, run)
    if counts is None or found is None or not found["all"]:
        return False
    return counts.passed + counts.failed + counts.xfailed + counts.xpassed > int(found["all"])


def _subtests(failures: Sequence[Failure]) -> tuple[int, int]:
    """How many failures are of a test that has another, and how many tests passed but for their subtests."""
    failed = [f for f in failures if f.phase == "call"]
    with_subtests = {f.nodeid for f in failed if f.subtest}
    whole = {f.nodeid for f in failed if not f.subtest}
    same = [f for f in failed if f.nodeid in with_subtests]
    return len(same) - len(with_subtests), len(with_subtests - whole)


def _told(numbers: dict[str, int]) -> int:
    return numbers.get("tests collected", 0) + numbers.get("test collected", 0)


def _collected(text: str, run: Run) -> int | None:
    """How many tests were selected to run, by the header."""
    found = _header(text, run)
    if found is None:
        return None
    number = found["all"] or found["remote"] or found["old"]
    return max(0, int(number) - int(found["left"] or 0))


def _header(text: str, run: Run) -> re.Match[str] | None:
    return _COLLECTED.search(text, run.start, min(run.end, run.start + 20_000)) if run.has_start else None


def incomplete(text: str, run: Run, stops: Sequence[str], counts: Counts | None) -> str:
    """Why a run ended before its end; empty when it did not."""
    if run.final is not None and "collected only" in (counts_in(run.final.title) or {}):
        return "tests were collected and not run"
    if too_many := _too_many_warnings(text, run):
        return too_many
    for stop in reversed(stops):  # xdist says it again, and better
        why = why_stopped(stop)
        if why and not (
            _STOPPING.match(why) and counts is not None and counts.collected and not counts.not_run
        ):
            return why
    is_cut = run.has_start or bool(run.rulers and not text[run.rulers[-1].end :].strip())
    return CUT if is_cut and run.final is None else ""


def _too_many_warnings(text: str, run: Run) -> str:
    """What ``--max-warnings`` says right above the line of counts."""
    if run.final is None:
        return ""
    above = text.rfind("\n", max(0, run.final.start - 200), max(0, run.final.start - 1)) + 1
    found = _TOO_MANY_WARNINGS.fullmatch(text, above, run.final.start)
    return found["why"] if found else ""


def why_stopped(stop: str) -> str:
    """The reason that a ``!!!`` ruler gives, in the words of the plugin."""
    if stop == "KeyboardInterrupt":
        return "interrupted by Ctrl-C"
    if found := _EXIT.match(stop):
        return f"pytest.exit: {found['why']}" if found["why"] else "interrupted"
    found = _INTERRUPTED.match(stop)
    return found["why"] if found else stop
