"""``fix_plan``: ends the loop when the root causes of the episode are dealt with, one by one."""

from __future__ import annotations

from loop_close.agent.decision import Decision, Standing, doubts
from loop_close.agent.fix_plan import FixPlan, FixStep
from loop_close.agent.strategies.contract import ExitStrategy

_NAME = "fix_plan"


def decide(standing: Standing) -> Decision:
    """Done when each step is completed or exhausted and the run is green; stuck where the causes left cannot be fixed.

    An empty plan is not completion, and a plan of which nothing was completed never is.
    """
    plan = standing.fix_plan
    if plan is None or not plan.steps:
        return Decision(action="continue", reason="the fix plan has no steps", strategy=_NAME)
    warnings = tuple(map(_skipped, (step for step in plan.steps if step.is_exhausted)))
    if plan.current_step < len(plan.steps):
        return Decision(action="continue", reason=_next(plan), strategy=_NAME, warnings=warnings)
    return _at_end(standing, plan, warnings)


def _at_end(standing: Standing, plan: FixPlan, warnings: tuple[str, ...]) -> Decision:
    completed = sum(step.completed for step in plan.steps)
    told = f"{completed} of {len(plan.steps)} steps of the fix plan are completed"
    if not completed:
        reason = f"none of the {len(plan.steps)} steps of the fix plan was completed within its attempts"
        return Decision(action="stuck", reason=reason, strategy=_NAME, warnings=warnings)
    if not doubts(standing):
        return Decision(
            action="done", reason=f"{told}, and the tests are green", strategy=_NAME, warnings=warnings
        )
    # What is skipped is still broken: there is nothing left to try. Of a stale or cut run nobody knows that.
    is_known = standing.is_fresh and standing.is_complete and standing.verdict not in (None, "error")
    reason = f"{told}; {'; '.join(doubts(standing))}"
    return Decision(
        action="stuck" if warnings and is_known else "continue",
        reason=reason,
        strategy=_NAME,
        warnings=warnings,
    )


def _next(plan: FixPlan) -> str:
    step = plan.steps[plan.current_step]
    return (
        f"step {plan.current_step + 1} of {len(plan.steps)}, attempt {step.attempts + 1} of {step.max_attempts}: "
        f"{_name(step)}"
    )


def _skipped(step: FixStep) -> str:
    return f"skipped after {step.attempts} attempt{'s' * (step.attempts != 1)}: {_name(step)}"


def _name(step: FixStep) -> str:
    return f"{step.description} [{step.cause}]" if step.description else step.cause


STRATEGY = ExitStrategy(
    name=_NAME,
    decide=decide,
    description="stop as done when each root cause of the episode is fixed, as stuck when the attempts are used up",
)
