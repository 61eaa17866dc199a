"""Root causes: the failures that one fix should clear, by keys."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from loop_close.facts import (
    LINTERS,
    TURNING,
    failing_frame,
    import_cycle,
    innermost,
    is_a,
    is_assertion,
    is_made,
    is_syntax_error,
    leaves,
    links,
    raise_line,
    test_function,
)
from loop_close.model import Evidence, Failure, Frame, Raised, RootCause
from loop_close.text.normalize import mask, stabilize

_MAX_MESSAGE = 2_000


def group(evidence: Sequence[Evidence], priorities: Mapping[str, int]) -> tuple[RootCause, ...]:
    """Root causes, the most blocking kind first, then those with most tests, then by place.

    Evidence without a failure (comments, warnings) is left out.

    :param priorities: the priority of each kind; the smaller, the more it blocks.
    """
    failing = _failing(evidence)
    keys = [cause_keys(e.kind, e.failure) for e in failing if e.failure is not None]
    first: dict[Key, int] = {}
    pairs = [(first.setdefault(key, n), n) for n, own in enumerate(keys) for key in own]
    parts = sets_of(len(failing), pairs)
    causes = [_cause([failing[n] for n in part], [k for n in part for k in keys[n]]) for part in parts]
    return in_order(causes, priorities)


def in_order(causes: Iterable[RootCause], priorities: Mapping[str, int]) -> tuple[RootCause, ...]:
    """The most blocking kind first, then those with most tests, then by place."""
    return tuple(sorted(causes, key=lambda c: _order(c, priorities)))


def _failing(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Each failure once, with the first evidence of it, in an order that is not that of the input."""
    first = {id(e.failure): e for e in reversed(evidence) if e.failure is not None}
    return sorted(first.values(), key=_evidence_order)


def _order(cause: RootCause, priorities: Mapping[str, int]) -> tuple[object, ...]:
    first = cause.evidence[0]
    return priorities.get(cause.kind, 999), -len(cause.evidence), first.file, first.line, cause.id


def _cause(evidence: Sequence[Evidence], keys: Sequence[Key]) -> RootCause:
    ordered = sorted(evidence, key=lambda e: (_length(e), _evidence_order(e)))
    digest = hashlib.sha256("\0".join(min(keys)).encode("utf-8", "replace")).hexdigest()[:8]
    return RootCause(id=digest, kind=ordered[0].kind, evidence=tuple(ordered))


def _length(evidence: Evidence) -> int:
    """How much the failure has to say: the shortest is the simplest case, and the one to show."""
    assert evidence.failure is not None
    return len(stabilize(evidence.failure.message[:_MAX_MESSAGE]))


def _evidence_order(evidence: Evidence) -> tuple[object, ...]:
    failure = evidence.failure
    assert failure is not None
    test = (failure.nodeid, failure.phase, failure.subtest, failure.message)
    return evidence.file, evidence.line, *test, evidence.kind


def sets_of(number: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The numbers below ``number`` as sets, in order: two are in one set if a chain of pairs connects them."""
    parent = list(range(number))

    def find(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    for one, other in pairs:
        one, other = find(one), find(other)
        parent[max(one, other)] = min(one, other)
    found: defaultdict[int, list[int]] = defaultdict(list)
    for n in range(number):
        found[find(n)].append(n)
    return list(found.values())


# --- keys: two failures that share one have the same root cause
#
# Each key is a tuple of plain strings whose first item names the rule. Source text may identify (it is code);
# values that a program made at run time do not, unless they name the very thing that is missing.

Key = tuple[str, ...]

_NONE_MISUSED = re.compile(r"\bNoneType\b")
_NONE_COMPARED = re.compile(r"\Aassert None\b|\ANone != |\n \+  where None = ")
_TEST_FUNCTION = re.compile(r"(?:\A|\.)test\w*(?:\.<locals>|\Z)")
#: Types that every program has: an attribute that one of them lacks says little about the place to look.
_BUILTIN_TYPES = frozenset(
    (
        *("NoneType", "bool", "int", "float", "complex", "str", "bytes", "bytearray", "list", "tuple"),
        *("dict", "set", "frozenset", "range", "slice", "function", "method", "builtin_function_or_method"),
        *("property", "type", "generator", "coroutine", "async_generator", "map", "filter", "zip"),
        *("dict_keys", "dict_values"),
    )
)
_MISSING_FILE = ("FileNotFoundError", "NotADirectoryError", "IsADirectoryError", "PermissionError")


def cause_keys(kind: str, failure: Failure) -> tuple[Key, ...]:
    """The keys of a failure, at least one. Equal exceptions in equal places give equal keys.

    :param kind: the kind that its detector assigned; failures of different kinds never share a cause.
    """
    raised = failure.raised
    if failure.phase == "check":
        return (finding_key(kind, failure),)
    if raised is None:
        return ((kind, "words", test_function(failure.nodeid), mask(failure.message)),)
    thing = missing_thing(raised)
    if thing:
        return ((kind, *thing),)
    return tuple((kind, *key) for key in _keys(failure, raised))


def mismatched(raised: Raised) -> Sequence[Frame]:
    """The last two frames, if the last function did not take the arguments that the one before gave it; else none."""
    is_refused = raised.site is not None and innermost(raised) in raised.site.origins
    return raised.frames[-2:] if is_refused else ()


def missing_thing(raised: Raised) -> Key | None:
    """What does not exist, for the errors that are about just that. The same thing is the same cause."""
    details = raised.details
    if "environment" in details:
        return "environment", details["environment"]
    if "fixture" in details:
        return "fixture", details["fixture"]
    if is_syntax_error(raised):
        return "syntax", details["path"]
    cycle = import_cycle(raised)
    if cycle:
        return "circle", *sorted(cycle)  # whichever of them was imported first
    if is_a(raised, "ImportError") and "name" in details:
        return "import", details.get("owner", ""), details["name"]
    if is_a(raised, *_MISSING_FILE) and "path" in details:
        path = stabilize(raised.details["path"])
        return (
            None if "<tmp>" in path else ("file", raised.type, path)
        )  # in a temporary folder its name is a value
    if is_a(raised, "NameError", "AttributeError") and "name" in details:
        return _missing_name(raised)
    return None


def _missing_name(raised: Raised) -> Key | None:
    """A name that code uses and that nothing defines; a ``str`` where an object was expected is another matter."""
    owner = raised.details.get("owner", "")
    if owner in _BUILTIN_TYPES:
        return None
    where = "" if owner else _place_of(innermost(raised))[0]
    return "name", raised.type, owner, where, raised.details["name"]


def _place_of(frame: Frame | None) -> Key:
    return (frame.file, frame.function) if frame is not None else ("", "")


def _keys(failure: Failure, raised: Raised) -> Iterator[Key]:
    site = raised.site
    origins = tuple(sorted({f"{o.file}:{o.function}" for o in site.origins})) if site is not None else ()
    chain = chain_key(raised)
    wrong = _wrong_type(raised)
    if origins and wrong:
        yield ("type", wrong, *origins)
    if raised.members:
        yield ("group", raised.type, *sorted({"/".join(_place_key(leaf)) for leaf in leaves(raised)}))
    elif is_a(raised, "RecursionError"):
        last = raised.frames[-TURNING:]
        yield ("recursion", *sorted({f"{f.file}:{f.function}" for f in last if not f.is_test}))
    elif mismatched(raised):
        yield ("arguments", *_place_key(raised))
    elif is_assertion(raised) or _raised_in_test(raised):
        yield from _verdict_keys(failure, raised, origins)
    elif site is not None and site.frame != innermost(raised):  # a helper judged what it was given
        yield ("call", raised.type, site.frame.file, site.frame.function, site.statement, *chain)
    else:
        yield from _accident_keys(failure, raised, chain)


def _wrong_type(raised: Raised) -> str:
    """The type of the value that was used as something else (``NoneType`` most often); empty for other troubles."""
    pattern = _NONE_COMPARED if is_assertion(raised) else _NONE_MISUSED
    if pattern.search(raised.message):
        return "NoneType"
    owner = raised.details.get("owner", "")
    return owner if owner in _BUILTIN_TYPES else ""


def _raised_in_test(raised: Raised) -> bool:
    """Whether the test's own statement failed: what it called is what matters."""
    frame = failing_frame(raised)
    return frame is not None and frame.is_test and _TEST_FUNCTION.search(frame.function) is not None


def _verdict_keys(failure: Failure, raised: Raised, origins: Key) -> Iterator[Key]:
    """The keys of a failed assertion: what produced the values; if that is not known, the statement."""
    site = raised.site
    if origins:
        yield ("verdict", raised.type, *origins)
    elif site is not None:
        yield ("statement", raised.type, site.frame.file, site.frame.function, site.statement)
    else:
        yield ("test", raised.type, test_function(failure.nodeid), mask(raised.message))


def _accident_keys(failure: Failure, raised: Raised, chain: Key) -> Iterator[Key]:
    """The keys of an exception in the code under test: its place, and its ``raise`` or kind of message."""
    frame = innermost(raised)
    if frame is None:
        yield ("nowhere", raised.type, mask(raised.message), *chain)
        return
    line = raise_line(raised)
    yield ("raise", raised.type, frame.file, frame.function, line or mask(raised.message), *chain)
    if not line and "[" in failure.nodeid:
        yield ("case", raised.type, frame.file, frame.function, test_function(failure.nodeid), *chain)


def chain_key(raised: Raised | None) -> Key:
    """The exceptions it came from, by type and place. Messages do not count, as they contain values.

    Exceptions that test code raised do not count either: they differ from test to test. What was being handled when an
    accident happened did not cause it.
    """
    is_told = is_made(raised) or (raised is not None and raised.cause is not None)
    chain = [*links(raised)][1:] if is_told else []
    frames = ((link, innermost(link)) for link in chain)
    return tuple("/".join(_place_key(link)) for link, frame in frames if frame is None or not frame.is_test)


def _place_key(raised: Raised) -> Key:
    return raised.type, *_place_of(innermost(raised))


# --- findings of checkers

_NAMED = re.compile(r"[\"'`\u201c\u2018]([^\"'`\n]{1,200})[\"'`\u201d\u2019]")
# Said of a value in one place and its type there: equal words in two places are two mistakes.
_OF_ONE_PLACE = re.compile(
    r"assignment|return|operator|index|type-var|union|optional|redundant|unreachable|syntax|invalid-assignment"
)


def finding_key(kind: str, failure: Failure) -> tuple[str, ...]:
    """The key of a finding.

    A linter's rule is one cause wherever it was broken. An error of a type checker is one with others of the same
    rule and words that name the same thing: an attribute that is gone, a function whose signature changed.
    """
    if failure.tool in LINTERS and failure.code:
        return kind, failure.tool, failure.code
    said = failure.message.partition("\n")[0]
    rule = failure.code or said
    if _NAMED.search(said) and not _OF_ONE_PLACE.search(rule.lower()):
        return kind, failure.tool, failure.code, said
    return kind, failure.tool, failure.code, said, failure.file, str(failure.line)
