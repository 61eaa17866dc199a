"""State and decisions of the loop between an agent and its tests; it runs nothing itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from loop_close.agent import WHOLE, checked_state
from loop_close.agent.analyzer import REPEATS, ResponseAnalyzer, error_pattern, errors_in
from loop_close.agent.guard import LimitReached, Limits, SafetyGuard
from loop_close.agent.output_reader import AgentOutput
from loop_close.agent.response import AnalysisContext, AnalysisResult, lines_of
from loop_close.agent.strategies import (
    FIX_PLAN,
    NOT_REPORTED,
    Breaker,
    Decision,
    ExitStrategy,
    FixPlan,
    Standing,
    count_attempt,
    doubts,
    follow_steps,
    is_proven,
    plan_from_dict,
    plan_to_dict,
    update_plan,
)
from loop_close.agent.supervisor import OWN_KEY, Supervisor, ToolResult, Trip, content_text
from loop_close.model import Verdict
from loop_close.records import Objection, Record
from loop_close.text import one_line
from loop_close.text.redact import clean

#: The supervisor's name for the tests.
TESTS = "tests"
_VERSION = 1
#: Earlier releases did not save all of it.
_STATE = {
    "version": _VERSION,
    **dict.fromkeys(("guard", "supervisor", "fix_plan", "own_plan?"), dict),
    **{key: [str] for key in ("responses", "errors", "work?")},
    "failing": [WHOLE],
    "vain": WHOLE,
    "repeats?": WHOLE,
    "error?": str,
}
_RESPONSES, _ERRORS, _WORK = 5, 10, 10
_MAX_TEXT = 20_000
_DEFAULT = Limits()

_CLOSED = Breaker()
_NAMED = 3


class RunOutcome(Record, frozen=True, kw_only=True):
    """The outcome of a test run, as the loop needs it.

    :ivar verdict: of the worst of its sources; None if nothing is known of the run.
    :ivar failing: number of failing tests.
    :ivar is_complete: the run was finished.
    :ivar is_edited: the program was edited since the run before; ``has_advanced``: the run advanced.
    :ivar objections: what keeps green checks from being done; ``changes``: the same as Markdown.
    :ivar not_run: number of tests that failed before in this loop and did not run now.
    :ivar causes: description of each root cause by its id, the first to fix first.
    :ivar state: a digest of the failures; ``meta``: whether the run made progress, by the keys of results.
    :ivar prompt: the next prompt.
    :ivar attempts: the edits before each run of the loop and their effect, one line each, the oldest first.
    :ivar edits_not_run: which edited functions no test of a green run ran, in words; empty for none.
    """

    verdict: Verdict | None = None
    failing: int = 0
    is_complete: bool = False
    is_edited: bool = False
    has_advanced: bool = False
    objections: tuple[Objection, ...] = ()
    changes: str = ""
    not_run: int = 0
    breaker: Breaker = _CLOSED
    causes: Mapping[str, str] = {}
    state: str = ""
    meta: Mapping[str, bool] = {}
    prompt: str = ""
    attempts: tuple[str, ...] = ()
    edits_not_run: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether the number of failing tests is known: the run names some, or is green with unchanged tests."""
        return self.failing > 0 or (self.verdict == "green" and not self.doubt)

    @property
    def doubt(self) -> str:
        """The tests as they were that do not pass, or why they did not run, in words; empty without an objection."""
        if not self.objections:
            return ""
        tests = [test for each in self.objections for test in each.tests]
        named = [f"{one_line(each.test, 120)}: {each.outcome}" for each in tests]
        named += [one_line(each.reason, 200) for each in self.objections if each.reason]
        if not named:
            files = [one_line(file, 120) for each in self.objections for file in each.files]
            named = [f"changed: {file}" for file in files] or ["changed"]
        more = len(named) - _NAMED + sum(each.omitted for each in self.objections)
        return ", ".join((*named[:_NAMED], *([f"{more} more"] if more > 0 else [])))


def result_of(outcome: RunOutcome, tool: str, turn: int) -> ToolResult:
    """The run as the result of a tool, for the supervisor.

    A task may take many green runs: they are equal only over unedited code, or with changed tests.

    :param turn: the number of the turn, which makes all other green runs different.
    """
    content = f"{outcome.verdict} {outcome.state} {outcome.doubt}"
    if outcome.verdict != "green" or outcome.doubt:
        meta = {} if outcome.verdict == "green" else outcome.meta
        return ToolResult(tool=tool, content=content, is_error=True, meta=meta)
    return ToolResult(tool=tool, content=f"{content} {turn if outcome.is_edited or not turn else ''}")


_COUNTS = 1_000


class Trend:
    """Failure counts of the loop's own runs; the history also has runs that the agent made by itself.

    :ivar failing: number of failing tests after each run, if it is known.
    :ivar vain: turns in a row without a new minimum of failing tests.
    :param patience: such turns that are allowed before an open breaker counts as open.
    """

    def __init__(self, patience: int, failing: Sequence[int] = (), vain: int = 0) -> None:
        self._patience = patience
        self.failing = list(failing)[-_COUNTS:]
        self.vain = vain

    def moved(self, outcome: RunOutcome, *, is_turn: bool) -> RunOutcome:
        """Record the next run, and correct its outcome by the counts of the loop.

        :param is_turn: the agent had a turn before it.
        """
        best = min(self.failing, default=None)
        is_better = outcome.is_counted and (best is None or outcome.failing < best)
        if outcome.is_counted:
            self.failing = [*self.failing, outcome.failing][-_COUNTS:]
        self.vain = 0 if is_better else self.vain + is_turn
        if is_better and best is not None:
            outcome = replace(outcome, has_advanced=True, meta={OWN_KEY: False})
        if outcome.breaker.state == "open" and self.vain < self._patience:
            outcome = replace(outcome, breaker=replace(outcome.breaker, state="half_open"))
        return outcome


class AgentLoop:
    """The state of a loop, from turn to turn.

    A loop gets in turns the outcome of the tests (:meth:`tested`) and the agent's output (:meth:`answered`). It reads
    no clock and runs nothing; it can be saved after each step and resumed. With a task it is not done before the
    agent's last message has a completion word or marker, whatever the strategy decides.

    :param strategy: decides when the loop ends.
    :param limits: what the loop may spend.
    :param task: what the agent has to do beside making the tests pass; empty if that is all.
    :param patience: unproductive turns in a row that are allowed before the breaker may stop the loop. The breaker
        also counts runs that the agent made by itself within a turn.
    """

    def __init__(
        self, strategy: ExitStrategy, limits: Limits = _DEFAULT, *, task: str = "", patience: int = 3
    ) -> None:
        self._strategy = strategy
        self._task = task
        self._guard = SafetyGuard(limits)
        self._supervisor = Supervisor()
        self._plan = FixPlan()
        self._own = FixPlan()
        self._responses: list[str] = []
        self._errors: list[str] = []
        self._analysis = AnalysisResult()
        self._facts: list[str] = []
        self._trend = Trend(patience)
        self._work: list[str] = []
        self._has_turned = False
        self._was_warned = False
        self._repeats = 0
        self._error = ""

    @property
    def limits(self) -> Limits:
        """What the loop may spend."""
        return self._guard.limits

    @property
    def turns(self) -> int:
        """How many turns the agent had."""
        return self._guard.spent.iterations

    @property
    def failing(self) -> Sequence[int]:
        """Number of failing tests after each run, if it is known."""
        return self._trend.failing

    @property
    def plan(self) -> FixPlan:
        """The user's own steps, then the root causes of the loop, with their state."""
        return FixPlan(steps=(*self._own.steps, *self._plan.steps))

    @property
    def work(self) -> Sequence[str]:
        """The work that the agent reported, one line for each of the last turns that report any."""
        return self._work

    @property
    def analysis(self) -> AnalysisResult:
        """The analysis of the agent's last message."""
        return self._analysis

    @property
    def cost(self) -> float:
        """The cost of the turns, as far as the agent reports it."""
        return self._guard.spent.cost

    @property
    def runtime(self) -> float:
        """Run time of the loop, in seconds."""
        return self._guard.spent.runtime

    def limit(self, now: float) -> LimitReached | None:
        """The limit that is reached; None if the agent may have another turn.

        :param now: seconds of a monotonic clock.
        """
        reached = self._guard.check(now)
        if reached is None or reached.limit != "failures" or not self._error:
            return reached
        return replace(reached, reason=f"{reached.reason}; the last turn failed: {self._error}")

    def follow(self, steps: Sequence[tuple[str, bool]]) -> None:
        """Update the user's own plan.

        :param steps: description of each step, and whether it is completed.
        """
        self._own = follow_steps(self._own, steps)

    def tested(self, outcome: RunOutcome) -> Decision:
        """Decide after a run of the tests.

        Before the agent's first turn the loop is never stuck: the agent did not cause that state.
        """
        outcome = self._trend.moved(outcome, is_turn=self._has_turned)
        self._plan = self._planned(outcome)
        if self._has_turned and outcome.is_edited:
            self._own = count_attempt(self._own)
        standing = self._standing(outcome)
        trip = self._supervisor.observe(result_of(outcome, TESTS, self.turns))
        decision = self._strategy.decide(standing)
        if self._error and decision.action != "stuck":  # what a failed turn claims does not count
            reason = "; ".join((self._error, *doubts(standing)))
            decision = replace(decision, action="continue", reason=reason)
        if self._task and decision.action == "done" and not standing.analysis.completion_signal.keywords:
            decision = replace(decision, action="continue", reason=f"{decision.reason}, but {NOT_REPORTED}")
        # Green tests are not all if there is a task or a plan, or if the agent says that it is not done.
        has_more = self._task or self._own.steps or standing.analysis.completion_signal.qualifiers
        if decision.action != "done" and not has_more and is_proven(standing):
            return Decision(action="done", reason="the tests are green", strategy=TESTS)
        if decision.action == "continue":
            decision = self._repetition(outcome, trip) or decision
        self._was_warned = outcome.breaker.state != "closed"
        if decision.action == "stuck" and not self._has_turned:
            return Decision(action="continue", reason=decision.reason, strategy=decision.strategy)
        return decision

    def answered(self, said: AgentOutput, *, error: str = "", now: float) -> None:
        """Record a turn of the agent.

        :param error: why the turn failed; empty if it did not.
        :param now: as in :meth:`limit`.
        """
        self._analysis = self._analyzed(clean(said.text, _MAX_TEXT))
        work = self._analysis.work_summary
        self._work = [*self._work, f"turn {self.turns + 1}: {work}"][-_WORK:] if work else self._work
        self._repeats = self._repeats + 1 if self._guard.detect_loop(said.text) else 0
        error = error or ("the agent reported an error" if said.is_error else "")
        record = self._guard.record_failure if error else self._guard.record_success
        record(cost=said.cost, now=now)
        self._error = one_line(clean(error), 300)
        self._errors = [*self._errors, _errors_of(said, error)][-_ERRORS:]
        trips = [self._supervisor.observe(result) for result in said.results]
        self._facts = list(dict.fromkeys(trip.text for trip in trips if trip is not None))
        self._has_turned = True

    def prompt(self, outcome: RunOutcome, decision: Decision) -> str:
        """The text for the agent's next turn."""
        most = self.limits.max_iterations
        of_most = "" if most == float("inf") else f" of at most {most:g}"
        facts = [f"Turn {self.turns + 1}{of_most}."]
        if self._has_turned or self.turns:
            facts.append(
                f"{'The last turn failed' if self._error else 'After the last turn'}: {decision.reason}."
            )
        at, steps = self._own.current_step, self._own.steps
        if at < len(steps):
            facts.append(f"Step {at + 1} of {len(steps)} of the plan is next: {steps[at].description}")
            facts.append("A step counts as completed once its box is checked in the file of the plan.")
        if outcome.doubt and outcome.doubt not in decision.reason:
            facts.append(f"Of the tests as they were: {outcome.doubt}.")
        if self._work and self._work[-1].startswith(f"turn {self.turns}: "):
            facts.append(f"The agent's own account of {self._work[-1]}.")
        facts += [*decision.warnings, *self._facts]
        return turn_prompt(self._task, _prompt(outcome), facts)

    def state(self) -> dict[str, Any]:
        """The state to resume from, as plain JSON values; its texts are redacted and bounded."""
        return {
            "version": _VERSION,
            "guard": self._guard.state(),
            "supervisor": self._supervisor.state(),
            "fix_plan": plan_to_dict(self._plan),
            "responses": self._responses,
            "errors": self._errors,
            "failing": self._trend.failing,
            "vain": self._trend.vain,
            "repeats": self._repeats,
            "work": self._work,
            "own_plan": plan_to_dict(self._own),
            "error": self._error,
        }

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        strategy: ExitStrategy,
        limits: Limits = _DEFAULT,
        *,
        task: str = "",
        patience: int = 3,
    ) -> AgentLoop:
        """The loop of a saved state; strategy, limits, task and patience are those given now.

        A person has looked at it meanwhile: failed turns and runs without progress no longer count as in a row.

        :raises ValueError: naming the damaged field.
        """
        saved = checked_state(state, _STATE, "loop")
        loop = cls(strategy, limits, task=task, patience=patience)
        loop._guard = SafetyGuard.from_state(saved["guard"], limits)
        loop._guard.forgive()
        loop._supervisor = Supervisor.from_state(saved["supervisor"])
        loop._supervisor.forget(TESTS)
        loop._plan = plan_from_dict(saved["fix_plan"])
        loop._trend = Trend(patience, saved["failing"], saved["vain"])
        loop._responses = saved["responses"][-_RESPONSES:]
        loop._errors = saved["errors"][-_ERRORS:]
        loop._repeats, loop._error = saved.get("repeats", 0), saved.get("error", "")
        loop._work = saved.get("work", [])[-_WORK:]
        loop._own = plan_from_dict(saved["own_plan"]) if "own_plan" in saved else FixPlan()
        if loop._responses:
            loop._analysis = loop._analyzed(loop._responses.pop())
        return loop

    def _analyzed(self, text: str) -> AnalysisResult:
        """Analyze a response, and keep it for the analysis of later ones."""
        context = AnalysisContext(
            iteration=self.turns + 1,
            previous_responses=tuple(self._responses),
            error_history=tuple(self._errors),
            task_description=self._task,
        )
        self._responses = [*self._responses, text][-_RESPONSES:]
        return ResponseAnalyzer().analyze(text, context)

    def _standing(self, outcome: RunOutcome) -> Standing:
        return Standing(
            analysis=self._analysis,
            verdict=outcome.verdict,
            failing=outcome.failing,
            has_advanced=outcome.has_advanced,
            is_fresh=True,
            is_complete=outcome.is_complete,
            tampered=outcome.doubt,
            breaker=outcome.breaker,
            iteration=max(self.turns, 1),
            fix_plan=self.plan,
        )

    def _planned(self, outcome: RunOutcome) -> FixPlan:
        """The plan after a run; with another step next, the supervisor forgets the results of the tests."""
        plan = update_plan(
            self._plan,
            outcome.causes,
            is_complete=outcome.is_complete and not outcome.doubt and not outcome.not_run,
            is_edited=outcome.is_edited,
        )
        is_by_plan = FIX_PLAN.name in self._strategy.name.split("+")
        if is_by_plan and self._plan.current_step != plan.current_step < len(plan.steps):
            self._supervisor.forget(TESTS)
        return plan

    def _repetition(self, outcome: RunOutcome, trip: Trip | None) -> Decision | None:
        """The decision "stuck" if the runs or the agent's messages repeat; else None."""
        if trip is not None:
            reason = trip.text.partition("\n")[0]
            return Decision(action="stuck", reason=f"{reason} {outcome.doubt}".strip(), strategy="supervisor")
        if self._is_repeating(outcome):
            failed = f"; its last turn failed: {self._error}" if self._error else ""
            reason = f"{_repeats(self._guard, outcome)}{failed}"
            return Decision(action="stuck", reason=reason, strategy="safety_guard")
        return None

    def _is_repeating(self, outcome: RunOutcome) -> bool:
        """Whether the agent repeats an earlier message while the runs make no progress.

        Equal messages after different edits are not a loop if the runs advance. A half-open breaker must have
        asked the agent before to try something else. Green runs do not show whether edits advance: there it is a loop
        if nothing was edited, or at the third repetition in a row.
        """
        if self._guard.found is None or outcome.has_advanced:
            return False
        if outcome.verdict == "green" and not outcome.doubt:
            return not outcome.is_edited or self._repeats + 1 >= REPEATS
        return self._was_warned


def _prompt(outcome: RunOutcome) -> str:
    """The next prompt; for green tests that were changed, a text that says so."""
    if outcome.verdict != "green" or not outcome.doubt:
        return outcome.prompt
    text = (
        f"# The tests pass, but not the tests as they were\n\n{outcome.doubt}.\n\nThe loop is not done until these"
        " pass, or a person accepts the new ones (`loop-close accept`)."
    )
    return f"{text}\n\n{outcome.changes}" if outcome.changes else text


def _repeats(guard: SafetyGuard, outcome: RunOutcome) -> str:
    found = guard.found
    assert found is not None
    runs = "the tests were green before, too" if outcome.verdict == "green" else "the runs make no progress"
    return f"the agent repeats an earlier message ({found.similarity:.0%} alike), and {runs}"


def _errors_of(said: AgentOutput, error: str) -> str:
    """All errors of a turn, one a line: of the turn itself, of its message, of its tools."""
    reported = errors_in(lines_of(clean(said.text, _MAX_TEXT)))
    tools = (content_text(result.content) for result in said.results if result.is_error)
    lines = dict.fromkeys(line for line in (clean(error), *reported, *map(error_pattern, tools)) if line)
    return clean("\n".join(lines), _MAX_TEXT)


_MAX_FACT = 400


def turn_prompt(task: str, tests: str, facts: Sequence[str]) -> str:
    """The text of a turn, as Markdown.

    :param task: what the user wants done, as it was written; empty if the tests say it all.
    :param tests: the next prompt.
    :param facts: of the loop, a line each; they contain no orders.
    """
    return "\n".join(_lines(task.strip(), tests.strip(), facts)) + "\n"


def _lines(task: str, tests: str, facts: Sequence[str]) -> Iterator[str]:
    if task:
        yield from (task, "", "---", "")
    if tests:
        yield from (tests, "")
    yield from ("## This loop", "")
    yield from (f"- {one_line(fact, _MAX_FACT)}" for fact in facts)
