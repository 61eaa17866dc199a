"""A failure in words: its message, its values, what is missing, and its other exceptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.facts import differences, import_cycle, innermost, is_a, links, sites, values
from loop_close.model import Difference, Failure, Raised
from loop_close.prompt import MAX_LINE, safe, short, span, spans
from loop_close.text import MAX_MESSAGE, cut_apart, one_line

#: Characters of a message beside others.
BRIEF = 120
_MESSAGE_LINES = 8
_MAX_VALUES = 5
# Characters of all the values, and the fewest that one may have: the beginning of a large object says little.
_VALUES = 240
_LEAST_VALUE = 50
# A shorter value is in many messages by chance.
_SHORT = 5
_MOST_NAMES = 3
_MOST_FILES = 8
_MOST_RELATIVES = 4

# --- the message


def message_rows(failure: Failure) -> list[str]:
    """The message with its type: its first lines and the last one, which of a traceback says what was raised.

    Instead of pytest's diff the places where the values differ.
    """
    raised, found = failure.raised, differences(failure)
    lines = [line.rstrip() for line in safe(failure.message).splitlines() if line.strip()] or [""]
    if raised is not None and (raised.type != "AssertionError" or not lines[0]):
        lines[0] = f"{one_line(safe(raised.type), 100)}{': ' * bool(lines[0])}{lines[0]}"
    lines = [*map(short, lines)]
    # Of values that differ as a whole a short message says it all.
    if found and len(lines) > 2:
        new = [e for e in found if e.path or not (e.left in lines[0] and e.right in lines[0])]
        lines = [lines[0], *map(difference_row, new)]
    more = len(lines) - _MESSAGE_LINES
    if more > 1:
        lines = [*lines[: _MESSAGE_LINES - 1], f"… {more} more lines", lines[-1]]
    return [*filter(None, lines)] or ["(no message)"]


def difference_row(found: Difference, limit: int = MAX_LINE) -> str:
    """Where two values differ, as ``left["a"]: 3 != 4``.

    :param limit: the most characters of each value; both are cut around what differs in them.
    """
    path, left, right = (one_line(safe(text), MAX_MESSAGE) for text in (found.path, found.left, found.right))
    if not left or not right:
        return one_line(
            f"only in the {'left' if left else 'right'} value: {path} = {left or right}", 2 * limit
        )
    return f"left{one_line(path, limit)}: {' != '.join(cut_apart([left, right], limit))}"


def brief(failure: Failure) -> str:
    """The exception and the first line of its message, with what it holds or came from.

    Instead of pytest's diff the first difference.
    """
    found = next((each for each in differences(failure) if each.path), None)
    message = safe(failure.message).strip().partition("\n")[0]
    row = difference_row(found, BRIEF // 3) if found is not None else message
    kind = [span(failure.exception, 60)] if failure.exception else []
    said = " ".join([*kind, *([span(row, BRIEF)] if row else [])]) or "(no message)"
    raised = failure.raised
    others = [*_relatives(raised, 0)] if raised is not None else []
    return ", ".join([said, *(_relative(how, other) for _, how, other in others[:_MOST_RELATIVES])])


def value_lines(failure: Failure) -> Iterator[str]:
    """The values of the names in the failing statement that neither the message nor the calls have."""
    calls = failure.again.calls if failure.again is not None else ()
    said = safe(" ".join([failure.message, *(each.arguments for each in calls)]))
    found = [(name, value) for name, value in values(failure) if len(value) < _SHORT or value not in said]
    limit = max(_LEAST_VALUE, _VALUES // max(1, min(len(found), _MAX_VALUES)))
    frame = next((site.frame for site in sites(links(failure.raised))), None)
    # The statement that is shown is that of the test.
    where = f" in {span(frame.function, 80)}" if frame is not None and not frame.is_test else ""
    if found:
        yield f"With {spans([f'{name} = {value}' for name, value in found], _MAX_VALUES, limit)}{where}."


# --- what is missing


def missing_lines(raised: Raised) -> Iterator[str]:
    """One line of at most two sentences on what is missing: the nearest existing names and the file to look at.

    Of an import cycle it is the files in the order in which they were imported.
    """
    if cycle := import_cycle(raised):
        more = ["…"] * (len(cycle) > _MOST_FILES)
        yield f"Import cycle: {' -> '.join([*map(span, cycle[:_MOST_FILES]), *more, span(cycle[0])])}."
        return
    kind, home = _kind_and_home(raised)
    near = f"Nearest {kind}: {', '.join(span(name, 100) for name in raised.nearest[:_MOST_NAMES])}."
    if hints := " ".join(
        [*([near] if raised.nearest else []), *([home] if "home" in raised.details else [])]
    ):
        yield hints


def _kind_and_home(raised: Raised) -> tuple[str, str]:
    """What the nearest names are, and a sentence about the file that should define what is missing."""
    details = raised.details
    home, wanted = span(details.get("home", "")), span(details.get("name", ""), 80)
    if is_a(raised, "ModuleNotFoundError"):
        return "modules", f"{home} does not exist."
    kind = "fixtures" if "fixture" in details else "existing names"
    verb = "neither defines nor imports" if is_a(raised, "NameError") else "does not define"
    return kind, f"{home} {verb} {wanted}."


# --- exceptions beside it


def relative_lines(raised: Raised) -> list[str]:
    """The other links of the chain and the members of a group, each with its place, nested as they are."""
    related = [*_relatives(raised, 0)]
    lines = [*dict.fromkeys(f"{'  ' * depth}- {_relative(how, other)}" for depth, how, other in related)]
    more = max(0, len(lines) - _MOST_RELATIVES) + sum(
        e.omitted_members for e in (raised, *(e for *_, e in related))
    )
    ends = [f"- and {more} more exception{'s' * (more != 1)}"] if more else []
    return [*lines[:_MOST_RELATIVES], *ends]


def _relatives(raised: Raised, depth: int) -> Iterator[tuple[int, str, Raised]]:
    """(depth, relation, exception) of whatever it holds or came from, each followed by its own."""
    for member in raised.members:
        yield depth, "holds", member
        yield from _relatives(member, depth + 1)
    origin = raised.cause or raised.context
    if origin is not None:
        yield depth, "raised from" if raised.cause else "raised while handling", origin
        yield from _relatives(origin, depth + 1 if origin.members else depth)


def _relative(relation: str, raised: Raised) -> str:
    message = f": {span(raised.message, BRIEF)}" if raised.message.strip() else ""
    return f"{relation} {span(raised.type, 60)}{_at(raised)}{message}"


def other_kinds(failures: Sequence[Failure]) -> Iterator[str]:
    """Failures of another type, or raised elsewhere in the code under test, than the first: two, and how many more."""
    kinds: dict[tuple[str, str, str], Failure] = {}
    for failure in failures[:200]:
        kinds.setdefault(_type_and_place(failure), failure)
    others = [*kinds.values()][1:]
    shown = (f"{brief(each)}{_at(each.raised)}" for each in others[:2])
    more = f", and {len(others) - 2} more kind{'s' * (len(others) != 3)}" if len(others) > 2 else ""
    if others:
        yield f"Also {'; '.join(shown)}{more}."


def _at(raised: Raised | None) -> str:
    frame = innermost(raised)
    return f" at {span(f'{frame.file}:{frame.line}')}" if frame is not None else ""


def _type_and_place(failure: Failure) -> tuple[str, str, str]:
    """The exception's type, and the function of the code under test that it was raised in."""
    frame = innermost(failure.raised)
    where = ("", "") if frame is None or frame.is_test else (frame.file, frame.function)
    return (failure.exception, *where)
