"""Put evidence together that one fix should clear."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from loop_close.causes.explain import join_explained
from loop_close.causes.keys import Key, cause_keys, family
from loop_close.model import Evidence, Failure, RootCause
from loop_close.text.normalize import mask, similar, stabilize

_MAX_COMPARED = 50
_MAX_MESSAGE = 2_000
_Item = TypeVar("_Item")


def group(evidence: Sequence[Evidence], priorities: Mapping[str, int]) -> tuple[RootCause, ...]:
    """Root causes, the most blocking kind first, then those with most tests, then by place.

    Evidence without a failure (comments, warnings) is no cause of its own and is left out.

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
    return RootCause(id=_digest(min(keys)), kind=ordered[0].kind, evidence=tuple(ordered))


def _length(evidence: Evidence) -> int:
    """How much the failure has to say: the shortest is the simplest case, and the one to show."""
    failure = evidence.failure
    return len(stabilize(failure.message[:_MAX_MESSAGE])) if failure is not None else 0


def _evidence_order(evidence: Evidence) -> tuple[object, ...]:
    failure = evidence.failure
    assert failure is not None
    test = (failure.nodeid, failure.phase, failure.subtest, failure.message)
    return evidence.file, evidence.line, *test, evidence.kind


def _digest(key: Key) -> str:
    return hashlib.sha256("\0".join(key).encode("utf-8", "replace")).hexdigest()[:8]


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
