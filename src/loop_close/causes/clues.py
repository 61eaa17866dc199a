"""What speaks for a function besides the lines that ran: tracebacks, checked values, edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loop_close.causes.edits import edited_before, is_raised_by, raising_frame
from loop_close.causes.grouping import missing_thing
from loop_close.conventions import is_test_file
from loop_close.facts import (
    TURNING,
    Name,
    base_name,
    innermost,
    is_a,
    is_about_no_exception,
    is_raising,
    last_name,
    leaves,
    links,
    origins,
)
from loop_close.model import Failure, Origin, Raised, RootCause
from loop_close.records import Edit, Loop
from loop_close.syntax import MAKERS
from loop_close.syntax.meaning import MODULE


@dataclass(slots=True)
class Clue:
    """What speaks for one function; shares are of the failures of the cause, from 0 to 1.

    :ivar file: with ``line``, the first line of the function, as far as it is known.
    :ivar raised: it is the innermost project function of the traceback of an exception, where something it did
        failed; ``refused``: where a ``raise`` of its own objects to what it was given; ``missing``: where a name or a
        module was missing that it names.
    :ivar framed: it is on the traceback, the more the nearer to the exception.
    :ivar judged: the failing statement judges what it returned or may have changed.
    :ivar edited: the number of the run before which it was edited, and in or after which the failures began; 0 for
        none; ``edited_share``: of how many; ``gone``: what became of it, if it is no longer there; ``is_new``: it was
        not there before; ``is_test``: it is test code.
    """

    file: str
    function: str
    line: int = 0
    at: int = 0
    raised: float = 0.0
    refused: float = 0.0
    missing: float = 0.0
    framed: float = 0.0
    judged: float = 0.0
    edited: int = 0
    edited_share: float = 1.0
    gone: str = ""
    is_new: bool = False
    is_test: bool = False


def clues(failures: Sequence[Failure], loop: Loop | None = None) -> dict[Name, Clue]:
    """What the failures of one cause say, by function.

    :param loop: the runs since the project was last done, this run included.
    """
    found: dict[Name, Clue] = {}
    for failure in failures:
        _from_frames(failure, found, 1 / len(failures))
        _from_origins(failure, found, 1 / len(failures))
    edited = edited_before(failures, loop) if loop is not None else {}
    for (file, function), (run, edit, share, is_missed) in edited.items():
        clue = _clue(found, file, function)
        clue.edited, clue.edited_share = run, share
        clue.is_new, clue.is_test = edit.change == "added", is_test_file(file)
        if is_missed:
            clue.missing, clue.gone = share, _gone(edit, function)
        if clue.is_test:
            ends = [raising_frame(failure) for failure in failures if is_raised_by(edit, failure)]
            clue.refused = sum(frame is not None and is_raising(frame) for frame in ends) / len(failures)
            clue.raised = len(ends) / len(failures) - clue.refused
            clue.framed = clue.raised  # the frames of other test code say nothing
    return found


def _gone(edit: Edit, function: str) -> str:
    """What became of a function that is no longer there or takes other arguments, or of the module it was in."""
    file, name = edit.moved_to
    if edit.change == "edited":
        return "" if function == MODULE else "its parameters were edited"
    if edit.change == "removed":
        return "removed"
    where = "" if file == edit.file else f" in {file}"
    return f"moved to {file}" if function == MODULE else f"moved to {name}{where}"


def _clue(found: dict[Name, Clue], file: str, function: str) -> Clue:
    name = base_name(function)
    return found.setdefault((file, name), Clue(file=file, function=name))


def _from_frames(failure: Failure, found: dict[Name, Clue], share: float) -> None:
    raised = failure.raised
    if raised is None:
        return
    seen: set[Name] = set()
    for link in (*links(raised), *leaves(raised)):
        frames = sorted((f for f in reversed(link.frames) if not f.is_test), key=lambda f: f.is_handing_on)
        turning = TURNING if is_a(link, "RecursionError") else 1
        is_of_test = bool(link.frames) and link.frames[-1].is_test  # raised in what a test handed in
        for number, frame in enumerate(frames):
            clue = _clue(found, frame.file, frame.function)
            name = (clue.file, clue.function)
            clue.at = clue.at or frame.line
            # what is shown of a lambda outside of functions begins above it, maybe in another function
            if frame.source is not None and not clue.function.endswith(">"):
                clue.line = clue.line or frame.source.start
            if name not in seen:
                seen.add(name)
                depth = max(0, number + 1 - turning)
                clue.framed += share / (1 + depth)
                if depth == 0 and link is raised and not (frame.is_handing_on or is_of_test):
                    is_refused = is_raising(frame) and not is_a(link, "NotImplementedError")
                    clue.raised += 0.0 if is_refused else share
                    clue.refused += share if is_refused else 0.0
                    if not is_refused and (is_a(link, "NameError") or is_a(link, "ImportError")):
                        clue.missing += share


def _from_origins(failure: Failure, found: dict[Name, Clue], share: float) -> None:
    if is_about_no_exception(failure.raised):
        return  # it is not known what was to raise it
    judged: set[Name] = set()
    for origin in origins(failure):
        if origin.is_test or not _is_function(origin):
            continue
        clue = _clue(found, origin.file, origin.function)
        clue.line = clue.line or origin.line
        if (clue.file, clue.function) not in judged:
            judged.add((clue.file, clue.function))
            clue.judged += share


def _is_function(origin: Origin) -> bool:
    """Whether it is a function of a file: not a fixture known by its name alone, a class, or an attribute."""
    if not origin.file or origin.source is None:
        return bool(origin.file)
    lines = [line.lstrip() for line in origin.source.lines]
    is_class = next((line.startswith("class ") for line in lines if not line.startswith("@")), False)
    return not is_class and any(line.startswith(("def ", "async def ")) or "lambda" in line for line in lines)


def handing_on(failures: Iterable[Failure]) -> set[Name]:
    """Functions that are on tracebacks only as they raised what they were given."""
    frames = [frame for failure in failures for link in links(failure.raised) for frame in link.frames]
    others = {(f.file, base_name(f.function)) for f in frames if not f.is_handing_on}
    return {(f.file, base_name(f.function)) for f in frames if f.is_handing_on} - others


def is_named(cause: RootCause) -> bool:
    """Whether it is identified by the name of what is missing, or has no exception. Such causes are never joined.

    Missing attributes are an exception: one fault may remove several from an object.
    """
    raised = shown_exception(cause)
    return raised is None or (missing_thing(raised) is not None and not is_a(raised, "AttributeError"))


def shown_exception(cause: RootCause) -> Raised | None:
    """The exception of the failure that is shown first."""
    failure = cause.evidence[0].failure
    return failure.raised if failure is not None else None


# --- functions that make the objects which failures are about, and should have set what these lack

_MAKERS = {*MAKERS, "__setstate__"}


def failing_classes(failures: Sequence[Failure]) -> dict[str, float]:
    """Classes whose instances lacked an attribute, or in whose methods an exception was raised.

    :return: by the class's name the share of the failures that are about it, from 0 to 1.
    """
    counts = Counter(name for failure in failures for name in {*_classes(failure)} if name)
    return {name: count / len(failures) for name, count in counts.items()}


def is_of_the_exception(function: str, failures: Sequence[Failure]) -> bool:
    """Whether the function makes the very exceptions of all these failures: it runs because something else failed."""
    name = _class_of(function)
    raised = [failure.raised for failure in failures if failure.raised is not None]
    is_one = bool(raised) and all(name in (last_name(each.type), *each.bases) for each in raised)
    return bool(name) and last_name(function) in _MAKERS and is_one


def _classes(failure: Failure) -> Iterator[str]:
    for raised in links(failure.raised):
        yield last_name(raised.details.get("owner", ""))
    frame = innermost(failure.raised)
    if frame is not None and not frame.is_test:
        yield _class_of(frame.function)


def maker_share(function: str, classes: Mapping[str, float]) -> float:
    """What the classes have for the one whose instances the function makes, by its qualified name; 0 for none."""
    return classes.get(_class_of(function), 0.0) if last_name(function) in _MAKERS else 0.0


def _class_of(function: str) -> str:
    return last_name(function.rpartition(".")[0])
