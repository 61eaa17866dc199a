"""Failure records: the keys by which later runs recognize a failure."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from loop_close import facts, lazy
from loop_close.causes.grouping import cause_keys
from loop_close.facts import (
    COLLECTIONS_DIFFER,
    failure_place,
    innermost,
    is_a,
    is_assertion,
    is_only_counted,
    is_raise,
    links,
    test_function,
)
from loop_close.lazy import NamedTuple
from loop_close.memory import FailureRecord, Outcome
from loop_close.model import Evidence, Failure, Frame, Raised, RootCause
from loop_close.text import cut_apart, one_line
from loop_close.text.normalize import mask, stabilize
from loop_close.text.redact import MARK, clean

#: The first character of every key: keys of another version are never equal to these.
VERSION = "1"
MAX_RECORDS = 3_000
_MAX_MESSAGE = 200
_MAX_COMPARED = 4_000
#: The same few types and places come again and again.
_clean_name = lru_cache(maxsize=4_096)(clean)
_PHASES = ("session", "collect", "setup", "call", "teardown", "check", "process")


def records_of(causes: Sequence[RootCause]) -> tuple[FailureRecord, ...]:
    """The failures behind the root causes as records: one a test, in order of the tests.

    What failed twice in one test (a subtest each, or the test and its teardown) is one record, with keys made of all.
    """
    found: defaultdict[str, list[FailureRecord]] = defaultdict(list)
    for evidence in (e for cause in causes for e in cause.evidence):
        if evidence.failure is not None and not is_only_counted(evidence.failure):
            made = _record(evidence, evidence.failure)
            found[made.test].append(made)
    return tuple(record for test in sorted(found) for record in _merged(found[test]))


def test_key(failure: Failure) -> str:
    """The key of a failure in the history: the node id, else words that do not change when lines shift."""
    if failure.nodeid:
        return name_of(failure.nodeid)
    said = one_line(mask(clean(failure.message, _MAX_MESSAGE)), _MAX_MESSAGE)
    if failure.phase == "check":
        file = clean(failure.file or failure_place(failure)[0])
        return f"{file} {failure.tool} {failure.code}: {said}"
    kind = failure.raised.type if failure.raised is not None else ""
    return f"({failure.phase}) {clean(kind)}: {said}"


def name_of(nodeid: str) -> str:
    """The name of a test in the history: its node id without credentials."""
    return clean(nodeid) or ascii(nodeid)


def id_of(name: str) -> str:
    """The node id that selects the test of a name: that of the function, where a credential names the case."""
    return test_function(name) if MARK.search(name) else name


def selection_key(selection: str) -> str:
    """How tests were chosen, without credentials, and bounded so that different choices stay different."""
    return clean(selection) if len(selection) <= 400 else f"{clean(selection, 300)} {_digest([selection])}"


def outcomes_by_name(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Outcomes by the names of their tests in the history.

    :returns: of cases with one name, because they differ in a credential alone, what did not pass counts.
    """
    found: dict[str, Outcome] = {}
    for test, outcome in outcomes.items():
        name = name_of(test)
        if found.get(name, "passed") == "passed":
            found[name] = outcome
    return found


def _merged(records: list[FailureRecord]) -> Iterator[FailureRecord]:
    """One record for what failed of one test; equal findings of a checker are so many records."""
    if len(records) == 1:
        yield records[0]
    elif records[0].phase == "check":
        yield from (
            replace(record, test=f"{record.test} #{n}") if n > 1 else record
            for n, record in enumerate(records, 1)
        )
    else:
        ordered = sorted(records, key=lambda m: (_PHASES.index(m.phase), m.exact))
        yield replace(
            ordered[0],
            exact=_digest(m.exact for m in ordered),
            shape=_digest(sorted({m.shape for m in ordered})),
            parts=len(ordered),
            got="",
            want="",
            is_infrastructure=all(m.is_infrastructure for m in ordered),
        )


def _record(evidence: Evidence, failure: Failure) -> FailureRecord:
    raised = failure.raised
    # the statement at fault: the site's, else the innermost frame of the project
    frame = raised.site.frame if raised is not None and raised.site is not None else innermost(raised)
    by_wording, shape = _shape(failure, frame)
    got, want = compared_values(failure)
    test = test_key(failure)
    is_verdict = is_assertion(raised)
    said = canonical(
        clean(failure.message[:_MAX_COMPARED]), is_verdict=is_verdict, observed=_observed(failure)
    )
    exception = raised.type if raised is not None else evidence.kind
    return FailureRecord(
        test=test,
        phase=failure.phase,
        exact=_digest((test, failure.phase, failure.subtest, exception, said)),
        shape=_digest(shape),
        cause=_digest(cause_keys(evidence.kind, failure)[0]),
        family=_digest(_family(failure, frame)),
        message=clean(shape[-1])[:_MAX_MESSAGE] if by_wording else "",
        exception=_clean_name(exception),
        where=_clean_name(_at(frame)),
        line=frame.line if frame is not None else 0,
        test_line=_test_line(raised),
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


def _test_line(raised: Raised | None) -> int:
    """The line of the test itself: the outermost frame of test code that is not a hidden helper."""
    frames = raised.frames if raised is not None else ()
    return next((f.line for f in frames if f.is_test and not f.is_hidden), 0)


def _shape(failure: Failure, frame: Frame | None) -> tuple[bool, tuple[str, ...]]:
    """Whether the wording decides, and what makes the shape, the wording last.

    A verdict is known by its statement: its message holds nothing but values, and more of them with ``-vv``.
    """
    raised = failure.raised
    if failure.phase == "check":
        return False, (failure.tool, failure.code, failure.file, mask(failure.message[:_MAX_COMPARED]))
    if raised is None:
        return True, (failure.phase, test_function(failure.nodeid), mask(failure.message[:_MAX_COMPARED]))
    if (
        raised.site is not None and raised.type == "DocTestFailure"
    ):  # examples differ in nothing but their values
        return False, (raised.type, _at(frame), raised.site.statement)
    if raised.site is not None and raised.site.statement and is_assertion(raised):
        return False, (raised.type, _at(frame), _ordinal(frame), mask(raised.site.statement))
    if raised.template is not None:
        return False, (raised.type, _at(innermost(raised)), raised.template)
    return True, (raised.type, _at(innermost(raised)), mask(raised.message[:_MAX_COMPARED]))


def _ordinal(frame: Frame | None) -> str:
    """Which of several equal lines of the function it is: ``assert r.status == 200`` may be there three times."""
    if frame is None or frame.source is None:
        return ""
    lines = [line.strip() for line in frame.source.lines]
    at = frame.line - frame.source.start
    return str(lines[:at].count(lines[at])) if 0 <= at < len(lines) else ""


def _family(failure: Failure, frame: Frame | None) -> tuple[str, ...]:
    raised = failure.raised
    if raised is None:
        return failure.phase, test_function(failure.nodeid)
    return raised.type, _at(innermost(raised) or frame)


def _at(frame: Frame | None) -> str:
    return f"{frame.file}:{frame.function}" if frame is not None else ""


def _digest(parts: Iterable[str]) -> str:
    text = "\0".join(parts).encode("utf-8", "replace")
    return VERSION + hashlib.blake2b(text, digest_size=8).hexdigest()


# --- the text that identifies a message, independent of pytest's verbosity and the order of sets

#: A line up to this length is whole; of a longer one pytest shows at least the beginning (``saferepr`` to 30
#: characters). Its end may be that of a list that was cut, ``…, ...]``.
_WHOLE, _HEAD = 31, 19
_BRACES = lazy.pattern(r"\{([^{}]*)\}")
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


# --- infrastructure errors: time limits, network, disk, memory, dead workers

_KINDS = frozenset(("timeout", "crash", "internal-error"))
#: ``TimeoutError`` and the like are found by the detector of timeouts.
_NETWORK = (
    *("ConnectionError", "gaierror", "herror", "ConnectError", "EndpointConnectionError"),
    *("ServerNotFoundError", "NewConnectionError", "MaxRetryError", "ClientConnectorError"),
    *("NameResolutionError", "RemoteDisconnected"),
)
#: What the operating system says, in an ``OSError`` of a test or in the error of a tool.
_OF_SYSTEM = lazy.pattern(
    r"\[Errno (?:28|122|24|23|12|101|113|110|111|-2|-3)\]|No space left on device|Disk quota exceeded"
    r"|Too many open files|Cannot allocate memory|Network is unreachable|No route to host"
    r"|Temporary failure in name resolution|Name or service not known|database or disk is full"
    r"|Cannot connect to the Docker daemon"
)
#: What only the error of a tool shows: for a test, it may be the behavior of the program.
_OF_TOOLS = lazy.pattern(
    r"\bE(?:CONNRESET|CONNREFUSED|CONNABORTED|TIMEDOUT|NOTFOUND|AI_AGAIN|PIPE|HOSTUNREACH|NETUNREACH|NOSPC|DQUOT|MFILE)\b"
    r"|\btimed[ -]?out\b|\bdeadline exceeded\b|(?:^|: )timeout\W*$|\bTimeout(?:Error|Exception|Expired)\b"
    r"|\b(?:connect|connection|read|write|pool|gateway|request|operation)[ -]?time-?out\b"
    r"|\btime-?out (?:of|after|exceeded|expired|reached|while|waiting)\b"
    r"|\bconnection (?:was |has been )?(?:reset|refused|aborted|closed|lost)\b|\bsocket hang up\b|\bfetch failed\b"
    r"|\bConnection(?:Reset|Refused|Aborted|Error)|\bbroken ?pipe|\bserver disconnected\b"
    r"|\brate[ _-]?limit(?:ed|[ _](?:error|exceeded|reached|hit))\b|\bexceed(?:ed|s)? [^\n]{0,40}\brate limit"
    r"|\btoo many requests\b|\bthrottl(?:ed|ing)|\boverloaded_error\b|(?:^|: | is )(?:currently )?overloaded\W*$"
    r"|\b(?:bad gateway|service (?:temporarily )?unavailable|internal server error)\b"
    r"|(?:\b(?:HTTP(?:/[\d.]+)?|status(?:[ _]?code)?|error code)|\b(?:HTTP|API|Axios|Server|Fetch)Error)"
    r"\W{0,3}(?:429|5\d\d)\b|\berror (?:429|5\d\d)\b",
    re.IGNORECASE | re.MULTILINE,
)
# The words of a failed test, which reports time limits or statuses of the program.
_OF_A_TEST = lazy.pattern(r"(?i:\bassert(?:ion\w*)?\b)|\bFAILED\b|^FAIL: ", re.MULTILINE)
# The first lines say what went wrong, or the last ones in a traceback.
_END = 1_000


def is_infrastructure(kind: str, failure: Failure) -> bool:
    """Whether another run of the same code may well pass.

    By the detector's ``kind``, and by what was raised anywhere in the chain. A refused connection to a port of this
    very machine counts too: the service was not there. An exception that a ``raise`` of the project itself made does
    not, as that of a double in its tests; neither does a failed assertion.
    """
    raised = failure.raised
    if (kind in _KINDS and not _is_made(raised)) or COLLECTIONS_DIFFER.match(failure.message) is not None:
        return True
    if _is_by_double(raised):
        return False
    return not is_a(raised, "AssertionError") and any(map(_is_infrastructure_error, links(raised)))


def is_infrastructure_text(text: str) -> bool:
    """Whether the error of a tool shows an infrastructure failure, so that the same call may well succeed later.

    Time limits, lost and refused connections, rate limits, statuses 429 and 5xx, a full disk.

    :param text: the text of the error.
    """
    ends = text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"
    if _OF_A_TEST.search(ends):
        return False
    return (
        any(pattern.search(ends) for pattern in (_OF_TOOLS, _OF_SYSTEM))
        or COLLECTIONS_DIFFER.match(ends) is not None
    )


def _is_made(raised: Raised | None) -> bool:
    """Whether a ``raise`` statement of the project made the exception, or a double that its tests set up."""
    last = raised.frames[-1:] if raised is not None else ()
    return _is_by_double(raised) or any(is_raise(frame) and not frame.is_handing_on for frame in last)


def _is_by_double(raised: Raised | None) -> bool:
    return any("double" in link.details for link in links(raised))


def _is_infrastructure_error(raised: Raised) -> bool:
    if _is_made(raised):
        return False
    if is_a(raised, *_NETWORK, "MemoryError"):
        return True
    return (
        is_a(raised, "OSError", "OperationalError") and _OF_SYSTEM.search(raised.message[:2_000]) is not None
    )


# --- the actual and the expected value of a failed comparison

_LONGEST = 40
_ROOM = 2_000
#: How unittest and pytest shorten long values.
_OMITTED = lazy.pattern(r"\[\d+ chars\]|\.\.\.")
_ASSERT = lazy.pattern(r"^assert (?P<compared>.+)$", re.MULTILINE)
_OPERATOR = lazy.pattern(r" (==|!=|<=|>=|<|>|is not|is|not in|in) ")
#: Most statements begin with a name: those need not be parsed.
_MAY_BE_LITERAL = lazy.pattern(
    r"(?:\Aassert\s*|\.assert\w+\()(?:[^\w\s]|\d|None\b|True\b|False\b|[bBrRuUfF]{1,2}['\"])"
)
_METHOD = lazy.pattern(r"\.assert(\w+)\(")
#: What unittest's methods demand, and the words of their messages between the two values.
_METHODS = {
    "NotEqual": ("!=", " == "),
    "NotAlmostEqual": ("!=", " == "),
    "In": ("in", " not found in "),
    "NotIn": ("not in", " unexpectedly found in "),
    "Is": ("is", " is not "),
    "IsNot": ("is not", "unexpectedly identical: "),
    "Less": ("<", " not less than "),
    "LessEqual": ("<=", " not less than or equal to "),
    "Greater": (">", " not greater than "),
    "GreaterEqual": (">=", " not greater than or equal to "),
}
_EQUAL = "==", " != "
_PREFIX = lazy.pattern(r"\A(?:Lists|Tuples|Sequences|[a-z]+s) differ: ")
_REASON = lazy.pattern(r" : |\n| within (?=[0-9]+ places|.+ delta)")
_IS_OF_MORE = lazy.pattern(r"\A\(*not | (?:and|or) ")
#: What is wanted of the left value, given the right one; and of the right value, given the left one.
_WANTED = {
    "==": ("{}", "{}"),
    "is": ("{}", "{}"),
    "!=": ("anything but {}", "anything but {}"),
    "is not": ("anything but {}", "anything but {}"),
    "in": ("in {}", "containing {}"),
    "not in": ("not in {}", "not containing {}"),
    "<": ("less than {}", "more than {}"),
    "<=": ("at most {}", "at least {}"),
    ">": ("more than {}", "less than {}"),
    ">=": ("at least {}", "at most {}"),
}
_OPERATORS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class ComparedValues(NamedTuple):
    """The texts of two values, and what a test demands of them: ``left operator right``."""

    left: str
    operator: str
    right: str


def compared_values(failure: Failure) -> tuple[str, str]:
    """(got, want) of an assertion that compared two values, each on one line and bounded; empty when not known.

    The side that the test's source spells as a literal is what it wants; of two values the right one. Where the two do
    not have to be equal, the wish is in words: ``anything but 3``, ``not in [1, 2]``, ``at most 5``.
    """
    raised = failure.raised
    if raised is None or not is_assertion(raised):
        return "", ""
    statement = raised.site.statement if raised.site is not None else ""
    found = comparison(raised.message, statement)
    if found is None:
        return "", ""
    of_left, of_right = _WANTED[found.operator]
    lines = [one_line(clean(value, _ROOM), _ROOM) for value in (found.left, found.right)]
    # Behind an omission a credential may go on whose name is gone: then only the beginnings are kept.
    is_cut = any(_OMITTED.search(line) for line in lines)
    left, right = [one_line(line, _LONGEST) for line in lines] if is_cut else cut_apart(lines, _LONGEST)
    if _is_literal_first(statement, found.left):
        return right, of_right.format(left)
    return left, of_left.format(right)


def comparison(message: str, statement: str) -> ComparedValues | None:
    """The two values of a failed assertion as its message has them; None if they are not clear.

    :param statement: the failing statement: unittest's messages have other words for each method.
    """
    found = _ASSERT.search(message)
    if found is not None:
        return _compared(found["compared"])
    method = _METHOD.search(statement)
    return _of_unittest(message, *_METHODS.get(method[1] if method is not None else "", _EQUAL))


def _of_unittest(message: str, operator: str, words: str) -> ComparedValues | None:
    """The two values of unittest's message; nothing if a value may hold the words between them."""
    left, found, right = _PREFIX.sub("", message).partition(words)
    right = _REASON.split(right, maxsplit=1)[0]
    if operator == "is not":  # the message shows the value once
        return ComparedValues(right, operator, right) if found and not left and right else None
    is_clear = left and right and "\n" not in left and words not in right
    return ComparedValues(left, operator, right) if found and is_clear else None


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
    return ComparedValues(left, _OPERATORS[type(node.ops[0])], right) if left and right else None


def _is_literal_first(statement: str, left: str) -> bool:
    """Whether the test wrote ``assert 6 == f()`` or ``self.assertEqual(6, f())``.

    :param left: the text of the left value; for ``1 < f() < 3`` it decides which of the two comparisons failed.
    """
    if not _MAY_BE_LITERAL.search(statement):
        return False
    try:
        node = ast.parse(statement).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return False
    match node:
        case ast.Assert(test=ast.Compare(left=first, comparators=[second, *more])):
            is_it = not more or ast.unparse(first) == left
        case ast.Expr(value=ast.Call(args=[first, second, *_])):
            is_it = True
        case _:
            return False
    return is_it and _is_literal(first) and not _is_literal(second)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
