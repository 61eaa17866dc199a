"""The loop: the runs since the project was last done, folded. Pure: the same runs give the same loop.

A test is known by its source and its name. A run changes what is known of the tests that it ran, and of no others. Of
a source whose single tests are not known, a run says what its failures say, and that the others are gone if it ran the
same command to its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from msgspec.structs import replace

from loop_close.facts import test_function
from loop_close.records import Advance, FailingTest, FailureRecord, Loop, Outcome, Run, Step
from loop_close.text import digest
from loop_close.text.normalize import similar

_Key = tuple[str, str]
_Groups = defaultdict[str, set[_Key]]

#: The fields of a step that hold tests, but for ``not_run``.
_GROUPS = ("fixed", "broken", "found", "flipped", "changed", "moved", "unresolved", "not_fixed")
_PASSED = ("passed", "xpassed")
_PHASES_OF_TESTS = ("collect", "setup", "call", "teardown")
#: Such a failure may keep others from being reported.
_HIDING = frozenset(("session", "collect", "process"))
#: Advances in a row by nothing but another failure.
_MAX_CHANGED = 6
_MAX_VALUES = 8


def fold(runs: Sequence[Run]) -> Loop:
    """What the runs come to.

    :param runs: those since the last done tree, oldest first. The run that was done may be among them: its outcomes
        say what passed then.
    """
    state = _State()
    for run in runs:
        state.add(run)
    return state.loop()


def is_stuck(loop: Loop, after: int = 3) -> bool:
    """Whether so many attempts in a row did not advance."""
    return loop.stalled >= after


def is_counted(test: FailingTest) -> bool:
    """Whether a failing test counts. A flaky one and a failure of the infrastructure count neither way."""
    return not (test.is_flaky or test.record.is_infrastructure)


def is_alike(record: FailureRecord, other: FailureRecord) -> bool:
    """Whether two failures have one shape, or nearly the same message in one place."""
    if record.shape == other.shape:
        return True
    is_near = (record.exception, record.where) == (other.exception, other.where)
    return is_near and record.message != "" and similar(record.message, other.message)


@dataclass(slots=True)
class _Known:
    """A test that failed in the loop.

    :ivar status: ``failing``, ``passed``, or ``gone``: it stopped failing without passing.
    :ivar last: the last run that ran it.
    """

    record: FailureRecord
    since: int
    last: Run
    had_passed: bool
    status: str = "failing"
    values: tuple[tuple[int, str], ...] = ()


@dataclass(slots=True)
class _State:
    """What is known after some runs.

    :ivar earlier: finished runs, also those before the base.
    :ivar fewest: the smallest sets of unsolved tests after a run. A test that had not run yet counts in all of them if
        it failed when it first ran.
    :ivar shapes: the failures of the loop, one for each shape.
    :ivar edited: the last run with an edit before it, ``changed`` with any change of a file; ``attempted`` the last
        attempt.
    :ivar varied: advances by another failure since the last one of another kind.
    :ivar checks: what ran in the last step, if others may join it.
    """

    base: int = 0
    earlier: list[Run] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    known: dict[_Key, _Known] = field(default_factory=dict)
    flaky: set[_Key] = field(default_factory=set)
    fewest: list[frozenset[_Key]] = field(default_factory=list)
    shapes: dict[str, FailureRecord] = field(default_factory=dict)
    edited: int = 0
    changed: int = 0
    attempted: int = 0
    stalled: int = 0
    varied: int = 0
    checks: set[str] = field(default_factory=set)

    def add(self, run: Run) -> None:
        """Add the next run."""
        kind = run.edits.kind
        if kind != "none":
            self.changed = run.number
        if kind in ("effective", "unknown"):
            self.edited = run.number
        if run.is_done:
            self.earlier.clear()
            self.flaky.clear()
            self._begin(run)
        elif run.is_finished and run.objection is None:  # what rewritten tests say is nothing to compare with
            self._update(run)
        else:
            self._append(run, {})

    def loop(self) -> Loop:
        """The loop after the runs so far."""
        known = sorted(self.known.items())
        failing = (
            FailingTest(
                record=each.record,
                since=each.since,
                ran=each.last.number,
                had_passed=each.had_passed,
                values=each.values,
                is_flaky=key in self.flaky,
            )
            for key, each in known
            if each.status == "failing"
        )
        return Loop(
            base=self.base,
            steps=tuple(self.steps),
            failing=tuple(failing),
            fixed=_names(key for key, each in known if each.status == "passed" and key not in self.flaky),
            best=min((step.failing for step in self.steps if step.is_attempt), default=None),
            stalled=self.stalled,
            flaky=_names(self.flaky),
        )

    def _begin(self, run: Run) -> None:
        """Begin anew after a run, as nothing is known to fail."""
        self.base = run.number
        self.earlier.append(run)
        self.steps.clear()
        self.checks.clear()
        self.known.clear()
        self.fewest.clear()
        self.shapes.clear()
        self.stalled = self.varied = 0

    def _append(
        self, run: Run, groups: Mapping[str, set[_Key]], *, is_attempt: bool = False, advanced: Advance = ""
    ) -> None:
        failing = sorted(self._counted())
        shapes = chain.from_iterable((*key, self.known[key].record.shape) for key in failing)
        step = Step(
            run=run.number,
            failing=len(failing),
            edits=run.edits,
            is_attempt=is_attempt,
            advanced=advanced,
            state=digest(*shapes),
            scope=run.scope,
            is_finished=run.is_finished,
            tree=run.tree,
        )
        step = replace(step, **{name: _names(keys) for name, keys in groups.items()})
        # An edit is tried by all checks of one command.
        is_more = run.is_finished and run.check not in ("", *self.checks)
        if self.checks and is_more and run.tree == self.steps[-1].tree:
            step = _joined(self.steps.pop(), step)
        else:
            self.checks = set()
        if run.check and run.is_finished:
            self.checks.add(run.check)
        self.steps.append(step)

    def _counted(self) -> set[_Key]:
        """The failing tests that count."""
        return {key for key in self._unsolved() - self.flaky if self.known[key].status == "failing"}

    def _unsolved(self) -> set[_Key]:
        """Tests that failed and did not pass since."""
        failed = ((key, known) for key, known in self.known.items() if known.status != "passed")
        return {key for key, known in failed if not known.record.is_infrastructure}

    # --- a run that ended

    def _update(self, run: Run) -> None:
        # What is known to fail and did not run since the last edit: its outcome says something of the edit.
        untried = {key for key in self._counted() if self.known[key].last.number < self.edited}
        records = _records(run)
        groups: _Groups = defaultdict(set)
        for key in self.known.keys() | records.keys():
            record = records.get(key)
            if record is None:
                self._did_not_fail(key, run, groups)
            elif record.is_infrastructure:
                self._failed_by_infrastructure(key, record, run, groups)
            else:
                self._failed(key, record, run, groups)
        if run.is_green and all(known.status == "passed" for known in self.known.values()):
            self._begin(run)
            return
        is_attempt = self.edited > self.attempted and _ran(untried, groups)
        advanced = self._advanced(untried, groups)
        self.attempted = run.number if is_attempt else self.attempted
        if advanced:
            self.stalled = 0
            self.varied = self.varied + 1 if advanced == "changed" else 0
        else:
            self.stalled += is_attempt
        self._remember(groups["found"], records.values())
        self._append(run, groups, is_attempt=is_attempt, advanced=advanced)
        self.earlier.append(run)

    def _failed(self, key: _Key, record: FailureRecord, run: Run, groups: _Groups) -> None:
        known = self.known.get(key)
        values = known.values if known is not None else ()
        if record.got and record.got != (values[-1][1] if values else ""):
            values = (*values, (run.number, record.got))[-_MAX_VALUES:]
        if known is not None and known.status != "passed" and not known.record.is_infrastructure:
            groups[_how_it_fails(known.record, record)].add(key)
            known.record = record if record.shape else known.record
            known.status, known.last, known.values = "failing", run, values
            return
        if known is not None and known.status == "passed":
            passed: Run | None = known.last
        else:
            passed = self._passed(key, record, run)
        if passed is not None and self._is_same_code(passed, run):
            self.flaky.add(key)
        had_passed = passed is not None or (known is not None and known.had_passed)
        self.known[key] = _Known(record, run.number, run, had_passed, values=values)
        if key in self.flaky:
            groups["flipped"].add(key)
            return
        groups["broken"].add(key)
        if not had_passed:
            groups["found"].add(key)

    def _failed_by_infrastructure(self, key: _Key, record: FailureRecord, run: Run, groups: _Groups) -> None:
        """It says nothing of the program: what is known of the test stays."""
        known = self.known.get(key)
        if known is None or known.status == "passed":
            self.known[key] = _Known(record, run.number, run, known is not None)
        elif known.record.is_infrastructure:
            known.record, known.last = record, run

    def _did_not_fail(self, key: _Key, run: Run, groups: _Groups) -> None:
        known = self.known[key]
        outcome = _outcome(key, known.record.phase, run, known.last)
        is_failing = known.status == "failing"
        if not outcome:
            if is_failing:
                groups["not_run"].add(key)
        elif known.record.is_infrastructure:
            del self.known[key]
        elif outcome == "passed":
            if is_failing and self._is_same_code(known.last, run):
                self.flaky.add(key)
            if known.status != "passed":
                groups["flipped" if key in self.flaky else "fixed"].add(key)
            known.status, known.last = "passed", run
        elif is_failing:
            groups["not_fixed"].add(key)
            known.status, known.last = "gone", run

    def _passed(self, key: _Key, record: FailureRecord, run: Run) -> Run | None:
        """The last earlier run in which a test passed."""
        runs = (each for each in reversed(self.earlier) if _outcome(key, record.phase, each, run) == "passed")
        return next(runs, None)

    def _is_same_code(self, earlier: Run, run: Run) -> bool:
        if earlier.changed or run.changed or earlier.environment != run.environment:
            return False
        return self.changed <= earlier.number or (bool(run.tree) and earlier.tree == run.tree)

    # --- whether it advanced

    def _advanced(self, untried: set[_Key], groups: _Groups) -> Advance:
        """Why the run advanced. A test that failed when it first ran counts as failing all along."""
        counted = self._counted()
        neutral = self.flaky | (self._unsolved() - counted)
        least = min((len((earlier | groups["found"]) - neutral) for earlier in self.fewest), default=0)
        if len(counted) < least:
            return "fewest"
        fixed = map(self.known.__getitem__, groups["fixed"])
        if "collect" in [known.record.phase for known in fixed if not known.had_passed]:
            return "collected"
        changed = [self.known[key].record for key in groups["changed"] & untried]
        is_whole = groups["broken"] <= groups["found"]
        if not is_whole or self.varied == _MAX_CHANGED:
            return ""
        shapes = self.shapes.values()
        return "changed" if any(not any(is_alike(each, now) for each in shapes) for now in changed) else ""

    def _remember(self, found: set[_Key], records: Iterable[FailureRecord]) -> None:
        """Remember for the runs to come how few failed, and how."""
        self.shapes.update({record.shape: record for record in records if record.shape})
        if not self._counted():
            self.fewest.clear()
            self.stalled = self.varied = 0
            return
        now = frozenset(self._unsolved())
        kept = [each for each in (earlier | found for earlier in self.fewest) if not now <= each]
        # A set that holds another is never smaller, whatever is left out of both.
        self.fewest = kept if any(each <= now for each in kept) else [*kept, now]


def _joined(first: Step, then: Step) -> Step:
    """The step of a check and of the next one on the same files."""
    groups = {name: tuple(sorted({*getattr(first, name), *getattr(then, name)})) for name in _GROUPS}
    return replace(
        then,
        run=first.run,
        not_run=tuple(sorted({*first.not_run} & {*then.not_run})),
        edits=first.edits,
        is_attempt=first.is_attempt or then.is_attempt,
        advanced=first.advanced or then.advanced,
        **groups,
    )


def _records(run: Run) -> dict[_Key, FailureRecord]:
    """The failures of a run. Of those that it does not list only the test is known."""
    ordered = sorted(run.failures, key=lambda each: (each.source, each.test, each.exact), reverse=True)
    records = {(each.source, each.test): each for each in ordered}
    for source, outcomes in run.outcomes.items() if run.omitted else ():
        for test, outcome in outcomes.items():
            if outcome == "failed":
                records.setdefault((source, test), FailureRecord(source=source, test=test))
    return records


def _how_it_fails(before: FailureRecord, now: FailureRecord) -> str:
    """The group of a test that failed before."""
    if not now.shape or before.exact == now.exact:
        return "unresolved"
    return "moved" if before.shape == now.shape else "changed"


def _outcome(key: _Key, phase: str, run: Run, like: Run) -> str:
    """What became of a test in a run whose failures it is not among: ``passed``, ``gone``, empty if it did not run.

    :param phase: the phase of its failure.
    :param like: a run that ran it. The same command runs it again.
    """
    source, test = key
    outcomes = run.outcomes.get(source, {})
    outcome = outcomes.get(test)
    if outcome is not None:
        return "" if outcome == "failed" else "passed" if outcome in _PASSED else "gone"
    if phase == "collect" and _has_tests(test, outcomes):
        return "passed"
    is_again = (run.check, run.command, run.scope) == (like.check, like.command, like.scope)
    is_whole = not run.scope and source in run.outcomes
    if run.incomplete or run.omitted or not (is_again or is_whole):
        return ""
    if not outcomes and (like.outcomes.get(source) or not _shows_all(source, run)):
        return ""
    is_listed = bool(outcomes) or (source in run.outcomes and not run.is_green)
    return "gone" if is_listed and phase in _PHASES_OF_TESTS else "passed"


def _shows_all(source: str, run: Run) -> bool:
    """Whether the run showed all that fails of a source whose single tests are not known."""
    phases = {each.phase for each in run.failures if each.source == source}
    return run.is_green or (not phases & _HIDING and (bool(phases) or source in run.outcomes))


def _has_tests(where: str, outcomes: Mapping[str, Outcome]) -> bool:
    """Whether tests of a file or folder ran that could not be collected; a conftest is one of its folder."""
    folder = where.removesuffix("conftest.py").removesuffix("__init__.py")
    starts = (f"{where}::", f"{where}/") if folder == where else (folder,)
    return any(test.startswith(starts) for test in outcomes)


def _ran(untried: set[_Key], groups: _Groups) -> bool:
    """Whether one of these tests ran: it, or its function with a case that has another name."""
    groups_of_ran = ("fixed", "changed", "moved", "unresolved", "not_fixed", "flipped")
    if any(untried & groups[name] for name in groups_of_ran):
        return True
    functions = {(source, test_function(test)) for source, test in groups["found"]}
    return any((source, test_function(test)) in functions for source, test in untried)


def _names(keys: Iterable[_Key]) -> tuple[str, ...]:
    return tuple(sorted({test for _, test in keys}))
