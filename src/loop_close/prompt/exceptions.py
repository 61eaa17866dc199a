"""Exceptions beyond their type and message: what is missing, what they hold or came from, and those beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.causes.clues import swallowed_for
from loop_close.facts import import_cycle, innermost, is_a, is_about_a_file
from loop_close.model import Failure, Raised, Report, RootCause
from loop_close.prompt import line_of, safe, span, spans
from loop_close.text import fence

_MAX_RELATIVES = 3
_MAX_SWALLOWED = 2
#: Characters of a message beside others.
BRIEF = 120
_MOST = 3
_MOST_FILES = 8
_LONGEST = 160
_MARGIN = 6  # what is in front of a source line: the mark, the number, a space


def missing_lines(raised: Raised) -> Iterator[str]:
    """One line of at most two sentences on what is missing: the nearest existing names and the file to look at.

    Of an import cycle it is the files in the order in which they were imported.
    """
    cycle = import_cycle(raised)
    if cycle:
        yield f"Import cycle: {_chain(cycle)}."
        return
    near = f"{_kind(raised)}: {spans(raised.nearest[:_MOST], _MOST, 100)}." if raised.nearest else ""
    if hints := " ".join(filter(None, (near, _home(raised)))):
        yield hints


def _chain(cycle: Sequence[str]) -> str:
    more = ["…"] * (len(cycle) > _MOST_FILES)
    return " -> ".join([*map(span, cycle[:_MOST_FILES]), *more, span(cycle[0])])


def _kind(raised: Raised) -> str:
    if "environment" in raised.details:
        return "Nearest environment variables"
    if "fixture" in raised.details:
        return "Nearest fixtures"
    if is_a(raised, "ModuleNotFoundError"):
        return "Nearest modules"
    if is_a(raised, "TypeError"):
        return f"Nearest parameters of {span(raised.details.get('owner', ''), 80)}"
    return "Nearest existing keys" if is_a(raised, "KeyError") else "Nearest existing names"


def _home(raised: Raised) -> str:
    """The file that should define what is missing; of an argument the file of the function."""
    if "home" not in raised.details:
        return ""
    home, wanted = span(raised.details["home"]), raised.details.get("name", "")
    if is_a(raised, "ModuleNotFoundError"):
        return f"{home} does not exist." if "." in wanted else f"{home} exists, but not on the import path."
    if is_a(raised, "TypeError"):
        return f"{span(raised.details.get('owner', ''), 80)} is defined in {home}."
    if is_a(raised, "KeyError"):
        return f"The dictionary is in {home}."
    if is_a(raised, "NameError"):
        return f"{home} neither defines nor imports {span(wanted, 80)}."
    return f"{home} does not define {span(wanted, 80)}."


def generated_lines(raised: Raised) -> Iterator[str]:
    """Where in code without a file the exception was raised, and the line of such code that cannot be parsed."""
    details = raised.details
    *above, made = details.get("generated", "").split("\n")
    if made:
        called = f", called from {span(above[-1], 160)}" if above else ""
        yield f"Raised in generated code {span(made, 160)}{called}."
    text = details.get("text", "").split("\n")[0].rstrip()
    if is_a(raised, "SyntaxError") and not is_about_a_file(raised) and text:
        line, column = _number(details.get("line")), _number(details.get("column"))
        name = f", {span(details['path'])}" if "path" in details else ""
        yield f"The text that cannot be parsed{name}:"
        row = f">{line or 1:4} {safe(text)[:_LONGEST]}"
        caret = [" " * (_MARGIN + column - 1) + "^"] if 0 < column <= _LONGEST else []
        yield from fence("\n".join([row, *caret]), "python")


def _number(text: str | None) -> int:
    return int(text[:9]) if text and text.isdecimal() else 0


# --- exceptions beside it


def relative_lines(raised: Raised | None, level: int) -> list[str]:
    """The other links of the chain and the members of a group, each with its place, nested as they are."""
    if raised is None:
        return []
    shown: list[Raised] = []
    lines = []
    for depth, relation, other in related(raised, 0):
        if len(shown) < _MAX_RELATIVES and other not in shown:  # what a group holds is often its context too
            lines.append("  " * depth + _relative(relation, other, level))
        shown.append(other)
    more = sum(other not in shown[:_MAX_RELATIVES] for other in shown[_MAX_RELATIVES:])
    more += sum(group.omitted_members for group in (raised, *shown))
    return [*lines, f"- and {more} more exception{'s' * (more != 1)}"] if more else lines


def related(raised: Raised, depth: int) -> Iterator[tuple[int, str, Raised]]:
    """(depth, relation, exception) of whatever it holds or came from, each followed by its own."""
    for member in raised.members:
        yield depth, "holds", member
        yield from related(member, depth + 1)
    origin = raised.cause or raised.context
    if origin is not None:
        yield depth, "raised from" if raised.cause else "raised while handling", origin
        yield from related(origin, depth + 1 if origin.members else depth)


def _relative(relation: str, raised: Raised, level: int) -> str:
    frame = innermost(raised)
    at = f" at {span(f'{frame.file}:{frame.line}')}" if frame is not None else ""
    message = f": {line_of(raised.message, BRIEF if level else 60)}" if raised.message else ""
    return f"- {relation} {span(raised.type, 60)}{at}{message}"


def swallowed_lines(cause: RootCause, report: Report) -> Iterator[str]:
    """Exceptions that were handled and never reached the tests, with their places, and in how many tests."""
    calls = report.observation.calls
    for each in swallowed_for(cause, calls)[:_MAX_SWALLOWED]:
        said = f"{each.type}: {each.message}" if each.message else each.type
        is_near = each.caught.startswith(f"{each.file}:")
        handler = each.caught.removeprefix(each.file) if is_near else each.caught
        caught = f", caught at {span(handler)}" if handler else ""
        where = f"{span(f'{each.file}:{each.line}')} in {span(each.function, 80)}"
        tests = f"in {len(each.failed):,} failing test{'s' * (len(each.failed) != 1)}"
        is_whole = calls is not None and calls.counts_all_swallowed
        if is_whole or each.passed:
            least = "" if is_whole else "at least "
            tests += f" and {least}{each.passed or 'no'} passing one{'s' * (each.passed > 1)}"
        yield f"Swallowed exception: {line_of(said)} at {where}{caught}; {tests}."


def other_lines(cause: RootCause) -> Iterator[str]:
    """A line for other exceptions of the same cause: of another type, or raised elsewhere in the code under test."""
    first, *others = [e.failure for e in cause.evidence[:200] if e.failure is not None]
    by_kind: dict[tuple[str, str, str], Failure] = {}
    for failure in others:
        by_kind.setdefault(_type_and_place(failure), failure)
    by_kind.pop(_type_and_place(first), None)
    for kind, failure in [*by_kind.items()][:1]:
        frame = innermost(failure.raised)
        at = f" at {span(f'{frame.file}:{frame.line}')}" if frame is not None else ""
        more = len(by_kind) - 1
        rest = f", and {more} more kind{'s' * (more != 1)}" if more else ""
        yield f"Also {span(kind[0] or 'failure', 60)}{at}: {line_of(failure.message, 60)}{rest}."


def _type_and_place(failure: Failure) -> tuple[str, str, str]:
    """The exception's type, and the function of the code under test that it was raised in."""
    frame = innermost(failure.raised)
    where = ("", "") if frame is None or frame.is_test else (frame.file, frame.function)
    return (failure.raised.type if failure.raised is not None else "", *where)
