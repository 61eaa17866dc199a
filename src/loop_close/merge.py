"""Parts of one run joined to one report: the same in any order, and an input given twice counts once. Pure.

What is missing or does not belong together makes the report incomplete, never green.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from itertools import chain, count
from typing import NamedTuple

import msgspec

from loop_close import lazy
from loop_close.calls import Calls
from loop_close.facts import LINTERS, failure_order, passing_tests, with_other_ids
from loop_close.judge import report_of
from loop_close.model import (
    Counts,
    Evidence,
    Failure,
    Observation,
    Provenance,
    Report,
    RootCause,
    SourceResult,
)
from loop_close.monitor.wire import merge_calls
from loop_close.parts import Part
from loop_close.text import digest, listed
from loop_close.text.redact import MARK

_NAMED = 3
_NO_TESTS = 5
_NOWHERE = Provenance()
#: Rules of linters for what fails when it runs: undefined names, syntax errors, wrong format strings, and the like;
#: not unused imports and variables, nor style.
_BREAKS = lazy.pattern(r"F(?!401|841|541)|E9|PLE|B0(?:06|15|18|23)")


class Merged(NamedTuple):
    """All parts as one.

    :ivar rejected: inputs that took no part, each with the reason.
    :ivar parts: all that were read, each once; ``unread`` the inputs that could not be. A merged report keeps both.
    """

    report: Report
    rejected: tuple[tuple[str, str], ...] = ()
    parts: tuple[Part, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()


def join(
    parts: Iterable[Part],
    rejected: Iterable[tuple[str, str]] = (),
    *,
    expected: Iterable[str] = (),
    here: Provenance = _NOWHERE,
) -> Merged:
    """The parts as one report: root causes once over all sources, each source with its verdict and causes.

    Parts of one commit, and of one run of the CI system, are joined: those of ``here`` if there are any, else of the
    one that most are of. The others are rejected.

    :param rejected: inputs that could not be read, each with the reason.
    :param expected: names or patterns of sources, or names of environments: without a part for each of them the
        report is incomplete.
    :param here: what joins them.
    """
    known: dict[str, Part] = {}
    for part in sorted(parts, key=lambda each: (each.name, _key(each))):
        known.setdefault(_key(part), part)
    kept, strangers = _of_one_run([*known.values()], here)
    unread = tuple(sorted({*rejected}))
    left_out = tuple(sorted({*unread, *strangers}))
    runs = {name: _one_run(group) for name, group in _by_source(kept).items()}
    names = {each for name, run in runs.items() for each in (name, run.source, run.provenance.environment)}
    lacks = [each for each in dict.fromkeys(expected) if not any(fnmatchcase(n, each) for n in names)]
    missing = [f"no report is of {', '.join(lacks)}"] if lacks else []
    if left_out:
        missing.insert(0, f"{len(left_out)} input{' was' if len(left_out) == 1 else 's were'} not read")
    report = replace(_report(runs, missing), rejected=left_out)
    return Merged(report, left_out, tuple(known.values()), unread)


def _key(part: Part) -> str:
    """Equal for the same run, whatever its input was called."""
    calls = part.observation.calls
    sizes = (
        (calls.passed, calls.omitted, len(calls.functions), len(calls.failed)) if calls is not None else ()
    )
    bare = msgspec.structs.replace(part, observation=replace(part.observation, calls=None), name="")
    return digest(ascii(msgspec.to_builtins(bare, order="deterministic")), str(sizes))


# --- which parts belong together


def _of_one_run(parts: Sequence[Part], here: Provenance) -> tuple[list[Part], list[tuple[str, str]]]:
    """The parts of one commit and one CI run, and the others with what is wrong with them."""
    kept, strangers = [*parts], []
    for what in ("commit", "CI run"):
        values = Counter(value for part in kept if (value := _made_of(what, part.observation.provenance)))
        if len(values) < 2:
            continue
        own = _made_of(what, here)
        most = max(values, key=lambda value: (value == own, values[value], len(value), value))
        others = [part for part in kept if _made_of(what, part.observation.provenance) not in ("", most)]
        kept = [part for part in kept if part not in others]
        for part in others:
            value = _made_of(what, part.observation.provenance)
            failed = sorted({each.nodeid or each.message[:100] for each in part.observation.failures})
            found = f"; {listed(failed, _NAMED)} failed in it" if failed else ""
            why = f"it is of {what} {value[:12]}, the others are of {most[:12]}{found}"
            strangers.append((part.name or part.observation.source, why))
    return kept, strangers


def _made_of(what: str, made: Provenance) -> str:
    """The commit, or the CI system's name for the run without the attempt."""
    return made.commit if what == "commit" else made.run_id.partition(".")[0]


def _attempt(part: Part) -> int:
    attempt = part.observation.provenance.run_id.partition(".")[2]
    return int(attempt) if attempt.isdecimal() and len(attempt) < 10 else 0


def _by_source(parts: Sequence[Part]) -> Mapping[str, list[Part]]:
    """The parts by the name of their source, with the machine where several have one name.

    Shards are of one source. Runs of all tests that have one name are several sources, named by their inputs.
    """
    machines: dict[str, set[str]] = defaultdict(set)
    groups: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        machines[part.observation.source].add(part.observation.provenance.machine)
    for part in parts:
        source, machine = part.observation.source, part.observation.provenance.machine
        is_shared = len(machines[source]) > 1 and machine
        groups[f"{source.partition('@')[0]}@{machine}" if is_shared else source].append(part)
    named: dict[str, list[Part]] = {}
    for source, group in sorted(groups.items()):
        last = _last_attempts(group)
        is_whole = len(last) > 1 and not any(part.observation.provenance.shard[1] for part in last)
        for each in [[part] for part in last] if is_whole else [last]:
            name = f"{source} ({each[0].name})" if is_whole and each[0].name else source
            names = chain((name,), (f"{name} {number}" for number in count(2)))
            named[next(free for free in names if free not in named)] = each
    return named


def _last_attempts(parts: Sequence[Part]) -> list[Part]:
    """Of what the CI system ran again, the last attempt."""
    last: dict[tuple[int, int], int] = {}
    for part in parts:
        shard = part.observation.provenance.shard
        last[shard] = max(last.get(shard, 0), _attempt(part))
    return [part for part in parts if _attempt(part) == last[part.observation.provenance.shard]]


# --- shards as one run


def _with_tests(part: Part) -> Observation:
    """What was observed, with the names of the tests that ran as far as the outcomes have them."""
    seen, outcomes = part.observation, part.outcomes
    if seen.tests or not outcomes:
        return seen
    spared = sorted(test for test, outcome in outcomes.items() if outcome in ("skipped", "xfailed"))
    return replace(seen, tests=tuple(sorted(outcomes)), spared=tuple(spared))


def _one_run(parts: Sequence[Part]) -> Observation:
    """The shards of one source as one run; what is missing makes it incomplete."""
    seen = [_with_tests(part) for part in parts]
    first = seen[0]
    if len(seen) == 1 and not first.provenance.shard[1]:
        return first
    calls = [each.calls for each in seen if each.calls is not None]
    codes = [0 if _is_empty(each) and any(one.tests for one in seen) else each.exit_code for each in seen]
    wrong = [*_missing(seen), *(each.incomplete for each in seen if each.incomplete)]
    return replace(
        first,
        exit_code=_exit_code(codes),
        provenance=replace(first.provenance, shard=(0, 0)),
        failures=_once(failure for each in seen for failure in each.failures),
        warnings=tuple(dict.fromkeys(warned for each in seen for warned in each.warnings)),
        counts=_sum(seen),
        exit_reason="; ".join(dict.fromkeys(each.exit_reason for each in seen if each.exit_reason)),
        incomplete="; ".join(dict.fromkeys(wrong)),
        selection="",
        tests=tuple(sorted({test for each in seen for test in each.tests})),
        spared=tuple(sorted({test for each in seen for test in each.spared})),
        calls=merge_calls(calls) if calls else None,
        why_no_calls=next((each.why_no_calls for each in seen if each.why_no_calls), ""),
    )


def _exit_code(codes: Sequence[int | None]) -> int | None:
    return next((code for code in codes if code), None if None in codes else 0)


def _is_empty(shard: Observation) -> bool:
    """Whether all tests that were collected are those of other shards, for which pytest has an exit code of its own."""
    return shard.exit_code == _NO_TESTS and not shard.tests and shard.provenance.collected > 0


def _sum(seen: Sequence[Observation]) -> Counts:
    """Of all shards, each test once; how many were collected counts each of them alike."""
    counts = [each.counts for each in seen]
    total = Counts(**{f.name: sum(getattr(each, f.name) for each in counts) for f in fields(Counts)})
    total = replace(total, collected=max(each.collected for each in counts))
    if sum(len(each.tests) for each in seen) == len({test for each in seen for test in each.tests}):
        return total
    failures = _once(failure for each in seen for failure in each.failures)
    passed = {test for each in seen for test in passing_tests(each)} - {f.nodeid for f in failures}
    return _with_failures(replace(total, passed=len(passed)), failures)


def _missing(seen: Sequence[Observation]) -> Iterator[str]:
    """What makes the shards less than one whole run, in a few words each."""
    made = [each.provenance for each in seen]
    of = max(each.shard[1] for each in made)
    have = Counter(each.shard[0] for each in made if each.shard[1] == of)
    if any(each.shard[1] != of for each in made):
        yield "the parts are not of one number of shards"
    missing = [number for number in range(1, of + 1) if number not in have]
    if missing:
        named = listed([*map(str, missing)], 20)
        yield f"shard{'s' * (len(missing) > 1)} {named} of {of} {'are' if len(missing) > 1 else 'is'} missing"
    for number in sorted(n for n, times in have.items() if times > 1):
        yield f"shard {number} of {of} is there {have[number]} times, with different results"
    if len({(each.collected, each.digest) for each in made if each.digest}) > 1:
        yield "the shards did not collect the same tests"
    times = Counter(
        test for each in {one.provenance.shard: one for one in seen}.values() for test in {*each.tests}
    )
    # Without their credentials two tests may have one name.
    twice = sorted(test for test, number in times.items() if number > 1 and not MARK.search(test))
    if twice:
        yield f"{len(twice)} test{'s' * (len(twice) > 1)} ran in two shards: {listed(twice, _NAMED)}"
    collected = max((each.collected for each in made if each.digest), default=0)
    ran = sum(times.values()) - sum(times[test] - 1 for test in twice)
    if not missing and times and ran < collected:
        yield f"{collected - ran} of {collected} tests ran in no shard"


def _with_failures(counts: Counts, failures: Sequence[Failure]) -> Counts:
    called = {f.nodeid for f in failures if f.phase == "call" and not f.subtest}
    subtests = {(f.nodeid, f.subtest) for f in failures if f.subtest}
    errors = {(f.nodeid, f.phase) for f in failures if f.phase in ("setup", "teardown", "collect")}
    return replace(counts, failed=len(called), failed_subtests=len(subtests), errors=len(errors))


# --- sources as one report


def _report(runs: Mapping[str, Observation], missing: Sequence[str]) -> Report:
    """The report over all sources.

    :param missing: what the inputs lack, in a few words each.
    """
    if not runs:
        nothing = Observation(incomplete="; ".join(missing), rerun="", has_output=False)
        return Report(observation=nothing, verdict="error", stall_reason="no input was read")
    wrong = [f"{name}: {run.incomplete}" for name, run in runs.items() if run.incomplete]
    if len(runs) == 1:
        (run,) = runs.values()
        return report_of(replace(run, incomplete="; ".join(filter(None, [run.incomplete, *missing]))))
    reports = {name: report_of(replace(run, calls=None)) for name, run in runs.items()}
    whole = replace(_over_sources([*runs.values()]), incomplete="; ".join([*wrong, *missing]))
    report = report_of(whole)
    results = tuple(_result(name, runs[name], each, report.causes) for name, each in reports.items())
    others = [each for each in reports.values() if each.verdict != "green"]
    if not others and not whole.incomplete:
        return replace(report, verdict="green", stall_reason="no-stall-detected", sources=results)
    if report.verdict == "green" or not report.causes:
        reason = others[0].stall_reason if others else "the run is incomplete"
        report = replace(report, verdict="error", stall_reason=reason)
    return replace(report, sources=results)


def _over_sources(seen: Sequence[Observation]) -> Observation:
    """What all sources observed; each failure of a test once, as the source that knows most of it has it."""
    first = next((each for each in seen if each.expects_tests), seen[0])
    failures = _once(sorted((f for each in seen for f in each.failures), key=_known_of))
    common = {each.provenance.commit for each in seen}, {each.provenance.run_id for each in seen}
    commit, run_id = (values.pop() if len(values) == 1 else "" for values in common)
    calls = _calls(seen)
    return replace(
        first,
        exit_code=_exit_code([each.exit_code for each in seen]),
        provenance=Provenance(commit=commit, run_id=run_id),
        failures=failures,
        warnings=tuple(dict.fromkeys(warned for each in seen for warned in each.warnings)),
        counts=_counts(seen, failures),
        is_good_news=all(each.is_good_news for each in seen),
        has_output=any(each.has_output for each in seen),
        exit_reason="; ".join(dict.fromkeys(each.exit_reason for each in seen if each.exit_reason)),
        selection="",
        skipped="",
        calls=calls,
        why_no_calls="" if calls else next((each.why_no_calls for each in seen if each.why_no_calls), ""),
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
    return failure.nodeid, failure.phase, failure.subtest, failure.raised.type if failure.raised else ""


def _known_of(failure: Failure) -> tuple[object, ...]:
    """Smaller for a failure of which more is known."""
    raised = failure.raised
    known = (0, 0) if raised is None else (-int(raised.site is not None), -len(raised.frames))
    return *known, *failure_order(failure)


def _calls(seen: Sequence[Observation]) -> Calls | None:
    """The calls of the source that recorded most failing tests, and of those that ran none of the same tests."""
    taken: set[str] = set()
    found: list[Calls] = []
    known = [(each.calls, {*each.tests}) for each in seen if each.calls is not None]
    for calls, tests in sorted(known, key=lambda each: -len(each[0].failed)):
        if not found or (tests and taken and taken.isdisjoint(tests)):
            found.append(calls)
            taken |= tests
    return merge_calls(found) if len(found) > 1 else next(iter(found), None)


def _counts(seen: Sequence[Observation], failures: Sequence[Failure]) -> Counts:
    """Each test once: it fails if it does for any source. None passes if it is unknown which do."""
    first = max(seen, key=lambda each: each.counts.passed + each.counts.failed)
    most, failing = first.counts, {failure.nodeid for failure in failures} - {""}
    ran = [each for each in seen if each.expects_tests]
    if ran and all(each.tests and not each.incomplete for each in ran):
        most = replace(most, passed=len({test for each in ran for test in passing_tests(each)} - failing))
    elif not failing <= {failure.nodeid for failure in first.failures}:
        most = replace(most, passed=0)
    return _with_failures(most, failures)


def _result(name: str, run: Observation, own: Report, causes: Sequence[RootCause]) -> SourceResult:
    """The result of one source, with the ids of the root causes over all sources that it shows."""
    shown = {_same(e.failure) for cause in own.causes for e in cause.evidence if e.failure is not None}
    ids = [c.id for c in causes if any(e.failure and _same(e.failure) in shown for e in c.evidence)]
    return SourceResult(source=name, verdict=own.verdict, observation=run, causes=tuple(ids))


# --- what checkers found, beside the failures that it may explain


def with_findings(report: Report) -> Report:
    """The report of several sources; what a checker found in a suspected function is a finding of that failure.

    The suspects have to have the lines of their definitions.
    """
    tests = [cause for cause in report.causes if not _is_check(cause)]
    findings: dict[str, list[Evidence]] = defaultdict(list)
    left: list[RootCause] = []
    taken: dict[str, str] = {}
    for cause in report.causes if len(tests) < len(report.causes) else ():
        if not _is_check(cause):
            continue
        hosts = [next((t.id for t in tests if _explains(each, t)), "") for each in cause.evidence]
        for host, each in zip(hosts, cause.evidence, strict=True):
            findings[host].append(each)
        alone = tuple(e for host, e in zip(hosts, cause.evidence, strict=True) if not host)
        if alone:
            left.append(replace(cause, evidence=alone))
        else:
            taken[cause.id] = hosts[0]
    if not taken and not findings:
        return report
    kept = (*(replace(each, findings=tuple(findings[each.id])) for each in tests), *left)
    order = {cause.id: number for number, cause in enumerate(report.causes)}
    causes = tuple(sorted(kept, key=lambda each: order[each.id]))
    return replace(report, causes=causes, sources=with_other_ids(report.sources, taken))


def _is_check(cause: RootCause) -> bool:
    return all(each.failure is not None and each.failure.phase == "check" for each in cause.evidence)


def _explains(finding: Evidence, cause: RootCause) -> bool:
    """Whether it is a fault that can show at run time, in one of the functions that are probably at fault."""
    failure = finding.failure
    if failure is None or not finding.line or (failure.tool in LINTERS and not _BREAKS.match(failure.code)):
        return False
    suspects = cause.suspects[:_NAMED]
    return any(s.file == finding.file and s.line <= finding.line <= s.end_line for s in suspects)
