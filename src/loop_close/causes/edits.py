"""The edits right before failures began; later ones were attempts to mend them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from loop_close.conventions import is_test_file, is_test_module
from loop_close.facts import Name, base_name, last_name, links, qualname, test_function
from loop_close.model import Failure
from loop_close.records import Edit, Loop
from loop_close.text.redact import clean


class EditBefore(NamedTuple):
    """The last edit of a function before failures began.

    :ivar run: the first run after it.
    :ivar began: how many of the failures began in that run, or later without a run of all tests before.
    """

    run: int
    edit: Edit
    began: int


def edited_before(failures: Sequence[Failure], loop: Loop) -> dict[Name, EditBefore]:
    """Functions, class bodies and module bodies that were edited before the failures began, by file and qualified name.

    What is gone counts if the failure names it. Of test code counts what the failing tests may use: what is on their
    tracebacks, and what is no test in their own files and in conftests and helpers. Edits that restored
    an earlier state of the files in the loop do not count.
    """
    began = [_runs_before(failure, loop) for failure in failures]
    found: dict[Name, EditBefore] = {}
    known: set[str] = set()
    for step in loop.steps:
        number = 0 if step.tree in known else sum(step.run in runs for runs in began)
        known |= {step.tree} - {""}
        for edit in step.edits.edits if number else ():
            if edit.function and edit.is_effective and any(_may_matter(edit, each) for each in failures):
                name = edit.moved_to if edit.moved_to[1] else (edit.file, edit.function)
                found[name] = EditBefore(step.run, edit, number)
    return found


def _may_matter(edit: Edit, failure: Failure) -> bool:
    if edit.change in ("removed", "moved"):
        return _is_named(last_name(edit.function), failure)
    if not is_test_file(edit.file):
        return True
    name = edit.file, edit.function
    if name in {(f.file, base_name(f.function)) for link in links(failure.raised) for f in link.frames}:
        return edit.change == "edited" or name != (failure.file, written_name(failure))
    is_near = edit.file == failure.file or not is_test_module(edit.file)
    is_used = edit.change == "edited" or edit.file.rpartition("/")[2] == "conftest.py"
    return is_used and is_near and not last_name(edit.function).startswith("test")


def _is_named(name: str, failure: Failure) -> bool:
    """Whether the message of an exception has the name as a word."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(word.search(link.message) for link in links(failure.raised))


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
