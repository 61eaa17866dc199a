"""The loop of an agent and its tests, without the doing: what it knows, and what it decides after each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loop_close.agent.analysis import AnalysisContext, AnalysisResult
from loop_close.agent.analyzer import ResponseAnalyzer
from loop_close.agent.decision import Decision, Standing, is_proven
from loop_close.agent.fix_plan import FixPlan, updated
from loop_close.agent.fix_plan_saved import from_dict, to_dict
from loop_close.agent.guard import SafetyGuard
from loop_close.agent.limits import LimitReached, Limits
from loop_close.agent.run_outcome import RunOutcome
from loop_close.agent.said import Said
from loop_close.agent.saved import Saved
from loop_close.agent.strategies.contract import ExitStrategy
from loop_close.agent.supervisor import Supervisor
from loop_close.agent.tool_results import ToolResult
from loop_close.agent.turn_prompt import turn_prompt
from loop_close.text.clean import clean
from loop_close.text.sanitize import one_line

#: The name under which the supervisor knows the tests.
TESTS = "tests"
_VERSION = 1
_RESPONSES, _ERRORS, _COUNTS = 3, 10, 1_000
_LONGEST = 20_000
_DEFAULT = Limits()


class AgentLoop:
    """What a loop knows, from turn to turn.

    A loop is told in turns what the tests came to (:meth:`tested`) and what the agent said (:meth:`answered`). It reads
    no clock and runs nothing; it can be saved after each step and gone on from.

    :param strategy: says when the loop ends.
    :param limits: what the loop may spend.
    :param task: what the agent is to do beside making the tests pass; without one, tests that pass are all.
    """

    def __init__(self, strategy: ExitStrategy, limits: Limits = _DEFAULT, *, task: str = "") -> None:
        self._strategy = strategy
        self._task = task
        self._guard = SafetyGuard(limits)
        self._supervisor = Supervisor()
        self._plan = FixPlan()
        self._responses: list[str] = []
        self._errors: list[str] = []
        self._failing: list[int] = []
        self._analysis = AnalysisResult()
        self._facts: list[str] = []
        self._has_turned = False
        self._was_warned = False

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
        """How many tests failed after each run of the tests of which that is known."""
        return self._failing

    @property
    def plan(self) -> FixPlan:
        """The root causes of the loop, and what became of them."""
        return self._plan

    @property
    def cost(self) -> float:
        """What the turns cost, as far as the agent tells it."""
        return self._guard.spent.cost

    @property
    def runtime(self) -> float:
        """How long the loop ran, in seconds."""
        return self._guard.spent.runtime

    def limit(self, now: float) -> LimitReached | None:
        """The limit that keeps the agent from another turn; None while there is none.

        :param now: seconds of a clock that does not jump.
        """
        return self._guard.check(now)

    def tested(self, outcome: RunOutcome) -> Decision:
        """Whether the loop goes on after a run of the tests.

        Before the agent has had a turn the loop is never stuck: what was before is not its doing.
        """
        if outcome.is_counted:
            self._failing = [*self._failing, outcome.failing][-_COUNTS:]
        self._plan = updated(
            self._plan,
            outcome.causes,
            is_complete=outcome.is_complete and not outcome.tampered,
            is_edited=outcome.is_edited,
        )
        standing = self._standing(outcome)
        trip = self._supervisor.observe(self._result(outcome))
        decision = self._strategy.decide(standing)
        if decision.action != "done" and not self._task and is_proven(standing):
            return Decision(action="done", reason="the tests are green", strategy=TESTS)
        if decision.action == "continue" and trip is not None:
            decision = Decision(action="stuck", reason=trip.text.partition("\n")[0], strategy="supervisor")
        if decision.action == "continue" and self._is_repeating(outcome):
            decision = Decision(action="stuck", reason=_repeats(self._guard), strategy="safety_guard")
        self._was_warned = outcome.breaker.state != "closed"
        if decision.action == "stuck" and not self._has_turned:
            return Decision(action="continue", reason=decision.reason, strategy=decision.strategy)
        return decision

    def answered(self, said: Said, *, error: str = "", now: float) -> None:
        """Take up a turn of the agent.

        :param error: why the turn failed; empty where it came to its end.
        :param now: as in :meth:`limit`.
        """
        context = AnalysisContext(
            iteration=self.turns + 1,
            previous_responses=tuple(self._responses),
            error_history=tuple(self._errors),
            task_description=self._task,
        )
        self._analysis = ResponseAnalyzer().analyze(said.text, context)
        self._guard.detect_loop(said.text)
        record = self._guard.record_failure if error or said.is_error else self._guard.record_success
        record(cost=said.cost, now=now)
        self._responses = [*self._responses, clean(said.text, _LONGEST)][-_RESPONSES:]
        self._errors = [*self._errors, clean(error, _LONGEST)][-_ERRORS:]
        trips = [self._supervisor.observe(result) for result in said.results]
        self._facts = list(dict.fromkeys(trip.text for trip in trips if trip is not None))
        if error:
            self._facts.append(f"The last turn failed: {one_line(clean(error), 300)}")
        self._has_turned = True

    def prompt(self, outcome: RunOutcome, decision: Decision) -> str:
        """What the agent is given for its next turn."""
        most = self.limits.max_iterations
        of_most = "" if most == float("inf") else f" of at most {most:g}"
        facts = [f"Turn {self.turns + 1}{of_most}."]
        if self._has_turned or self.turns:
            facts.append(f"After the last turn: {decision.reason}.")
        tampered = _told(outcome.tampered)
        if tampered and tampered not in decision.reason:
            facts.append(f"Tests were tampered with, and are not as they were: {tampered}.")
        facts += [*decision.warnings, *self._facts]
        return turn_prompt(self._task, outcome.prompt, facts)

    def state(self) -> dict[str, Any]:
        """What to go on from after this process, as JSON can hold it; texts in it are redacted and bounded."""
        return {
            "version": _VERSION,
            "guard": self._guard.state(),
            "supervisor": self._supervisor.state(),
            "fix_plan": to_dict(self._plan),
            "responses": self._responses,
            "errors": self._errors,
            "failing": self._failing,
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], strategy: ExitStrategy, limits: Limits = _DEFAULT, *, task: str = ""
    ) -> AgentLoop:
        """The loop that gave the state; strategy, limits and task are those given now.

        :raises ValueError: naming the field that is damaged.
        """
        saved = Saved(state, "loop")
        saved.check_version(_VERSION)
        loop = cls(strategy, limits, task=task)
        loop._guard = SafetyGuard.from_state(state["guard"], limits)
        loop._supervisor = Supervisor.from_state(state["supervisor"])
        loop._plan = from_dict(state["fix_plan"])
        loop._responses = saved.texts("responses")[-_RESPONSES:]
        loop._errors = saved.texts("errors")[-_ERRORS:]
        loop._failing = saved.wholes("failing")[-_COUNTS:]
        return loop

    def _standing(self, outcome: RunOutcome) -> Standing:
        return Standing(
            analysis=self._analysis,
            verdict=outcome.verdict,
            failing=outcome.failing,
            is_fresh=True,
            is_complete=outcome.is_complete,
            tampered=_told(outcome.tampered),
            breaker=outcome.breaker,
            iteration=max(self.turns, 1),
            fix_plan=self._plan,
        )

    def _result(self, outcome: RunOutcome) -> ToolResult:
        """The run as the result of a tool; no two green ones are the same, as the task may take many."""
        is_red = outcome.verdict != "green"
        content = f"{outcome.verdict} {outcome.state}" if is_red else f"green after turn {self.turns}"
        return ToolResult(tool=TESTS, content=content, is_error=is_red, meta=outcome.meta)

    def _is_repeating(self, outcome: RunOutcome) -> bool:
        """Whether the agent says what it said before, while the runs stand still, too.

        Equal words over different edits are no loop: the runs tell. And before it said so it has to have been told,
        by a breaker that was half open, to try otherwise.
        """
        return self._guard.found is not None and self._was_warned and not outcome.has_advanced


def _repeats(guard: SafetyGuard) -> str:
    found = guard.found
    assert found is not None
    return f"the agent says again what it said before ({found.similarity:.0%} alike), and the runs do not advance"


def _told(tampered: Mapping[str, str]) -> str:
    """``deleted: test_a.py::test_f``, the first of them."""
    named = [f"{way or 'changed'}: {one_line(test, 120)}" for test, way in sorted(tampered.items())]
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return ", ".join(named[:3]) + more
