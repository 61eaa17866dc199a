"""Records of runs, of the loop and of the gate: frozen values, no logic, no I/O.

Paths are relative to the project's root, with forward slashes. Text from outside is sanitized and redacted when it
enters a record. Runs are numbered from 1 in a store.

A *source* is what ran and where: the tool, the environment of tox, nox or Hatch, and the interpreter, as in
``pytest@cpython-3.13``, ``pytest:py311@cpython-3.11`` or ``mypy``. A test is identified by its source and its node id;
a finding of a checker, which has none, by file, rule and masked message.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Literal

import msgspec

Outcome = Literal["passed", "failed", "skipped", "xfailed", "xpassed"]
Change = Literal["added", "removed", "edited"]
EditKind = Literal["unknown", "none", "ineffective", "effective"]
Advance = Literal["", "fewest", "collected", "changed"]
Verdict = Literal["done", "failing", "unknown", "stuck", "objected"]


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What all records are: immutable, compared by value, encoded by msgspec without their defaults."""


class FailureRecord(Record, frozen=True):
    """One failing test, or one finding of a tool, as the store keeps it.

    :ivar source: what ran, and where, such as ``pytest@cpython-3.13``.
    :ivar test: the node id, otherwise a name that does not depend on line numbers.
    :ivar exact: equal if nothing changed: test, phase, exception type, message with its values.
    :ivar shape: equal if at most values changed: type, innermost project function, message with values masked.
    :ivar cause: equal if one fix clears both; without the test.
    :ivar message: with values masked, bounded; messages are compared by similarity where type and place are equal.
    :ivar exception: the exception's type, else the kind of the finding.
    :ivar where: ``file:function`` of the failing statement; ``line`` its line, 0 if unknown.
    :ivar got: the value that the test saw, bounded; empty if unknown. ``want``: the value that it expected.
    :ivar is_infrastructure: network, disk, memory or a dead worker, and not the program.
    """

    source: str
    test: str
    phase: str = "call"
    exact: str = ""
    shape: str = ""
    cause: str = ""
    message: str = ""
    exception: str = ""
    where: str = ""
    line: int = 0
    got: str = ""
    want: str = ""
    is_infrastructure: bool = False


class Edit(Record, frozen=True):
    """One function, class body, module body or other file that differs from an earlier state of the files.

    :ivar function: qualified name; ``<module>`` for statements outside of functions and classes; empty for a whole
        file, such as one that is not Python or cannot be parsed.
    :ivar is_effective: more than comments, formatting, docstrings or prose changed.
    :ivar diff: a unified diff without its header, bounded and redacted; empty if the content is not kept.
    """

    file: str
    function: str = ""
    change: Change = "edited"
    is_effective: bool = True
    diff: str = ""


class Edits(Record, frozen=True):
    """How the project's files differ from an earlier state.

    :ivar kind: ``unknown`` if there is nothing to compare with.
    :ivar edits: bounded; ``omitted`` counts those left out.
    """

    kind: EditKind = "unknown"
    edits: tuple[Edit, ...] = ()
    omitted: int = 0


class OldOutcome(Record, frozen=True):
    """What became of a test as it was at the baseline, run against the present code.

    :ivar outcome: ``failed``, ``skipped``, ``xfailed``, or ``missing`` if it did not run.
    :ivar reason: in a line: the exception, or why it was skipped.
    """

    test: str
    outcome: str
    reason: str = ""


class Objection(Record, frozen=True):
    """Why a green check is not done: the tests are not as they were, and the old ones do not pass.

    :ivar files: the test files and configuration that differ from the baseline.
    :ivar tests: old tests that do not pass, bounded; ``omitted`` counts those left out.
    :ivar reason: why the old tests could not be run, in a line; empty if they ran.
    :ivar diff: of ``files``, unified, bounded, redacted.
    """

    files: tuple[str, ...] = ()
    tests: tuple[OldOutcome, ...] = ()
    omitted: int = 0
    reason: str = ""
    diff: str = ""


class Counts(Record, frozen=True):
    """Tests by outcome, as pytest counts them.

    :ivar failed: failing tests without their subtests; pytest counts both together as failed.
    :ivar errors: failing setups, teardowns and collections.
    """

    passed: int = 0
    failed: int = 0
    failed_subtests: int = 0
    errors: int = 0
    skipped: int = 0
    xfailed: int = 0
    xpassed: int = 0
    collected: int = 0
    not_run: int = 0


class PytestContext(Record, frozen=True):
    """How pytest was started: enough to run other tests in the same way.

    :ivar executable: the interpreter's path; ``args`` the words of the command line after ``pytest``.
    :ivar cwd: the folder in which it was started; ``rootdir`` as pytest found it, absolute.
    :ivar words: what comes before ``args`` after the interpreter: its flags and ``-m pytest`` or a script; empty if
        pytest was called by other code.
    :ivar pythonpath: the variable of that name.
    :ivar is_optimized: Python left out assertions (``-O``).
    :ivar loaded: files of tests and conftests that it loaded, as absolute paths.
    """

    executable: str
    args: tuple[str, ...] = ()
    cwd: str = ""
    rootdir: str = ""
    words: tuple[str, ...] = ()
    pythonpath: str = ""
    is_optimized: bool = False
    loaded: tuple[str, ...] = ()


class Run(Record, frozen=True):
    """One run: a row of the store.

    :ivar id: made on this machine, unique among all.
    :ivar check: the name of the check that ``loop-close check`` ran; empty for a plain run, which releases nothing.
    :ivar command: the words of the command; of a plain pytest ``pytest`` and its arguments.
    :ivar scope: how tests were chosen, as the user gave it; empty for all.
    :ivar programs: the program of a check's command, and each interpreter whose pytest reported, as absolute paths.
    :ivar environment: the digests of their environments, joined by ``+``.
    :ivar began: seconds since 1970; ``seconds``: how long it took.
    :ivar tree: digest of the project's files before it ran; ``tree_after`` after it.
    :ivar changed: files that differ between the two or were replaced meanwhile: then the run is void as a result.
    :ivar exit_code: of the process; None if it did not end, as when it was killed.
    :ivar is_finished: the end of the run was recorded.
    :ivar incomplete: why not all that was chosen ran, in words; empty if it did.
    :ivar is_green: the command reported success, and nothing that it printed says otherwise.
    :ivar contexts: how each pytest of a check was started that reported.
    :ivar outcomes: by source, then by node id; of sources whose single tests are known.
    :ivar failures: bounded; ``omitted`` counts those left out.
    :ivar edits: since the run before.
    :ivar baseline: digest of the baseline that a green check was compared with; empty if the tests were as they were.
    :ivar objection: what the old tests say; None for nothing.
    :ivar is_done: with this run every check was green on its tree, and nothing was objected.
    """

    id: str
    number: int = 0
    check: str = ""
    command: tuple[str, ...] = ()
    scope: str = ""
    programs: tuple[str, ...] = ()
    environment: str = ""
    began: float = 0.0
    seconds: float = 0.0
    tree: str = ""
    tree_after: str = ""
    changed: tuple[str, ...] = ()
    exit_code: int | None = None
    is_finished: bool = False
    incomplete: str = ""
    is_green: bool = False
    contexts: tuple[PytestContext, ...] = ()
    counts: Counts = Counts()
    outcomes: Mapping[str, Mapping[str, Outcome]] = {}
    failures: tuple[FailureRecord, ...] = ()
    omitted: int = 0
    edits: Edits = Edits()
    baseline: str = ""
    objection: Objection | None = None
    is_done: bool = False

    @property
    def tests(self) -> Iterator[tuple[str, Outcome]]:
        """Each test with its outcome, of all sources."""
        return chain.from_iterable(each.items() for each in self.outcomes.values())

    @property
    def started(self) -> tuple[str, ...]:
        """The command line of each pytest that reported, as a shell would take it, sorted."""
        return tuple(sorted({shlex.join(("pytest", *context.args)) for context in self.contexts}))

    @property
    def result(self) -> str:
        """How it ended, in a word: ``done``, ``green``, ``red``, ``void``, ``unfinished``."""
        if not self.is_finished or self.exit_code is None:
            return "unfinished"
        if self.is_done:
            return "done"
        if self.check and self.changed:
            return "void"
        return "green" if self.is_green else "red"


class FailingTest(Record, frozen=True):
    """A test that is failing as far as the loop knows.

    :ivar record: its last failure.
    :ivar since: the run in which its current failing began; ``ran``: the last run that ran it.
    :ivar had_passed: it passed in an earlier run of the loop.
    :ivar values: (run, value that the test saw) for each change of the value, the latest last, bounded.
    :ivar is_flaky: its outcome changed although no code did.
    """

    record: FailureRecord
    since: int
    ran: int
    had_passed: bool = False
    values: tuple[tuple[int, str], ...] = ()
    is_flaky: bool = False

    @property
    def test(self) -> str:
        """Its node id."""
        return self.record.test

    @property
    def source(self) -> str:
        """The source that ran it."""
        return self.record.source


class Step(Record, frozen=True):
    """One run of the loop, with what it changed; the checks that ran on the same files together. Tests by name, sorted.

    :ivar run: its number, of several the first.
    :ivar failing: how many tests were known to fail after it, without flaky ones and failures of the infrastructure.
    :ivar fixed: failed before and passed now. ``broken``: fail now and were not known to fail; ``found``: those of
        them that are not known to have passed.
    :ivar flipped: passed and failed on the same code, now or before. They are in neither group above.
    :ivar changed: fail with another shape than before; ``moved``: with the same shape and another value.
    :ivar unresolved: fail as before. ``not_run``: known to fail and not run now.
    :ivar not_fixed: stopped failing without passing: skipped, expected to fail, or gone from a complete run.
    :ivar is_attempt: the first run after an edit that ran a test known to fail.
    :ivar advanced: why it advanced; empty if it did not. A later run of other tests may show that an edit did.
    :ivar state: digest of the failing tests with their shapes: equal states are the same failures.
    :ivar edits: since the run before.
    """

    run: int
    failing: int = 0
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    flipped: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    not_fixed: tuple[str, ...] = ()
    edits: Edits = Edits()
    is_attempt: bool = False
    advanced: Advance = ""
    state: str = ""
    scope: str = ""
    is_finished: bool = True
    tree: str = ""


class Loop(Record, frozen=True):
    """The runs since the project was last done, folded.

    :ivar base: the number of the run after which it was last done, or no test was known to fail; 0 for none.
    :ivar steps: the runs since, the latest last.
    :ivar failing: tests known to fail, by source and name.
    :ivar fixed: tests that failed in the loop and passed when they last ran.
    :ivar best: the fewest failing tests after an attempt; None before the first.
    :ivar stalled: attempts in a row that did not advance.
    :ivar flaky: tests whose outcome changed although no code did; they count neither way.
    """

    base: int = 0
    steps: tuple[Step, ...] = ()
    failing: tuple[FailingTest, ...] = ()
    fixed: tuple[str, ...] = ()
    best: int | None = None
    stalled: int = 0
    flaky: tuple[str, ...] = ()

    @property
    def attempts(self) -> tuple[Step, ...]:
        """The steps that were attempts."""
        return tuple(step for step in self.steps if step.is_attempt)


NO_LOOP = Loop()  #: where nothing is remembered


class Signal(Record, frozen=True):
    """A fact that explains why the loop does not advance.

    :ivar kind: one of :data:`loop_close.signals.KINDS`.
    :ivar runs: the numbers of the runs that show it; ``tests``: the tests concerned, bounded.
    :ivar explanation: one clause of facts.
    """

    kind: str
    runs: tuple[int, ...] = ()
    tests: tuple[str, ...] = ()
    explanation: str = ""


class CheckState(Record, frozen=True):
    """A check on the present files.

    :ivar verdict: ``done`` for green; ``objected`` for green with an objection.
    :ivar run: the number of the run that says so; 0 for none.
    :ivar reason: in one clause.
    """

    name: str
    verdict: Verdict
    run: int = 0
    reason: str = ""
    objection: Objection | None = None


class State(Record, frozen=True):
    """Whether the work is done: the one answer that hook, status, drive, MCP, page and command line show.

    :ivar reason: one sentence of facts. ``command``: what to run next; empty if done.
    :ivar checks: in the order of the settings.
    :ivar accepted: changed test files that a person accepted since the baseline was taken.
    """

    verdict: Verdict
    reason: str = ""
    command: str = ""
    checks: tuple[CheckState, ...] = ()
    accepted: tuple[str, ...] = ()
