"""The keys by which later runs recognize a failure, and its record. Pure functions of failures."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from loop_close import facts
from loop_close.causes.grouping import cause_keys
from loop_close.facts import (
    COLLECTIONS_DIFFER,
    failing_frame,
    failure_place,
    innermost,
    is_a,
    is_assertion,
    is_made,
    is_only_counted,
    links,
    raise_line,
    test_function,
)
from loop_close.model import Evidence, Failure, Frame, Raised, RootCause
from loop_close.records import FailureRecord
from loop_close.text import cut_apart, digest, one_line
from loop_close.text.normalize import mask, stabilize
from loop_close.text.redact import MARK, clean

#: The first character of every key: keys of another version are never equal to these.
VERSION = "2"
_MAX_MESSAGE = 200
_MAX_COMPARED = 4_000
#: The same few types and places come again and again.
_clean_name = lru_cache(maxsize=4_096)(clean)
_PHASES = ("session", "collect", "setup", "call", "teardown", "check", "process")


def records_of(causes: Sequence[RootCause], source: str) -> tuple[FailureRecord, ...]:
    """The failures behind the root causes as records, in order of the tests. They are not bounded.

    What failed twice in one test (a subtest each, or the test and its teardown) is one record, with keys made of all.
    Equal findings of a checker are numbered, ``NAME #2``.

    :param source: what ran them, as in :mod:`loop_close.records`.
    """
    found: defaultdict[str, list[FailureRecord]] = defaultdict(list)
    for evidence in (e for cause in causes for e in cause.evidence):
        if evidence.failure is not None and not is_only_counted(evidence.failure):
            made = _record(evidence, evidence.failure, source)
            found[made.test].append(made)
    return tuple(record for test in sorted(found) for record in _merged(found[test]))


def test_key(failure: Failure) -> str:
    """The name of a failing test: its node id, else words that do not change when lines shift."""
    if failure.nodeid:
        return name_of(failure.nodeid)
    said = one_line(mask(clean(failure.message, _MAX_MESSAGE)), _MAX_MESSAGE)
    if failure.phase == "check":
        file = clean(failure.file or failure_place(failure)[0])
        return f"{file} {failure.tool} {failure.code}: {said}"
    kind = failure.exception
    return f"({failure.phase}) {clean(kind)}: {said}"


def name_of(nodeid: str) -> str:
    """The name of a test in records: its node id without credentials."""
    return clean(nodeid) or ascii(nodeid)


def id_of(name: str) -> str:
    """The node id that selects the test of a name: that of the function, where a credential names the case."""
    return test_function(name) if MARK.search(name) else name


def _merged(records: list[FailureRecord]) -> list[FailureRecord]:
    ordered = sorted(records, key=lambda record: (_PHASES.index(record.phase), record.exact, record.line))
    first = ordered[0]
    if len(ordered) == 1:
        return ordered
    if first.phase == "check":
        return [first, *(replace(r, test=f"{r.test} #{n}") for n, r in enumerate(ordered[1:], 2))]
    return [
        replace(
            first,
            exact=_digest(record.exact for record in ordered),
            shape=_digest(sorted(record.shape for record in ordered)),  # fewer subtests are another shape
            got="",
            want="",
            is_infrastructure=all(record.is_infrastructure for record in ordered),
        )
    ]


def _record(evidence: Evidence, failure: Failure, source: str) -> FailureRecord:
    raised = failure.raised
    frame = failing_frame(raised)
    by_wording, shape = _shape(failure, frame)
    got, want = compared_values(failure)
    test = test_key(failure)
    message = clean(failure.message[:_MAX_COMPARED])
    said = canonical(message, is_verdict=is_assertion(raised), observed=_observed(failure))
    exception = raised.type if raised is not None else evidence.kind
    return FailureRecord(
        source=source,
        test=test,
        phase=failure.phase,
        exact=_digest((test, failure.phase, failure.subtest, exception, said)),
        shape=_digest(shape),
        cause=_digest(cause_keys(evidence.kind, failure)[0]),
        message=clean(shape[-1])[:_MAX_MESSAGE] if by_wording else "",
        exception=_clean_name(exception),
        where=_clean_name(_at(frame)),
        line=frame.line if frame is not None else 0,
        got=got,
        want=want,
        is_infrastructure=is_infrastructure(evidence.kind, failure),
    )


def _observed(failure: Failure) -> Iterator[str]:
    """The values of the failing statement, and where the compared ones differ, read from the objects."""
    for name, text in facts.values(failure):
        yield f"{name} = {text}"
    for each in facts.differences(failure):
        yield f"{each.path}: {each.left} and {each.right}"


def _shape(failure: Failure, frame: Frame | None) -> tuple[bool, tuple[str, ...]]:
    """Whether the wording decides, and what makes the shape, the wording last.

    An assertion is known by its statement: its message holds nothing but values, and more of them with ``-vv``.
    """
    raised = failure.raised
    words = mask((raised or failure).message[:_MAX_COMPARED])
    if failure.phase == "check":
        return False, (failure.tool, failure.code, failure.file, words)
    if raised is None:
        return True, (failure.phase, test_function(failure.nodeid), words)
    statement = raised.site.statement if raised.site is not None else ""
    if statement and raised.type == "DocTestFailure":  # examples differ in nothing but their values
        return False, (raised.type, _at(frame), statement)
    if statement and is_assertion(raised):
        return False, (raised.type, _at(frame), _ordinal(frame), mask(statement))
    place = raised.type, _at(innermost(raised))
    line = raise_line(raised)
    return not line, (*place, line or words)


def _ordinal(frame: Frame | None) -> str:
    """Which of several equal lines of the function it is: ``assert r.status == 200`` may be there three times."""
    if frame is None:
        return ""
    lines = [line.strip() for line in frame.source.lines]
    at = frame.line - frame.source.start
    return str(lines[:at].count(lines[at])) if 0 <= at < len(lines) else ""


def _at(frame: Frame | None) -> str:
    return f"{frame.file}:{frame.function}" if frame is not None else ""


def _digest(parts: Iterable[str]) -> str:
    return VERSION + digest(*parts)


# --- the text that identifies a message, independent of pytest's verbosity and the order of sets

#: A line up to this length is whole; of a longer one pytest shows at least the beginning (``saferepr`` to 30
#: characters). Its end may be that of a list that was cut, ``…, ...]``.
_WHOLE, _HEAD = 31, 19
_BRACES = re.compile(r"\{([^{}]*)\}")
_DEPTH = 4


def canonical(message: str, *, is_verdict: bool, observed: Iterable[str] = ()) -> str:
    """What the message says of this failure and no other, without what differs between two runs of the same code.

    :param is_verdict: an assertion that pytest may have explained. Of what was compared only the beginning counts, as
        pytest shortens the rest unless it is verbose, and what follows depends on the verbosity alone.
    :param observed: what was read from the compared objects themselves, which counts in the place of the rest.
    """
    lines = message.split("\n")
    at = next((n for n, line in enumerate(lines) if line.startswith("assert ")), None) if is_verdict else None
    if at is None:
        return _ordered(stabilize(message))
    line = stabilize(lines[at])
    said = _ordered(line) if len(line) <= _WHOLE and "..." not in line else line[:_HEAD]
    return "\n".join([*map(_ordered, map(stabilize, (*lines[:at], *observed))), said])


def _ordered(text: str) -> str:
    """The items between braces in order, the innermost first: sets keep none, and dicts that of their making."""
    for _ in range(_DEPTH):
        changed = _BRACES.sub(lambda found: "\x01" + ", ".join(sorted(found[1].split(", "))) + "\x02", text)
        if changed == text:
            break
        text = changed
    return text.replace("\x01", "{").replace("\x02", "}")


# --- infrastructure: network, disk, memory, dead workers. A test that ran out of time may hang by its own fault.

_NETWORK = (
    *("ConnectionError", "gaierror", "herror", "ConnectError", "EndpointConnectionError"),
    *("ServerNotFoundError", "NewConnectionError", "MaxRetryError", "ClientConnectorError"),
    *("NameResolutionError", "RemoteDisconnected", "ReadTimeout", "ConnectTimeout"),
)
#: What the operating system says, in an ``OSError`` of a test or in the error of a tool.
OF_SYSTEM = re.compile(
    r"\[Errno (?:28|122|24|23|12|101|113|110|111|-2|-3)\]|No space left on device|Disk quota exceeded"
    r"|Too many open files|Cannot allocate memory|Network is unreachable|No route to host"
    r"|Temporary failure in name resolution|Name or service not known|database or disk is full|\btimed out\b"
    r"|Cannot connect to the Docker daemon"
)


def is_infrastructure(kind: str, failure: Failure) -> bool:
    """Whether another run of the same code may well pass.

    By the detector's ``kind``, and by what was raised anywhere in the chain. A refused connection to a port of this
    very machine counts too: the service was not there. An exception that a ``raise`` of the project itself made does
    not; neither does a failed assertion.
    """
    raised = failure.raised
    if (kind == "crash" and not is_made(raised)) or failure.message.startswith(COLLECTIONS_DIFFER):
        return True
    return not is_a(raised, "AssertionError") and any(map(_is_infrastructure_error, links(raised)))


def _is_infrastructure_error(raised: Raised) -> bool:
    if is_made(raised):
        return False
    if is_a(raised, *_NETWORK, "MemoryError"):
        return True
    is_of_system = is_a(raised, "OSError", "OperationalError")
    return is_of_system and OF_SYSTEM.search(raised.message[:_MAX_COMPARED]) is not None


# --- the actual and the expected value of a failed comparison

_LONGEST = 40
_ROOM = 2_000
#: How unittest and pytest shorten long values.
_OMITTED = re.compile(r"\[\d+ chars\]|\.\.\.")
_ASSERT = re.compile(r"^assert (?P<compared>.+)$", re.MULTILINE)
_OPERATOR = re.compile(r" (==|!=|<=|>=|<|>|is not|is|not in|in) ")
#: Of unittest's methods only those that compare for equality: the others have words of their own.
_OTHER_METHOD = re.compile(r"\.assert(?:Not|(?!\w*Equal\())")
_PREFIX = re.compile(r"\A(?:Lists|Tuples|Sequences|[a-z]+s) differ: ")
_REASON = re.compile(r" : |\n| within (?=[0-9]+ places|.+ delta)")
_IS_OF_MORE = re.compile(r"\A\(*not | (?:and|or) ")


class ComparedValues(NamedTuple):
    """The texts of two values, and what a test demands of them: ``left operator right``."""

    left: str
    operator: str
    right: str


def compared_values(failure: Failure) -> tuple[str, str]:
    """(got, want) of an assertion that compared two values, each on one line and bounded; empty if not known.

    What no edit can hold still, such as an address, a time of day or a port, is a placeholder in them.

    The side that the test's source spells as a literal is what it wants; of two values the right one. Nothing is
    wanted where the two do not have to be equal.
    """
    raised = failure.raised
    if raised is None or not is_assertion(raised):
        return "", ""
    statement = raised.site.statement if raised.site is not None else ""
    found = comparison(raised.message, statement)
    if found is None:
        return "", ""
    lines = [stabilize(one_line(clean(value, _ROOM), _ROOM)) for value in (found.left, found.right)]
    # Behind an omission a credential may go on whose name is gone: then only the beginnings are kept.
    is_cut = any(_OMITTED.search(line) for line in lines)
    left, right = [one_line(line, _LONGEST) for line in lines] if is_cut else cut_apart(lines, _LONGEST)
    got, want = (right, left) if _is_literal_first(statement, found.left) else (left, right)
    return got, want if found.operator in ("==", "is") else ""


def comparison(message: str, statement: str) -> ComparedValues | None:
    """The two values of a failed assertion as its message has them; None if they are not clear.

    :param statement: the failing statement. Of unittest only the methods that compare for equality are read.
    """
    found = _ASSERT.search(message)
    if found is not None:
        return _compared(found["compared"])
    if _OTHER_METHOD.search(statement):
        return None
    left, between, right = _PREFIX.sub("", message).partition(" != ")
    right = _REASON.split(right, maxsplit=1)[0]
    is_clear = left and right and "\n" not in left and " != " not in right
    return ComparedValues(left, "==", right) if between and is_clear else None


def _compared(text: str) -> ComparedValues | None:
    """Both sides of ``7 == 6``; None if the operator may be one inside a value."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        parts = _OPERATOR.split(text)
        is_clear = len(parts) == 3 and not _IS_OF_MORE.search(text)
        return ComparedValues(*parts) if is_clear else None
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, right = (ast.get_source_segment(text, side) for side in (node.left, node.comparators[0]))
    operator = ast.unparse(ast.Compare(ast.Name("a"), node.ops, [ast.Name("b")]))[2:-2]
    return ComparedValues(left, operator, right) if left and right else None


def _is_literal_first(statement: str, left: str) -> bool:
    """Whether the test wrote ``assert 6 == f()`` or ``self.assertEqual(6, f())``.

    :param left: the text of the left value; for ``1 < f() < 3`` it decides which of the two comparisons failed.
    """
    try:
        match ast.parse(statement).body[0]:
            case ast.Assert(test=ast.Compare(left=first, comparators=[_, *more])):
                is_it = not more or ast.unparse(first) == left
            case ast.Expr(value=ast.Call(args=[first, _, *_])):
                is_it = True
            case _:
                return False
        ast.literal_eval(first)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, IndexError):
        return False
    return is_it
