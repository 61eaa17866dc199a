"""Root causes with their suspects, and those joined that the calls of the tests show to be one.

One fault often shows as several root causes. The evidence for the functions behind a cause is averaged over
explanations by their odds (Bayesian model averaging; Hoeting, Madigan, Raftery and Volinsky, 1999): the fault is this
root cause's own, or it is also behind another one, whose tests then count as evidence too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import combinations, product
from math import exp, inf, log

from msgspec.structs import replace

from loop_close.calls import Called, Calls
from loop_close.causes.candidates import Candidate
from loop_close.causes.clues import (
    handing_on,
    is_named,
    is_of_the_exception,
    shown_exception,
)
from loop_close.causes.grouping import miscalled
from loop_close.causes.rank import LEAST_FIRST, NONE, Scored, found_for, is_odd, scored, suspects_among
from loop_close.causes.spectrum import Hit, ochiai, passed_of
from loop_close.facts import Name, base_name, innermost, is_assertion, links, origins
from loop_close.model import Evidence, Failure, RootCause, Suspect
from loop_close.records import Loop, Record

# Of the root causes that may be one with another, more than these change next to nothing.
_AVERAGED = 2
# With a candidate of this probability a root cause is explained by itself: there may be several faults.
_EXPLAINED = 0.97
# The logarithm of odds below which two faults are so much likelier that the other one's tests would add noise alone.
_LEAST_ODDS = -1.0
# All pairs of more root causes are too many; those with most failures are compared.
_COMPARED = 40
#: Root causes beyond these get no suspects.
_LOCATED = 20


def joined(causes: Sequence[RootCause], calls: Calls | None) -> list[RootCause]:
    """The causes, those that are one as one, in the order of the first of each."""
    if calls is None or len(causes) < 2:
        return list(causes)

    def evidence(group: Group) -> CauseEvidence:
        whole = _joined(causes, group)
        return evidence_of(whole, found_for(whole, calls), calls)

    # with more root causes, those with most failures
    by_size = sorted(_able(causes, calls), key=lambda i: (-len(causes[i].evidence), causes[i].id))
    compared = by_size[:_COMPARED]
    groups = Join(evidence)(compared)
    groups += [(i,) for i in {*range(len(causes))}.difference(compared)]
    return [_joined(causes, group) for group in sorted(groups)]


def _able(causes: Sequence[RootCause], calls: Calls) -> list[int]:
    """Positions of those that may be one with others: not identified by a name, and with known calls."""
    return [
        i
        for i, cause in enumerate(causes)
        if not is_named(cause) and any(e.failure and e.failure.nodeid in calls.failed for e in cause.evidence)
    ]


def _joined(causes: Sequence[RootCause], group: Group) -> RootCause:
    parts = [causes[i] for i in group]
    if len(parts) == 1:
        return parts[0]
    evidence = tuple(each for part in parts for each in part.evidence)
    return replace(parts[0], id=min(part.id for part in parts), evidence=evidence)


def located(
    causes: Sequence[RootCause], calls: Calls | None, loop: Loop | None = None
) -> tuple[RootCause, ...]:
    """The causes with their suspects.

    Where calls are known, of one kind those come first whose first suspect explains most failures.

    :param calls: what the tests called; None where that is not known.
    :param loop: the runs since the project was last done, this run included.
    """
    first = causes[:_LOCATED]
    named = map(suspects_among, _scores(first, calls, loop))
    found = (*map(_located, first, named), *causes[_LOCATED:])
    if calls is None:
        return found
    kinds = list(dict.fromkeys(cause.kind for cause in found))
    return tuple(sorted(found, key=lambda cause: (kinds.index(cause.kind), -_explained(cause))))


def _explained(cause: RootCause) -> float:
    """How many failures its first suspect explains, as far as is to be expected."""
    return len(cause.evidence) * (cause.suspects[0].score if cause.suspects else LEAST_FIRST)


def _scores(causes: Sequence[RootCause], calls: Calls | None, loop: Loop | None) -> Iterator[Scored]:
    """The candidates of each, those of one that may be one with others judged by the failures of these as well."""

    @cache
    def scores(group: Group) -> Scored:
        return scored(found_for(_joined(causes, group), calls, loop))

    near = _near(causes, calls, scores)
    for i in range(len(causes)):
        own = scores((i,))
        is_sure = bool(own) and own[0][0] >= _EXPLAINED
        wholes = [(weight, scores((min(i, j), max(i, j)))) for j, weight in near.get(i, ()) if not is_sure]
        yield averaged(own, wholes)


def _near(
    causes: Sequence[RootCause], calls: Calls | None, scores: Callable[[Group], Scored]
) -> dict[int, list[tuple[int, float]]]:
    """Of each root cause those few that may be of the same fault, with the odds."""
    if calls is None or len(causes) < 2:
        return {}
    return others(
        {i: evidence_of(causes[i], [c for _, c in scores((i,))], calls) for i in _able(causes, calls)}
    )


def others(evidence: Mapping[int, CauseEvidence]) -> dict[int, list[tuple[int, float]]]:
    """Of each root cause those few that may be of the same fault.

    :param evidence: that of the root causes, by their numbers.
    :returns: their numbers, each with how much likelier one fault is than two, the likeliest first.
    """
    found: dict[int, dict[int, float]] = {number: {} for number in evidence}
    for i, j in combinations(sorted(evidence), 2):
        found[i][j] = found[j][i] = odds(evidence[i], evidence[j])
    return {number: _likeliest(each) for number, each in found.items()}


def _likeliest(found: Mapping[int, float]) -> list[tuple[int, float]]:
    near = sorted((-value, number) for number, value in found.items() if value >= _LEAST_ODDS)
    return [(number, exp(found[number])) for _, number in near[:_AVERAGED]]


def averaged(own: Scored, wholes: Collection[tuple[float, Scored]]) -> Scored:
    """The candidates of a root cause, their shares averaged over all explanations.

    :param own: by the failures of this root cause alone.
    :param wholes: by the failures of it and of one other, with how much likelier that is than that it is alone.
    """
    total = 1 + sum(weight for weight, _ in wholes)
    shares = {(c.file, c.function): share / total for share, c in own}
    for weight, whole in wholes:
        for share, c in whole:
            if (c.file, c.function) in shares:
                shares[c.file, c.function] += weight / total * share
    found = [(shares[c.file, c.function], c) for _, c in own]
    return sorted(found, key=lambda each: (-each[0], each[1].file, each[1].function))


def _located(cause: RootCause, suspects: tuple[Suspect, ...]) -> RootCause:
    """The cause with its suspects; the failure that is about the first of them is the one to show."""
    if not suspects:
        return replace(cause, suspects=())
    evidence = sorted(cause.evidence, key=lambda each: not _is_about(each, suspects[0]))
    return replace(cause, suspects=suspects, evidence=tuple(evidence))


def _is_about(evidence: Evidence, suspect: Suspect) -> bool:
    """Whether the failing statement checks the return value of the function, or the traceback contains it."""
    failure = evidence.failure
    if failure is None:
        return False
    named = {(o.file, base_name(o.function)) for o in origins(failure)}
    named |= {(f.file, base_name(f.function)) for link in links(failure.raised) for f in link.frames}
    return (suspect.file, suspect.function) in named


# --- joining, round by round: what is known of several causes together decides anew

#: Numbers of the root causes that are one, in order.
Group = tuple[int, ...]


class Join:
    """Joins groups of root causes.

    :param evidence: returns the evidence of a group.
    """

    def __init__(self, evidence: Callable[[Group], CauseEvidence]) -> None:
        self._evidence = cache(evidence)  # with thousands of lines each takes 0.1 s
        self._assurance = cache(self._weigh)
        self._refused: set[frozenset[Group]] = set()

    def __call__(self, causes: Iterable[int]) -> list[Group]:
        """The groups that the causes make, of which no two are one."""
        groups: list[Group] = [(cause,) for cause in causes]
        while likely := self._likely(groups):
            found = [[groups[place] for place in places] for places in clusters(len(groups), likely)]
            groups = [group for parts in found for group in self._whole(parts)]
        return groups

    def _likely(self, groups: Sequence[Group]) -> dict[tuple[int, int], float]:
        pairs = combinations(enumerate(groups), 2)
        free = (pair for pair in pairs if frozenset((pair[0][1], pair[1][1])) not in self._refused)
        return {(i, j): value for (i, one), (j, other) in free if (value := self._assurance(one, other)) >= 0}

    def _weigh(self, one: Group, other: Group) -> float:
        """The assurance; two that clash by themselves stay two, whatever else is in their groups."""
        singles = product(one, other)
        if any(_clash(self._evidence((i,)), self._evidence((j,))) for i, j in singles):
            return -inf
        return assurance(self._evidence(one), self._evidence(other))

    def _whole(self, parts: Sequence[Group]) -> Sequence[Group]:
        """All of them as one, or the surest two, or none: where these are not one, neither are others."""
        if len(parts) == 1:
            return parts
        pairs = list(combinations(parts, 2))
        surest = max(pairs, key=lambda pair: self._assurance(*pair))
        for taken in (parts, surest):
            whole = tuple(sorted(cause for part in taken for cause in part))
            if _is_as_sure(self._evidence(whole), map(self._evidence, taken)):
                return [whole, *(part for part in parts if part not in taken)]
        self._refused.update(map(frozenset, pairs))
        return parts


def clusters(number: int, likely: Mapping[tuple[int, int], float]) -> list[list[int]]:
    """Positions of groups that are one, in order; of each list any two are (complete linkage, the surest first).

    :param number: how many groups there are.
    :param likely: the assurance of those pairs of positions, in order, that are one.
    """
    found = [[place] for place in range(number)]
    for i, j in sorted(likely, key=lambda pair: (-likely[pair], pair)):
        one, other = found[i], found[j]
        if one is not other and all((min(pair), max(pair)) in likely for pair in product(one, other)):
            one += other
            for place in other:
                found[place] = one
    return [sorted(each) for place, each in enumerate(found) if place == min(each)]


# --- one fault or two
#
# Evidence for one fault: the tests of both blame the same function. If the scores of functions were probabilities, one
# function would be behind both with the sum of the products of its two scores. Further evidence for one fault is a line
# that tests of both ran and hardly any passing test did. Evidence for two faults is such a line of each that few tests
# of the other ran.

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
#: If one function leads in the parts, its share in the whole has to be at least this part of that.
_KEPT = 0.5
# What is further down has next to no share.
_MOST = 20

#: A function, and what came out of it: type of exception, statement, what that called.
Place = tuple[Name, tuple[str, str, str]]

#: Its share in all that speaks for any function, and how many passing tests called it.
_Blame = Mapping[Name, tuple[float, int]]


class LinesRun(Record, frozen=True, kw_only=True):
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


class CauseEvidence(Record, frozen=True, kw_only=True):
    """The evidence of a root cause, or of several that were joined.

    :ivar blame: of functions that were counted only: that both tracebacks show one does not make them one.
    :ivar place: out of which function the exception came that is shown first.
    """

    kind: str
    blame: _Blame
    lines: LinesRun
    place: Place | None


def evidence_of(cause: RootCause, found: Iterable[Candidate], calls: Calls) -> CauseEvidence:
    """The evidence of a root cause.

    :param found: its candidates.
    """
    failures = [e.failure for e in cause.evidence if e.failure is not None]
    makers = {
        (c.file, base_name(c.function)) for c in calls.functions if is_of_the_exception(c.function, failures)
    }
    return CauseEvidence(
        kind=cause.kind,
        blame=blame(found),
        lines=lines_of({failure.nodeid for failure in failures}, calls, handlers(failures) | makers),
        place=raising_place(cause),
    )


def blame(found: Iterable[Candidate]) -> _Blame:
    """The likeliest functions among those that were counted, and that may be behind the failures by these counts.

    Their names have no part in it, as tests of one fault may be called after several functions.
    """
    odd = [c for c in found if c.spectrum is not None and c.loaded is None and is_odd(c.spectrum)]
    likeliest = scored(odd, without=("name", NONE))[:_MOST]
    return {
        (c.file, c.function): (share, c.spectrum.passed) for share, c in likeliest if c.spectrum is not None
    }


def odds(one: CauseEvidence, other: CauseEvidence) -> float:
    """The logarithm of how much likelier one fault is than two."""
    agreed = max(_TINY, agreement(one.blame, other.blame))
    return _BEFORE + _AGREED * log(agreed) + _JOINT * joint_less_apart(one.lines, other.lines)


def assurance(one: CauseEvidence, other: CauseEvidence) -> float:
    """By how much these odds are above what it takes to show both as one: from 0 on they are."""
    return odds(one, other) - _SURE if agreement(one.blame, other.blame) >= _least(one, other) else -inf


def _is_as_sure(whole: CauseEvidence, parts: Iterable[CauseEvidence]) -> bool:
    """Whether one function leads in the whole as in the parts. Code that they merely share leads nowhere."""
    return _first(whole) >= _KEPT * min(map(_first, parts))


def _first(evidence: CauseEvidence) -> float:
    return max((share for share, _ in evidence.blame.values()), default=0.0)


def agreement(one: _Blame, other: _Blame) -> float:
    """From 0 to 1, of the functions that tests of both ran."""
    return sum(share * other[name][0] for name, (share, _) in one.items() if name in other)


def _least(one: CauseEvidence, other: CauseEvidence) -> float:
    if not one.lines.tests.isdisjoint(other.lines.tests):
        return _UNKNOWN
    name = _most_blamed(one.blame, other.blame)
    return _LEAST if name and min(one.blame[name][1], other.blame[name][1]) else _UNKNOWN


def _most_blamed(one: _Blame, other: _Blame) -> Name | None:
    """The function that they agree on most; None where they agree on none."""
    common = one.keys() & other.keys()
    return max(common, key=lambda name: (one[name][0] * other[name][0], name), default=None)


def _clash(one: CauseEvidence, other: CauseEvidence) -> bool:
    """Whether they are two whatever else is known: of two kinds, or exceptions out of the very function both blame."""
    if one.kind != other.kind:
        return True
    if one.place is None or other.place is None:
        return False
    (name, what), (same, that) = one.place, other.place
    return what != that and name == same == _most_blamed(one.blame, other.blame)


def lines_of(tests: Collection[str], calls: Calls, handlers: Collection[Name] = ()) -> LinesRun:
    """What failing tests ran, given by node id.

    :param handlers: functions whose lines say nothing of the fault.
    """
    known = frozenset(test for test in tests if test in calls.failed)
    ran = Counter(hit for test in sorted(known) for hit in calls.failed[test])
    silent = {index for index in {index for index, _ in ran} if _is_silent(calls.functions[index], handlers)}
    failed = {hit: count for hit, count in ran.items() if hit[0] not in silent}
    passed = {hit: passed_of(calls, hit) for hit in failed}
    scores = ((ochiai(count, passed[hit], len(known)), hit) for hit, count in failed.items())
    return LinesRun(tests=known, failed=failed, passed=passed, scores=sorted(scores, reverse=True))


def _is_silent(called: Called, handlers: Collection[Name]) -> bool:
    """One of those, or what an assertion may run to show a value (a ``.coverage`` file names no caller)."""
    return called.function.endswith("__repr__") or (called.file, base_name(called.function)) in handlers


def joint_less_apart(one: LinesRun, other: LinesRun) -> float:
    """From -1 to 1; near 0 or above where one line explains the failures of both as well as two lines do.

    Ochiai's measure of the oddest line that tests of both ran, over the tests of both, less the mean of that of the
    oddest line of each, over its own tests, which counts the less the more of the other's tests ran it.
    """
    apart = _apart(one, other) + _apart(other, one)
    return max(_joint(one, other), default=0.0) - apart / 2


def _joint(one: LinesRun, other: LinesRun) -> Iterator[float]:
    small, large = sorted((one, other), key=lambda each: len(each.failed))
    tests = len(one.tests) + len(other.tests)
    for hit, count in small.failed.items():
        if hit in large.failed:
            yield ochiai(count + large.failed[hit], small.passed[hit], tests)


def _apart(lines: LinesRun, other: LinesRun) -> float:
    best = 0.0
    for score, hit in lines.scores:
        if score <= best:
            break
        best = max(best, score * (1 - other.failed.get(hit, 0) / max(1, len(other.tests))))
    return best


def raising_place(cause: RootCause) -> Place | None:
    """Where in the code under test the exception came out, and what it was; None for a test's verdict."""
    raised = shown_exception(cause)
    frame = innermost(raised)
    if raised is None or frame is None or frame.is_test or is_assertion(raised):
        return None
    statement = raised.site.statement if raised.site is not None else ""
    # a statement may call many functions, one of which does not take what it is given
    return (frame.file, base_name(frame.function)), (raised.type, statement, miscalled(raised))


def handlers(failures: Sequence[Failure]) -> set[Name]:
    """Functions that raised another exception over one, or one again: they run so whatever is wrong."""
    chains = [list(links(failure.raised)) for failure in failures]
    frames = [frame for chain in chains for link in chain[:-1] if (frame := innermost(link)) is not None]
    return {(frame.file, base_name(frame.function)) for frame in frames} | handing_on(failures)
