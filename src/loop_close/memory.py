"""Records of the history of runs: frozen values, no logic, no I/O.

Runs are numbered from 1 for each source. Tests are identified by node id; findings of checkers, which have none, by
file, tool, rule and masked message. Keys are digests of normalized, redacted text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from loop_close.lazy import dataclass

EditKind = Literal["unknown", "none", "ineffective", "effective"]
#: Kinds of edits that leave the program what it was.
UNEDITED: tuple[EditKind, ...] = ("none", "ineffective")
#: Why a run advanced in which another source alone did: the edit was about that one.
ELSEWHERE = "elsewhere"
Change = Literal["added", "removed", "edited", "moved"]
Outcome = Literal["passed", "skipped", "xfailed"]
Status = Literal["failing", "passed", "skipped", "xfailed", "gone"]
#: ``weakened``: it passes as tests were changed.
Tampering = Literal["", "skipped", "xfailed", "deleted", "uncollected", "weakened"]
TestState = Literal["open", "asked", "accepted", "hint"]
#: The groups of tests in :class:`Progress`.
GROUPS = ("fixed", "new", "broken", "changed", "unresolved", "not_run", "not_fixed")
#: The source of merged reports. It describes the commit that they belong to, not the current files.
MERGED = "merge"
#: How the names of sources begin whose runs are of tests: runs of other tools say nothing about tests.
TESTS = "pytest"
BreakerState = Literal["closed", "half_open", "open"]
#: The signal that tests were changed so that they demand less.
TAMPERING = "test-tampering"


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureRecord:
    """One failure in the history; stored fields call it a mark.

    :ivar test: what failed: a node id, otherwise a name that does not depend on line numbers.
    :ivar exact: equal if nothing changed: test, phase, exception type, message with its values.
    :ivar shape: equal if at most values changed: exception type, innermost project function, the statement or the
        message with values masked.
    :ivar cause: equal if one fix clears both; without the test.
    :ivar family: exception type and place; messages are compared by similarity only within a family.
    :ivar message: the message with values masked, bounded; empty if the text is not significant.
    :ivar exception: the exception's type, else the kind of the finding.
    :ivar where: ``file:function`` of the failing statement; ``line`` its line in the file, 0 if unknown.
    :ivar test_line: the line of the test's own function that was running, 0 if unknown.
    :ivar parts: how many failures of the test the record represents: of its phases, or of its subtests.
    :ivar got: the value that the test saw, bounded; empty if unknown.
    :ivar want: the value that it expected, or in words a condition: ``anything but 3``.
    :ivar is_infrastructure: the failure is due to the machine and not to the program: a timeout, the network, a full
        disk.
    """

    test: str
    phase: str = "call"
    exact: str = ""
    shape: str = ""
    cause: str = ""
    family: str = ""
    message: str = ""
    exception: str = ""
    where: str = ""
    line: int = 0
    test_line: int = 0
    parts: int = 1
    got: str = ""
    want: str = ""
    is_infrastructure: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedTest:
    """A change to a test since its baseline: the tests as they were when the loop began.

    :ivar file: relative to the root; ``test`` the qualified name in it, or the rest of a node id; empty for the file.
    :ivar kind: as in :data:`loop_close.testcode.Kind`.
    :ivar what: the change in one clause; ``before`` and ``after`` are the differing lines, bounded. All are sanitized.
    :ivar line: in the current file, 0 if there is none.
    :ivar fingerprint: identifies exactly this change; a person accepts the change by it.
    :ivar state: ``open``: keeps a green run from being done. ``asked``: a gate asks about it once. ``accepted``: by a
        person. ``hint``: only reported.
    """

    file: str
    test: str = ""
    kind: str = "unclear"
    what: str = ""
    before: str = ""
    after: str = ""
    line: int = 0
    fingerprint: str = ""
    state: TestState = "open"

    @property
    def id(self) -> str:
        """The test as a node id: ``tests/test_shop.py::TestCart::test_total``."""
        name, bracket, case = self.test.partition("[")
        return f"{self.file}::{name.replace('.', '::')}{bracket}{case}" if self.test else self.file

    @property
    def is_open(self) -> bool:
        """Whether it keeps a green run from being done."""
        return self.state == "open"


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One function, class body, module body or other file that differs from the run before.

    :ivar function: qualified name; ``<module>`` for statements outside of functions and classes; empty for a whole
        file, such as one that is not Python or cannot be parsed.
    :ivar is_effective: more than comments, formatting, docstrings or prose changed.
    :ivar moved_to: for ``moved``, the new (file, function).
    :ivar diff: a unified diff without its header, bounded and redacted; empty if it was not stored.
    """

    file: str
    function: str = ""
    change: Change = "edited"
    is_effective: bool = True
    moved_to: tuple[str, str] = ("", "")
    diff: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Edits:
    """How the project's files differ from those of the run before.

    :ivar kind: ``unknown`` if there is no run to compare with.
    :ivar edits: bounded; ``omitted`` counts those left out.
    """

    kind: EditKind = "unknown"
    edits: tuple[Edit, ...] = ()
    omitted: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run in the history.

    :ivar marks: its failures, bounded; ``omitted_marks`` counts those left out.
    :ivar outcomes: the outcomes of tests that failed earlier in the episode and not in this run.
    :ivar tells_outcomes: a test in neither ``marks`` nor ``outcomes`` did not run. False if only failures are known, as
        from text output.
    :ivar selection: how tests were selected, or the command; empty if all were selected.
    :ivar is_full: every known test was selected, and the run is complete.
    :ivar incomplete: why the run is incomplete.
    :ivar code: a digest of the project's Python files, of a merged run of its inputs; empty if unknown.
    :ivar is_good: the command reported success.
    :ivar is_killed: the start of the run was recorded, but not its end.
    :ivar collected: how many tests were selected to run, 0 if unknown.
    :ivar interpreter: the interpreter that ran them, such as ``cpython-3.13-linux``; empty if unknown.
    :ivar tests: changes to tests since the baseline, bounded; ``is_compared``: whether they were compared with it.
    :ivar accepted: fingerprints of changes that a person accepted.
    :ivar of_tests: files that belong to the tests although their names do not show it, bounded.
    :ivar differing: files of tests that differ from the baseline, bounded; None if there is no baseline.
    :ivar known: tests that failed and do not count, because of the setting ``known``; bounded.
    :ivar tree: a digest of all files of the project, empty if it was not asked for.
    :ivar is_collision: all that failed is known to fail only while another agent's run goes on.
    :ivar elsewhere: the source that advanced on these files since this source's previous run; empty if none did.
        ``elsewhere_before``: the same on the files of that run.
    """

    number: int
    source: str = "pytest"
    marks: tuple[FailureRecord, ...] = ()
    omitted_marks: int = 0
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    tells_outcomes: bool = True
    edits: Edits = Edits()
    selection: str = ""
    is_full: bool = True
    incomplete: str = ""
    exit_code: int | None = None
    code: str = ""
    is_good: bool = False
    is_killed: bool = False
    passed: int = 0
    skipped: int = 0
    collected: int = 0
    interpreter: str = ""
    tests: tuple[ChangedTest, ...] = ()
    is_compared: bool = False
    accepted: tuple[str, ...] = ()
    of_tests: tuple[str, ...] = ()
    differing: tuple[str, ...] | None = None
    known: tuple[str, ...] = ()
    tree: str = ""
    is_collision: bool = False
    elsewhere: str = ""
    elsewhere_before: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureShape:
    """One shape that the failure of a test had, and the last runs with it; stored fields call it a form."""

    shape: str
    family: str = ""
    message: str = ""
    runs: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownTest:
    """The latest state of one test that failed in the episode.

    :ivar mark: its last failure.
    :ivar since: the run in which its current failure began; ``ran``: the last run that included it.
    :ivar forms: the shapes of its failures, in order of appearance, bounded.
    :ivar values: (run, value) for each change of the value that the test saw, bounded.
    :ivar flips: runs in which its outcome changed although nothing was edited.
    :ivar tampered: (run, kind of change) if it stopped failing without being fixed, judged by its outcomes.
    :ivar was_broken: it had passed in the episode before it failed.
    """

    status: Status
    mark: FailureRecord
    since: int
    ran: int = 0
    forms: tuple[FailureShape, ...] = ()
    values: tuple[tuple[int, str], ...] = ()
    flips: tuple[int, ...] = ()
    tampered: tuple[int, Tampering] = (0, "")
    was_broken: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """The result of one run of an episode, as far as later runs need it.

    :ivar state: a digest of the tests that were failing after it, by test and shape.
    :ivar unresolved: how many tests were failing after it, including those that did not run.
    :ivar new: failures that are new in the episode; ``broken`` counts those of tests that had passed.
    :ivar changed: failures with another shape. ``moved``: with the same shape and other values. ``not_fixed``: tests
        that stopped failing without a fix. ``not_run``: tests that failed before and did not run.
    :ivar is_counted: it was an attempt: not a rerun of the same code, a killed run, a collision or an infrastructure
        failure.
    :ivar advanced: why it advanced: ``fixed``, ``later``, ``changed``, ``unmasked``, ``added``; ``elsewhere`` if only
        the source ``elsewhere`` did; empty if it did not.
    :ivar is_return: the episode was in this state before, but not after the previous run.
    :ivar infrastructure: tests with infrastructure failures, bounded.
    :ivar collected, known: as in :class:`Run`.
    """

    run: int
    state: str = ""
    unresolved: int = 0
    fixed: int = 0
    new: int = 0
    broken: int = 0
    changed: int = 0
    moved: int = 0
    not_fixed: int = 0
    not_run: int = 0
    edits: Edits = Edits()
    code: str = ""
    selection: str = ""
    is_full: bool = True
    is_counted: bool = True
    is_killed: bool = False
    is_return: bool = False
    advanced: str = ""
    infrastructure: tuple[str, ...] = ()
    collected: int = 0
    known: tuple[str, ...] = ()
    elsewhere: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Returned:
    """A failure of earlier episodes, each of which ended green.

    :ivar runs: the run in which it began, for each of the last such episodes.
    :ivar missed: the number of later episodes without it.
    """

    test: str
    shape: str
    runs: tuple[int, ...] = ()
    missed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The runs of one source since its last green one.

    :ivar first: the number of its first run, 0 before that; ``selection`` is how that run selected tests.
    :ivar runs: how many runs there were; ``steps`` are the last of them.
    :ivar tests: the latest state of every test that failed.
    :ivar best: the smallest number of failing tests after a run, and that run. Tests that became known later count as
        if they had been failing then.
    :ivar stalled: the number of consecutive counted runs that did not advance.
    :ivar varied: the number of consecutive counted runs without a new smallest number of failing tests.
    :ivar green: the number of the last green run, 0 for none; ``is_green_full``: it selected all tests.
    :ivar returned: failures of earlier episodes, including those that came back; bounded.
    :ivar asked: fingerprints of test changes that were reported once and no longer keep a green run from being done.
    :ivar known: tests that failed in the last green run and did not count: they are not known to have passed.
    """

    first: int = 0
    selection: str = ""
    runs: int = 0
    steps: tuple[Step, ...] = ()
    tests: Mapping[str, KnownTest] = field(default_factory=dict)
    best: tuple[int, int] = (0, 0)
    stalled: int = 0
    varied: int = 0
    green: int = 0
    is_green_full: bool = False
    returned: tuple[Returned, ...] = ()
    asked: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Signal:
    """A reason to believe that the loop is not advancing.

    :ivar is_on: False if it did not fire; ``explanation`` then says what is missing.
    :ivar runs: the numbers of the runs that show it.
    :ivar tests: the tests concerned, bounded.
    """

    kind: str
    is_on: bool = True
    runs: tuple[int, ...] = ()
    tests: tuple[str, ...] = ()
    explanation: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Breaker:
    """Whether the loop should go on.

    :ivar reason: why it is open, in words; empty while it is closed.
    """

    state: BreakerState = "closed"
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """When signals fire and the breaker opens.

    :ivar repeats: the number of runs with the same failure that is a repetition.
    :ivar half_open_after: consecutive counted runs without progress after which the loop should change its approach;
        ``open_after``: after which it should stop.
    :ivar varied: consecutive counted runs whose failures vary while their number does not decrease.
    :ivar mole: consecutive runs that each fix and break tests.
    :ivar cooldown: runs for which the breaker stays open before it allows one more attempt; 0: it stays open.
    :ivar similarity: from 0 to 1; messages at least this similar count as equal.
    :ivar off: kinds of signals that never fire.
    """

    repeats: int = 3
    half_open_after: int = 2
    open_after: int = 3
    varied: int = 6
    mole: int = 3
    cooldown: int = 0
    similarity: float = 0.9
    off: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """A run compared with the episode so far.

    :ivar run: the number of the run; ``position`` its position in the episode, from 1.
    :ivar fixed: tests that failed before and passed now; the other groups likewise, each sorted.
    :ivar new: failures that are new in the episode; those of tests that had passed are in ``broken``, too.
    :ivar changed: tests that fail with another shape than before.
    :ivar unresolved: tests that fail as before, even if values differ.
    :ivar source: whose runs they are.
    :ivar not_run: tests that failed before and did not run now.
    :ivar not_fixed: tests that stopped failing without a fix: skipped, expected to fail, gone, or weakened.
    :ivar step: the result of the run.
    :ivar signals: all signals, whether they fired or not.
    :ivar tests: changes to tests, found by source and by outcomes.
    """

    run: int
    position: int
    episode: Episode
    step: Step
    fixed: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    not_fixed: tuple[str, ...] = ()
    signals: tuple[Signal, ...] = ()
    breaker: Breaker = Breaker()
    tests: tuple[ChangedTest, ...] = ()
    source: str = "pytest"

    @property
    def tampering(self) -> Signal | None:
        """The signal ``test-tampering``; None if it did not fire."""
        return next((s for s in self.signals if s.is_on and s.kind == TAMPERING), None)
