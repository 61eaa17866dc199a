"""A failure in words: its message, values and tests, what is missing, and the exceptions beside it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import chain, groupby, zip_longest

from loop_close import lazy
from loop_close.causes.clues import swallowed_for
from loop_close.facts import (
    differences,
    failure_place,
    import_cycle,
    innermost,
    is_a,
    is_about_a_file,
    links,
    test_function,
    values,
)
from loop_close.keys import comparison
from loop_close.model import Difference, Failure, Raised, Report, RootCause
from loop_close.prompt import MAX_LINE, line_of, message_lines, safe, short, span, spans
from loop_close.text import MAX_MESSAGE, cut_apart, fence, one_line

#: Characters of a message beside others.
BRIEF = 120

# --- the message

# By level of detail.
_MESSAGE_LINES = (0, 3, 4, 6, 6, 6, 6)
_MESSAGE_CHARS = (0, 240, 320, 480, 480, 480, 480)


def message_rows(failure: Failure, level: int) -> list[str]:
    """The message with its type, its first lines; instead of pytest's diff the places where the values differ."""
    raised = failure.raised
    is_doctest = is_a(raised, "DocTestFailure") and "\nExpected:\n" in failure.message
    lines = _of_doctest(failure.message) if is_doctest else _without_traceback(message_lines(failure.message))
    if lines and lines[0].endswith("…") and not is_doctest:
        whole = safe(failure.message).lstrip().partition("\n")[0].rstrip()
        lines[0] = comparison_row(whole, failure) if whole.startswith(lines[0][:-1]) else lines[0]
    if raised is not None and (raised.type != "AssertionError" or not any(lines)):
        first = lines[0] if lines else ""
        name = one_line(safe(raised.type), 100)
        lines = [f"{name}: {first}" if first else name, *lines[1:]]
    found = differences(failure)
    # Of values that differ as a whole a short message says it all.
    if any(each.path for each in found) or (found and len(lines) > 2):
        first = short(lines[0]) if lines else ""
        lines = [first, *(difference_row(each) for each in found if not _is_said(each, first))]
    kept: list[str] = []
    size = 0
    for line in lines[: _MESSAGE_LINES[level]]:
        size += len(line) + 1
        if kept and size > _MESSAGE_CHARS[level]:
            break
        kept.append(line[: _MESSAGE_CHARS[level]])
    more = len(lines) - len(kept)
    return [*kept, *([f"… {more} more line{'s' * (more != 1)}"] if more else [])]


def _without_traceback(lines: list[str]) -> list[str]:
    """The message without the frames of a traceback in it, as a thread's has: its last line says what was raised."""
    first = next(
        (n for n, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")), None
    )
    if first is None or len(lines) - first < 3:
        return lines
    return [*lines[:first], f"… {len(lines) - first - 1} lines of a traceback", lines[-1]]


def _of_doctest(message: str) -> list[str]:
    """Of a doctest's failure its example and what differs: the exceptions, or the first line of the output.

    Its options are not known, so lines are compared without regard to space first. Where the expected output has
    ``...``, the ends are shown of both.
    """
    example, _, rest = safe(message, 100_000).partition("\nExpected:\n")
    sides = [textwrap.dedent(side).splitlines() for side in rest.partition("\nGot:\n")[::2]]
    expected, got = sides
    where = ""
    if expected[:1] == ["Traceback (most recent call last):"]:
        texts = [(side or [""])[-1] for side in sides]
    elif any("..." in line for line in expected) or len(expected) == len(got) == 1:
        ends = (" … ".join(dict.fromkeys((side[0], side[-1]))) if side else "(nothing)" for side in sides)
        texts = [*ends]
    else:
        lines = ([line.replace("<BLANKLINE>", "") for line in side] for side in sides)
        pairs = [*zip_longest(*lines)] or [(None, None)]  # the message may have been cut before them
        loosely = (n for n, (one, other) in enumerate(pairs) if (one or "").split() != (other or "").split())
        exactly = (n for n, (one, other) in enumerate(pairs) if one != other)
        number = next(chain(loosely, exactly), 0)
        texts, where = _texts_of(*pairs[number]), f", line {number + 1}"
    heads = (f"Expected{where}", f"Got{where}")
    shown = (f"{head}: {text}" for head, text in zip(heads, cut_apart(texts, MAX_LINE), strict=True))
    return [*(short(line) for line in example.splitlines()[:2]), *shown]


def _texts_of(left: str | None, right: str | None) -> list[str]:
    """Two lines for comparison, as literals if only their space differs; None for none."""
    is_space = left is not None and right is not None and left.split() == right.split()
    sides = (left, right)
    return ["(no such line)" if side is None else repr(side) if is_space else side for side in sides]


def comparison_row(line: str, failure: Failure, limit: int = MAX_LINE) -> str:
    """A bounded line of a message; of one that is a comparison both sides, cut around what differs in them."""
    statement = failure.raised.site.statement if failure.raised is not None and failure.raised.site else ""
    found = comparison(line, statement) if len(line) > limit else None
    if found is None:
        return one_line(line, limit)
    before, _, rest = line.partition(found.left)
    between, _, after = rest.rpartition(found.right)
    return _side_by_side((before, found.left, between, found.right, after), limit)


def _side_by_side(parts: tuple[str, str, str, str, str], limit: int) -> str:
    """Two values with what stands around them: if that is too long, both are cut around what differs in them."""
    before, left, between, right, after = parts
    room = limit - len(before) - len(between) - len(after)
    if room < limit // 2 or len(left) + len(right) <= room:
        return one_line("".join(parts), limit)
    left, right = cut_apart([left, right], max(room // 2, room - min(len(left), len(right))))
    return f"{before}{left}{between}{right}{after}"


def _is_said(found: Difference, message: str) -> bool:
    """Whether the message has both values whole, as ``assert 4 == 3``."""
    sides = re.split("==|!=", message.removeprefix("assert "), maxsplit=1)
    return not found.path and [side.strip() for side in sides] == [found.left, found.right]


def difference_row(found: Difference, limit: int = 500) -> str:
    """Where two values differ, as ``left["a"]: 3 != 4``.

    :param limit: the most characters; what is shown of path and values without it is less.
    """
    path, left, right = (one_line(safe(text), 160) for text in (found.path, found.left, found.right))
    if not left or not right:
        return one_line(f"only in the {'left' if left else 'right'} value: {path} = {left or right}", limit)
    return _side_by_side((f"left{path}: ", left, " != ", right, ""), limit)


# --- the values

_MAX_VALUES = 5
# Characters of all the values, and the fewest that one may have: the beginning of a large object says little.
_VALUES = 220
_LEAST_VALUE = 50
# An object that does not fit: its first attributes say little, its class is enough.
_OBJECT = lazy.pattern(r"\A([A-Za-z_][\w.]*\().*…\Z", re.DOTALL)
# A shorter value is in many messages by chance.
_SHORT = 5


def value_lines(failure: Failure) -> Iterator[str]:
    """The values of the names in the failing statement."""
    said = safe(failure.message)
    found = [(name, value) for name, value in values(failure) if len(value) < _SHORT or value not in said]
    limit = max(_LEAST_VALUE, min(120, _VALUES // max(1, min(len(found), _MAX_VALUES))))
    pairs = [_safe_pair(name, value) for name, value in found[:_MAX_VALUES]]
    longest = max((len(name) for name, text in pairs if len(name) + len(text) > limit), default=0)
    cut = cut_apart([text for _, text in pairs], max(_LEAST_VALUE // 2, limit - longest))
    cut = [_OBJECT.sub(r"\1…)", part) for part in cut]
    compared = _compared_names(failure)
    shown = [
        span(f"{name}{text if len(name) + len(text) <= limit else part}", limit)
        for (name, text), part in zip(pairs, cut, strict=True)
        if not (part.startswith("…") and name.removesuffix(" = ") in compared)
        and not (name == "self = " and part.endswith("(…)"))
    ]
    frame = next((link.site.frame for link in links(failure.raised) if link.site is not None), None)
    # The statement that is shown is that of the test.
    where = f" in {span(frame.function, 80)}" if frame is not None and not frame.is_test else ""
    if shown:
        yield f"With {', '.join(shown)}{where}."


def _safe_pair(name: str, value: str) -> tuple[str, str]:
    """``name = `` and the value, each on one line; of a credential by its name nothing is left."""
    line = one_line(safe(f"{name} = {value}"), MAX_MESSAGE)
    start = f"{one_line(safe(name), MAX_MESSAGE)} = "
    return (start, line.removeprefix(start)) if line.startswith(start) else ("", line)


def _compared_names(failure: Failure) -> set[str]:
    """The names that the failing statement compares, where the message says where their values differ first."""
    site = failure.raised.site if failure.raised is not None else None
    if site is None or not any(each.path for each in differences(failure)):
        return set()
    match next(iter(_statements(site.statement)), None):
        case ast.Assert(test=ast.Compare(left=left, comparators=others)):
            return {ast.unparse(side) for side in (left, *others)}
        case ast.Expr(value=ast.Call(args=sides)):
            return {ast.unparse(side) for side in sides}
    return set()


def _statements(statement: str) -> list[ast.stmt]:
    try:
        return ast.parse(statement).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


# --- the tests

_TESTS = (1, 1, 2, 2, 2, 2, 2)  # by level of detail


def row_of_tests(failures: Sequence[Failure], level: int, shown: Failure, named: str = "") -> str:
    """Which tests a root cause accounts for; the cases of one parametrized test are counted, not listed.

    :param shown: the failure that the block shows: where others raise other exceptions, these are named.
    :param named: the node id of a test that the block has named, which is left out.
    """
    if not any(f.nodeid for f in failures):
        return _places(failures, level)
    phases = sorted({f.phase for f in failures})
    # in a longer block that has a line of its own
    raised = {f.raised.type for f in failures if f.raised is not None} if level < 2 else set()
    others = sorted(raised - {shown.raised.type}) if shown.raised is not None else ()
    also = f"; also {spans(others, 2, 60)}" if others else ""
    # A test may fail in its teardown, too.
    failures = [*{(f.nodeid, f.subtest): f for f in failures}.values()]
    nodeids = [f.nodeid for f in failures]
    functions = Counter(filter(None, map(test_function, nodeids)))
    ids = {test_function(nodeid): nodeid for nodeid in nodeids}
    left_out = functions.pop(named, 0)
    few = nsmallest(_TESTS[level] - bool(left_out), functions.items())
    names = _beside([function if count > 1 else ids[function] for function, count in few])
    kept = [
        span(name, 160) + (f" ({count} cases)" if count > 1 else "")
        for name, (_, count) in zip(names, few, strict=True)
    ]
    number, inner = len(nodeids) - left_out, sum(f.subtest != "" for f in failures)
    rest = number - sum(count for _, count in few)
    when = f" ({', '.join(phases)})" if phases in (["setup"], ["teardown"]) else ""
    what = "file" if phases == ["collect"] else "test"
    total = f"{number} {what}s" if number > 1 else what.capitalize()
    if 0 < inner <= number:
        tests = f"{number - inner} {what}{'s' * (number - inner != 1)} and " if inner < number else ""
        total = f"{tests}{inner} subtest{'s' * (inner != 1)}"
    if left_out:
        total = f"Other {what}{'s' * (number > 1)}"
    if not kept:
        return ""
    return f"{total}{when}: {', '.join(kept)}" + (f" and {rest} more" if rest else "") + also


def _beside(nodeids: Sequence[str]) -> list[str]:
    """The node ids, each without the file if that is the same as before: ``a.py::test_x``, ``test_y``."""
    files = [nodeid.partition("::")[0] for nodeid in nodeids]
    return [
        nodeid.removeprefix(f"{file}::")
        if number and file == files[number - 1] and "::" in nodeid
        else nodeid
        for number, (file, nodeid) in enumerate(zip(files, nodeids, strict=True))
    ]


def _places(failures: Sequence[Failure], level: int) -> str:
    """Other places of the same finding, for failures without a test."""
    places = [f"{file}:{line}" for file, line, _ in map(failure_place, failures) if file]
    others = [p for p in dict.fromkeys(places) if p != places[0]]
    kept = [span(p) for p in others[: 2 * _TESTS[level]]]
    rest = len(others) - len(kept)
    more = f" and {rest} more place{'s' * (rest != 1)}" if rest else ""
    return f"Also at {', '.join(kept)}{more}" if kept else ""


# --- what is missing

_MAX_RELATIVES = 3
_UNCLEAR = 0.5  # below this probability the first place may well be another one
_MAX_SWALLOWED = 2
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
    if "fixture" in raised.details:
        return "Nearest fixtures"
    if is_a(raised, "ModuleNotFoundError"):
        return "Nearest modules"
    return "Nearest existing names"


def _home(raised: Raised) -> str:
    """The file that should define what is missing."""
    if "home" not in raised.details:
        return ""
    home, wanted = span(raised.details["home"]), raised.details.get("name", "")
    if is_a(raised, "ModuleNotFoundError"):
        return f"{home} does not exist." if "." in wanted else f"{home} exists, but not on the import path."
    if is_a(raised, "NameError"):
        return f"{home} neither defines nor imports {span(wanted, 80)}."
    return f"{home} does not define {span(wanted, 80)}."


def generated_lines(raised: Raised) -> Iterator[str]:
    """The code without a file that raised the exception, and the line of it that cannot be parsed."""
    details = raised.details
    if "generated" in details:
        yield f"Raised in generated code {span(details['generated'], 160)}."
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
    counted = ((line, len([*same])) for line, same in groupby(lines))
    lines = [f"{line} ({times} times)" if times > 1 else line for line, times in counted]
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
    """A line for other exceptions of the same cause: of another type, or raised elsewhere in the code under test.

    Where the first place is not clear, lines for two other failing statements: they may tell it from the others.
    """
    first, *others = [e.failure for e in cause.evidence[:200] if e.failure is not None]
    is_unclear = bool(cause.suspects) and cause.suspects[0].score < _UNCLEAR
    by_kind: dict[tuple[str, ...], Failure] = {}
    for failure in others:
        by_kind.setdefault(_kind_of(failure, is_unclear), failure)
    by_kind.pop(_kind_of(first, is_unclear), None)
    most = 2 if is_unclear else 1
    for number, (kind, failure) in enumerate([*by_kind.items()][:most], 1):
        frame = innermost(failure.raised)
        at = f" at {span(f'{frame.file}:{frame.line}')}" if frame is not None else ""
        more = len(by_kind) - most if number == most else 0
        rest = f", and {more} more kind{'s' * (more != 1)}" if more > 0 else ""
        said = f": {line_of(failure.message, 60)}" if failure.message.strip() else ""
        yield f"Also {span(kind[0] or 'failure', 60)}{at}{said}{rest}."


def _kind_of(failure: Failure, is_of_statement: bool) -> tuple[str, ...]:
    """The exception's type, and the function of the code under test that it was raised in; or the test's statement."""
    site = failure.raised.site if failure.raised is not None else None
    return *_type_and_place(failure), site.statement if is_of_statement and site is not None else ""


def _type_and_place(failure: Failure) -> tuple[str, str, str]:
    """The exception's type, and the function of the code under test that it was raised in."""
    frame = innermost(failure.raised)
    where = ("", "") if frame is None or frame.is_test else (frame.file, frame.function)
    return (failure.raised.type if failure.raised is not None else "", *where)
