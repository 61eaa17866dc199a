"""The records of what is remembered from run to run: frozen values, no logic, no I/O.

Runs are numbered from 1 for each source. Tests go by node id; findings of checkers, which have none, by file, tool,
rule and masked message. Keys are digests of normalized, redacted text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

EditKind = Literal["unknown", "none", "ineffective", "effective"]
Change = Literal["added", "removed", "edited", "moved"]
Outcome = Literal["passed", "skipped", "xfailed"]
Status = Literal["failing", "passed", "skipped", "xfailed", "gone"]
#: ``weakened`` is found in older histories alone.
Tampering = Literal["", "skipped", "xfailed", "deleted", "uncollected", "weakened"]
TestState = Literal["open", "asked", "accepted", "hint"]
#: The groups of tests in :class:`Progress`.
GROUPS = ("fixed", "new", "broken", "changed", "unresolved", "not_run", "not_fixed")
#: The source of reports that were put together. It tells of the commit that they are of, not of the files as they are.
MERGED = "merge"
BreakerState = Literal["closed", "half_open", "open"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureRecord:
    """One failure as it is remembered.

    :ivar test: what failed: a node id, or for what is no test a name that survives shifted lines.
    :ivar exact: equal where nothing moved at all: test, phase, exception type, message with its values.
    :ivar shape: equal where at most the values moved: exception type, innermost project function, the statement
        or the message with values masked.
    :ivar cause: equal where one fix clears both; without the test.
    :ivar family: exception type and place; only within it messages are compared by similarity.
    :ivar message: the message with values masked, bounded; empty where wording does not decide.
    :ivar exception: the exception's type, else the kind of the finding.
    :ivar where: ``file:function`` of the statement at fault, and ``line`` in it; 0 when not known.
    :ivar test_line: the line of the test's own function that was running, 0 when not known.
    :ivar parts: how many failures of the test it stands for: of its phases, or of its subtests.
    :ivar got: the value that the test saw, bounded; empty when it is not known.
    :ivar want: the value that it expected, or in words what it demands of one: ``anything but 3``.
    :ivar is_infrastructure: the machine failed and not the program: a timeout, the network, a full disk.
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
    """What was done to a test since its baseline: the tests as they were when the loop began.

    :ivar file: relative to the root; ``test`` the qualified name in it, empty for all of the file.
    :ivar kind: as in :data:`loop_close.testcode.Kind`.
    :ivar what: the facts in a clause; ``before`` and ``after`` the lines that differ, bounded; all made fit to show.
    :ivar line: in the file as it is now, 0 where there is none.
    :ivar fingerprint: identifies exactly this change; a person accepts the change by it.
    :ivar state: ``open``: a green run is not done; ``asked``: a gate asks about it once; ``accepted`` by a person;
        ``hint``: it is only named.
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
        return f"{self.file}::{self.test.replace('.', '::')}" if self.test else self.file

    @property
    def is_open(self) -> bool:
        """Whether it keeps a green run from being done."""
        return self.state == "open"


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One function, class body, module body or other file that differs from the run before.

    :ivar function: qualified name; ``<module>`` for statements outside of functions and classes; empty for a whole
        file, as for one that is no Python or cannot be parsed.
    :ivar is_effective: more than comments, formatting, docstrings or prose changed.
    :ivar moved_to: for ``moved``, the new (file, function).
    :ivar diff: a unified diff without its header, bounded and redacted; empty where it was not kept.
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

    :ivar kind: ``unknown`` where there is no run to compare with.
    :ivar edits: bounded; ``omitted`` counts those left out.
    """

    kind: EditKind = "unknown"
    edits: tuple[Edit, ...] = ()
    omitted: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run as it is remembered.

    :ivar marks: its failures, bounded; ``omitted_marks`` counts those left out.
    :ivar outcomes: what became of tests that had failed in the episode and did not fail now.
    :ivar tells_outcomes: a test that is in neither did not run; False where only failures are told, as by text.
    :ivar selection: how tests were chosen, or the command; empty when all were meant.
    :ivar is_full: every test that is known was meant to run, and the run came to its end.
    :ivar incomplete: why it ended before its end.
    :ivar code: a digest of the project's Python files, empty where they are not known.
    :ivar is_good: the command said that all is well.
    :ivar is_killed: it began and was never heard of again.
    :ivar collected: how many tests were selected to run, 0 when not known.
    :ivar interpreter: what ran them, as ``cpython-3.13-linux``; empty when not known.
    :ivar tests: what was done to the tests since the baseline, bounded; ``is_compared``: they were compared with it.
    :ivar accepted: fingerprints of changes that a person accepted.
    :ivar of_tests: files that belong to the tests although their names do not say so, bounded.
    :ivar differing: files of tests that differ from the baseline, bounded; None where there is none.
    :ivar known: tests that failed and do not count, as the setting ``known`` names them; bounded.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureShape:
    """One shape that the failure of a test had, and the runs in which it had it (the last ones)."""

    shape: str
    family: str = ""
    message: str = ""
    runs: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownTest:
    """What is known last of one test that failed in the episode.

    :ivar mark: its last failure.
    :ivar since: the run in which the failure began that is still there; ``ran``: the last run that it was in.
    :ivar forms: the shapes it had, in order of appearance, bounded.
    :ivar values: (run, value) where the value that the test saw changed, bounded.
    :ivar flips: runs in which it passed or failed other than before although nothing was edited.
    :ivar tampered: (run, what was done) where it stopped failing without being fixed, by its outcomes.
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
    """What one run of an episode came to, as later ones need it.

    :ivar state: a digest of what was failing after it, by test and shape.
    :ivar unresolved: how many tests were failing after it, with those that did not run.
    :ivar new: failures that the episode did not know; ``broken`` of them belong to tests that had passed.
    :ivar changed: failures with another shape; ``moved``: with the same shape and other values; ``not_fixed``:
        tests that stopped failing without passing; ``not_run``: failed before and did not run.
    :ivar is_counted: it was an attempt; not a look at the same code, a killed run, a fault of the machine.
    :ivar advanced: why it advanced: ``fixed``, ``later``, ``changed``, ``unmasked``, ``added``; empty when it did not.
    :ivar is_return: the state is one that the episode was in before, and not that of the run before.
    :ivar infrastructure: tests that the machine failed, bounded.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Returned:
    """A failure that earlier episodes had, each of which ended green.

    :ivar runs: the run of each such episode in which it began, the last ones.
    :ivar missed: episodes since the last of them that did not have it.
    """

    test: str
    shape: str
    runs: tuple[int, ...] = ()
    missed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The runs of one source since its last green one.

    :ivar first: the number of its first run, 0 before that; ``selection`` how that run chose tests.
    :ivar runs: how many there were; ``steps`` holds the last of them.
    :ivar tests: what is known last of every test that failed.
    :ivar best: the fewest tests that were failing after a run, and that run; tests that only came to be known
        later count as if they had been failing then.
    :ivar stalled: counted runs in a row that did not advance.
    :ivar varied: counted runs in a row after which no fewer tests were failing than ever before.
    :ivar green: the number of the last green run, 0 for none; ``is_green_full``: all tests were meant in it.
    :ivar returned: failures of earlier episodes, those that came back among them; bounded.
    :ivar asked: fingerprints of changes to tests that were reported once and do not keep a green run from being done.
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
    """A reason to believe that the loop is not advancing, or why there is none.

    :ivar is_on: False for one that did not fire; ``explanation`` then says what is missing.
    :ivar runs: the numbers of the runs that show it.
    :ivar tests: what it is about, bounded.
    """

    kind: str
    is_on: bool = True
    runs: tuple[int, ...] = ()
    tests: tuple[str, ...] = ()
    explanation: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Breaker:
    """Whether the loop should go on.

    :ivar reason: what opened it, in words; empty while it is closed.
    """

    state: BreakerState = "closed"
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """How much it takes to speak of a loop that is stuck.

    :ivar repeats: runs that have to show the same thing.
    :ivar half_open_after: counted runs in a row without progress after which the loop should pivot;
        ``open_after``: stop.
    :ivar varied: counted runs in a row whose failures vary while their number never gets smaller.
    :ivar mole: runs in a row that each fix and break.
    :ivar cooldown: runs for which the breaker stays open before one more attempt is let through; 0: it stays open.
    :ivar similarity: from 0 to 1, from which on two messages count as one.
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
    """A run against the episode so far.

    :ivar run: the number of the run; ``position`` its place in the episode, from 1.
    :ivar fixed: tests that failed before and passed now; the other groups likewise, each sorted.
    :ivar new: failures that the episode did not know; those of tests that had passed are in ``broken``, too.
    :ivar changed: fail with a shape other than before.
    :ivar unresolved: fail as before, whatever the values.
    :ivar not_run: failed before and did not run now.
    :ivar not_fixed: stopped failing without passing: skipped, expected to fail, gone.
    :ivar step: the run's own; see :class:`Step`.
    :ivar signals: all that are known, fired or not.
    :ivar tests: what was done to tests, by their source and by their outcomes.
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

    @property
    def tampering(self) -> Signal | None:
        """The signal that tests are not what they were; None where it is silent."""
        return next((s for s in self.signals if s.is_on and s.kind == "test-tampering"), None)
