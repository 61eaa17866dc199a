"""Two faults at once, put together from kept observations of one each: whether their failures are separated.

Of two faults of one project in different functions, with no failing test in common, the failing tests are joined, with
what they ran; of the passing tests of the one run those are taken out that fail in the other.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.localize.faults import Fault
from benchmarks.localize.keep import load
from loop_close.calls import Calls
from loop_close.causes import group, joined
from loop_close.detectors import DEFAULT_DETECTORS, by_priority, run_detectors
from loop_close.model import Observation, RootCause


@dataclass(frozen=True, kw_only=True, slots=True)
class Single:
    """One fault as it was seen, with its root causes before they are joined by what the tests ran."""

    fault: Fault
    calls: Calls
    causes: Sequence[RootCause]


def pairs(folder: Path, faults: Sequence[Fault]) -> str:
    """A line on all pairs, and one on the faults by themselves."""
    seen = list(singles(folder, faults))
    ones = [len(joined(single.causes, single.calls)) for single in seen]
    found = [_groups(one, other) for one, other in distinct(seen)]
    mixed = sum(any(len(faults) > 1 for faults in groups) for groups in found)
    two = sum(len(groups) == 2 for groups in found)
    return (
        f"{len(seen)} faults alone: one root cause {_share(ones.count(1), len(ones))}\n"
        f"{len(found)} pairs: a root cause with failures of both {_share(mixed, len(found))},"
        f" just two {_share(two, len(found))}"
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"


def singles(folder: Path, faults: Sequence[Fault]) -> Iterator[Single]:
    """The faults of which calls were kept."""
    for fault in faults:
        observation = load(folder, fault.id)
        causes = _causes(observation) if observation is not None else ()
        if observation is not None and observation.calls.functions and causes:
            yield Single(fault=fault, calls=observation.calls, causes=causes)


def _causes(observation: Observation) -> Sequence[RootCause]:
    priorities = {d.kind: d.priority for d in by_priority(DEFAULT_DETECTORS)}
    return group(run_detectors(observation, DEFAULT_DETECTORS), priorities)


def distinct(seen: Sequence[Single]) -> Iterator[tuple[Single, Single]]:
    """Two faults of one project each, in different functions and without a failing test in common."""
    by_project: defaultdict[str, list[Single]] = defaultdict(list)
    for single in seen:
        by_project[single.fault.project].append(single)
    for found in by_project.values():
        for one, other in itertools.combinations(found, 2):
            is_same = (one.fault.file, one.fault.function) == (other.fault.file, other.fault.function)
            if not is_same and one.calls.failed.keys().isdisjoint(other.calls.failed):
                yield one, other


def _groups(one: Single, other: Single) -> list[set[str]]:
    """The root causes of both together, by the faults that their failures are of."""
    found = joined([*one.causes, *other.causes], together(one.calls, other.calls))
    own = {id(e.failure) for cause in one.causes for e in cause.evidence}
    return [{(one if id(e.failure) in own else other).fault.id for e in cause.evidence} for cause in found]


def together(one: Calls, other: Calls) -> Calls:
    """What the tests call where both faults are in."""
    numbers = {(f.file, f.line, f.function): index for index, f in enumerate(one.functions)}
    places = [numbers.get((f.file, f.line, f.function)) for f in other.functions]
    failed = {
        test: tuple((places[index], line) for index, line in ran if places[index] is not None)
        for test, ran in other.failed.items()
    }
    lines = Counter(hit for ran in failed.values() for hit in set(ran))
    functions = Counter(index for ran in failed.values() for index in {index for index, _ in ran})
    return Calls(
        passed=max(0, one.passed - len(failed)),
        functions=tuple(
            function._replace(
                passed=max(0, function.passed - functions[index]),
                lines={line: max(0, n - lines[index, line]) for line, n in function.lines.items()},
            )
            for index, function in enumerate(one.functions)
        ),
        failed={**one.failed, **failed},
    )
