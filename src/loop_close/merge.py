"""Reports of shards and of several sources as one: the same result in any order, and once for an input given twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, replace
from fnmatch import fnmatchcase

from loop_close import lazy
from loop_close.calls import Calls
from loop_close.conventions import is_like
from loop_close.facts import (
    LINTERS,
    NOT_RUN_AGAIN,
    failure_order,
    file_of,
    interpreter_in,
    is_environment,
    links,
    passing_tests,
    with_other_ids,
)
from loop_close.judge import report_of
from loop_close.lazy import NamedTuple
from loop_close.model import (
    Counts,
    Evidence,
    Failure,
    Frame,
    KnownFailure,
    Observation,
    Provenance,
    Report,
    RootCause,
    SourceResult,
    Verdict,
)
from loop_close.monitor.wire import merge_calls
from loop_close.parts import Part, by_source, of_one_run
from loop_close.prompt.place import is_argument, python_of, without_shard
from loop_close.text import digest
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
    :ivar parts: all that were read, each once; ``unread`` the inputs that could not be.
    """

    report: Report
    rejected: tuple[tuple[str, str], ...] = ()
    parts: tuple[Part, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """The same for the same inputs, wherever they are, of which as much took part and as much is missing."""
        whys = sorted(why for _, why in self.rejected)
        return digest(
            "\n".join([*sorted(p.digest for p in self.parts), *whys, self.report.observation.incomplete])
        )


def joined(
    parts: Iterable[Part],
    rejected: Iterable[tuple[str, str]] = (),
    here: Provenance = _NOWHERE,
    expected: Iterable[str] = (),
    has: Callable[[str], bool] = lambda path: True,
) -> Merged:
    """The parts as one report.

    Parts of one commit, and of one run of the CI system, are merged: those of here if there are any, else of the one
    that most are of, of equally many the newest. The others are rejected.

    :param here: what merges them, where the command of the report is to be run.
    :param expected: patterns; without a source for each of them the run is incomplete.
    :param has: whether a path exists here: the program that a command of the report begins with may not.
    """
    known: dict[str, Part] = {}
    for part in sorted(parts, key=lambda each: (each.name, each.digest)):
        known.setdefault(part.digest, part)
    kept, strangers = of_one_run([*known.values()], here)
    unread = tuple(sorted({*rejected}))
    found = tuple(sorted({*unread, *strangers}))
    runs = {name: _for_here(_one_run(group), here, has) for name, group in by_source(kept).items()}
    # where there is one interpreter, its name is not part of the source's
    names = [n for name, run in runs.items() for n in (name, f"{name}:{run.provenance.machine}")]
    lacks = [each for each in dict.fromkeys(expected) if not any(fnmatchcase(n, each) for n in names)]
    missing = f"no report is of the source {', '.join(lacks)}" if lacks else ""
    report = _union({name: report_of(run) for name, run in runs.items()}, found, missing=missing)
    return Merged(report, found, tuple(known.values()), unread)


def _for_here(seen: Observation, here: Provenance, has: Callable[[str], bool]) -> Observation:
    """The run with a command for this machine: all tests, recorded, and by the interpreter that ran them."""
    made, words = seen.provenance, without_shard(seen.rerun, "--loop-close-history")
    start, rest = next(
        ((words[:n], words[n:]) for n in (1, 3) if words[n - 1 : n] == ("pytest",)), ((), words)
    )
    interpreter = made.interpreter or interpreter_in(seen.source)  # of a JUnit file only its name is known
    is_other = interpreter not in ("", here.interpreter)
    if start and (is_other or _is_absolute(start[0]) or ("/" in start[0] and not has(start[0]))):
        start = python_of(interpreter if is_other else ""), "-m", "pytest"
    # The options of its shard kept the run from taking node ids.
    is_bare = len(words) < len(seen.rerun) and {*without_shard(rest, "--loop-close-source")} <= {
        "--loop-close"
    }
    takes_ids = is_bare and all(is_argument(each.nodeid) for each in seen.failures if each.nodeid)
    return replace(seen, rerun=(*start, *rest), takes_ids=seen.takes_ids or takes_ids)


def _is_absolute(path: str) -> bool:
    return path[:1] == "/" or path[1:2] == ":"


def _one_run(parts: Sequence[Part]) -> Observation:
    """The shards of one source as one run; what is missing makes it incomplete."""
    seen = [part.observation for part in parts]
    first = seen[0]
    if len(seen) == 1 and not first.provenance.shard[1]:
        return first
    calls = [each.calls for each in seen if each.calls is not None]
    codes = [0 if _is_empty(each) and any(one.tests for one in seen) else each.exit_code for each in seen]
    wrong = [*_missing(parts), *(each.incomplete for each in seen if each.incomplete)]
    return replace(
        first,
        exit_code=None if None in codes else next((code for code in codes if code), 0),
        provenance=replace(first.provenance, shard=(0, 0)),
        failures=_failures(seen),
        warnings=tuple(dict.fromkeys(warned for each in seen for warned in each.warnings)),
        counts=_sum(seen),
        exit_reason="; ".join(dict.fromkeys(each.exit_reason for each in seen if each.exit_reason)),
        incomplete="; ".join(dict.fromkeys(wrong)),
        selection="",
        tests=tuple(sorted({test for each in seen for test in each.tests})),
        spared=tuple(sorted({test for each in seen for test in each.spared})),
        known=_known(seen),
        calls=merge_calls(calls) if calls else None,
        why_no_calls=next((each.why_no_calls for each in seen if each.why_no_calls), ""),
    )


def _is_empty(shard: Observation) -> bool:
    """Whether all tests that were collected are those of other shards, for which pytest has an exit code of its own."""
    return shard.exit_code == _NO_TESTS and not shard.tests and shard.provenance.collected > 0


def _sum(seen: Sequence[Observation]) -> Counts:
    """Of all shards, each test once; how many were collected counts each of them alike."""
    counts = [each.counts for each in seen]
    total = Counts(**{f.name: sum(getattr(each, f.name) for each in counts) for f in fields(Counts)})
    total = replace(total, collected=max((each.collected for each in counts), default=0))
    tests, spared = ({test for each in seen for test in getattr(each, name)} for name in ("tests", "spared"))
    if sum(len(each.tests) for each in seen) == len(tests):
        return total
    failing = {failure.nodeid for each in seen for failure in each.failures}
    passed = len(tests - spared - failing - {known.test for each in seen for known in each.known_failing})
    return _with_failures(
        replace(total, passed=passed, skipped=min(total.skipped, len(spared))), _failures(seen)
    )


def _missing(parts: Sequence[Part]) -> Iterator[str]:
    """What makes the shards less than one whole run, in a few words each."""
    made = [part.observation.provenance for part in parts]
    of = max(each.shard[1] for each in made)
    have = Counter(each.shard[0] for each in made if each.shard[1] == of)
    if any(each.shard[1] != of for each in made):
        yield "the parts are not of one number of shards"
    missing = [number for number in range(1, of + 1) if number not in have]
    if missing:
        named = ", ".join(map(str, missing[:20]))
        yield f"shard{'s' * (len(missing) > 1)} {named} of {of} {'are' if len(missing) > 1 else 'is'} missing"
    for number in sorted(n for n, times in have.items() if times > 1)[:1]:
        again = [part.observation for part in parts if part.observation.provenance.shard == (number, of)]
        other = ", with other results" if len({*map(_result_of, again)}) > 1 else ""
        name = "name what differs between the jobs with --loop-close-source"
        yield f"shard {number} is there {_times(have[number])}{other}: {name}"
    if len({(each.collected, each.digest) for each in made if each.digest}) > 1:
        yield "the shards did not collect the same tests"
    yield from _twice_or_never(parts, made, is_whole=not missing)


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"


def _result_of(seen: Observation) -> tuple[object, ...]:
    failed = tuple((*failure_order(each), each.tool, each.code) for each in seen.failures)
    return (
        failed,
        seen.counts,
        seen.tests,
        seen.spared,
        seen.exit_code,
        seen.exit_reason,
        seen.incomplete,
        seen.known,
    )


def _twice_or_never(parts: Sequence[Part], made: Sequence[Provenance], *, is_whole: bool) -> Iterator[str]:
    shards = {each.shard: part.observation.tests for each, part in zip(made, parts, strict=True)}
    times = Counter(test for tests in shards.values() for test in set(tests))
    # Without their credentials two tests may have one name.
    twice = sorted(test for test, number in times.items() if number > 1 and not MARK.search(test))
    if twice:
        many = len(twice) > 1
        yield f"{len(twice)} test{'s' * many} ran in two shards{', such as' * many} {', '.join(twice[:_NAMED])}"
    collected = max((each.collected for each in made if each.digest), default=0)
    ran = sum(map(len, shards.values())) - sum(times[test] - 1 for test in twice)
    if is_whole and times and ran < collected:
        yield f"{collected - ran} of {collected} tests ran in no shard"


def completed(own: Observation, before: Observation) -> Observation:
    """What is known of a source after a run of some of its tests: the rest is of its run before, on the same files.

    :param own: that run; the same is returned where it is not known which tests it ran.
    """
    if not own.tests or not before.tests:
        return own
    ran = {*own.tests}
    files = {file_of(test) for test in ran}
    left = [
        f for f in before.failures if f.nodeid not in ran and not (f.phase == "collect" and f.file in files)
    ]
    failures = _once((*left, *own.failures))
    tests = tuple(dict.fromkeys((*before.tests, *own.tests)))
    spared = {*own.spared, *(test for test in before.spared if test not in ran)}
    known = (*(each for each in before.known if each.test not in ran), *own.known)
    failing = {failure.nodeid for failure in failures}
    failed = failing | {each.test for each in known if each.state == "known"}
    counts = _counts([before, own], failures)
    return replace(
        before,
        exit_code=own.exit_code or (1 if failures else own.exit_code),
        incomplete="" if before.incomplete.endswith(NOT_RUN_AGAIN) else before.incomplete,
        provenance=own.provenance,
        failures=failures,
        counts=replace(counts, passed=len({*tests} - spared - failed), skipped=before.counts.skipped),
        rerun=own.rerun,
        failed_option=own.failed_option,
        takes_ids=own.takes_ids,
        root=own.root,
        tests=tests,
        spared=tuple(test for test in tests if test in spared),
        known=known,
        passed_before=tuple(test for test in before.passed_before if test not in ran),
        calls=max((before.calls, own.calls), key=lambda calls: _recorded(calls, failing)),
    )


def with_passed(own: Observation, before: Observation) -> Observation:
    """A run of some tests, with what had passed of the others in the run before, on files that were edited since."""
    passed = {*before.passed_before, *passing_tests(before)} - {*own.tests}
    spared = dict.fromkeys((*own.spared, *(test for test in before.spared if test not in own.tests)))
    return replace(own, passed_before=tuple(sorted(passed)), spared=tuple(spared))


def _recorded(calls: Calls | None, tests: Set[str]) -> int:
    return len(tests & calls.failed.keys()) if calls is not None else -1


def over(own: Report, others: Iterable[Part]) -> Report:
    """The report of a run with what other sources say of the same files; the same report where there are none.

    What is known of the loop stays that of the run.
    """
    name = own.observation.source
    reports = {name: own}
    for part in others:
        reports.setdefault(part.observation.source, report_of(part.observation))
    if len(reports) == 1:
        return own
    union = _union(dict(sorted(reports.items())), (), own)
    observation = replace(union.observation, exit_code=own.observation.exit_code, rerun=own.observation.rerun)
    if union.verdict == "green":  # a checker that ran last does not hide that the tests pass
        is_tested = any(report.observation.expects_tests for report in reports.values())
        observation = replace(observation, expects_tests=is_tested)
    is_own = own.verdict != "green"
    return replace(
        own,
        observation=observation,
        verdict=own.verdict if is_own else union.verdict,
        stall_reason=own.stall_reason if is_own else union.stall_reason,
        evidence=union.evidence,
        causes=union.causes,
        sources=union.sources,
        others=tuple(each for each in own.others if each.source not in reports),
    )


def _all_evidence(causes: Iterable[RootCause], reports: Iterable[Report]) -> tuple[Evidence, ...]:
    """The evidence of the root causes, and evidence without a failure, each once."""
    found = [each for cause in causes for each in cause.evidence]
    known = {_identity(each) for each in found}
    for report in reports:
        for each in report.evidence:
            if each.failure is None and _identity(each) not in known:
                known.add(_identity(each))
                found.append(each)
    return tuple(found)


def _union(
    reports: Mapping[str, Report],
    rejected: Sequence[tuple[str, str]],
    base: Report | None = None,
    missing: str = "",
) -> Report:
    """The reports of all sources as one, each root cause once.

    :param base: the report whose observation is that of the whole; None for the one that knows most.
    :param missing: what the reports lack; empty for nothing.
    """
    if not reports:
        observation = Observation(exit_code=None, incomplete=_not_read(rejected), rerun=(), has_output=False)
        why = "no input was read"
        return Report(observation=observation, verdict="error", stall_reason=why, rejected=tuple(rejected))
    owners = _Owners(reports)
    results = tuple(_result(name, report, owners) for name, report in reports.items())
    first = base or max(
        reports.values(), key=lambda report: (report.observation.calls is not None, len(report.causes))
    )
    failures = _failures(report.observation for report in reports.values())
    incomplete = dict.fromkeys(
        [
            *(f"{name}: {why}" for name, r in reports.items() if (why := r.observation.incomplete)),
            *([_not_read(rejected)] if rejected else []),
            *([missing] if missing else []),
        ]
    )
    codes = [report.observation.exit_code for report in reports.values()]
    observation = replace(
        first.observation,
        exit_code=next((code for code in codes if code), None if None in codes else 0),
        failures=failures,
        counts=_counts([report.observation for report in reports.values()], failures),
        incomplete="; ".join(incomplete),
        known=_known([report.observation for report in reports.values()]),
    )
    verdict: Verdict = _verdict([report.verdict for report in reports.values()], is_whole=not incomplete)
    causes = tuple(_causes(reports, owners))
    stall = next((r.stall_reason for r in reports.values() if r.causes), "")
    return Report(
        observation=observation,
        verdict=verdict,
        stall_reason=stall or ("no-stall-detected" if verdict == "green" else "the run is incomplete"),
        evidence=_all_evidence(causes, reports.values()),
        causes=causes,
        sources=results if len(results) > 1 else (),
        rejected=tuple(rejected),
    )


def _known(seen: Sequence[Observation]) -> tuple[KnownFailure, ...]:
    """The failures that are known in any of them, each once, as the first of the runs judged it.

    An entry whose tests passed in one of them is needed where one of its tests failed in another.
    """
    known: dict[tuple[object, ...], KnownFailure] = {}
    for each in (known for one in seen for known in one.known):
        known.setdefault((each.test, each.phases, each.state, each.issue, each.until), each)
    found = known.values()
    failed = {each.test for each in found if each.state != "not-needed"}
    kept = (e for e in found if e.state != "not-needed" or not any(is_like(test, e.test) for test in failed))
    return tuple(sorted(kept, key=lambda each: (each.test, each.state, each.cause)))


def _not_read(rejected: Sequence[tuple[str, str]]) -> str:
    return f"{len(rejected)} input{' was' if len(rejected) == 1 else 's were'} not read"


def _failures(seen: Iterable[Observation]) -> tuple[Failure, ...]:
    return _once(failure for each in seen for failure in each.failures)


def _once(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    found = {failure_order(failure): failure for failure in reversed([*failures])}
    return tuple(found[key] for key in sorted(found))


def _result(name: str, report: Report, owners: _Owners) -> SourceResult:
    return SourceResult(
        source=name,
        verdict=report.verdict,
        observation=report.observation,
        causes=tuple(dict.fromkeys(owners.of(e) for cause in report.causes for e in cause.evidence)),
    )


def _counts(observations: Sequence[Observation], failures: Sequence[Failure]) -> Counts:
    """Each test once: it fails if it does for any source. None passes if it is unknown which do."""
    if len(observations) == 1:
        return observations[0].counts
    first = max(observations, key=lambda each: each.counts.passed + each.counts.failed)
    most, failing = first.counts, {failure.nodeid for failure in failures} - {""}
    ran = [each for each in observations if each.expects_tests]
    if ran and all(each.tests and not each.incomplete for each in ran):
        tests = {test for each in ran for test in each.tests}
        spared = tests.intersection(*({*each.spared} | (tests - {*each.tests}) for each in ran))
        known = {each.test for one in ran for each in one.known_failing}
        most = replace(most, passed=len(tests - spared - failing - known))
    elif not failing <= {failure.nodeid for failure in first.failures}:
        most = replace(most, passed=0)
    return _with_failures(most, failures)


def _with_failures(counts: Counts, failures: Sequence[Failure]) -> Counts:
    called = {f.nodeid for f in failures if f.phase == "call" and not f.subtest}
    subtests = {(f.nodeid, f.subtest) for f in failures if f.subtest}
    errors = {(f.nodeid, f.phase) for f in failures if f.phase in ("setup", "teardown", "collect")}
    return replace(counts, failed=len(called), failed_subtests=len(subtests), errors=len(errors))


class _Owners:
    """Which root cause each failure of a test is of: one source may join what another cannot, for lack of calls.

    The surest causes come first. Another one with failures of theirs is the one that it shares most with, but for
    those that are of others.

    :ivar names: the id of each root cause, by the ids that it has.
    """

    def __init__(self, reports: Mapping[str, Report]) -> None:
        self.names: dict[str, str] = {}
        self._of: dict[tuple[str, ...], str] = {}
        causes = [cause for report in reports.values() for cause in report.causes]
        for cause in sorted(causes, key=lambda each: (*(-n for n in _sureness(each)), each.id)):
            shared = Counter(name for each in cause.evidence if (name := self.of(each)))
            nearest = max(shared, key=lambda name: (shared[name], name), default=cause.id)
            name = self.names.setdefault(cause.id, nearest)
            for each in cause.evidence:
                self._of.setdefault(_failure_key(each), name)

    def of(self, evidence: Evidence) -> str:
        """The id of its root cause."""
        return self._of.get(_failure_key(evidence), "")


def _failure_key(evidence: Evidence) -> tuple[str, ...]:
    """Equal for the same failure in two sources: that of one test by an exception of one type."""
    failure = evidence.failure
    raised = failure.raised if failure is not None else None
    return *_identity(evidence), raised.type if raised is not None else ""


def _causes(reports: Mapping[str, Report], owners: _Owners) -> Iterator[RootCause]:
    """Each root cause once, with the suspects of the source that is surest; the most widespread first.

    Findings of checkers come after the tests, those of linters last but for environments that fail as a whole: these
    say nothing about the program.
    """
    found: dict[str, list[RootCause]] = defaultdict(list)
    sources: dict[str, set[str]] = defaultdict(set)
    for source, report in reports.items():
        for cause in report.causes:
            for name in dict.fromkeys(map(owners.of, cause.evidence)):
                found[name].append(cause)
                sources[name].add(source)
    order = {cause: number for number, cause in enumerate(found)}
    for name in sorted(found, key=lambda each: (_rank(found[each][0]), -len(sources[each]), order[each])):
        surest = max(found[name], key=lambda each: (owners.names[each.id] == name, *_sureness(each)))
        evidence: dict[tuple[str, ...], Evidence] = {}
        for cause in (surest, *found[name]):
            for each in cause.evidence:
                if owners.of(each) == name:
                    evidence.setdefault(_identity(each), each)
        yield replace(surest, id=name, evidence=tuple(evidence.values()))


def _rank(cause: RootCause) -> int:
    """Tests first, then type checkers, linters and environments."""
    is_lint = all(each.failure is not None and each.failure.tool in LINTERS for each in cause.evidence)
    return 3 if _is_environment(cause) else 2 if is_lint else int(_is_check(cause))


def explained(report: Report) -> Report:
    """The report of several sources; what a checker found in a suspected function is a finding of that failure.

    The suspects have to have the lines of their definitions.
    """
    tests = [cause for cause in report.causes if not _is_check(cause)]
    findings: dict[str, list[Evidence]] = defaultdict(list)
    left: dict[str, tuple[Evidence, ...]] = {}
    taken: dict[str, str] = {}
    for cause in report.causes:
        if not _is_check(cause):
            continue
        hosts = [next((t.id for t in tests if _explains(each, t)), "") for each in cause.evidence]
        for host, each in zip(hosts, cause.evidence, strict=True):
            findings[host].append(each)
        left[cause.id] = tuple(e for host, e in zip(hosts, cause.evidence, strict=True) if not host)
        if not left[cause.id]:
            taken[cause.id] = hosts[0]
    causes = (
        replace(each, evidence=left[each.id])
        if each.id in left
        else replace(each, findings=tuple(findings[each.id]))
        for each in report.causes
        if each.id not in taken
    )
    return replace(report, causes=tuple(causes), sources=with_other_ids(report.sources, taken))


def _is_environment(cause: RootCause) -> bool:
    return all(each.failure is not None and is_environment(each.failure) for each in cause.evidence)


def _is_check(cause: RootCause) -> bool:
    return all(each.failure is not None and each.failure.phase == "check" for each in cause.evidence)


def _explains(finding: Evidence, cause: RootCause) -> bool:
    """Whether it is a fault that can show at run time, in one of the functions that are probably at fault."""
    failure = finding.failure
    if failure is None or not finding.line or (failure.tool in LINTERS and not _BREAKS.match(failure.code)):
        return False
    if any(
        suspect.file == finding.file and suspect.line <= finding.line <= suspect.end_line
        for suspect in cause.suspects[:_NAMED]
    ):
        return True
    frames = (f for e in cause.evidence if e.failure is not None for f in _frames(e.failure))
    return any(
        frame.file == finding.file
        and not frame.is_test
        and (
            frame.line == finding.line or (frame.source is not None and finding.line in frame.source.numbers)
        )
        for frame in frames
    )


def _frames(failure: Failure) -> Iterator[Frame]:
    for raised in links(failure.raised):
        yield from raised.frames


def _identity(evidence: Evidence) -> tuple[str, ...]:
    """Equal for what two sources found of one test: their messages may differ."""
    failure = evidence.failure
    if failure is None or not failure.nodeid:
        return evidence.kind, evidence.file, str(evidence.line), evidence.snippet
    return evidence.kind, failure.nodeid, failure.phase, failure.subtest


def _sureness(cause: RootCause) -> tuple[float, int]:
    return max((suspect.score for suspect in cause.suspects), default=0.0), len(cause.evidence)


def _verdict(verdicts: Sequence[Verdict], *, is_whole: bool) -> Verdict:
    if any(verdict not in ("green", "error") for verdict in verdicts):
        return "first-failure"
    return "green" if is_whole and all(verdict == "green" for verdict in verdicts) else "error"
