from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loop_close.seeds.analyzer import (
    AnalysisContext,
    AnalysisResult,
    CompletionSignal,
    ResponseAnalyzer,
    StuckSignal,
)
from loop_close.seeds.strategies import (
    STRATEGIES,
    Decision,
    FixPlan,
    FixStep,
    Standing,
    doubts,
    parse_strategy,
)

OPEN = "3 runs without progress"
GREEN = Standing(verdict="green", is_complete=True)
RED = Standing(verdict="red", failing=3, is_complete=True)
OBJECTION = "of the tests as they were, 1 does not pass"


def said(text, **context):
    return ResponseAnalyzer().analyze(text, AnalysisContext(**context))


CLAIM = said("I fixed `a.py`. All tests pass. The task is complete.")
WORD = said("I fixed `a.py`. The task is done.")
SILENT = said("I moved `flush()` below the loop in `a.py`.")
TAKEN_BACK = said("I fixed `a.py`. The task is done and complete, but the docs are not done.")


def asked(strategy, standing, **changes):
    return parse_strategy(strategy).decide(replace(standing, **changes))


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (GREEN, ()),
        (Standing(), ("no tests have run",)),
        (RED, ("3 tests fail",)),
        (replace(RED, failing=1), ("1 test fails",)),
        (replace(RED, failing=0), ("the last run is not green",)),
        (replace(GREEN, verdict="error"), ("the run ended in an error",)),
        (replace(GREEN, is_complete=False), ("the run is incomplete",)),
        (replace(GREEN, objection=OBJECTION), (OBJECTION,)),
    ],
)
def test_what_keeps_a_run_from_proving(standing, expected):
    assert doubts(standing) == expected


@pytest.mark.parametrize(
    ("analysis", "action"),
    [
        (CLAIM, "done"),
        (SILENT, "continue"),
        (TAKEN_BACK, "continue"),
        (AnalysisResult(), "continue"),
    ],
)
@pytest.mark.parametrize("strategy", ["auto", "done_signals"])
def test_what_the_agent_says_over_green(strategy, analysis, action):
    assert asked(strategy, GREEN, analysis=analysis).action == action


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"verdict": "red", "failing": 3}, "the agent says it is done, but 3 tests fail"),
        ({"is_complete": False}, "the agent says it is done, but the run is incomplete"),
        ({"verdict": None}, "the agent says it is done, but no tests have run"),
        ({"objection": OBJECTION}, f"the agent says it is done, but {OBJECTION}"),
    ],
)
@pytest.mark.parametrize("strategy", ["auto", "done_signals"])
def test_claim_against_the_tests(strategy, changes, reason):
    decision = asked(strategy, GREEN, analysis=CLAIM, **changes)
    assert decision == Decision(action="continue", reason=reason, strategy=strategy)


def test_auto_falls_back_to_the_breaker():
    decision = asked("auto", RED, analysis=CLAIM, stuck=OPEN)
    assert (decision.action, decision.strategy) == ("stuck", "circuit_breaker")
    assert decision.reason == "the loop is stuck: 3 runs without progress"


@pytest.mark.parametrize(
    ("verdict", "has_advanced", "action"),
    [
        ("green", False, "stuck"),
        ("red", False, "stuck"),
        ("red", True, "continue"),
    ],
)
def test_auto_believes_in_repeated_errors_where_the_runs_show_no_progress(verdict, has_advanced, action):
    stuck = said("Trying again.", error_history=("KeyError: 'a'",) * 3)
    assert (
        asked("auto", replace(RED, verdict=verdict, has_advanced=has_advanced), analysis=stuck).action
        == action
    )


def test_auto_believes_a_proven_claim_after_repeated_errors():
    done = said("I fixed `a.py`. All tests pass.", error_history=("KeyError: 'a'",) * 3)
    assert asked("auto", GREEN, analysis=done).action == "done"


@pytest.mark.parametrize(
    ("confidence", "action"),
    [
        (15, "done"),
        (14.9, "continue"),
    ],
)
def test_done_signals_fires_at_forty(confidence, action):
    claim = CompletionSignal(keywords=("done",))
    analysis = AnalysisResult(completion_signal=claim, confidence=confidence)
    assert asked("done_signals", GREEN, analysis=analysis).action == action


def test_done_signals_without_a_completion_word_is_never_done():
    analysis = AnalysisResult(tests=100, confidence=100)
    decision = asked("done_signals", GREEN, analysis=analysis)
    assert (decision.action, decision.reason) == (
        "continue",
        "the agent does not report completion",
    )


def step(name, *, attempts=0, completed=False):
    return FixStep(cause=name, description=f"fix {name}", attempts=attempts, completed=completed)


COMPLETED, EXHAUSTED, NEW = step("a", attempts=1, completed=True), step("b", attempts=3), step("c")


@pytest.mark.parametrize(
    ("steps", "standing", "action", "reason"),
    [
        ((), GREEN, "continue", "the fix plan has no steps"),
        ((NEW,), RED, "continue", "step 1 of 1, attempt 1 of 3: fix c [c]"),
        ((COMPLETED, EXHAUSTED, NEW), RED, "continue", "step 3 of 3, attempt 1 of 3: fix c [c]"),
        ((COMPLETED,), GREEN, "done", "1 of 1 steps of the fix plan are completed, and the tests are green"),
        ((COMPLETED,), replace(GREEN, objection=OBJECTION), "continue", OBJECTION),
        ((COMPLETED,), RED, "continue", "3 tests fail"),
        ((COMPLETED, EXHAUSTED), RED, "stuck", "1 of 2 steps of the fix plan are completed; 3 tests fail"),
        ((COMPLETED, EXHAUSTED), GREEN, "done", "1 of 2 steps"),
        ((EXHAUSTED,), RED, "stuck", "none of the 1 steps"),
        ((EXHAUSTED,), GREEN, "stuck", "none of the 1 steps"),
    ],
)
def test_fix_plan(steps, standing, action, reason):
    decision = asked("fix_plan", standing, fix_plan=FixPlan(steps=steps))
    assert decision.action == action
    assert reason in decision.reason
    assert decision.warnings == ("skipped after 3 attempts: fix b [b]",) * (EXHAUSTED in steps)


def test_first_that_fires_is_named():
    green = replace(GREEN, analysis=CLAIM, stuck=OPEN)
    assert asked("done_signals+circuit_breaker", green).strategy == "done_signals"
    assert asked("circuit_breaker+done_signals", green).strategy == "circuit_breaker"
    red = asked("done_signals + circuit_breaker", RED, analysis=CLAIM, stuck=OPEN)
    assert (red.action, red.strategy) == ("stuck", "circuit_breaker")


KNOWN = "auto, circuit_breaker, done_signals, fix_plan"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("never", f"unknown exit strategy 'never'; known strategies: {KNOWN}"),
        ("auto+never", f"unknown exit strategy 'never'; known strategies: {KNOWN}"),
        ("", f"unknown exit strategy ''; known strategies: {KNOWN}"),
        ("auto+auto", "exit strategy 'auto+auto' names 'auto' twice"),
    ],
)
def test_unknown_strategy(text, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse_strategy(text)
    assert str(caught.value) == message


NAMES = [*STRATEGIES]
ALL = [*NAMES, *("+".join(p) for pair in combinations(NAMES, 2) for p in permutations(pair)), "+".join(NAMES)]
PART = st.floats(0, 100)
ANALYSES = st.builds(
    AnalysisResult,
    confidence=PART,
    completion_signal=st.builds(
        CompletionSignal,
        keywords=st.sampled_from([(), ("done",), ("done", "complete")]),
        confidence=PART,
        qualifiers=st.sampled_from([(), ("not done",)]),
    ),
    stuck_signal=st.builds(StuckSignal, repeated_patterns=st.sampled_from([(), ("KeyError: <str>",)])),
    tests=PART,
)
STEPS = st.builds(FixStep, cause=st.text(max_size=3), completed=st.booleans(), attempts=st.integers(0, 4))
STANDINGS = st.builds(
    Standing,
    analysis=ANALYSES | st.just(CLAIM),
    verdict=st.sampled_from([None, "green", "red", "error"]),
    failing=st.integers(0, 5),
    is_complete=st.booleans(),
    objection=st.sampled_from(["", OBJECTION]),
    stuck=st.sampled_from(["", OPEN]),
    fix_plan=st.builds(FixPlan, steps=st.lists(STEPS, max_size=4).map(tuple)),
)


@pytest.mark.parametrize("name", ALL)
@given(standing=STANDINGS)
def test_done_only_where_the_tests_prove_it(name, standing):
    decision = parse_strategy(name).decide(standing)
    assert decision.action in ("continue", "done", "stuck")
    assert decision.reason
    assert decision.strategy
    if decision.action == "done":
        assert not doubts(standing)
    if standing.stuck and "circuit_breaker" in name:
        assert decision.action != "continue"
    assert decision == parse_strategy(name).decide(standing)


@given(standing=STANDINGS)
def test_composite_fires_when_a_part_does(standing):
    parts = [parse_strategy(name).decide(standing).action for name in NAMES]
    fired = next((action for action in parts if action != "continue"), "continue")
    assert parse_strategy("+".join(NAMES)).decide(standing).action == fired
