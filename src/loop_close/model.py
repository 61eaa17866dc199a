"""The records everything speaks: frozen values, no logic, no I/O.

Paths are relative to the project's root, with forward slashes. Lines count from 1; 0 says "not known".
Text from outside is kept as the test run gave it, bounded; :mod:`loop_close.text` makes it safe to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from loop_close.calls import Calls
from loop_close.memory import Edits, Progress

Phase = Literal["collect", "setup", "call", "teardown", "session", "check", "process"]
Verdict = Literal["green", "first-failure", "progress", "no-progress", "stuck", "error"]
#: What an entry of the setting ``known`` means for a failure.
KnownState = Literal["known", "expired", "not-accepted", "not-needed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Consecutive lines of one file.

    :ivar start: the line number of the first of ``lines``.
    """

    start: int
    lines: tuple[str, ...]

    @property
    def numbers(self) -> range:
        """The line numbers of ``lines``."""
        return range(self.start, self.start + len(self.lines))


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """One frame of a traceback, in a file of the project.

    :ivar function: the qualified name of the running function, ``<module>`` at import time.
    :ivar is_test: the file is test code: a test module, a conftest, a helper below ``tests``.
    :ivar is_hidden: the function asked to be left out of tracebacks (``__tracebackhide__``).
    :ivar is_handing_on: the line raises an exception that the function was given or caught; it was made elsewhere.
    :ivar source: the function's own lines, bounded, the running one among them.
    """

    file: str
    line: int
    function: str
    is_test: bool = False
    is_hidden: bool = False
    is_handing_on: bool = False
    source: Source | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a value judged by a failing statement came from: a function, class or attribute of the project.

    :ivar function: qualified name; ``fixture NAME`` when only the fixture is known, and then no file.
    :ivar is_empty: the function has no body yet.
    :ivar source: its first lines, at most one of the docstring among them.
    :ivar body: the statements after the docstring, bounded; None when ``source`` goes on into them.
    :ivar calls: functions of the code under test that it calls by name, as (file, line, function), bounded.
    """

    file: str
    line: int
    function: str
    is_test: bool = False
    is_empty: bool = False
    source: Source | None = None
    body: Source | None = None
    calls: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """The statement that a failure is about.

    For an assertion helper this is the call of the helper, not the helper's own ``raise``.

    :ivar statement: its source text, whitespace folded.
    :ivar values: the names in the statement with their values when it failed, as (name, text), in the order of the
        statement; bounded and redacted.
    :ivar origins: what produced the values it used, the code under test before test helpers.
    :ivar inner: functions whose results were handed to those, as ``file:function``.
    """

    frame: Frame
    statement: str = ""
    values: tuple[tuple[str, str], ...] = ()
    origins: tuple[Origin, ...] = ()
    inner: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    r"""A place where two compared values differ.

    :ivar path: how to get there from either value, as Python spells it: ``["lines"][17].qty``; empty for the values
        themselves. A line of a long string is ``.split("\n")[3]``, a part of one ``[120:180]``.
    :ivar left: the text of the left one there, ``right`` of the right one; bounded and redacted. Empty for a part that
        is missing on that side. For lists of unequal length it can be ``3 items``, for sets the items of that side
        alone. Objects that read alike and are not equal are ``Cart()`` and ``another Cart()``.
    """

    path: str
    left: str
    right: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Raised:
    """One exception with what it was raised from.

    :ivar type: the class's qualified name without module, e.g. ``JSONDecodeError``.
    :ivar module: the class's module, empty for builtins.
    :ivar bases: names of the classes it derives from, nearest first, without ``object``.
    :ivar frames: the frames in the project's files, outermost first, bounded.
    :ivar omitted_frames: how many project frames were left out of the middle.
    :ivar details: what the exception itself says it is about; keys are ``name`` (module, attribute or
        variable), ``path``, ``line``, ``column``, ``text``, ``owner`` (the type or module that lacks the name, or the
        function that does not take the argument),
        ``environment`` (the missing variable), ``fixture`` (the missing one), ``home`` (the file that should define
        the missing name, of a missing argument the file of the function), ``generated`` (the frames in code without
        a file that follow the last project frame, as ``<template>:3 in root``, a line each).
    :ivar nearest: existing names that are nearest to the one that is missing, the nearest first.
    :ivar differences: where the two compared values first differ; computed from the objects, bounded.
    :ivar template: the literal part of the raised message, from the ``raise`` statement's source,
        values replaced by ``{}``; None where the source does not tell.
    :ivar cause: from ``raise … from``; ``context`` from "during handling of", unless suppressed.
    :ivar members: the exceptions of an exception group; ``omitted_members`` counts those left out.
    """

    type: str
    message: str
    module: str = ""
    bases: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    omitted_frames: int = 0
    details: Mapping[str, str] = field(default_factory=dict)
    nearest: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    template: str | None = None
    site: Site | None = None
    cause: Raised | None = None
    context: Raised | None = None
    members: tuple[Raised, ...] = ()
    omitted_members: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """One failing phase of one test, one collection error, or one fault of the whole session.

    Of other tools: one finding of a checker (phase ``check``), one traceback or death of a program (``process``).

    :ivar tool: the checker that found it, e.g. ``mypy``; empty for tests.
    :ivar code: the checker's rule, e.g. ``arg-type`` or ``F401``.
    :ivar subtest: pytest's description of the subtest, empty for a whole test.
    :ivar file: where the test stands; ``line`` is its first line.
    :ivar message: pytest's own words when there is no exception to read, else the exception's message.
    :ivar sections: captured output as (title, text) pairs, bounded.
    :ivar number: how many failures it stands for: more than one where the output only counts them.
    """

    nodeid: str
    phase: Phase
    message: str
    file: str = ""
    line: int = 0
    subtest: str = ""
    raised: Raised | None = None
    sections: tuple[tuple[str, str], ...] = ()
    tool: str = ""
    code: str = ""
    number: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Warned:
    """One warning that the run recorded."""

    category: str
    message: str
    nodeid: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Tests by outcome, as pytest counts them.

    :ivar failed: failing tests, without their subtests: both together are what pytest calls failed.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """What made a run, and of what: runs that differ in it are different sources, or parts of one run.

    :ivar runner: what made the environment: ``tox``, ``nox``, ``hatch``, else a CI system; empty for none.
    :ivar environment: its name, such as ``py311``; of a CI system the job.
    :ivar interpreter: such as ``cpython-3.11``; ``platform`` as :data:`sys.platform`. Empty where they are not known.
    :ivar shard: which part of all tests it was, from 1, and of how many; zeros for all of them.
    :ivar run_id: the CI system's name for the run that it was part of, with the attempt; empty outside of CI.
    :ivar commit: the commit that was checked out; empty where it is not known.
    :ivar collected: how many tests there were before any were chosen; ``digest`` of their node ids, the same in any
        order. 0 and empty where they were not asked for.
    :ivar packages: what is installed, as (name, version), sorted; empty where that was not asked for.
    """

    runner: str = ""
    environment: str = ""
    interpreter: str = ""
    platform: str = ""
    shard: tuple[int, int] = (0, 0)
    run_id: str = ""
    commit: str = ""
    collected: int = 0
    digest: str = ""
    packages: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownFailure:
    """A test that an entry of the setting ``known`` is about.

    :ivar test: its node id; of an entry that is not needed, what the entry names.
    :ivar phases: the phases that failed, as in :class:`Failure`; a failing subtest is ``subtest``.
    :ivar cause: the id of the root cause; empty for an entry that is not needed.
    :ivar message: of the first failure; bounded and redacted.
    :ivar issue: where it is tracked, as the project wrote it; ``until`` the last day of the entry. Empty for none.
    :ivar state: ``known``: it does not count; ``expired``: the last day has passed; ``not-accepted``: the entry was
        added in the loop, and no person accepted it; ``not-needed``: the tests that the entry names passed.
    """

    test: str
    phases: tuple[str, ...] = ()
    cause: str = ""
    message: str = ""
    issue: str = ""
    until: str = ""
    state: KnownState = "known"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """All that one run of a test command said.

    :ivar exit_code: None when it is not known.
    :ivar exit_reason: what gave the run an exit code that its tests do not explain; empty when nothing is known.
    :ivar incomplete: why the run ended before its end (in plain words), empty when it did not.
    :ivar rerun: the words of the command that runs tests again, without the selection; empty when not known.
    :ivar failed_option: the option of the test command that runs exactly the failing tests, such as
        ``--loop-close-failed``; empty when it has none.
    :ivar takes_ids: node ids behind ``rerun`` run just these tests: no option among its words selects by itself.
    :ivar root: the folder in which ``rerun`` works, where that is not plain: the root from where the run was started.
    :ivar expects_tests: a run of tests, which is green only when some ran; False for other commands.
    :ivar is_good_news: the output says itself that all is well; asked where the exit code is not known.
    :ivar has_output: the command printed something, or left a report.
    :ivar calls: which functions each test called; None where that was not looked at, and ``why_no_calls`` says why.
    :ivar asks_for_calls: they were asked for, so that it matters if there are none.
    :ivar tests: node ids of the tests that were chosen; empty where that is not known, or where the run is whole.
    :ivar spared: of these, the tests that were skipped or expected to fail.
    :ivar known: the failures that are known: ``failures`` and ``counts`` are without those that do not count.
    """

    exit_code: int | None = None
    source: str = "pytest"
    provenance: Provenance = Provenance()
    failures: tuple[Failure, ...] = ()
    warnings: tuple[Warned, ...] = ()
    counts: Counts = Counts()
    exit_reason: str = ""
    incomplete: str = ""
    selection: str = ""
    rerun: tuple[str, ...] = ("pytest", "--loop-close")
    failed_option: str = ""
    takes_ids: bool = True
    root: str = ""
    expects_tests: bool = True
    is_good_news: bool = False
    has_output: bool = True
    calls: Calls | None = None
    why_no_calls: str = ""
    asks_for_calls: bool = False
    tests: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    known: tuple[KnownFailure, ...] = ()

    @property
    def known_failing(self) -> tuple[KnownFailure, ...]:
        """The tests that failed and do not count."""
        return tuple(each for each in self.known if each.state == "known")


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What a detector found.

    :ivar kind: the detector's kind, e.g. ``test-failure``.
    :ivar identity: equal for findings that are one thing; made by the detector.
    :ivar failure: the failure it was read from, None when it was found elsewhere.
    """

    kind: str
    snippet: str
    label: str = ""
    file: str = ""
    line: int = 0
    identity: str = ""
    failure: Failure | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspect:
    """A function of the project that probably holds the fault.

    :ivar line: its first line, ``end_line`` the last one; 0 where they are not known.
    :ivar function: the qualified name, ``<module>`` for what runs at import time.
    :ivar score: the calibrated probability that it holds the fault, from 0 to 1: of the places given 0.6 to 0.7,
        60 to 70 % are right.
    :ivar reasons: in a few words each, the counts first.
    :ivar failed: how many failing tests of the root cause called it, and of how many that is known.
    :ivar passed: the same for passing tests; both zeros where calls were not looked at.
    :ivar odd: a line of it that failing tests ran and passing ones seldom did, how many of each did; zeros for none.
    :ivar edited: the number of the run before which it was edited, which is the first that failed; 0 for none.
    :ivar source: its source, bounded; of the first suspect of a root cause alone.
    :ivar none_before: it gave None while modules were imported, or before the first test.
    """

    file: str
    line: int
    function: str
    end_line: int = 0
    score: float = 0.0
    reasons: tuple[str, ...] = ()
    failed: tuple[int, int] = (0, 0)
    passed: tuple[int, int] = (0, 0)
    odd: tuple[int, int, int] = (0, 0, 0)
    edited: int = 0
    source: Source | None = None
    none_before: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RootCause:
    """Evidence that one fix should clear.

    :ivar id: eight hexadecimal digits, the same whenever the same cause is met.
    :ivar evidence: one per failure, the one to show first.
    :ivar suspects: the likeliest first; empty where the evidence is weak.
    :ivar findings: what checkers found in the very functions: it probably explains the failures.
    """

    id: str
    kind: str
    evidence: tuple[Evidence, ...]
    suspects: tuple[Suspect, ...] = ()
    findings: tuple[Evidence, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EditsRun:
    """Which of the functions that were edited since the last green run were run by a test of this run.

    :ivar edited: how many functions of the code under test were edited and are still there. Comments, formatting and
        docstrings are no edit.
    :ivar not_run: those that no test ran, as (file, qualified name), sorted and bounded.
    :ivar omitted: how many of them were left out.
    """

    edited: int = 0
    not_run: tuple[tuple[str, str], ...] = ()
    omitted: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceResult:
    """The result of one of several sources.

    :ivar observation: all that its run said.
    :ivar causes: the ids of its root causes.
    """

    source: str
    verdict: Verdict
    observation: Observation = Observation()
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherRun:
    """The last run of another source.

    :ivar run: its number.
    :ivar is_current: the files are those that it ran on, but for data that tests wrote.
    """

    source: str
    run: int
    verdict: str
    is_current: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What one run comes to: everything the prompt and the JSON report are made from.

    :ivar progress: the run against those before it; None where nothing is remembered.
    :ivar others: the last runs of other sources, but for those whose result is in ``sources``.
    :ivar notes: what there is to know of the memory, in a line each.
    :ivar green_run: the number of the green run that the files are compared with, 0 for none.
    :ivar since_green: how the files of a run that is not green differ from those of the source's last green run. Code
        under test comes first, then other files, then tests. None where there was no green run, or its files are not
        known any more.
    :ivar sources: the result of each source, of a report that is put together from several.
    :ivar edits_run: after a green run, which edited functions the tests ran; None where that is not known.
    """

    observation: Observation
    verdict: Verdict
    stall_reason: str
    evidence: tuple[Evidence, ...] = ()
    causes: tuple[RootCause, ...] = ()
    progress: Progress | None = None
    others: tuple[OtherRun, ...] = ()
    notes: tuple[str, ...] = ()
    since_green: Edits | None = None
    green_run: int = 0
    edits_run: EditsRun | None = None
    sources: tuple[SourceResult, ...] = ()
