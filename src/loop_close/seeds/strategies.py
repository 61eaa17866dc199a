"""Seed 001: exit strategies decide when the loop of an agent ends; the fix plan has the steps that one of them follows.

After Nity's loop engine. No strategy is done against the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from loop_close.model import Verdict
from loop_close.records import Record
from loop_close.seeds.analyzer import A_SIGNAL, ENOUGH, WEIGHTS, AnalysisResult
from loop_close.text import one_line

#: The reason where the agent's message has no completion word or marker.
NOT_REPORTED = "the agent does not report completion"
#: What ``done_signals`` asks for.
ENOUGH_SIGNALS = 40.0

# --- the fix plan: the runs, or the boxes of the user's own plan, decide the state of a step, not the agent

#: So often a step is tried before it is given up.
MAX_ATTEMPTS = 3
#: Later steps are left out of a plan.
MAX_STEPS = 200
_LONGEST = 160


class FixStep(Record, frozen=True, kw_only=True):
    """One root cause to be fixed, or one step of the user's own plan.

    :ivar cause: the id of the root cause; ``step 1`` for a step of the user's own.
    :ivar completed: it was gone after a complete run; one that comes back is open again.
    :ivar attempts: edits that were made at it, the one that cleared it among them.
    """

    cause: str
    description: str = ""
    completed: bool = False
    attempts: Annotated[int, msgspec.Meta(ge=0)] = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether the attempts are used up without success: then it is skipped."""
        return not self.completed and self.attempts >= MAX_ATTEMPTS


class FixPlan(Record, frozen=True, kw_only=True):
    """Steps in the order in which they are to be taken."""

    steps: tuple[FixStep, ...] = ()

    @property
    def current_step(self) -> int:
        """The index of the first step that is still to be done; the number of steps where none is."""
        is_over = [step.completed or step.is_exhausted for step in self.steps]
        return [*is_over, False].index(False)


def follow_steps(plan: FixPlan, steps: Sequence[tuple[str, bool]]) -> FixPlan:
    """A plan of a user's own steps in their current state; attempts are kept by description.

    :param steps: (description, whether it is completed), in the order in which they are to be taken.
    """
    known = {step.description: step for step in plan.steps}
    made = []
    for number, (text, is_completed) in enumerate(steps[:MAX_STEPS], 1):
        description = one_line(text, _LONGEST)
        step = known.get(description, FixStep(cause="", description=description))
        made.append(replace(step, cause=f"step {number}", completed=is_completed))
    return FixPlan(steps=tuple(made))


def count_attempt(plan: FixPlan) -> FixPlan:
    """The plan after one more attempt at its current step."""
    at = plan.current_step
    current = [replace(step, attempts=step.attempts + 1) for step in plan.steps[at : at + 1]]
    return FixPlan(steps=(*plan.steps[:at], *current, *plan.steps[at + 1 :]))


def update_plan(
    plan: FixPlan, causes_now: Mapping[str, str], *, is_complete: bool, is_edited: bool
) -> FixPlan:
    """The plan after a run.

    A step is completed when its cause is gone from a complete run. An edit counts as an attempt at the steps that it
    cleared; if it cleared none, at the current one.

    :param causes_now: what each root cause of the run is, by its id, the first to fix first.
    :param is_complete: every test was selected, the run was finished, and no test was removed from it.
    :param is_edited: the program was changed since the run before.
    """
    cleared = {s.cause for s in plan.steps if is_complete and not s.completed and s.cause not in causes_now}
    current = {step.cause for step in plan.steps[plan.current_step :][:1]}
    attempted = (cleared or current) if is_edited else set()
    steps = [
        replace(
            step,
            completed=step.cause in cleared or (step.completed and step.cause not in causes_now),
            attempts=step.attempts + (step.cause in attempted),
        )
        for step in plan.steps
    ]
    known = {step.cause for step in plan.steps}
    new = (
        FixStep(cause=cause, description=one_line(text, _LONGEST))
        for cause, text in causes_now.items()
        if cause not in known
    )
    return FixPlan(steps=(*steps, *new)[:MAX_STEPS])


# --- what a strategy is given, and what it returns

Action = Literal["continue", "done", "stuck"]


class Decision(Record, frozen=True, kw_only=True):
    """The result of an exit strategy.

    :ivar reason: why, in a sentence.
    :ivar strategy: name of the strategy that decided; of several, the first that fired.
    :ivar warnings: notes for a person, one line each.
    """

    action: Action
    reason: str
    strategy: str = ""
    warnings: tuple[str, ...] = ()


class Standing(Record, frozen=True, kw_only=True):
    """All that is known at the end of an agent's turn.

    :ivar analysis: of the agent's message; empty without a message.
    :ivar verdict: of the last run; None without a run. ``failing``: number of tests that still fail after it.
    :ivar has_advanced: that run reached fewer failures than before, or is the first one that fails.
    :ivar is_complete: that run finished, and it selected every test.
    :ivar objection: why a green run does not count, in words: the tests as they were do not pass.
    :ivar stuck: why the runs are stuck, in words; empty while they are not. Then the circuit breaker is open.
    """

    analysis: AnalysisResult = AnalysisResult()
    verdict: Verdict | None = None
    failing: int = 0
    has_advanced: bool = False
    is_complete: bool = False
    objection: str = ""
    stuck: str = ""
    fix_plan: FixPlan = FixPlan()


class ExitStrategy(Record, frozen=True, kw_only=True):
    """One way to decide whether the loop goes on.

    :ivar name: what users type.
    :ivar decide: a pure function from a :class:`Standing` to a :class:`Decision`.
    """

    name: str
    decide: Callable[[Standing], Decision]


def doubts(standing: Standing) -> tuple[str, ...]:
    """Reasons why the last run does not prove that the work is done; empty if it does."""
    if standing.verdict is None:
        return ("no tests have run",)
    failing = standing.failing
    red = "the run ended in an error" if standing.verdict == "error" else "the last run is not green"
    if failing:
        red = f"{failing} {'test fails' if failing == 1 else 'tests fail'}"
    rows = (
        (standing.verdict != "green", red),
        (not standing.is_complete, "the run is incomplete"),
        (bool(standing.objection), standing.objection),
    )
    return tuple(words for is_so, words in rows if is_so)


# --- the strategies of the seed


def _decide_auto(standing: Standing) -> Decision:
    """Done when completion is reported with a confidence of 70; a green run is one of the two signals that it takes.

    Else the circuit breaker decides, then errors that repeat in the agent's messages while the runs show no progress.
    """
    analysis, signal, against = standing.analysis, standing.analysis.completion_signal, doubts(standing)
    reached = min(signal.confidence + (0.0 if against else A_SIGNAL), 100.0)
    said = f"the agent reports completion ({', '.join(signal.keywords)}, {reached:g} % sure)"
    if signal.keywords and not signal.qualifiers and reached >= ENOUGH and not against:
        return Decision(action="done", reason=f"{said}, and the tests are green")
    stopped = _decide_circuit_breaker(standing)
    if stopped.action == "stuck":
        return stopped
    if analysis.stuck_signal.detected and not standing.has_advanced:
        repeated = analysis.stuck_signal.repeated_patterns[0]
        return Decision(action="stuck", reason=f"the agent repeats itself: {repeated}")
    why_not = _why_not(standing) or f"{said}, below {ENOUGH:g} %"
    return Decision(action="continue", reason=why_not)


def _decide_done_signals(standing: Standing) -> Decision:
    """Done when the confidence reaches 40, a completion word is among the signals, and the run is green.

    By its weights alone an answer with no completion word reaches 40: it is never done.
    """
    analysis = standing.analysis
    unproven = 0.0 if doubts(standing) else 100.0 - analysis.tests
    reached = round(analysis.confidence + unproven * WEIGHTS["tests"], 2)
    why_not = _why_not(standing)
    if reached < ENOUGH_SIGNALS:
        why_not = f"confidence is {reached:g}, below {ENOUGH_SIGNALS:g}"
    if why_not:
        return Decision(action="continue", reason=why_not)
    return Decision(action="done", reason=f"confidence is {reached:g}, and the tests are green")


def _why_not(standing: Standing) -> str:
    """Why a claim is none, or does not count; empty for one that the tests prove."""
    signal, against = standing.analysis.completion_signal, "; ".join(doubts(standing))
    if signal.qualifiers:
        return f"the agent itself says it is not done: {signal.qualifiers[0]}"
    if not signal.keywords:
        return f"{NOT_REPORTED}; {against}".removesuffix("; ")
    return f"the agent says it is done, but {against}" if against else ""


def _decide_circuit_breaker(standing: Standing) -> Decision:
    """Stuck when the breaker is open, and never otherwise. It names itself, as "auto" falls back to it."""
    name = "circuit_breaker"
    if standing.stuck:
        return Decision(action="stuck", reason=f"the loop is stuck: {standing.stuck}", strategy=name)
    return Decision(action="continue", reason="the loop is not stuck", strategy=name)


def _decide_fix_plan(standing: Standing) -> Decision:
    """Done when each step is completed or exhausted and the run is green; stuck if steps were given up and it is red.

    An empty plan is not completion, and a plan of which nothing was completed never is.
    """
    steps, at = standing.fix_plan.steps, standing.fix_plan.current_step
    names = [f"{step.description} [{step.cause}]" if step.description else step.cause for step in steps]
    warnings = tuple(
        f"skipped after {step.attempts} attempt{'s' * (step.attempts != 1)}: {name}"
        for step, name in zip(steps, names, strict=True)
        if step.is_exhausted
    )
    completed, against = sum(step.completed for step in steps), doubts(standing)
    action: Action = "continue"
    if not steps:
        reason = "the fix plan has no steps"
    elif at < len(steps):
        tries = f"attempt {steps[at].attempts + 1} of {MAX_ATTEMPTS}"
        reason = f"step {at + 1} of {len(steps)}, {tries}: {names[at]}"
    elif not completed:
        action = "stuck"
        reason = f"none of the {len(steps)} steps of the fix plan was completed within its attempts"
    else:
        reason = f"{completed} of {len(steps)} steps of the fix plan are completed; {'; '.join(against)}"
        # What was skipped is still broken, and nothing is left to try. An incomplete run does not show that.
        if warnings and standing.verdict == "red" and standing.is_complete:
            action = "stuck"
        if not against:
            action, reason = "done", f"{reason.removesuffix('; ')}, and the tests are green"
    return Decision(action=action, reason=reason, warnings=warnings)


#: By the names that users type. ``auto``: done when the agent reports completion. ``fix_plan``: when each root cause of
#: the loop is fixed. ``done_signals``: when the confidence reaches 40. ``circuit_breaker``: never, only stuck.
STRATEGIES: Mapping[str, Callable[[Standing], Decision]] = {
    "auto": _decide_auto,
    "fix_plan": _decide_fix_plan,
    "done_signals": _decide_done_signals,
    "circuit_breaker": _decide_circuit_breaker,
}
_JOIN = "+"


def parse_strategy(text: str) -> ExitStrategy:
    """The strategy of a name; of ``auto+circuit_breaker`` the first that fires decides, in this order.

    :raises ValueError: for a part that is unknown or repeated.
    """
    names = [part.strip() for part in text.split(_JOIN)]
    for name in names:
        if name not in STRATEGIES:
            all_names = ", ".join(sorted(STRATEGIES))
            raise ValueError(f"unknown exit strategy {one_line(name)!r}; known strategies: {all_names}")
        if names.count(name) > 1:
            raise ValueError(f"exit strategy {one_line(text)!r} names {name!r} twice")
    return ExitStrategy(name=_JOIN.join(names), decide=lambda standing: _first_fired(names, standing))


def _first_fired(names: Sequence[str], standing: Standing) -> Decision:
    """The first that ends the loop, else one that goes on for all their reasons; with the warnings of all."""
    made = {name: STRATEGIES[name](standing) for name in names}
    decisions = [replace(each, strategy=each.strategy or name) for name, each in made.items()]
    goes_on = Decision(
        action="continue",
        reason="; ".join(dict.fromkeys(decision.reason for decision in decisions)),
        strategy=_JOIN.join(dict.fromkeys(decision.strategy for decision in decisions)),
    )
    fired = next((decision for decision in decisions if decision.action != "continue"), goes_on)
    return replace(fired, warnings=tuple(dict.fromkeys(line for each in decisions for line in each.warnings)))
