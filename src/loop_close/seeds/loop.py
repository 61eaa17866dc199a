"""State and decisions of the loop between an agent and its tests; it runs nothing itself and reads no clock."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec.structs import replace

from loop_close.seeds.analyzer import REPEATS, AnalysisContext, AnalysisResult, ResponseAnalyzer, errors_in
from loop_close.seeds.guard import LimitReached, Limits, SafetyGuard, Spent
from loop_close.seeds.outputs import AgentOutput
from loop_close.seeds.strategies import (
    Decision,
    ExitStrategy,
    FixPlan,
    Standing,
    count_attempt,
    doubts,
    follow_steps,
    update_plan,
)
from loop_close.seeds.supervisor import Supervisor, ToolResult, ToolState
from loop_close.text import one_line
from loop_close.text.redact import clean

_LOG = logging.getLogger(__name__)

#: The supervisor's name for the tests.
TESTS = "tests"
_RESPONSES, _ERRORS, _WORK, _COUNTS = 5, 10, 10, 1_000
_MAX_TEXT, _MAX_FACT = 20_000, 400


class RunOutcome(Standing, frozen=True, kw_only=True):
    """The outcome of a test run: what a strategy is given of it, and what the loop needs beside.

    :ivar is_edited: the program was edited since the run before.
    :ivar causes: description of each root cause by its id, the first to fix first.
    :ivar state: a digest of the failures; ``meta``: whether the run made progress, by the keys of results.
    :ivar prompt: the next prompt.
    """

    is_edited: bool = False
    causes: Mapping[str, str] = {}
    state: str = ""
    meta: Mapping[str, bool] = {}
    prompt: str = ""

    @property
    def is_proven_green(self) -> bool:
        """Whether the tests pass, as they were."""
        return self.verdict == "green" and not self.objection


class LoopState(msgspec.Struct, kw_only=True):
    """What a loop goes on from in another process; its texts are redacted and bounded.

    :ivar spent: what the guard goes on from; ``tools``: what the supervisor does.
    :ivar causes: the root causes of the loop as steps; ``steps``: the user's own.
    :ivar responses: the last of the agent, the oldest first; ``errors`` of its last turns, one text a turn.
    :ivar failing: number of failing tests after each run, if it is known.
    :ivar work: the work that the agent reported, one line for each of the last turns that report any.
    :ivar repeats: turns in a row in which it repeated an earlier message.
    :ivar error: why the last turn failed; empty if it did not.
    """

    spent: Spent = msgspec.field(default_factory=Spent)
    tools: dict[str, ToolState] = {}
    causes: FixPlan = FixPlan()
    steps: FixPlan = FixPlan()
    responses: list[str] = []
    errors: list[str] = []
    failing: list[Annotated[int, msgspec.Meta(ge=0)]] = []
    work: list[str] = []
    repeats: int = 0
    error: str = ""


class AgentLoop:
    """The state of a loop, from turn to turn.

    A loop gets in turns the outcome of the tests (:meth:`tested`) and the agent's output (:meth:`answered`). It can be
    saved after each step and resumed.

    :ivar analysis: the analysis of the agent's last message.
    :ivar state: what to save; ``guard``: its limits, and what it has spent.
    :param strategy: decides when the loop ends.
    :param limits: what the loop may spend.
    :param task: what the agent has to do beside making the tests pass; empty if that is all.
    :param state: of the loop to resume. A person has looked at it meanwhile: failed turns and runs without progress no
        longer count as in a row.
    """

    def __init__(
        self,
        strategy: ExitStrategy,
        limits: Limits | None = None,
        *,
        task: str = "",
        state: LoopState | None = None,
    ) -> None:
        self.analysis = AnalysisResult()
        self.state = state or LoopState()
        self.guard = SafetyGuard(limits, self.state.spent)
        self._strategy = strategy
        self._task = task
        self._supervisor = Supervisor(self.state.tools)
        self._has_turned = False
        self.guard.spent.failures = 0
        self._supervisor.forget(TESTS)
        if self.state.responses:
            self._analyze(self.state.responses.pop())

    @property
    def turns(self) -> int:
        """How many turns the agent had."""
        return self.guard.spent.iterations

    @property
    def plan(self) -> FixPlan:
        """The user's own steps, then the root causes of the loop, with their state."""
        return FixPlan(steps=(*self.state.steps.steps, *self.state.causes.steps))

    def limit(self, now: float) -> LimitReached | None:
        """The limit that is reached; None if the agent may have another turn.

        :param now: seconds of a monotonic clock.
        """
        reached = self.guard.check(now)
        if reached is None or reached.limit != "failures":
            return reached
        return replace(reached, reason=f"{reached.reason}; the last turn failed: {self.state.error}")

    def follow(self, steps: Sequence[tuple[str, bool]]) -> None:
        """Update the user's own plan.

        :param steps: description of each step, and whether it is completed.
        """
        self.state.steps = follow_steps(self.state.steps, steps)

    def tested(self, outcome: RunOutcome) -> Decision:
        """Decide after a run of the tests.

        Before the agent's first turn the loop is never stuck: the agent did not cause that state. A task, a plan, or an
        agent that says that it is not done, asks for more than green tests.
        """
        state = self.state
        if outcome.failing or outcome.is_proven_green:
            state.failing = [*state.failing, outcome.failing][-_COUNTS:]
        self._update_plans(outcome)
        standing = replace(outcome, analysis=self.analysis, fix_plan=self.plan)
        against = doubts(standing)
        trip = self._supervisor.observe(self._result(outcome))
        decision = self._strategy.decide(standing)
        if state.error and decision.action != "stuck":  # what a failed turn claims does not count
            decision = replace(decision, action="continue", reason="; ".join((state.error, *against)))
        has_more = self._task or state.steps.steps or self.analysis.completion_signal.qualifiers
        if not against and not has_more:
            return decision if decision.action == "done" else _GREEN
        if decision.action == "continue" and trip:
            reason = f"{trip.partition(chr(10))[0]} {outcome.objection}".strip()
            decision = Decision(action="stuck", reason=reason, strategy="supervisor")
        elif decision.action == "continue" and self._is_repeating(outcome):
            _LOG.warning("Breaking loop due to repetitive agent outputs")
            alike = f"{self.guard.found:.0%} alike"
            reason = f"the agent repeats an earlier message ({alike}), and the runs do not advance"
            decision = Decision(action="stuck", reason=reason, strategy="safety_guard")
        is_stuck_before = decision.action == "stuck" and not self._has_turned
        return replace(decision, action="continue") if is_stuck_before else decision

    def _update_plans(self, outcome: RunOutcome) -> None:
        """Update both plans; with another cause next, what the tests showed for the one before counts no more."""
        state, before = self.state, self.state.causes.current_step
        state.causes = update_plan(
            state.causes,
            outcome.causes,
            is_complete=outcome.is_complete and not outcome.objection,
            is_edited=outcome.is_edited,
        )
        if self._has_turned and outcome.is_edited:
            state.steps = count_attempt(state.steps)
        is_other = before != state.causes.current_step < len(state.causes.steps)
        if is_other and "fix_plan" in self._strategy.name:
            self._supervisor.forget(TESTS)

    def _result(self, outcome: RunOutcome) -> ToolResult:
        """The run as the result of a tool. A task may take many green runs: they are equal only over unedited code."""
        content = f"{outcome.verdict} {outcome.state} {outcome.objection}"
        if outcome.is_proven_green:
            number = self.turns if outcome.is_edited or not self.turns else ""
            return ToolResult(tool=TESTS, content=f"{content} {number}")
        meta = {} if outcome.verdict == "green" else outcome.meta
        return ToolResult(tool=TESTS, content=content, is_error=True, meta=meta)

    def _is_repeating(self, outcome: RunOutcome) -> bool:
        """Whether the agent repeats an earlier message, and edited nothing, or repeated itself three times in a row."""
        is_again = self.guard.found is not None and not outcome.has_advanced
        return is_again and (not outcome.is_edited or self.state.repeats + 1 >= REPEATS)

    def answered(self, said: AgentOutput, *, error: str = "", now: float) -> None:
        """Record a turn of the agent.

        :param error: why the turn failed; empty if it did not.
        :param now: as in :meth:`limit`.
        """
        state, text = self.state, clean(said.text, _MAX_TEXT)
        self._analyze(text)
        if work := self.analysis.work_summary:
            state.work = [*state.work, f"turn {self.turns + 1}: {work}"][-_WORK:]
        state.repeats = state.repeats + 1 if self.guard.detect_loop(said.text) else 0
        error = error or ("the agent reported an error" if said.is_error else "")
        record = self.guard.record_failure if error else self.guard.record_success
        record(cost=said.cost, now=now)
        state.error = one_line(clean(error), 300)
        state.errors = [*state.errors, "\n".join(filter(None, (state.error, *errors_in(text))))][-_ERRORS:]
        self._has_turned = True

    def _analyze(self, text: str) -> None:
        """Analyze a response, and keep it for the analysis of later ones."""
        context = AnalysisContext(
            previous_responses=tuple(self.state.responses),
            error_history=tuple(self.state.errors),
            task_description=self._task,
        )
        self.state.responses = [*self.state.responses, text][-_RESPONSES:]
        self.analysis = ResponseAnalyzer().analyze(text, context)

    def prompt(self, outcome: RunOutcome, decision: Decision) -> str:
        """The text for the agent's next turn, as Markdown: the task, the next prompt, facts of the loop."""
        state, steps, at = self.state, self.state.steps.steps, self.state.steps.current_step
        most = self.guard.limits.max_iterations
        limit = f" of at most {most:g}" if most < float("inf") else ""
        facts = [f"Turn {self.turns + 1}{limit}."]
        if self.turns:
            turn = "The last turn failed" if state.error else "After the last turn"
            facts.append(f"{turn}: {decision.reason}.")
        if at < len(steps):
            facts.append(f"Step {at + 1} of {len(steps)} of the plan is next: {steps[at].description}")
            facts.append("A step counts as completed once its box is checked in the file of the plan.")
        if outcome.objection and outcome.objection not in decision.reason:
            facts.append(f"{outcome.objection}.")
        if state.work and state.work[-1].startswith(f"turn {self.turns}: "):
            facts.append(f"The agent's own account of {state.work[-1]}.")
        task, tests = self._task.strip(), outcome.prompt.strip()
        parts = [f"{task}\n\n---"] * bool(task) + [tests] * bool(tests)
        shown = "\n".join(f"- {one_line(fact, _MAX_FACT)}" for fact in (*facts, *decision.warnings))
        return "\n\n".join((*parts, "## This loop", shown)) + "\n"


_GREEN = Decision(action="done", reason="the tests are green", strategy=TESTS)
