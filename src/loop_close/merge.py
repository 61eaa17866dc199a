"""Parts of one run joined to one report: the same in any order, and an input given twice counts once. Pure.

What is missing or does not belong together makes the report incomplete, never green.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial

import msgspec
from msgspec.structs import replace

from loop_close.calls import NO_CALLS, Calls
from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.facts import failure_order, passing_tests
from loop_close.judge import judged
from loop_close.model import Counts, Failure, Observation, Provenance, Report, RootCause, SourceResult
from loop_close.parts import Part
from loop_close.readers import sum_of
from loop_close.text import digest, listed
from loop_close.text.redact import MARK
from loop_close.trace.counts import merge_calls

_NAMED = 3
_NO_TESTS = 5


def join(
    parts: Iterable[Part],
    *,
    expected: Iterable[str] = (),
    detectors: Sequence[Detector] = DEFAULT_DETECTORS,
    faults: Sequence[str] = (),
) -> Report:
    """The parts as one report: root causes once over all sources, each source with its verdict and causes.

    :param parts: at least one.
    :param expected: names or patterns of sources, or names of environments: without a part for each of them the
        report is incomplete.
    :param faults: as in :func:`loop_close.judge.judged`.
    """
    known: dict[str, Part] = {}
    for part in sorted(parts, key=lambda each: (each.name, _key(each))):
        known.setdefault(_key(part), part)
    runs = {name: _one_run(group) for name, group in _runs([*known.values()]).items()}
    names = {each for name, run in runs.items() for each in (name, run.source, run.provenance.environment)}
    lacks = [each for each in dict.fromkeys(expected) if not any(fnmatchcase(n, each) for n in names)]
    missing = [f"no report is of {', '.join(lacks)}"] if lacks else []
    judge = partial(judged, detectors=detectors, faults=faults)
    return _report(runs, [*_several([*known.values()]), *missing], judge)


def _key(part: Part) -> str:
    """Equal for the same run, whatever its input was called."""
    bare = replace(part, observation=replace(part.observation, calls=NO_CALLS), name="")
    return digest(ascii(msgspec.to_builtins(bare, order="deterministic")))


def _several(parts: Sequence[Part]) -> Iterator[str]:
    """The commits and the runs of the CI system that the parts are of, where they are not all of one."""
    made = [each.observation.provenance for each in parts]
    commits, runs = {each.commit[:12] for each in made}, {each.run_id.partition(".")[0] for each in made}
    for what, found in (("commits", commits - {""}), ("CI runs", runs - {""})):
        if len(found) > 1:
            yield f"the reports are of {len(found)} {what}: {listed(sorted(found), _NAMED)}"


def _runs(parts: Sequence[Part]) -> Mapping[str, list[Observation]]:
    """The parts by the name of their run: shards of one source and machine are one run, each other part is one.

    Of what the CI system ran again, the last attempt counts. Several runs of one source are told apart by their
    machines if they are of shards, else by their inputs, else by numbers.
    """
    last: dict[tuple[object, ...], str] = {}
    groups: dict[tuple[str, str, int], list[Observation]] = defaultdict(list)
    times: Counter[tuple[str, str]] = Counter()
    for part in sorted(parts, key=_attempt, reverse=True):
        seen, made = part.observation, part.observation.provenance
        if last.setdefault((seen.source, made.machine, made.shard), made.run_id) == made.run_id:
            label = made.machine if made.shard[1] else part.name
            times[seen.source, label] += not made.shard[1]
            groups[seen.source, label, times[seen.source, label]].append(seen)
    sources = Counter(source for source, *_ in groups)
    return {key[0] if sources[key[0]] == 1 else _named(*key): group for key, group in sorted(groups.items())}


def _attempt(part: Part) -> tuple[int, str]:
    """Larger for a later attempt of one CI run: its number is the end of the run's name."""
    run_id = part.observation.provenance.run_id
    return len(run_id), run_id


def _named(source: str, label: str, number: int) -> str:
    return " ".join(filter(None, (source, label and f"({label})", str(number) if number > 1 else "")))


# --- shards as one run


def _one_run(seen: Sequence[Observation]) -> Observation:
    """The shards of one source as one run; what is missing makes it incomplete."""
    first = seen[0]
    if not first.provenance.shard[1]:
        return first
    codes = [0 if _is_empty(each) and any(one.outcomes for one in seen) else each.exit_code for each in seen]
    return replace(
        _over(seen),
        exit_code=_exit_code(codes),
        provenance=replace(first.provenance, shard=(0, 0)),
        counts=replace(
            sum_of([each.counts for each in seen]), collected=max(each.counts.collected for each in seen)
        ),
        incomplete="; ".join(
            dict.fromkeys([*_missing(seen), *filter(None, (each.incomplete for each in seen))])
        ),
        outcomes={test: outcome for each in seen for test, outcome in sorted(each.outcomes.items())},
    )


def _exit_code(codes: Sequence[int | None]) -> int | None:
    return next((code for code in codes if code), None if None in codes else 0)


def _is_empty(shard: Observation) -> bool:
    """Whether all tests that were collected are those of other shards, for which pytest has an exit code of its own."""
    return shard.exit_code == _NO_TESTS and not shard.outcomes and shard.provenance.collected > 0


def _missing(seen: Sequence[Observation]) -> Iterator[str]:
    """What makes the shards less than one whole run, in a few words each."""
    made = [each.provenance for each in seen]
    of = max(each.shard[1] for each in made)
    have = {each.shard[0] for each in made if each.shard[1] == of}
    missing = [str(number) for number in range(1, of + 1) if number not in have]
    if missing:
        s, are = ("s", "are") if len(missing) > 1 else ("", "is")
        yield f"shard{s} {listed(missing, 20)} of {of} {are} missing"
    if len({(each.collected, each.digest) for each in made}) > 1:
        yield "the shards did not collect the same tests"
    times = Counter(test for each in seen for test in each.outcomes)
    # Without their credentials two tests may have one name.
    twice = sorted(test for test, number in times.items() if number > 1 and not MARK.search(test))
    if twice:
        yield f"{len(twice)} test{'s' * (len(twice) > 1)} ran in two shards: {listed(twice, _NAMED)}"
    left = max(each.collected for each in made) - times.total()
    if left > 0 and times and not missing:
        yield f"{left} of {left + times.total()} tests ran in no shard"


# --- sources as one report


def _report(
    runs: Mapping[str, Observation], missing: Sequence[str], judge: Callable[[Observation], Report]
) -> Report:
    """The report over all sources.

    :param missing: what the inputs lack, in a few words each.
    """
    if len(runs) == 1:
        (run,) = runs.values()
        return judge(replace(run, incomplete="; ".join(filter(None, [run.incomplete, *missing]))))
    reports = {name: judge(replace(run, calls=NO_CALLS)) for name, run in runs.items()}
    wrong = [
        f"{name}: {runs[name].incomplete or each.stall_reason}"
        for name, each in reports.items()
        if runs[name].incomplete or each.verdict == "error"
    ]
    report = judge(replace(_over_sources([*runs.values()]), incomplete="; ".join([*wrong, *missing])))
    results = tuple(_result(name, runs[name], each, report.causes) for name, each in reports.items())
    if not missing and all(each.verdict == "green" for each in results):
        report = replace(report, verdict="green", stall_reason="no-stall-detected")
    return replace(report, sources=results)


def _over(seen: Sequence[Observation]) -> Observation:
    """The first observation, with what all of them found: each failure once, as the one that knows most of it tells."""
    calls = _calls(seen)
    return replace(
        seen[0],
        failures=_once(sorted((f for each in seen for f in each.failures), key=_known_of)),
        warnings=tuple(dict.fromkeys(warned for each in seen for warned in each.warnings)),
        scope="",
        calls=calls,
        why_no_calls=next(filter(None, (each.why_no_calls for each in seen if calls == NO_CALLS)), ""),
    )


def _over_sources(seen: Sequence[Observation]) -> Observation:
    """What all sources observed."""
    whole = _over(sorted(seen, key=lambda each: not each.expects_tests))
    made = [each.provenance for each in seen]
    return replace(
        whole,
        exit_code=_exit_code([each.exit_code for each in seen]),
        provenance=Provenance(
            commit=max(each.commit for each in made), run_id=max(each.run_id for each in made)
        ),
        counts=_counts(seen, whole.failures),
        is_good_news=all(each.is_good_news for each in seen),
        has_output=any(each.has_output for each in seen),
    )


def _once(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Each failure once, in the order in which failures are reported; of equal ones the first."""
    found: dict[tuple[object, ...], Failure] = {}
    for failure in failures:
        found.setdefault(_same(failure), failure)
    return tuple(sorted(found.values(), key=failure_order))


def _same(failure: Failure) -> tuple[object, ...]:
    """Equal for one failure in two sources: that of one test by an exception of one type; words may differ."""
    if not failure.nodeid:
        return failure_order(failure)
    return failure.nodeid, failure.phase, failure.subtest, failure.exception


def _known_of(failure: Failure) -> tuple[object, ...]:
    """Smaller for a failure of which more is known."""
    raised = failure.raised
    known = (0, 0) if raised is None else (-int(raised.site is not None), -len(raised.frames))
    return *known, *failure_order(failure)


def _calls(seen: Sequence[Observation]) -> Calls:
    """The calls of the run that recorded most failing tests, and of those that ran none of the same tests."""
    taken: set[str] = set()
    found: list[Calls] = []
    known = [(each.calls, {*each.outcomes}) for each in seen if each.calls != NO_CALLS]
    for calls, tests in sorted(known, key=lambda each: (-len(each[0].failed), -len(each[0].functions))):
        if taken.isdisjoint(tests):
            found.append(calls)
            taken |= tests
    return merge_calls(found) if len(found) > 1 else next(iter(found), NO_CALLS)


def _counts(seen: Sequence[Observation], failures: Sequence[Failure]) -> Counts:
    """Each test once: it fails if it does for any source. None passes if it is unknown which do."""
    most = max((each.counts for each in seen), key=lambda each: each.passed + each.failed)
    failing = {failure.nodeid for failure in failures}
    passing = {test for each in seen for test in passing_tests(each)} - failing
    return replace(
        most,
        passed=len(passing) or most.passed * (not failing),
        failed=len({f.nodeid for f in failures if f.phase == "call" and not f.subtest}),
        failed_subtests=len({(f.nodeid, f.subtest) for f in failures if f.subtest}),
        errors=len({(f.nodeid, f.phase) for f in failures if f.phase in ("setup", "teardown", "collect")}),
    )


def _result(name: str, run: Observation, own: Report, causes: Sequence[RootCause]) -> SourceResult:
    """The result of one source, with the ids of the root causes over all sources that it shows."""
    shown = {_same(failure) for cause in own.causes for failure in cause.failures}
    ids = [each.id for each in causes if not shown.isdisjoint(map(_same, each.failures))]
    return SourceResult(verdict=own.verdict, observation=replace(run, source=name), causes=tuple(ids))
