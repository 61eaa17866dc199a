"""Records shared by all packages: frozen values, no logic, no I/O.

Paths are relative to the project's root, with forward slashes. Lines count from 1; 0 means "unknown".
Text from outside is bounded, and may hold credentials still; :mod:`loop_close.prompt` makes it safe to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from loop_close.calls import NO_CALLS, Calls
from loop_close.records import NO_LOOP, Edits, Loop, Outcome, Record, Signal, State
from loop_close.records import Counts as Counts

Phase = Literal["collect", "setup", "call", "teardown", "session", "check", "process"]
#: What one run shows by itself. ``red``: failures. ``error``: it is not green, and no failure is known.
Verdict = Literal["green", "red", "error"]
#: The largest number of a line: all formats of CI systems hold it.
LAST_LINE = 2**31 - 1
Line = Annotated[int, Meta(ge=0, le=LAST_LINE)]
Probability = Annotated[float, Meta(ge=0, le=1)]


class SourceLines(Record, frozen=True, kw_only=True):
    """Consecutive lines of one file; none where the source is not known.

    :ivar start: the line number of the first line.
    """

    start: int = 0
    lines: tuple[str, ...] = ()

    @property
    def numbers(self) -> range:
        """The line numbers of ``lines``."""
        return range(self.start, self.start + len(self.lines))


class Frame(Record, frozen=True, kw_only=True):
    """One frame of a traceback, or the function or class that a value came from, in a file of the project.

    :ivar line: the running one; of an origin its first line.
    :ivar function: the qualified name, ``<module>`` at import time.
    :ivar is_test: the file is test code: a test module, a conftest, a helper below ``tests``.
    :ivar is_hidden: the function is hidden from tracebacks (``__tracebackhide__``).
    :ivar is_handing_on: the line raises an exception that the function was passed or caught, and did not create.
    :ivar is_empty: the body is a placeholder; known of origins.
    :ivar source: the function's own lines, bounded, including ``line``.
    """

    file: str
    line: int
    function: str
    is_test: bool = False
    is_hidden: bool = False
    is_handing_on: bool = False
    is_empty: bool = False
    source: SourceLines = SourceLines()


class Site(Record, frozen=True, kw_only=True):
    """The statement that a failure is about.

    For an assertion helper this is the call of the helper and not its ``raise``.

    :ivar statement: its source text with whitespace collapsed.
    :ivar values: the names in the statement with their values when it failed, as (name, text), in the order of the
        statement; bounded and redacted.
    :ivar origins: the origins of the values that it used, the code under test before test helpers.
    """

    frame: Frame
    statement: str = ""
    values: tuple[tuple[str, str], ...] = ()
    origins: tuple[Frame, ...] = ()


class Difference(Record, frozen=True, kw_only=True):
    """A place where two compared values differ.

    :ivar path: the Python expression that leads there from either value: ``["lines"][17].qty``. Empty for the values
        themselves.
    :ivar left: the text of the left value there, ``right`` of the right value; bounded and redacted. Empty for a part
        that is missing on that side. For sets it has the items of only that side. Unequal objects with the same text
        are ``Cart()`` and ``another Cart()``.
    """

    path: str
    left: str
    right: str


class Raised(Record, frozen=True, kw_only=True):
    """One exception with what it was raised from.

    :ivar type: the class's qualified name without module, e.g. ``JSONDecodeError``.
    :ivar module: the class's module, empty for builtins.
    :ivar bases: names of the classes it derives from, nearest first, without ``object``.
    :ivar frames: the frames in the project's files, outermost first, bounded.
    :ivar details: what the exception itself reports, by these keys:
        ``name`` (module, attribute or variable), ``path``, ``line``;
        ``owner`` (the type or module without that name);
        ``environment`` (the missing variable); ``fixture`` (the missing fixture);
        ``home`` (the file that should define the missing name).
    :ivar nearest: existing names that are similar to the missing one, the most similar first.
    :ivar differences: where the two compared values first differ; computed from the objects, bounded.
    :ivar cause: from ``raise … from``; ``context`` from "during handling of", unless suppressed.
    :ivar members: the exceptions of an exception group; ``omitted_members`` counts those left out.
    """

    type: str
    message: str
    module: str = ""
    bases: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    details: Mapping[str, str] = {}
    nearest: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    site: Site | None = None
    cause: Raised | None = None
    context: Raised | None = None
    members: tuple[Raised, ...] = ()
    omitted_members: int = 0


class SeenCall(Record, frozen=True, kw_only=True):
    """One call of a suspected function, or of one that led to it, in a test that ran once more.

    :ivar depth: in how many of the calls that are kept it was made.
    :ivar arguments: as ``name=text``, joined by commas; bounded and redacted, as is ``result``.
    :ivar result: how it ended: ``= text``, ``yielded text, text`` or ``raised text``.
    :ivar changed: arguments that had another text when it ended, as ``name=text``.
    :ivar is_known: a passing test that ran once more, too, made the same call, and it ended in the same way.
    """

    function: str
    depth: int
    arguments: str
    result: str
    changed: str = ""
    is_known: bool = False


class SecondLook(Record, frozen=True, kw_only=True):
    """What was seen of a failing test when it ran once more, alone in a copy of the process.

    :ivar outcome: ``passed``, ``failed``, or another outcome of pytest; empty if it did not end.
    :ivar exception, message: of the failure, if it failed in another way; then no calls are kept.
    :ivar calls: in the order in which they began.
    """

    outcome: str
    exception: str = ""
    message: str = ""
    calls: tuple[SeenCall, ...] = ()


class Failure(Record, frozen=True, kw_only=True):
    """One failing phase of one test, one collection error, or one fault of the whole session.

    For other tools: one finding of a checker (phase ``check``), one traceback or death of a program (``process``).

    :ivar tool: the checker that found it, e.g. ``mypy``; empty for tests.
    :ivar code: the checker's rule, e.g. ``arg-type`` or ``F401``.
    :ivar subtest: pytest's description of the subtest, empty for a whole test.
    :ivar file: the file of the test; ``line`` is its first line.
    :ivar message: the exception's message, or pytest's own text if there is no exception to read.
    :ivar number: how many failures it represents: more than one if the output only counts them.
    :ivar again: what a second look at its test saw; None without one.
    """

    nodeid: str
    phase: Phase
    message: str
    file: str = ""
    line: int = 0
    subtest: str = ""
    raised: Raised | None = None
    tool: str = ""
    code: str = ""
    number: int = 1
    again: SecondLook | None = None

    @property
    def exception(self) -> str:
        """The name of the exception's class; empty if none is known."""
        return self.raised.type if self.raised is not None else ""

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of its exception, outermost first; none if it is not known."""
        return self.raised.frames if self.raised is not None else ()


class Warned(Record, frozen=True, kw_only=True):
    """One warning that the run recorded."""

    category: str
    message: str
    file: str = ""
    line: int = 0


class Provenance(Record, frozen=True, kw_only=True):
    """The environment of a run. Runs with different environments are different sources, or parts of one run.

    :ivar runner: what created the environment: ``tox``, ``nox``, ``hatch``, or a CI system; empty for none.
    :ivar environment: its name, such as ``py311``; for a CI system the job.
    :ivar interpreter: such as ``cpython-3.11``; ``platform`` as :data:`sys.platform`. Empty if unknown.
    :ivar shard: the part of all tests, from 1, and the number of parts; zeros for all tests.
    :ivar run_id: the CI system's name for the run, with the attempt; empty outside of CI.
    :ivar commit: the commit that was checked out; empty if unknown.
    :ivar collected: the number of tests before some were chosen; ``digest`` of their node ids in any order. 0 and empty
        if not recorded.
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

    @property
    def machine(self) -> str:
        """Interpreter and platform, as far as they are known."""
        return f"{self.interpreter}-{self.platform}".strip("-")


class Observation(Record, frozen=True, kw_only=True):
    """The observed result of one run of a test command.

    :ivar exit_code: None if unknown.
    :ivar incomplete: why the run is incomplete, in plain words; empty if it is complete.
    :ivar scope: how tests were chosen on the command line; empty for all.
    :ivar rerun: the command that runs just the failing tests again; empty if there is none.
    :ivar expects_tests: the run is of tests, so that it is green only if some ran; False for other commands.
    :ivar is_good_news: the output itself reports success; used if the exit code is unknown.
    :ivar has_output: the command printed something, or left a report.
    :ivar calls: which functions each test called; empty if not recorded, and ``why_no_calls`` says why.
    :ivar outcomes: of the tests that ran, by node id; empty if single tests are not known.
    """

    exit_code: int | None = None
    source: str = "pytest"
    provenance: Provenance = Provenance()
    failures: tuple[Failure, ...] = ()
    warnings: tuple[Warned, ...] = ()
    counts: Counts = Counts()
    incomplete: str = ""
    scope: str = ""
    rerun: str = "pytest --loop-close-failed"
    expects_tests: bool = True
    is_good_news: bool = False
    has_output: bool = True
    calls: Calls = NO_CALLS
    why_no_calls: str = ""
    outcomes: Mapping[str, Outcome] = {}


class Evidence(Record, frozen=True, kw_only=True):
    """A finding of a detector.

    :ivar kind: the detector's kind, e.g. ``test-failure``.
    :ivar failure: the failure that it was read from, None if it was found elsewhere.
    """

    kind: str
    snippet: str
    label: str = ""
    file: str = ""
    line: Line = 0
    failure: Failure | None = None


class Place(Record, frozen=True, kw_only=True):
    """A place in the code: a suspect, or where a failure is.

    :ivar function: the qualified name, ``<module>`` for what runs at import time; empty if it is not known.
    :ivar score: the calibrated probability that it holds the fault: of the places scored 0.6 to 0.7, 60 to 70 % are
        right. None if it is no suspect.
    :ivar constant: if it is a statement of a module or class, the qualified name of what that binds; ``function`` is
        then the class or ``<module>``.
    """

    file: str
    line: Line
    function: str
    score: Probability | None = None
    constant: str = ""

    @property
    def where(self) -> str:
        """``file:line``, or the file alone."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def called(self) -> str:
        """``cost()``, or ``RATES``; empty for other code outside of functions."""
        return self.constant or (f"{self.function}()" if self.function not in ("", "<module>") else "")


NO_PLACE = Place(file="", line=0, function="")


class Suspect(Place, frozen=True, kw_only=True):
    """A function of the project that probably holds the fault.

    :ivar line: its first line, ``end_line`` the last line; 0 if unknown.
    :ivar reasons: in a few words each, the counts first.
    :ivar failed: how many failing tests of the root cause called it, and for how many this is known.
    :ivar passed: the same for passing tests; both zeros if calls were not recorded. Of a constant the counts are those
        of the function that loads it.
    :ivar odd: a line of it that failing tests ran and passing tests seldom did, with both counts; zeros for none.
    :ivar guards: passing tests that ran it, by node id, bounded; ``passed`` counts all of them.
    """

    end_line: int = 0
    score: Probability = 0.0
    reasons: tuple[str, ...] = ()
    failed: tuple[int, int] = (0, 0)
    passed: tuple[int, int] = (0, 0)
    odd: tuple[int, int, int] = (0, 0, 0)
    guards: tuple[str, ...] = ()


class RootCause(Record, frozen=True, kw_only=True):
    """Evidence that one fix should clear.

    :ivar id: eight hexadecimal digits, the same in every run with this cause.
    :ivar evidence: one per failure, the one to show first.
    :ivar suspects: the most probable first; empty if the evidence is weak.
    :ivar excerpts: the source of the first suspects, bounded.
    :ivar findings: what else was found in the first suspects, which may explain the failures.
    """

    id: str
    kind: str
    evidence: tuple[Evidence, ...]
    suspects: tuple[Suspect, ...] = ()
    excerpts: tuple[SourceLines, ...] = ()
    findings: tuple[Evidence, ...] = ()

    @property
    def failures(self) -> list[Failure]:
        """Those of its evidence, at least one; the first is shown for all of them."""
        return [each.failure for each in self.evidence if each.failure is not None]


class SourceResult(Record, frozen=True, kw_only=True):
    """The result of one of several sources.

    :ivar observation: the observed result of its run, which has the name of the source.
    :ivar causes: the ids of its root causes.
    """

    verdict: Verdict
    observation: Observation
    causes: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The name of the source."""
        return self.observation.source


class OtherAttempt(Record, frozen=True, kw_only=True):
    """What another agent tried for a root cause of this run.

    :ivar cause: the id of the root cause.
    :ivar machine, branch: where; ``run`` is the number that the run after the edit has there.
    :ivar edits: each as file, function, and the line before and after if a single line was replaced; bounded.
    :ivar failing: how many failures there were after it; ``is_cleared``: none of this cause.
    :ivar is_same: the edit is one that was made in this loop, too.
    """

    cause: str
    machine: str
    branch: str
    run: int
    edits: tuple[tuple[str, str, str, str], ...]
    failing: int
    is_cleared: bool = False
    is_same: bool = False


class Report(Record, frozen=True, kw_only=True):
    """The result of one run: everything that the prompt and the JSON report are made from.

    :ivar notes: remarks on the history, one line each.
    :ivar sources: the results by source, for a report that is merged from several.
    :ivar edited: after a green run, the functions of the code under test that were edited in the loop, each as (file,
        qualified name, whether a test ran it), sorted; None if unknown. Changes to comments, formatting and docstrings
        do not count.
    :ivar shared: what other agents tried for the root causes; None without a shared history.
    :ivar run: the number of the run in the store, 0 without one.
    :ivar loop: the runs since the project was last done, with this one; an empty one without a history.
    :ivar signals: the facts that explain why the loop does not advance, the most telling first.
    :ivar state: what the gate says of the files now; None where nothing asked it.
    :ivar since: how the files differ from those after the run ``loop.base``; code under test, other files, then tests.
    :ivar stuck_after: the setting: how many attempts in a row that do not advance are stuck.
    """

    observation: Observation
    verdict: Verdict
    stall_reason: str
    evidence: tuple[Evidence, ...] = ()
    causes: tuple[RootCause, ...] = ()
    notes: tuple[str, ...] = ()
    edited: tuple[tuple[str, str, bool], ...] | None = None
    sources: tuple[SourceResult, ...] = ()
    shared: tuple[OtherAttempt, ...] | None = None
    run: int = 0
    loop: Loop = NO_LOOP
    signals: tuple[Signal, ...] = ()
    state: State | None = None
    since: Edits = Edits()
    stuck_after: int = 3
