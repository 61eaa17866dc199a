import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.agent.strategies import (
    MAX_ATTEMPTS,
    MAX_STEPS,
    FixPlan,
    FixStep,
    plan_from_dict,
    plan_to_dict,
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
        (["ab"], ["a0", "b0"], 0),
        (["ab", "ab"], ["a1", "b0"], 0),
        (["ab", "b"], ["a+1", "b0"], 1),
        (["ab", "a"], ["a0", "b+1"], 0),
        (["abc", "c"], ["a+1", "b+1", "c0"], 2),
        (["abcd", "bcd", "cd", "d", ""], ["a+1", "b+1", "c+1", "d+1"], 4),
        (["ab", "ab", "ab", "ab"], ["a!3", "b0"], 1),
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


def test_step_that_comes_back_after_all_its_attempts_is_exhausted():
    assert shown(plan_after("a", "a", "a", "", "a")) == ["a!3"]


def test_attempts_of_new_steps():
    plan = update_plan(FixPlan(), {"a": "x\ny"}, is_complete=True, is_edited=False, max_attempts=1)
    assert plan.steps == (FixStep(cause="a", description="x y", max_attempts=1),)


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "3"])
def test_attempts_are_a_number(wrong):
    with pytest.raises(ValueError, match="max_attempts is"):
        update_plan(FixPlan(), {}, is_complete=True, is_edited=False, max_attempts=wrong)


def test_plan_is_bounded():
    causes = {str(n): "" for n in range(MAX_STEPS + 5)}
    assert len(update_plan(FixPlan(), causes, is_complete=True, is_edited=False).steps) == MAX_STEPS


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


@given(RUNS)
def test_a_saved_plan_is_the_plan(runs):
    plan = replay(runs)
    assert plan_from_dict(json.loads(json.dumps(plan_to_dict(plan)))) == plan


GOOD = plan_to_dict(plan_after("ab"))


def step(**changes):
    return {"version": 1, "steps": [{**GOOD["steps"][0], **changes}]}


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (None, "fix_plan is"),
        ([], "fix_plan is"),
        ({}, "fix_plan.version"),
        ({"version": 2, "steps": []}, "fix_plan.version is 2"),
        ({"version": 1}, "fix_plan.steps is missing"),
        ({"version": 1, "steps": {}}, "fix_plan.steps"),
        ({"version": 1, "steps": [3]}, "fix_plan.steps[0]"),
        (step(cause=3), "fix_plan.steps[0].cause"),
        (step(description=None), "fix_plan.steps[0].description"),
        (step(state="half"), "fix_plan.steps[0].state"),
        (step(attempts=-1), "fix_plan.steps[0].attempts"),
        (step(attempts=True), "fix_plan.steps[0].attempts"),
        (step(max_attempts=0), "fix_plan.steps[0].max_attempts"),
        ({"version": 1, "steps": GOOD["steps"][:1] * 2}, "fix_plan.steps[1].cause"),
        ({"version": 1, "steps": GOOD["steps"] * MAX_STEPS}, "fix_plan.steps has"),
    ],
)
def test_damage_is_named(data, field):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        plan_from_dict(data)
    assert field in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["version", "steps", "cause"]), inner),
)


@given(JSON.filter(lambda data: not isinstance(data, dict) or data.get("steps") != []))
def test_any_damage_is_a_value_error(data):
    with pytest.raises(ValueError, match="fix_plan"):
        plan_from_dict(data)


def test_default_attempts():
    assert FixStep(cause="a").max_attempts == MAX_ATTEMPTS == 3
