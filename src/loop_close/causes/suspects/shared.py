"""Which root causes are one: two explanations are weighed, one fault behind both, or a fault behind each.

For one fault speaks how much their tests blame the same function. Were the scores of functions the chances of each, one
function would be behind both with the chance of the sum over all functions of the product of both scores; two faults
have their scores on two functions, and agree on neither. For one fault speaks as well a line that tests of both ran
and hardly any passing test did; for two such a line of each, which few of the other's tests ran.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from math import inf, log

from loop_close.calls import Called, Calls
from loop_close.causes.suspects.candidates import Candidate
from loop_close.causes.suspects.clues import Name, base_name, handing_on, shown_exception
from loop_close.causes.suspects.counted import Hit, ochiai
from loop_close.causes.suspects.makers import is_of_the_exception
from loop_close.causes.suspects.rank import NONE, is_odd, scored
from loop_close.causes.suspects.spectrum import passed_of
from loop_close.facts import innermost, is_assertion, links
from loop_close.model import Failure, RootCause

# The logarithm of the odds of one fault, by a logistic regression (`python -m benchmarks.localize --fit`) over faults
# of the tuning half that show as several root causes, and pairs of faults, both as likely.
_BEFORE = 3.5
_AGREED = 0.39
_JOINT = 4.99
#: How sure it has to be, before root causes are shown as one.
_SURE = 1.25
#: Of those that agree on nothing, as far as is known.
_TINY = 0.0001
#: They have to agree as much at least, for any two share some plumbing.
_LEAST = 0.005
#: They have to agree as much where no passing test calls the function, as all that fails may have to go through it, and
#: where one test fails by both: then what it ran says nothing.
_UNKNOWN = 0.3
#: Where one function stands out in the parts, it has to stand out in the whole by this part of that.
_KEPT = 0.5
# What is further down has next to no share.
_MOST = 20

#: A function, and what came out of it: type of exception, statement, what that called.
Place = tuple[Name, tuple[str, str, str]]
# A statement may call many functions, one of which does not take what it is given.
_MISCALLED = re.compile(r"([\w.<>]+)\(\) (?:missing|takes|got) ")

#: Its share in all that speaks for any function, and how many passing tests called it.
_Blame = Mapping[Name, tuple[float, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """The lines that failing tests ran, without those of each ``__repr__`` and of functions that only hand errors on.

    :ivar tests: node ids of the tests of which that is known.
    :ivar failed: by line how many of them ran it.
    :ivar passed: by line how many passing tests ran it.
    :ivar scores: of each line Ochiai's measure, the highest first.
    """

    tests: Set[str]
    failed: Mapping[Hit, int]
    passed: Mapping[Hit, int]
    scores: Sequence[tuple[float, Hit]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a root cause tells, or several that were joined.

    :ivar blame: of functions that were counted only: that both tracebacks show one does not make them one.
    :ivar place: out of which function the exception came that is shown first.
    """

    kind: str
    blame: _Blame
    lines: Lines
    place: Place | None


def told(cause: RootCause, found: Iterable[Candidate], calls: Calls) -> Told:
    """What it tells.

    :param found: its candidates.
    """
    failures = [e.failure for e in cause.evidence if e.failure is not None]
    makers = {
        (c.file, base_name(c.function)) for c in calls.functions if is_of_the_exception(c.function, failures)
    }
    return Told(
        kind=cause.kind,
        blame=blame(found),
        lines=lines_of({failure.nodeid for failure in failures}, calls, handlers(failures) | makers),
        place=place_of(cause),
    )


def blame(found: Iterable[Candidate]) -> _Blame:
    """The likeliest functions among those that were counted, and that may be behind the failures by these counts.

    Their names have no part in it, as tests of one fault may be called after several functions.
    """
    odd = [c for c in found if c.spectrum is not None and is_odd(c.spectrum)]
    likeliest = scored(odd, without=("name", NONE))[:_MOST]
    return {
        (c.file, c.function): (share, c.spectrum.passed) for share, c in likeliest if c.spectrum is not None
    }


def odds(one: Told, other: Told) -> float:
    """The logarithm of how much likelier one fault is than two."""
    agreed = max(_TINY, agreement(one.blame, other.blame))
    return _BEFORE + _AGREED * log(agreed) + _JOINT * joint_less_apart(one.lines, other.lines)


def assurance(one: Told, other: Told) -> float:
    """By how much these odds are above what it takes to show both as one: from 0 on they are."""
    return odds(one, other) - _SURE if agreement(one.blame, other.blame) >= _least(one, other) else -inf


def is_as_sure(whole: Told, parts: Iterable[Told]) -> bool:
    """Whether one function stands out in the whole as in the parts: what they merely share stands out nowhere."""
    return _first(whole) >= _KEPT * min(map(_first, parts))


def _first(told: Told) -> float:
    return max((share for share, _ in told.blame.values()), default=0.0)


def agreement(one: _Blame, other: _Blame) -> float:
    """From 0 to 1, of the functions that tests of both ran."""
    return sum(share * other[name][0] for name, (share, _) in one.items() if name in other)


def _least(one: Told, other: Told) -> float:
    if not one.lines.tests.isdisjoint(other.lines.tests):
        return _UNKNOWN
    name = most_blamed(one.blame, other.blame)
    return _LEAST if name and min(one.blame[name][1], other.blame[name][1]) else _UNKNOWN


def most_blamed(one: _Blame, other: _Blame) -> Name | None:
    """The function that they agree on most; None where they agree on none."""
    common = one.keys() & other.keys()
    return max(common, key=lambda name: (one[name][0] * other[name][0], name), default=None)


def clash(one: Told, other: Told) -> bool:
    """Whether they are two whatever else is known: of two kinds, or exceptions out of the very function both blame."""
    if one.kind != other.kind:
        return True
    if one.place is None or other.place is None:
        return False
    (name, what), (same, that) = one.place, other.place
    return what != that and name == same == most_blamed(one.blame, other.blame)


def lines_of(tests: Collection[str], calls: Calls, handlers: Collection[Name] = ()) -> Lines:
    """What failing tests ran, given by node id.

    :param handlers: functions whose lines say nothing of the fault.
    """
    known = frozenset(test for test in tests if test in calls.failed)
    ran = Counter(hit for test in sorted(known) for hit in calls.failed[test])
    silent = {index for index in {index for index, _ in ran} if _is_silent(calls.functions[index], handlers)}
    failed = {hit: count for hit, count in ran.items() if hit[0] not in silent}
    passed = {hit: passed_of(calls, hit) for hit in failed}
    scores = ((ochiai(count, passed[hit], len(known)), hit) for hit, count in failed.items())
    return Lines(tests=known, failed=failed, passed=passed, scores=sorted(scores, reverse=True))


def _is_silent(called: Called, handlers: Collection[Name]) -> bool:
    """One of those, or what an assertion may run to show a value (a ``.coverage`` file names no caller)."""
    return called.function.endswith("__repr__") or (called.file, base_name(called.function)) in handlers


def joint_less_apart(one: Lines, other: Lines) -> float:
    """From -1 to 1; near 0 or above where one line explains the failures of both as well as two lines do.

    Ochiai's measure of the oddest line that tests of both ran, over the tests of both, less the mean of that of the
    oddest line of each, over its own tests, which counts the less the more of the other's tests ran it.
    """
    apart = _apart(one, other) + _apart(other, one)
    return max(_joint(one, other), default=0.0) - apart / 2


def _joint(one: Lines, other: Lines) -> Iterator[float]:
    small, large = sorted((one, other), key=lambda each: len(each.failed))
    tests = len(one.tests) + len(other.tests)
    for hit, count in small.failed.items():
        if hit in large.failed:
            yield ochiai(count + large.failed[hit], small.passed[hit], tests)


def _apart(lines: Lines, other: Lines) -> float:
    best = 0.0
    for score, hit in lines.scores:
        if score <= best:
            break
        best = max(best, score * (1 - other.failed.get(hit, 0) / max(1, len(other.tests))))
    return best


def place_of(cause: RootCause) -> Place | None:
    """Where in the code under test the exception came out, and what it was; None for a test's verdict."""
    raised = shown_exception(cause)
    frame = innermost(raised)
    if raised is None or frame is None or frame.is_test or is_assertion(raised):
        return None
    statement = raised.site.statement if raised.site is not None else ""
    called = _MISCALLED.match(raised.message)
    return (frame.file, base_name(frame.function)), (raised.type, statement, called[1] if called else "")


def handlers(failures: Sequence[Failure]) -> set[Name]:
    """Functions that raised another exception over one, or one again: they run so whatever is wrong."""
    chains = [list(links(failure.raised)) for failure in failures]
    frames = [frame for chain in chains for link in chain[:-1] if (frame := innermost(link)) is not None]
    return {(frame.file, base_name(frame.function)) for frame in frames} | handing_on(failures)
