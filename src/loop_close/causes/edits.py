"""The edits right before failures began; later ones were attempts to fix them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from loop_close.causes.grouping import miscalled
from loop_close.conventions import is_test_file, is_test_module
from loop_close.facts import Name, base_name, innermost, is_a, last_name, links, qualname, test_function
from loop_close.model import Failure, Frame, Raised
from loop_close.records import Edit, Loop
from loop_close.syntax.meaning import MODULE
from loop_close.text.redact import clean

_CONFTEST = "conftest.py"


class EditBefore(NamedTuple):
    """The last edit of a function before failures began.

    :ivar run: the run after it; ``share``: that of the failures which began then, from 0 to 1.
    :ivar is_missed: the failures miss what it took away.
    """

    run: int
    edit: Edit
    share: float
    is_missed: bool


def edited_before(failures: Sequence[Failure], loop: Loop) -> dict[Name, EditBefore]:
    """Functions, class bodies and module bodies, by file and qualified name.

    Of test code only what the failing tests may use: their own functions, code beside them, helpers that are
    no tests, and the conftests above them. New test code is left out, as its failures say what is still to be done;
    but not a new fixture or helper that raised the exception.
    """
    before = [_runs_before(failure, loop) for failure in failures]
    found: dict[Name, EditBefore] = {}
    for step in loop.steps:
        share = sum(step.run in runs for runs in before) / len(failures)
        for edit in step.edits.edits if share else ():
            may_miss = is_gone(edit) or edit.change == "edited"
            missed = (_missed(failure, edit) for failure in failures) if may_miss else ()
            missing = next(filter(None, missed), None)
            is_counted = edit.function and edit.is_effective and (missing or edit.change != "removed")
            is_used = missing or not is_test_file(edit.file) or _may_be_used(edit, failures)
            if is_counted and is_used:
                own = edit.moved_to if edit.change == "moved" else (edit.file, edit.function)
                name = missing or own
                most = max(share, found[name].share if name in found else 0.0)
                found[name] = EditBefore(step.run, edit, most, missing is not None)
    return found


def is_gone(edit: Edit) -> bool:
    """Whether what was edited is no longer where it was."""
    return edit.change in ("removed", "moved")


def _missed(failure: Failure, edit: Edit) -> Name | None:
    """The name, fixture or module that the edited code had and the failure is missing: where Python looks for it."""
    for link in links(failure.raised):
        if is_a(link, "ModuleNotFoundError"):
            missing = link.details.get("name", "")
            if missing and _is_module(edit.file, missing, failure):
                return edit.file, MODULE
        elif edit.change == "edited" and edit.function != MODULE:
            if _is_miscalled_since(link, edit):
                return edit.file, edit.function
        elif _is_missed_by(link, failure, edit):
            return edit.file, edit.function
    return None


def _is_miscalled_since(raised: Raised, edit: Edit) -> bool:
    """Whether the function does not take its arguments since an edit of its parameters, or of its class's fields."""
    name = miscalled(raised)
    if not name or name.removesuffix(".__init__") != edit.function.removesuffix(".__init__"):
        return False
    rows = edit.diff.split("\n")
    start = next((n for n, row in enumerate(rows) if f"def {last_name(name)}(" in row), None)
    if start is None:  # the fields of a dataclass
        return name != edit.function
    end = next(
        (n for n, row in enumerate(rows) if n >= start and row.rstrip().endswith(":") and row[0] != "-"),
        start,
    )
    return any(row[:1] in ("+", "-") for row in rows[start : end + 1])


def _is_missed_by(raised: Raised, failure: Failure, edit: Edit) -> bool:
    """Whether the exception is about what the edit took away from a class, a module, or the fixtures of the test."""
    details, (owner, _, name) = raised.details, edit.function.rpartition(".")
    missing, lacking = details.get("name", ""), details.get("owner", "")
    if "fixture" in details:
        return details["fixture"] == name and _is_beside(edit.file, failure)
    if is_a(raised, "AttributeError") and owner:
        return missing == name and last_name(owner) == last_name(lacking)
    if is_a(raised, "NameError"):
        is_there = _is_in(innermost(raised), edit)
    else:
        is_module = lacking.islower() or edit.function == MODULE  # else a class
        is_of_module = is_a(raised, "ImportError") or (is_a(raised, "AttributeError") and is_module)
        is_there = is_of_module and bool(lacking) and _is_module(edit.file, lacking, failure)
    return is_there and (
        _unbinds(edit.diff, missing) if edit.function == MODULE else missing == edit.function
    )


def _is_in(frame: Frame | None, edit: Edit) -> bool:
    return frame is not None and frame.file == edit.file


def _unbinds(diff: str, name: str) -> bool:
    """Whether an edit of a module took a name away: a removed line has it, and no added one."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    rows = diff.split("\n") if name else []
    return any(word.search(row) for row in rows if row[:1] == "-") and not any(
        word.search(row) for row in rows if row[:1] == "+"
    )


# Folders that packages are in and that are none themselves.
_ABOVE_PACKAGES = ("", "src", "lib", "python")


def _is_module(file: str, name: str, failure: Failure) -> bool:
    """Whether the file is that module for the failing test."""
    path = file.removesuffix(".py").removesuffix("/__init__")
    wanted = name.replace(".", "/")
    folder = path.removesuffix(wanted).rstrip("/")
    is_importable = folder in _ABOVE_PACKAGES or folder == failure.file.rpartition("/")[0]
    return f"/{path}".endswith(f"/{wanted}") and is_importable


def _is_beside(file: str, failure: Failure) -> bool:
    """Whether a fixture of that file is one of the failing test: of its own, or of a conftest at or above it."""
    folder, _, name = file.rpartition("/")
    is_above = f"/{failure.file}".startswith(f"/{folder}/".replace("//", "/"))
    return file == failure.file or (name == _CONFTEST and is_above)


def _runs_before(failure: Failure, loop: Loop) -> set[int]:
    """The runs from the one in which a failure began back to the one after which all tests had last run.

    A failure that is another one than before began twice: when the test did, and when it became what it is.
    """
    test = clean(failure.nodeid)
    known = {each.since for each in loop.failing if each.test == test}
    became = [step.run for step in loop.steps if test in step.effect.changed][-1:] if known else []
    runs = set()
    for since in known.union(became):
        for step in reversed(loop.steps):
            if step.run < since and not step.scope and step.is_finished:
                break
            if step.run <= since:
                runs.add(step.run)
    return runs


def _may_be_used(edit: Edit, failures: Sequence[Failure]) -> bool:
    if edit.change == "added":
        return any(is_raised_by(edit, failure) for failure in failures)
    if edit.file.rpartition("/")[2] == _CONFTEST:
        return any(_is_beside(edit.file, failure) for failure in failures)
    if is_test_module(edit.file) and edit.file not in {failure.file for failure in failures}:
        return False
    if edit.function.rpartition(".")[2].startswith("test"):
        return any(
            (failure.file, written_name(failure)) == (edit.file, edit.function) for failure in failures
        )
    return True


def is_raised_by(edit: Edit, failure: Failure) -> bool:
    """Whether a fixture or helper of the tests raised the exception itself, and not to say that a test fails.

    A new module of tests may import what is still to be written.
    """
    raised = failure.raised
    if edit.function == MODULE or raised is None or is_a(raised, "AssertionError") or is_a(raised, "Failed"):
        return False
    frame = raising_frame(failure)
    name = (frame.file, base_name(frame.function)) if frame is not None else None
    return name == (edit.file, edit.function) and name != (failure.file, written_name(failure))


def raising_frame(failure: Failure) -> Frame | None:
    """The frame in which the exception was raised, without helpers that are hidden."""
    frames = failure.raised.frames if failure.raised is not None else ()
    return next((frame for frame in reversed(frames) if not frame.is_hidden), None)


def written_name(failure: Failure) -> str:
    """The test's qualified name as it is written: without its parameters."""
    return qualname(failure.nodeid) or test_function(failure.nodeid)
