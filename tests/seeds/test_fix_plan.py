import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.seeds.strategies import (
    FixPlan,
    count_attempt,
    follow_steps,
    update_plan,
)


def plan_after(*runs, plan=None):
    """The plan after runs, each the causes it shows; with an edit before each but the first."""
    plan = plan or FixPlan()
    for number, causes in enumerate(runs):
        plan = update_plan(plan, dict.fromkeys(causes, ""), is_complete=True, is_edited=number > 0)
    return plan


def shown(plan):
    return [
        f"{s.cause}{'+' if s.completed else '!' if s.is_exhausted else ''}{s.attempts}" for s in plan.steps
    ]


@pytest.mark.parametrize(
    ("runs", "expected", "current"),
    [
        ([""], [], 0),
        (["ab", "ab"], ["a1", "b0"], 0),
        (["ab", "a"], ["a0", "b+1"], 0),
        (["abcd", "bcd", "cd", "d", ""], ["a+1", "b+1", "c+1", "d+1"], 4),
        (["ab", "ab", "ab", "ab", "a"], ["a!3", "b+1"], 2),
        (["a", "a", "a", "a", ""], ["a+4"], 1),
        (["a", "", "a"], ["a1"], 0),
        (["a", "ab"], ["a1", "b0"], 0),
        (["dcba", "dcb", "dc", "d"], ["d0", "c+1", "b+1", "a+1"], 0),
    ],
)
def test_runs_move_the_plan(runs, expected, current):
    plan = plan_after(*runs)
    assert shown(plan) == expected
    assert plan.current_step == current


def test_incomplete_run_completes_nothing():
    plan = update_plan(plan_after("ab"), {"b": ""}, is_complete=False, is_edited=True)
    assert shown(plan) == ["a1", "b0"]


def test_without_an_edit_nothing_is_attempted():
    plan = update_plan(plan_after("ab"), {"a": "", "b": ""}, is_complete=True, is_edited=False)
    assert shown(plan) == ["a0", "b0"]
    assert shown(update_plan(plan, {"a": ""}, is_complete=True, is_edited=False)) == ["a0", "b+0"]


CAUSES = st.lists(st.sampled_from("abcdef"), unique=True)
RUNS = st.lists(st.tuples(CAUSES, st.booleans(), st.booleans()), max_size=12)


def replay(runs):
    plan = FixPlan()
    for causes, is_complete, is_edited in runs:
        plan = update_plan(plan, dict.fromkeys(causes, "what"), is_complete=is_complete, is_edited=is_edited)
    return plan


@given(RUNS)
def test_order_is_kept_and_what_is_there_is_not_completed(runs):
    plan = replay(runs)
    names = [step.cause for step in plan.steps]
    assert names == list(dict.fromkeys(cause for causes, _, _ in runs for cause in causes))
    if runs:
        assert not {step.cause for step in plan.steps if step.completed} & set(runs[-1][0])
    assert all(0 <= step.attempts <= len(runs) for step in plan.steps)


def test_steps_of_a_user_keep_their_attempts():
    plan = count_attempt(follow_steps(FixPlan(), [("index", False), ("page", False)]))
    assert shown(plan) == ["step 11", "step 20"]
    plan = follow_steps(plan, [("new", False), ("index", False), ("page", True)])
    assert shown(plan) == ["step 10", "step 21", "step 3+0"]
    assert shown(count_attempt(count_attempt(count_attempt(plan)))) == ["step 1!3", "step 21", "step 3+0"]
    over = follow_steps(FixPlan(), [("index", True)])
    assert count_attempt(over) == over
