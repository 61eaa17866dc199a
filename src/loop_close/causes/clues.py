"""What the failures of one cause say of functions: tracebacks, checked values, edits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loop_close.causes.grouping import mismatched
from loop_close.conventions import is_test_file, is_test_module
from loop_close.facts import (
    TEST_PHASES,
    Name,
    base_name,
    every,
    innermost,
    is_assertion,
    is_made,
    last_name,
    leaves,
    origins,
    qualname,
    running_line,
    test_function,
)
from loop_close.model import Failure, Frame, Raised
from loop_close.records import NO_LOOP, Edit, Loop
from loop_close.syntax.meaning import MODULE
from loop_close.text.redact import clean


@dataclass(slots=True)
class Clue:
    """What the failures say of one function; shares are of the failures of the cause, from 0 to 1.

    :ivar line: its first line, ``at`` the line that ran; 0 if unknown.
    :ivar raised: an exception was raised in it by something that failed there; ``refused``: by a ``raise`` of its own.
    :ivar mismatched: it did not take its arguments, or gave these to a function that did not.
    :ivar framed: it is on the traceback; more, the nearer to the exception.
    :ivar judged: the failing statement uses what it returned.
    :ivar edit: the last edit of it before the failures began, in words; ``edited``: of how many of them.
    """

    line: int = 0
    at: int = 0
    raised: float = 0.0
    refused: float = 0.0
    mismatched: float = 0.0
    framed: float = 0.0
    judged: float = 0.0
    edit: str = ""
    edited: float = 0.0


def clues(failures: Sequence[Failure], loop: Loop = NO_LOOP) -> dict[Name, Clue]:
    """What the failures of one cause say, by function.

    :param loop: the runs since the project was last done, this run included.
    """
    found: dict[Name, Clue] = {}
    for failure in failures:
        for raised in every(failure.raised):
            _from_frames(failure, raised, found, 1 / len(failures))
        _from_origins(failure, found, 1 / len(failures))
    for name, (edit, began) in edited_before(failures, loop).items():
        clue = found.setdefault(name, Clue())
        clue.edit, clue.edited = edit, began / len(failures)
    return found


def _from_frames(failure: Failure, raised: Raised, found: dict[Name, Clue], share: float) -> None:
    is_refused = is_made(raised) or running_line(innermost(raised)).startswith("assert ")
    ends = mismatched(raised)
    # Of a call that does not fit the caller is more often wrong than what it calls; a test is taken at its word.
    near = next((frame for frame in ends if not frame.is_test), innermost(raised))
    # Of a group what was raised are those inside it.
    made = [*leaves(failure.raised or raised)]
    seen: set[Name] = set()
    for depth, frame in enumerate(_candidates(failure, raised)):
        name = frame.file, base_name(frame.function)
        clue = found.setdefault(name, Clue())
        clue.at = clue.at or frame.line
        # What is shown of a lambda outside of functions begins above it.
        if not name[1].endswith(">"):
            clue.line = clue.line or frame.source.start
        if name not in seen:
            seen.add(name)
            clue.framed += share / (1 + depth)
            clue.mismatched += share * (frame in ends)
            if frame == near and raised in made:
                clue.refused += share * is_refused / len(made)
                clue.raised += share * (not is_refused) / len(made)


def _candidates(failure: Failure, raised: Raised) -> list[Frame]:
    """The frames that may hold the fault, the innermost first, those that only hand the exception on last.

    Of test code that is where the exception of a running test was raised, such as in a fixture: neither the test itself
    nor what says that it fails.
    """
    ends = mismatched(raised) or (innermost(raised),)
    is_running = failure.phase in TEST_PHASES and not is_assertion(raised)
    helpers = [f for f in ends if f is not None and f.function not in (written_name(failure), MODULE)]
    frames = [f for f in reversed(raised.frames) if not f.is_test or (is_running and f in helpers)]
    return sorted(frames, key=lambda frame: frame.is_handing_on)


def _from_origins(failure: Failure, found: dict[Name, Clue], share: float) -> None:
    names = {(o.file, base_name(o.function)): o for o in origins(failure) if not o.is_test}
    for name, origin in names.items():
        clue = found.setdefault(name, Clue())
        clue.line = clue.line or origin.line
        clue.judged += share


# --- the edits right before failures began; later ones were attempts to mend them


def edited_before(failures: Sequence[Failure], loop: Loop) -> dict[Name, tuple[str, int]]:
    """Functions, class bodies and module bodies that were edited before the failures began, by file and qualified name.

    Each has the edit in words, and how many of the failures began in the first run after it, or later without a run of
    all tests before. What is gone counts if the failure names it. Of test code counts what the failing tests may use:
    what is on their tracebacks, and what is no test in their own files and in conftests and helpers. Edits that
    restored an earlier state of the files in the loop do not count.
    """
    began = [_runs_before(failure, loop) for failure in failures]
    found: dict[Name, tuple[str, int]] = {}
    known: set[str] = set()
    for step in loop.steps:
        number = 0 if step.tree in known else sum(step.run in runs for runs in began)
        known |= {step.tree} - {""}
        for edit in step.edits.edits if number else ():
            if edit.function and edit.is_effective and any(_may_matter(edit, each) for each in failures):
                found[edit.file, edit.function] = f"{edit.change} before run {step.run}", number
    return found


def _may_matter(edit: Edit, failure: Failure) -> bool:
    if edit.change == "removed":
        return _is_named(last_name(edit.function), failure)
    if not is_test_file(edit.file):
        return True
    name = edit.file, edit.function
    if name in {(f.file, base_name(f.function)) for each in every(failure.raised) for f in each.frames}:
        return edit.change == "edited" or name != (failure.file, written_name(failure))
    is_near = edit.file == failure.file or not is_test_module(edit.file)
    is_used = edit.change == "edited" or edit.file.rpartition("/")[2] == "conftest.py"
    return is_used and is_near and not last_name(edit.function).startswith("test")


def _is_named(name: str, failure: Failure) -> bool:
    """Whether the message of an exception has the name as a word."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(word.search(each.message) for each in every(failure.raised))


def _runs_before(failure: Failure, loop: Loop) -> set[int]:
    """The runs from the one in which a failure began back to the one after which all tests had last run."""
    test = clean(failure.nodeid)
    runs = set()
    for since in {each.since for each in loop.failing if each.test == test}:
        for step in reversed(loop.steps):
            if step.run < since and not step.scope and step.is_finished:
                break
            if step.run <= since:
                runs.add(step.run)
    return runs


def written_name(failure: Failure) -> str:
    """The test's qualified name as it is written: without its parameters."""
    return qualname(failure.nodeid) or test_function(failure.nodeid)
