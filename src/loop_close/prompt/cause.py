"""One root cause as lines of the prompt, at four levels of detail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator, Sequence
from heapq import nsmallest

from loop_close.facts import innermost, origins, place, test_function
from loop_close.model import Failure, Origin, Raised, RootCause
from loop_close.prompt.code import code_lines, lines_shown
from loop_close.prompt.show import block, line_of, span
from loop_close.prompt.variants import variants

#: 0: one line. 1: the message. 2: the statement's source. 3: the source behind the values, variants, output.
LEVELS = 4
_TESTS = (1, 1, 1, 3)
_LINES = (0, 5, 5, 9)
_CHARS = (0, 320, 320, 480)
_MAX_RELATIVES = 8
_BRIEF = 100


def cause_lines(
    number: int,
    cause: RootCause,
    level: int,
    shown: Container[tuple[str, int] | None] = (),
    past: Sequence[str] = (),
) -> list[str]:
    """The cause, its ``number`` first, from one line (level 0) to all that helps (level 3).

    :param shown: definitions, as :func:`definition_of` gives them, whose source stands in the prompt already.
    :param past: what is remembered of it, in lines.
    """
    failure = representative(cause)
    lines = [_heading(number, cause, failure)]
    if level == 0:
        return [*lines, f"{_brief(failure)}{_tests(cause, level)}", *_relatives(failure.raised, level)]
    lines += block(failure.message, max_lines=_LINES[level], max_chars=_CHARS[level])
    lines += _relatives(failure.raised, level)
    if level >= 2:
        lines += code_lines(failure, level, with_origin=definition_of(cause) not in shown)
    lines += variants(cause, level)
    tests = _tests(cause, level).lstrip()
    return [*lines, *([tests] if tests else []), *past]


def representative(cause: RootCause) -> Failure:
    """The failure that is shown for all of them."""
    failure = cause.evidence[0].failure
    assert failure is not None
    return failure


def name_of(cause: RootCause) -> str:
    """What kind of thing went wrong: the exception's type, a checker and its rule, else the detector's kind."""
    failure = representative(cause)
    if failure.phase == "check":
        return f"{failure.tool} {failure.code}".strip() or cause.kind
    return failure.raised.type if failure.raised is not None else cause.kind


def brief_lines(number: int, cause: RootCause, level: int) -> list[str]:
    """The cause in one line of a list, its relatives below it; with more of the message at level 1."""
    failure = representative(cause)
    heading = _heading(number, cause, failure).removeprefix("### ")
    relatives = [f"   {line}" for line in _relatives(failure.raised, level)]
    return [f"{heading}: {_brief(failure, 240 if level else _BRIEF)}{_tests(cause, 0)}", *relatives]


def definition_of(cause: RootCause) -> tuple[str, int] | None:
    """File and line of the function whose source is shown as what made the values; None when there is none."""
    known = _shown_origin(cause)
    return (known.file, known.line) if known is not None else None


def shown_of(cause: RootCause) -> Collection[int]:
    """The numbers of those of its lines that are shown."""
    known = _shown_origin(cause)
    return lines_shown(known) if known is not None else ()


def _shown_origin(cause: RootCause) -> Origin | None:
    return next((o for o in origins(representative(cause)) if o.file and o.source is not None), None)


def _heading(number: int, cause: RootCause, failure: Failure) -> str:
    file, line, function = place(failure)
    name = name_of(cause)
    where = f"{file}:{line}" if line else file
    parts = [f"### {number}. {span(name, 60)}"]
    if where:
        parts.append(f"at {span(where)}")
    if function and function != "<module>":
        parts.append(f"in {span(function, 80)}")
    return " ".join(parts)


def _brief(failure: Failure, limit: int = _BRIEF) -> str:
    return line_of(failure.message, limit) if failure.message.strip() else "(no message)"


def _tests(cause: RootCause, level: int) -> str:
    """Which tests it accounts for; the cases of one parametrized test are counted, not listed."""
    failures = [f for f in (e.failure for e in cause.evidence) if f is not None]
    if not any(f.nodeid for f in failures):
        return _places(failures, level)
    nodeids = [f.nodeid for f in failures]
    functions = Counter(filter(None, map(test_function, nodeids)))
    ids = {test_function(nodeid): nodeid for nodeid in nodeids}
    few = nsmallest(_TESTS[level], functions.items())
    names = _beside([function if number > 1 else ids[function] for function, number in few])
    kept = [
        span(name, 160) + (f" ({number} cases)" if number > 1 else "")
        for name, (_, number) in zip(names, few, strict=True)
    ]
    rest = len(nodeids) - sum(number for _, number in few)
    phases = sorted({f.phase for f in failures})
    when = f" ({', '.join(phases)})" if phases in (["setup"], ["teardown"]) else ""
    total = f"{len(nodeids)} tests" if len(nodeids) > 1 else "Test"
    if not kept:
        return ""
    return f" {total}{when}: {', '.join(kept)}" + (f" and {rest} more" if rest else "")


def _beside(nodeids: Sequence[str]) -> list[str]:
    """The node ids, each without the file where it is that of the one before: ``a.py::test_x``, ``test_y``."""
    files = [nodeid.partition("::")[0] for nodeid in nodeids]
    return [
        nodeid.removeprefix(f"{file}::")
        if number and file == files[number - 1] and "::" in nodeid
        else nodeid
        for number, (file, nodeid) in enumerate(zip(files, nodeids, strict=True))
    ]


def _places(failures: Sequence[Failure], level: int) -> str:
    """Where else the same was found, for what is no test."""
    places = [f"{file}:{line}" for file, line, _ in map(place, failures) if file]
    others = [p for p in dict.fromkeys(places) if p != places[0]]
    kept = [span(p) for p in others[: 2 * _TESTS[level]]]
    rest = len(others) - len(kept)
    return f" Also at {', '.join(kept)}" + (f" and {rest} more places" if rest else "") if kept else ""


def _relatives(raised: Raised | None, level: int) -> list[str]:
    """The other links of the chain and the members of a group, each with its place, nested as they are."""
    if raised is None:
        return []
    shown: list[Raised] = []
    lines = []
    for depth, relation, other in _related(raised, 0):
        if len(shown) < _MAX_RELATIVES and other not in shown:  # what a group holds is often its context too
            lines.append("  " * depth + _relative(relation, other, level))
        shown.append(other)
    more = sum(other not in shown[:_MAX_RELATIVES] for other in shown[_MAX_RELATIVES:])
    more += sum(group.omitted_members for group in (raised, *shown))
    return [*lines, f"- and {more} more exceptions"] if more else lines


def _related(raised: Raised, depth: int) -> Iterator[tuple[int, str, Raised]]:
    """(depth, relation, exception) of whatever it holds or came from, each followed by its own."""
    for member in raised.members:
        yield depth, "holds", member
        yield from _related(member, depth + 1)
    origin = raised.cause or raised.context
    if origin is not None:
        yield depth, "raised from" if raised.cause else "raised while handling", origin
        yield from _related(origin, depth + 1 if origin.members else depth)


def _relative(relation: str, raised: Raised, level: int) -> str:
    frame = innermost(raised)
    at = f" at {span(f'{frame.file}:{frame.line}')}" if frame is not None else ""
    message = f": {line_of(raised.message, _BRIEF if level else 60)}" if raised.message else ""
    return f"- {relation} {span(raised.type, 60)}{at}{message}"
