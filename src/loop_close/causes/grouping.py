"""Root causes: the failures that one fix should clear, by keys."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from loop_close import lazy
from loop_close.facts import (
    LINTERS,
    TURNING,
    import_cycle,
    innermost,
    is_a,
    is_assertion,
    is_syntax_error,
    leaves,
    links,
    test_function,
)
from loop_close.model import Evidence, Failure, Frame, Raised, RootCause
from loop_close.text.normalize import mask, similar, stabilize

_MAX_COMPARED = 50
_MAX_MESSAGE = 2_000
# Shorter messages are often equal by chance.
_LONG_MESSAGE = 80
_Item = TypeVar("_Item")


def group(evidence: Sequence[Evidence], priorities: Mapping[str, int]) -> tuple[RootCause, ...]:
    """Root causes, the most blocking kind first, then those with most tests, then by place.

    Evidence without a failure (comments, warnings) is left out.

    :param priorities: the priority of each kind; the smaller, the more it blocks.
    """
    failing = _failing(evidence)
    keys = [cause_keys(e.kind, failure) for e, failure in failing]
    parts = join_explained(_merge_similar(failing, _connected(keys)), failing)
    causes = [_cause([failing[i][0] for i in part], [k for i in part for k in keys[i]]) for part in parts]
    return in_order(causes, priorities)


def in_order(causes: Iterable[RootCause], priorities: Mapping[str, int]) -> tuple[RootCause, ...]:
    """The most blocking kind first, then those with most tests, then by place."""
    return tuple(sorted(causes, key=lambda c: _order(c, priorities)))


def _failing(evidence: Sequence[Evidence]) -> list[tuple[Evidence, Failure]]:
    """Each failure once, with the first evidence of it, in an order that is not that of the input."""
    first = {id(e.failure): e for e in reversed(evidence) if e.failure is not None}
    ordered = sorted(first.values(), key=_evidence_order)
    return [(e, e.failure) for e in ordered if e.failure is not None]


def _order(cause: RootCause, priorities: Mapping[str, int]) -> tuple[object, ...]:
    first = cause.evidence[0]
    return priorities.get(cause.kind, 999), -len(cause.evidence), first.file, first.line, cause.id


def _cause(evidence: Sequence[Evidence], keys: Sequence[Key]) -> RootCause:
    ordered = sorted(evidence, key=lambda e: (_length(e), _evidence_order(e)))
    digest = hashlib.sha256("\0".join(min(keys)).encode("utf-8", "replace")).hexdigest()[:8]
    return RootCause(id=digest, kind=ordered[0].kind, evidence=tuple(ordered))


def _length(evidence: Evidence) -> int:
    """How much the failure has to say: the shortest is the simplest case, and the one to show."""
    failure = evidence.failure
    return len(stabilize(failure.message[:_MAX_MESSAGE])) if failure is not None else 0


def _evidence_order(evidence: Evidence) -> tuple[object, ...]:
    failure = evidence.failure
    assert failure is not None
    test = (failure.nodeid, failure.phase, failure.subtest, failure.message)
    return evidence.file, evidence.line, *test, evidence.kind


def _connected(keys: Sequence[Iterable[Key]]) -> list[list[int]]:
    """Positions that share a key, directly or through others (union-find)."""
    parent = list(range(len(keys)))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[Key, int] = {}
    for i, own in enumerate(keys):
        for key in own:
            a, b = find(i), find(first.setdefault(key, i))
            parent[max(a, b)] = min(a, b)
    return _collect((find(i), i) for i in range(len(keys)))


def _collect(pairs: Iterable[tuple[object, _Item]]) -> list[list[_Item]]:
    """The second items by their first, in order of appearance."""
    found: defaultdict[object, list[_Item]] = defaultdict(list)
    for key, item in pairs:
        found[key].append(item)
    return list(found.values())


def _merge_similar(failing: Sequence[tuple[Evidence, Failure]], parts: list[list[int]]) -> list[list[int]]:
    """Join parts of one family whose messages are nearly the same: values that no pattern recognized."""
    families: defaultdict[Key, list[list[int]]] = defaultdict(list)
    result: list[list[int]] = []
    for part in parts:
        evidence, failure = failing[part[0]]
        key = family(evidence.kind, failure)
        bucket = families[key] if key is not None else result
        if key is None or not _joined(part, bucket, failing):
            bucket.append(part)
    return result + [part for bucket in families.values() for part in bucket]


def _joined(part: list[int], bucket: list[list[int]], failing: Sequence[tuple[Evidence, Failure]]) -> bool:
    message = mask(failing[part[0]][1].message)
    for other in bucket[:_MAX_COMPARED]:
        if similar(message, mask(failing[other[0]][1].message)):
            other.extend(part)
            return True
    return False


# --- keys: two failures that share one have the same root cause
#
# Each key is a tuple of plain strings whose first item names the rule. Source text may identify (it is code);
# values that a program made at run time do not, unless they name the very thing that is missing.

Key = tuple[str, ...]

_NONE_MISUSED = lazy.pattern(r"\bNoneType\b")
_NONE_COMPARED = lazy.pattern(r"\Aassert None\b|\ANone != |\n \+  where None = ")
_MISCALLED = lazy.pattern(r"([\w.<>]+)\(\) (?:missing|takes|got) ")
_TEST_FUNCTION = lazy.pattern(r"(?:\A|\.)test\w*(?:\.<locals>|\Z)")
#: Types that every program has: an attribute that one of them lacks says little about the place to look.
_BUILTIN_TYPES = frozenset(
    (
        *("NoneType", "bool", "int", "float", "complex", "str", "bytes", "bytearray", "list", "tuple"),
        *("dict", "set", "frozenset", "range", "slice", "function", "method", "builtin_function_or_method"),
        *("property", "type", "generator", "coroutine", "async_generator", "map", "filter", "zip"),
        *("dict_keys", "dict_values"),
    )
)
_FUNCTIONS = """
abs aiter all anext any ascii bin breakpoint callable chr classmethod compile delattr dir divmod enumerate eval exec
format getattr globals hasattr hash help hex id input isinstance issubclass iter len locals max memoryview min next
object oct open ord pow print repr reversed round setattr sorted staticmethod sum super vars
"""
_BUILTIN_FUNCTIONS = frozenset(_FUNCTIONS.split())
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
    more = *_message_key(raised), *_miscalled_key(raised)
    return tuple((kind, *key) for key in (*_keys(failure, raised), *more))


def _message_key(raised: Raised) -> Iterator[Key]:
    """Equal long words of a library or of pytest that tests meet, such as about a fixture's scope, are of one fault."""
    frame = innermost(raised)
    if frame is not None and not frame.is_test:
        return
    if len(raised.message) >= _LONG_MESSAGE and raised.template is None and raised.type != "AssertionError":
        yield "message", raised.type, stabilize(raised.message[:_MAX_MESSAGE])


def _miscalled_key(raised: Raised) -> Iterator[Key]:
    """Wrong calls of one function of a project are of one fault: its signature, or what was made of it."""
    name = miscalled(raised)
    owner, _, own = name.rpartition(".")
    if name and not (owner in _BUILTIN_TYPES or (owner or own) in _BUILTIN_FUNCTIONS):
        yield "miscalled", name


def miscalled(raised: Raised) -> str:
    """The qualified name of the function that did not take the arguments it was called with; else empty."""
    called = _MISCALLED.match(raised.message) if is_a(raised, "TypeError") else None
    return called[1] if called else ""


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
    where = "" if owner else _file_of(innermost(raised))
    return "name", raised.type, owner, where, raised.details["name"]


def _file_of(frame: Frame | None) -> str:
    return frame.file if frame is not None else ""


def _keys(failure: Failure, raised: Raised) -> Iterator[Key]:
    site = raised.site
    origins = tuple(sorted({f"{o.file}:{o.function}" for o in site.origins})) if site is not None else ()
    chain = _chain_key(raised)
    wrong = _wrong_type(raised)
    if origins and wrong:
        yield ("type", wrong, *origins)
    if raised.members:
        yield ("group", raised.type, *sorted({"/".join(_place_key(leaf)) for leaf in leaves(raised)}))
    elif is_a(raised, "RecursionError"):
        last = raised.frames[-TURNING:]
        yield ("recursion", *sorted({f"{f.file}:{f.function}" for f in last if not f.is_test}))
    elif is_assertion(raised) or _raised_in_test(raised):
        yield from _verdict_keys(failure, raised, origins)
    elif site is not None and _handed_on(raised):
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
    frame = raised.site.frame if raised.site is not None else innermost(raised)
    return frame is not None and frame.is_test and _TEST_FUNCTION.search(frame.function) is not None


def _handed_on(raised: Raised) -> bool:
    """Whether the site is a call of a helper that judged its arguments, not the raise itself."""
    frame = innermost(raised)
    return frame is not None and raised.site is not None and raised.site.frame != frame


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
    """The keys of an exception in the code under test: its place and the fixed part of its message."""
    frame = innermost(raised)
    if frame is None:
        yield ("nowhere", raised.type, mask(raised.message), *chain)
        return
    said = raised.template if raised.template is not None else mask(raised.message)
    yield ("raise", raised.type, frame.file, frame.function, said, *chain)
    if raised.template is None and "[" in failure.nodeid:
        yield ("case", raised.type, frame.file, frame.function, test_function(failure.nodeid), *chain)


def _chain_key(raised: Raised) -> Key:
    """The exceptions it came from, by type and place. Messages do not count, as they contain values.

    Exceptions that test code raised do not count either: they differ from test to test.
    """
    chain = (link for link in links(raised) if link is not raised)
    frames = ((link, innermost(link)) for link in chain)
    return tuple("/".join(_place_key(link)) for link, frame in frames if frame is None or not frame.is_test)


def _place_key(raised: Raised) -> Key:
    frame = innermost(raised)
    return raised.type, _file_of(frame), frame.function if frame is not None else ""


def family(kind: str, failure: Failure) -> Key | None:
    """Failures of one family differ in wording alone; None for those that wording does not decide."""
    raised = failure.raised
    frame = innermost(raised)
    if (
        failure.phase == "check"
        or raised is None
        or frame is None
        or raised.template is not None
        or is_assertion(raised)
    ):
        return None
    if missing_thing(raised) or _handed_on(raised):
        return None
    return kind, raised.type, frame.file, frame.function, *_chain_key(raised)


# --- findings of checkers

_NAMED = lazy.pattern(r"[\"'`\u201c\u2018]([^\"'`\n]{1,200})[\"'`\u201d\u2019]")
# Said of a value in one place and its type there: equal words in two places are two mistakes.
_OF_ONE_PLACE = lazy.pattern(
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


# --- failures that one wrong function explains
#
# ``assert take(5, convolve(a, b)) == …`` is about ``take``, and as much about ``convolve``. Where other tests
# fail on ``convolve`` alone, that one function explains both, and the simpler explanation is taken.


def join_explained(parts: list[list[int]], failing: Sequence[tuple[Evidence, Failure]]) -> list[list[int]]:
    """Parts whose every failure also involves a function that is all another part involves, joined to that part.

    :param parts: positions in ``failing`` that are known to belong together.
    """
    involved = [_involved([failing[i] for i in part]) for part in parts]
    simple = {next(iter(names)): n for n, names in enumerate(involved) if len(names) == 1}
    joined: dict[int, list[int]] = {}
    kept = []
    for n, part in enumerate(parts):
        explaining = [simple[name] for name in involved[n] if name in simple and simple[name] != n]
        if explaining:
            target = min(explaining, key=lambda other: (-len(parts[other]), min(involved[other])))
            joined.setdefault(target, []).extend(part)
        else:
            kept.append(n)
    return [parts[n] + joined.get(n, []) for n in kept]


def _involved(failing: Sequence[tuple[Evidence, Failure]]) -> frozenset[tuple[str, str]]:
    """The functions that every one of the failures involves; empty if one of them does not check a known function.

    Each with the kind of the evidence: failures of different kinds are never joined.
    """
    names: frozenset[tuple[str, str]] | None = None
    for evidence, failure in failing:
        site = failure.raised.site if failure.raised is not None else None
        if site is None or not site.origins or not is_assertion(failure.raised):
            return frozenset()
        own = {*site.inner, *(f"{o.file}:{o.function}" for o in site.origins if not o.is_test)}
        kinds = frozenset((evidence.kind, name) for name in own)
        names = kinds if names is None else names & kinds
    return names or frozenset()
