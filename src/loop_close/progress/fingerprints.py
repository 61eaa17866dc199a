"""Failures to marks: the keys by which a failure is known again in a later run."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from loop_close import facts
from loop_close.causes.keys import cause_keys
from loop_close.facts import innermost, is_assertion, is_only_counted, place, test_function
from loop_close.memory import Mark
from loop_close.model import Evidence, Failure, Frame, Raised, RootCause
from loop_close.progress.canonical import canonical
from loop_close.progress.infrastructure import is_infrastructure
from loop_close.progress.values import values
from loop_close.text.clean import clean
from loop_close.text.normalize import mask
from loop_close.text.sanitize import one_line

#: The first character of every key: keys of another version are never equal to these.
VERSION = "1"
MAX_MARKS = 3_000
_MAX_MESSAGE = 200
_MAX_COMPARED = 4_000
#: The same few types and places come again and again.
_clean_name = lru_cache(maxsize=4_096)(clean)
_PHASES = ("session", "collect", "setup", "call", "teardown", "check", "process")


def marks_of(causes: Sequence[RootCause]) -> tuple[Mark, ...]:
    """The failures behind the root causes as marks: one a test, in order of the tests.

    What failed twice in one test (a subtest each, or the test and its teardown) is one mark, with keys made of all.
    """
    found: defaultdict[str, list[Mark]] = defaultdict(list)
    for evidence in (e for cause in causes for e in cause.evidence):
        if evidence.failure is not None and not is_only_counted(evidence.failure):
            made = _mark(evidence, evidence.failure)
            found[made.test].append(made)
    return tuple(mark for test in sorted(found) for mark in _merged(found[test]))


def test_key(failure: Failure) -> str:
    """What a failure is remembered by: the node id, else words that stay when lines shift."""
    if failure.nodeid:
        return name_of(failure.nodeid)
    said = one_line(mask(clean(failure.message, _MAX_MESSAGE)), _MAX_MESSAGE)
    if failure.phase == "check":
        file = clean(failure.file or place(failure)[0])
        return f"{file} {failure.tool} {failure.code}: {said}"
    kind = failure.raised.type if failure.raised is not None else ""
    return f"({failure.phase}) {clean(kind)}: {said}"


def name_of(nodeid: str) -> str:
    """What a test is remembered by: its node id without credentials."""
    return clean(nodeid) or ascii(nodeid)


def _merged(marks: list[Mark]) -> Iterator[Mark]:
    """One mark for what failed of one test; equal findings of a checker are so many marks."""
    if len(marks) == 1:
        yield marks[0]
    elif marks[0].phase == "check":
        yield from (
            replace(mark, test=f"{mark.test} #{n}") if n > 1 else mark for n, mark in enumerate(marks, 1)
        )
    else:
        ordered = sorted(marks, key=lambda m: (_PHASES.index(m.phase), m.exact))
        yield replace(
            ordered[0],
            exact=_digest(m.exact for m in ordered),
            shape=_digest(sorted({m.shape for m in ordered})),
            parts=len(ordered),
            got="",
            want="",
            is_infrastructure=all(m.is_infrastructure for m in ordered),
        )


def _mark(evidence: Evidence, failure: Failure) -> Mark:
    raised = failure.raised
    frame = _frame(raised)
    by_wording, shape = _shape(failure, frame)
    got, want = values(failure)
    test = test_key(failure)
    is_verdict = is_assertion(raised)
    said = canonical(
        clean(failure.message[:_MAX_COMPARED]), is_verdict=is_verdict, observed=_observed(failure)
    )
    exception = raised.type if raised is not None else evidence.kind
    return Mark(
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


def _frame(raised: Raised | None) -> Frame | None:
    """The statement at fault: the site's, else the innermost frame of the project."""
    if raised is None:
        return None
    return raised.site.frame if raised.site is not None else innermost(raised)


def _test_line(raised: Raised | None) -> int:
    """Where the test itself was: the outermost frame of test code that is no hidden helper."""
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
    """Which of several equal lines of the function it is: ``assert r.status == 200`` stands there three times."""
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
