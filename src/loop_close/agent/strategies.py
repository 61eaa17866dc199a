"""Exit strategies decide when the loop of an agent ends; the fix plan has the steps that one of them follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from msgspec.structs import replace

from loop_close.agent import WHOLE, StateError, check_whole, checked_state
from loop_close.agent.response import ENOUGH, TESTS, AnalysisResult, combined, confidence
from loop_close.model import Verdict
from loop_close.records import Record
from loop_close.text import fault_text, one_line

_NOTHING_SAID = AnalysisResult()
#: The reason where the agent's message has no completion word or marker.
NOT_REPORTED = "the agent does not report completion"

Action = Literal["continue", "done", "stuck"]
BreakerState = Literal["closed", "half_open", "open"]


class Breaker(Record, frozen=True, kw_only=True):
    """Whether the loop should go on: ``half_open`` before the last attempt that it allows, ``open`` if it is stuck.

    :ivar reason: why it is not closed, in words; empty while it is.
    """

    state: BreakerState = "closed"
    reason: str = ""


_CLOSED = Breaker()


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
    :ivar is_fresh: no project file was edited since that run.
    :ivar is_complete: that run finished, and it selected every test.
    :ivar tampered: in words, which of the tests as they were do not pass; empty without an objection.
    :ivar iteration: the number of the turn, from 1.
    :ivar fix_plan: None if no plan is kept.
    """

    analysis: AnalysisResult = _NOTHING_SAID
    verdict: Verdict | None = None
    failing: int = 0
    has_advanced: bool = False
    is_fresh: bool = False
    is_complete: bool = False
    tampered: str = ""
    breaker: Breaker = _CLOSED
    iteration: int = 1
    fix_plan: FixPlan | None = None


def doubts(standing: Standing) -> tuple[str, ...]:
    """Reasons why the last run does not prove that the work is done; empty if it does."""
    said = (
        _verdict(standing),
        "" if standing.is_fresh or standing.verdict is None else "tests have not run since the last edit",
        "" if standing.is_complete or standing.verdict is None else "the run is incomplete",
        f"of the tests as they were: {standing.tampered}" if standing.tampered else "",
    )
    return tuple(filter(None, said))


def is_proven(standing: Standing) -> bool:
    """Whether the tests show that the work is done: green, after the last edit, all of them, as they were."""
    return not doubts(standing)


def _verdict(standing: Standing) -> str:
    if standing.verdict is None:
        return "no tests have run"
    if standing.verdict == "green":
        return ""
    if standing.failing:
        return f"{standing.failing} {'test fails' if standing.failing == 1 else 'tests fail'}"
    return "the run ended in an error" if standing.verdict == "error" else "the last run is not green"


def contradiction(standing: Standing) -> str:
    """The sentence that contradicts a claim that the work is done."""
    return f"the agent says it is done, but {'; '.join(doubts(standing))}"


class ExitStrategy(Record, frozen=True, kw_only=True):
    """One way to decide whether the loop goes on.

    :ivar name: unique; what users type, without spaces and ``+``.
    :ivar decide: a pure function from a :class:`Standing` to a :class:`Decision`. A ``done`` that the tests
        do not confirm becomes ``continue``.
    :ivar description: one line for a list of strategies.
    :raises TypeError: for a field of another type.
    """

    name: str
    decide: Callable[[Standing], Decision]
    description: str = ""

    def __post_init__(self) -> None:
        for field in ("name", "description"):
            if not isinstance(getattr(self, field), str):
                raise TypeError(f"ExitStrategy.{field} is {type(getattr(self, field)).__name__}, not str")
        if not callable(self.decide):
            raise TypeError(f"ExitStrategy.decide is {type(self.decide).__name__}, which is not callable")


# --- the strategy "auto"


def _decide_auto(standing: Standing) -> Decision:
    """Done when completion is detected, the confidence reaches 70, and the run shows it.

    A green run is one of the two signals that a completion takes. A message that reports errors needs more. The
    fallbacks are the circuit breaker, and errors that repeat in the agent's messages while the runs show no progress.
    """
    analysis, signal, against = standing.analysis, standing.analysis.completion_signal, doubts(standing)
    reached = analysis.confidence
    if not against:  # a green run counts as tests that pass, and as a second signal for the claim
        claim = combined(signal.confidence / 100, TESTS)
        reached = confidence(replace(analysis.parts, tests=100.0, keywords=claim))
        if signal.keywords and not signal.qualifiers and reached >= ENOUGH:
            said = f"the agent reports completion ({', '.join(signal.keywords)}, {reached:g} % sure)"
            return Decision(action="done", reason=f"{said}, and the tests are green")
    stopped = _decide_circuit_breaker(standing)
    if stopped.action == "stuck":
        return stopped
    if analysis.stuck_signal.detected and not standing.has_advanced:
        repeated = analysis.stuck_signal.repeated_patterns or ("the same error",)
        return Decision(action="stuck", reason=f"the agent repeats itself: {repeated[0]}")
    return Decision(action="continue", reason=_why_not(standing, reached))


def _why_not(standing: Standing, reached: float) -> str:
    signal = standing.analysis.completion_signal
    if signal.qualifiers:
        return f"the agent itself says it is not done: {signal.qualifiers[0]}"
    if signal.keywords and doubts(standing):
        return contradiction(standing)
    if signal.keywords:
        said = f"the agent reports completion ({signal.keywords[0]})"
        return f"{said}, but the confidence is {reached:g}, below {ENOUGH:g}"
    return NOT_REPORTED


AUTO = ExitStrategy(
    name="auto",
    decide=_decide_auto,
    description="stop as done when the agent reports completion and the tests are green; as stuck without progress",
)


# --- the strategy "circuit_breaker"


def _decide_circuit_breaker(standing: Standing) -> Decision:
    """Stuck when the breaker is open, and never otherwise. It names itself, as "auto" falls back to it."""
    breaker = standing.breaker
    if breaker.state == "open":
        reason = breaker.reason or "no progress"
        return Decision(action="stuck", reason=f"the loop is stuck: {reason}", strategy="circuit_breaker")
    return Decision(
        action="continue", reason=breaker.reason or "the loop is not stuck", strategy="circuit_breaker"
    )


CIRCUIT_BREAKER = ExitStrategy(
    name="circuit_breaker",
    decide=_decide_circuit_breaker,
    description="stop as stuck after several runs without progress; combine it with another strategy",
)


# --- the strategy "done_signals"

#: The threshold of seeds 001 and 003.
_ENOUGH_SIGNALS = 40.0


def _decide_done_signals(standing: Standing) -> Decision:
    """Done when the confidence reaches 40, a completion word is among the signals, and the run shows it.

    A green run counts as tests that pass.
    """
    analysis, signal, against = standing.analysis, standing.analysis.completion_signal, doubts(standing)
    reached = analysis.confidence
    if not against:
        reached = max(reached, confidence(replace(analysis.parts, tests=100.0)))
    is_enough = reached >= _ENOUGH_SIGNALS
    if is_enough and signal.qualifiers:
        reason = f"the agent itself says it is not done: {signal.qualifiers[0]}"
    elif is_enough and signal.keywords:
        if not against:
            return Decision(action="done", reason=f"confidence is {reached:g}, and the tests are green")
        reason = contradiction(standing)
    elif against:
        reason = f"confidence is {reached:g}; {'; '.join(against)}"
    elif is_enough:
        reason = f"confidence is {reached:g}, but {NOT_REPORTED}"
    else:
        reason = f"confidence is {reached:g}, below {_ENOUGH_SIGNALS:g}"
    return Decision(action="continue", reason=reason)


DONE_SIGNALS = ExitStrategy(
    name="done_signals",
    decide=_decide_done_signals,
    description="stop as done when the agent reports completion, the confidence reaches 40 and the tests are green",
)


# --- the strategy "fix_plan"


def _decide_fix_plan(standing: Standing) -> Decision:
    """Done when each step is completed or exhausted and the run is green; stuck where the causes left cannot be fixed.

    An empty plan is not completion, and a plan of which nothing was completed never is.
    """
    plan = standing.fix_plan
    if plan is None or not plan.steps:
        return Decision(action="continue", reason="the fix plan has no steps")
    warnings = tuple(
        f"skipped after {step.attempts} attempt{'s' * (step.attempts != 1)}: {_name(step)}"
        for step in plan.steps
        if step.is_exhausted
    )
    if plan.current_step < len(plan.steps):
        return Decision(action="continue", reason=_next(plan), warnings=warnings)
    completed = sum(step.completed for step in plan.steps)
    if not completed:
        reason = f"none of the {len(plan.steps)} steps of the fix plan was completed within its attempts"
        return Decision(action="stuck", reason=reason, warnings=warnings)
    counted, against = (
        f"{completed} of {len(plan.steps)} steps of the fix plan are completed",
        doubts(standing),
    )
    if not against:
        return Decision(action="done", reason=f"{counted}, and the tests are green", warnings=warnings)
    # Skipped causes are still broken, and nothing is left to try. A stale or incomplete run does not show that.
    is_known = standing.is_fresh and standing.is_complete and standing.verdict not in (None, "error")
    action: Action = "stuck" if warnings and is_known else "continue"
    return Decision(action=action, reason=f"{counted}; {'; '.join(against)}", warnings=warnings)


def _next(plan: FixPlan) -> str:
    step = plan.steps[plan.current_step]
    return (
        f"step {plan.current_step + 1} of {len(plan.steps)}, attempt {step.attempts + 1} of {step.max_attempts}: "
        f"{_name(step)}"
    )


def _name(step: FixStep) -> str:
    return f"{step.description} [{step.cause}]" if step.description else step.cause


FIX_PLAN = ExitStrategy(
    name="fix_plan",
    decide=_decide_fix_plan,
    description="stop as done when each root cause of the episode is fixed, as stuck when the attempts are used up",
)


# --- names of strategies, as users type them

BUILT_IN: tuple[ExitStrategy, ...] = (AUTO, FIX_PLAN, DONE_SIGNALS, CIRCUIT_BREAKER)
_JOIN = "+"


def parse_strategy(text: str, available: Iterable[ExitStrategy] = BUILT_IN) -> ExitStrategy:
    """The strategy of a name; of ``auto+circuit_breaker`` the first that fires decides, in this order.

    A ``done`` that the tests do not confirm becomes ``continue``. A part that raises, or that does not return a
    decision, is skipped with a warning.

    :param available: those that can be named.
    :raises ValueError: for a part that is unknown, empty or repeated; for two strategies of one name, and for a name
        that cannot be typed.
    """
    known = _by_name(available)
    names = [part.strip() for part in text.split(_JOIN)]
    for at, name in enumerate(names):
        _check(name, text, known, is_again=name in names[:at])
    parts = [known[name] for name in names]
    if len(parts) == 1:
        return replace(parts[0], decide=lambda standing: _asked(parts[0], standing))
    return ExitStrategy(
        name=_JOIN.join(part.name for part in parts),
        decide=lambda standing: _first_fired([_asked(part, standing) for part in parts]),
        description="the first of these that fires",
    )


def _first_fired(decisions: Sequence[Decision]) -> Decision:
    """The first that ends the loop, else one that goes on for all their reasons; with the warnings of all."""
    warnings = tuple(dict.fromkeys(line for decision in decisions for line in decision.warnings))
    fired = next((decision for decision in decisions if decision.action != "continue"), None)
    if fired is not None:
        return replace(fired, warnings=warnings)
    return Decision(
        action="continue",
        reason="; ".join(dict.fromkeys(decision.reason for decision in decisions)),
        strategy=_JOIN.join(dict.fromkeys(decision.strategy for decision in decisions)),
        warnings=warnings,
    )


def _asked(strategy: ExitStrategy, standing: Standing) -> Decision:
    """The strategy's decision; a fault in it, or a ``done`` that the tests do not confirm, becomes ``continue``."""
    try:
        decision = strategy.decide(standing)
    except Exception as fault:
        return _faulty(strategy, fault_text(fault))
    if not isinstance(decision, Decision):
        return _faulty(strategy, f"it returned {type(decision).__name__}, not loop_close.Decision")
    if decision.action not in get_args(Action):
        return _faulty(strategy, f"its action is {decision.action!r}")
    texts = (decision.reason, decision.strategy, *_warnings(decision))
    if not all(isinstance(text, str) for text in texts):
        return _faulty(strategy, "its reason, strategy and warnings must be strings")
    if not decision.strategy:
        decision = replace(decision, strategy=strategy.name)
    against = doubts(standing)
    if decision.action == "done" and against:
        return replace(decision, action="continue", reason=f"{decision.reason}; but {'; '.join(against)}")
    return decision


def _warnings(decision: Decision) -> tuple[object, ...]:
    given: object = decision.warnings
    return given if isinstance(given, tuple) else (None,)


def _faulty(strategy: ExitStrategy, fault: str) -> Decision:
    reason = one_line(f"the exit strategy {strategy.name} failed: {fault}")
    return Decision(action="continue", reason=reason, strategy=strategy.name, warnings=(reason,))


def _by_name(available: Iterable[ExitStrategy]) -> dict[str, ExitStrategy]:
    known: dict[str, ExitStrategy] = {}
    for strategy in available:
        if _JOIN in strategy.name or strategy.name.split() != [strategy.name]:
            raise ValueError(
                f"invalid exit strategy name {strategy.name!r}: names must not contain spaces or {_JOIN!r}"
            )
        if strategy.name in known:
            raise ValueError(f"two exit strategies have the name {strategy.name!r}")
        known[strategy.name] = strategy
    return known


def _check(name: str, text: str, known: dict[str, ExitStrategy], *, is_again: bool) -> None:
    names = ", ".join(sorted(known))
    if not name:
        raise ValueError(f"exit strategy {one_line(text)!r} has an empty part; known strategies: {names}")
    if name not in known:
        raise ValueError(f"unknown exit strategy {one_line(name)!r}; known strategies: {names}")
    if is_again:
        raise ValueError(f"exit strategy {one_line(text)!r} names {name!r} twice")


# --- the fix plan: the root causes of an episode as steps; the runs decide the state of a step, not the agent

MAX_ATTEMPTS = 3
#: Later causes are left out of the plan.
MAX_STEPS = 200
_LONGEST = 160


class FixStep(Record, frozen=True, kw_only=True):
    """One root cause to be fixed.

    :ivar cause: the id of the root cause.
    :ivar completed: it was gone after a complete run; one that comes back is open again.
    :ivar attempts: edits that were made at it, the one that cleared it among them.
    """

    cause: str
    description: str = ""
    completed: bool = False
    attempts: int = 0
    max_attempts: int = MAX_ATTEMPTS

    @property
    def is_exhausted(self) -> bool:
        """Whether the attempts are used up without success: then it is skipped."""
        return not self.completed and self.attempts >= self.max_attempts

    @property
    def is_open(self) -> bool:
        """Whether it is still to be done."""
        return not self.completed and not self.is_exhausted


class FixPlan(Record, frozen=True, kw_only=True):
    """Steps in the order in which their causes appeared."""

    steps: tuple[FixStep, ...] = ()

    @property
    def current_step(self) -> int:
        """The index of the first step that is still to be done; the number of steps where none is."""
        return next((n for n, step in enumerate(self.steps) if step.is_open), len(self.steps))


def follow_steps(plan: FixPlan, steps: Sequence[tuple[str, bool]]) -> FixPlan:
    """A plan of a user's own steps in their current state; attempts are kept by description.

    :param steps: (description, whether it is completed), in the order in which they are to be taken.
    """
    known = {step.description: step for step in plan.steps}
    made = []
    for number, (text, is_completed) in enumerate(steps[:MAX_STEPS], 1):
        description = one_line(text, _LONGEST)
        step = known.get(description, FixStep(cause=f"step {number}", description=description))
        made.append(replace(step, cause=f"step {number}", completed=is_completed))
    return FixPlan(steps=tuple(made))


def count_attempt(plan: FixPlan) -> FixPlan:
    """The plan after one more attempt at its current step."""
    at = plan.current_step
    return FixPlan(
        steps=tuple(replace(s, attempts=s.attempts + 1) if n == at else s for n, s in enumerate(plan.steps))
    )


def update_plan(
    plan: FixPlan,
    causes_now: Mapping[str, str],
    *,
    is_complete: bool,
    is_edited: bool,
    max_attempts: int = MAX_ATTEMPTS,
) -> FixPlan:
    """The plan after a run.

    A step is completed when its cause is gone from a complete run. An edit counts as an attempt at the steps that it
    cleared; if it cleared none, at the current one.

    :param causes_now: what each root cause of the run is, by its id, the first to fix first.
    :param is_complete: every test was selected, the run was finished, and no test was removed from it.
    :param is_edited: the program was changed since the run before.
    :param max_attempts: of steps that are new.
    :raises ValueError: for a ``max_attempts`` that is not a whole number above 0.
    """
    check_whole("max_attempts", max_attempts, 1)
    current = plan.current_step
    cleared = {s.cause for s in plan.steps if is_complete and not s.completed and s.cause not in causes_now}
    attempted = cleared or {step.cause for step in plan.steps[current : current + 1]}
    steps = [
        _after(step, step.cause in causes_now, cleared, attempted if is_edited else set())
        for step in plan.steps
    ]
    known = {step.cause for step in plan.steps}
    new = (
        FixStep(cause=cause, description=one_line(text, _LONGEST), max_attempts=max_attempts)
        for cause, text in causes_now.items()
        if cause not in known
    )
    return FixPlan(steps=(*steps, *new)[:MAX_STEPS])


def _after(step: FixStep, is_there: bool, cleared: set[str], attempted: set[str]) -> FixStep:
    attempts = step.attempts + (step.cause in attempted)
    completed = step.cause in cleared or (step.completed and not is_there)
    return replace(step, completed=completed, attempts=attempts)


# --- a fix plan as plain values, and back

_VERSION = 1
_STATE = {
    "version": _VERSION,
    "steps": [
        {
            "cause": str,
            "description": str,
            "state": ("open", "completed"),
            "attempts": WHOLE,
            "max_attempts": WHOLE,
        }
    ],
}


def plan_to_dict(plan: FixPlan) -> dict[str, Any]:
    """Plain values that JSON keeps as they are."""
    steps = [
        {
            "cause": step.cause,
            "description": step.description,
            "state": "completed" if step.completed else "open",
            "attempts": step.attempts,
            "max_attempts": step.max_attempts,
        }
        for step in plan.steps
    ]
    return {"version": _VERSION, "steps": steps}


def plan_from_dict(data: object) -> FixPlan:
    """The plan that :func:`plan_to_dict` made the values of.

    :raises ValueError: naming the field that is missing or damaged; invalid state is rejected.
    """
    steps = checked_state(data, _STATE, "fix_plan")["steps"]
    if len(steps) > MAX_STEPS:
        raise StateError(f"fix_plan.steps has {len(steps)} steps, expected at most {MAX_STEPS}")
    causes = [step["cause"] for step in steps]
    for at, step in enumerate(steps):
        if step["cause"] in causes[:at]:
            raise StateError(f"fix_plan.steps[{at}].cause appears twice: {step['cause'][:40]!a}")
        if not step["max_attempts"]:
            raise StateError(f"fix_plan.steps[{at}].max_attempts is 0, expected a number above 0")
        step["completed"] = step.pop("state") == "completed"
    return FixPlan(steps=tuple(FixStep(**step) for step in steps))
