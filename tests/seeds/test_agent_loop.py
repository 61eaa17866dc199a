"""The loop without the doing: decisions from runs and answers that are given."""

import json

import msgspec
import pytest

from loop_close.seeds.guard import Limits
from loop_close.seeds.loop import AgentLoop, LoopState, RunOutcome
from loop_close.seeds.outputs import AgentOutput
from loop_close.seeds.strategies import parse_strategy

SECRET = "ghp_" + "a1B2c3D4e5" * 4
STALLED = {"dev.loop-close/non-advancing": True}
GREEN = RunOutcome(verdict="green", is_complete=True, meta={"dev.loop-close/non-advancing": False})
RED = RunOutcome(
    verdict="red",
    failing=2,
    is_complete=True,
    causes={"c1": "first"},
    state="s",
    prompt="# Stall\n",
)
STILL = RunOutcome(
    verdict="red", failing=2, is_complete=True, is_edited=True, causes={"c1": "first"}, meta=STALLED
)


OBJECTION = "of the tests as they were, 1 does not pass"


def loop(strategy="auto", limits=None, task=""):
    return AgentLoop(parse_strategy(strategy), limits or Limits(), task=task)


def told(loop, text, **options):
    loop.answered(AgentOutput(text=text), now=0.0, **options)


def changed(tested, **changes):
    return msgspec.structs.replace(tested, **changes)


def resumed(judge, strategy="auto", **options):
    """The loop in another process."""
    state = msgspec.json.decode(msgspec.json.encode(judge.state), type=LoopState)
    return AgentLoop(parse_strategy(strategy), state=state, **options)


@pytest.mark.parametrize("strategy", ["auto", "fix_plan", "done_signals", "circuit_breaker"])
def test_green_tests_end_a_loop_that_has_no_other_task(strategy):
    decision = loop(strategy).tested(GREEN)
    assert (decision.action, decision.reason, decision.strategy) == ("done", "the tests are green", "tests")


def test_green_tests_are_not_the_whole_of_a_task():
    judge = loop(task="Add a command that exports CSV.")
    assert judge.tested(GREEN).action == "continue"
    told(judge, "I wrote the parser of the options, the exporter comes next.")
    assert judge.tested(GREEN).action == "continue"
    told(judge, "The export is written and documented. Done: everything works.")
    decision = judge.tested(GREEN)
    assert (decision.action, decision.strategy) == ("done", "auto")


NOT_DONE = [
    "STATUS: COMPLETE\nEXIT_SIGNAL: false",
    "The task is not done.",
    "Half of the work is done.",
    "I fixed `cart.py`, all tests pass, two of the three files are done.",
    "Modified 3 files. About 60 % of the migration is complete.",
    "All tests pass.\n\n- [ ] TASK_COMPLETE",
    "STATUS: IN_PROGRESS",
]


@pytest.mark.parametrize("text", NOT_DONE)
@pytest.mark.parametrize("strategy", ["auto", "done_signals", "auto+done_signals"])
@pytest.mark.parametrize("task", ["", "Migrate three files."])
def test_agent_that_says_it_is_not_done_is_not_done_over_a_green_run(text, strategy, task):
    judge = loop(strategy, task=task)
    judge.tested(RED)
    told(judge, text)
    assert judge.tested(changed(GREEN, is_edited=True)).action == "continue"


@pytest.mark.parametrize(
    "text", ["STATUS: COMPLETE\nEXIT_SIGNAL: true", "- [x] TASK_COMPLETE", "The work in `a.py` is complete."]
)
def test_agent_that_says_so_is_done_over_a_green_run(text):
    judge = loop(task="Migrate a file.\n\n- [ ] TASK_COMPLETE")
    judge.tested(RED)
    told(judge, text)
    assert judge.tested(GREEN).action == "done"
    assert loop(task="x").tested(RED).action == "continue"


def test_agent_that_repeats_itself_over_green_tests_is_stopped(caplog):
    judge = loop(task="Add a command.")
    told(judge, "I am looking at how the commands are registered in the parser.")
    assert judge.tested(GREEN).action == "continue"
    told(judge, "I am looking at how the commands are registered in the parser.")
    decision = judge.tested(GREEN)
    assert (decision.action, decision.strategy) == ("stuck", "safety_guard")
    assert decision.reason == "the agent repeats an earlier message (100% alike), and the runs do not advance"
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "Loop detected: 100.0% similarity to previous output"),
        ("WARNING", "Breaking loop due to repetitive agent outputs"),
    ]


def test_equal_words_over_edits_stop_the_loop_at_the_third_time_and_after_a_restart():
    judge = loop(task="Add ten commands.")
    actions = []
    for _ in range(3):
        told(judge, "Wrote the next command, with its tests and its page.")
        actions.append(judge.tested(changed(GREEN, is_edited=True)).action)
        judge = resumed(judge, task="Add ten commands.")
    assert actions == ["continue", "continue", "stuck"]


CLAIM = "I completed everything.\n\n- [x] TASK_COMPLETE"


@pytest.mark.parametrize("strategy", ["auto", "done_signals", "auto+circuit_breaker"])
def test_claim_of_a_turn_that_failed_does_not_end_the_loop(strategy):
    judge = loop(strategy, task="Add a command.\n\n- [ ] TASK_COMPLETE")
    judge.tested(RED)
    told(judge, CLAIM, error="the agent exited with code 1")
    again = resumed(judge, strategy, task="Add a command.")
    for each in (judge, again):
        decision = each.tested(GREEN)
        assert (decision.action, decision.reason) == ("continue", "the agent exited with code 1")
        assert "- The last turn failed: the agent exited with code 1." in each.prompt(GREEN, decision)
    told(judge, CLAIM)
    assert judge.tested(changed(GREEN, is_edited=True)).action == "done"


@pytest.mark.parametrize("is_error", [True, False])
def test_agent_that_fails_counts_as_a_failure_and_the_reason_says_so(is_error):
    judge = loop(limits=Limits(max_consecutive_failures=2), task="Add a command.")
    for number in range(2):
        said = AgentOutput(text=f"Part {number} of it: {'word ' * number * 9}", is_error=is_error)
        judge.answered(said, error="" if is_error else "the agent exited with code 2", now=0.0)
    reason = judge.limit(0.0).reason
    why = "the agent reported an error" if is_error else "the agent exited with code 2"
    assert reason == f"2 failures in a row, the limit is 2; the last turn failed: {why}"
    assert f"The last turn failed: {why}" in judge.prompt(GREEN, judge.tested(GREEN))


@pytest.mark.parametrize(
    "tested",
    [
        RED,
        changed(GREEN, is_complete=False),
        changed(GREEN, objection=OBJECTION),
        changed(GREEN, verdict="error"),
        changed(GREEN, verdict=None),
    ],
)
def test_claim_over_what_is_not_proven_sends_back(tested):
    judge = loop()
    judge.tested(RED)
    told(judge, "All tests pass. I am done: the fix is complete and verified.")
    decision = judge.tested(tested)
    assert decision.action == "continue"
    assert "the agent says it is done, but " in judge.prompt(tested, decision)


@pytest.mark.parametrize(
    ("judge", "tested", "reason"),
    [
        (loop("done_signals"), STILL, "made no progress 3 times in a row"),
        (loop(), changed(GREEN, objection=OBJECTION, is_edited=True), OBJECTION),
        (loop(task="Add ten commands."), GREEN, ""),  # nothing is edited
    ],
)
def test_three_turns_without_progress_are_stuck(judge, tested, reason):
    judge.tested(RED if reason else GREEN)
    decisions = []
    for text in (
        "I changed the sum.",
        "Now the rounding looks right to me.",
        "The parser was at fault, rewritten.",
    ):
        told(judge, text)
        decisions.append(judge.tested(tested))
    assert [decision.action for decision in decisions] == ["continue", "continue", "stuck"]
    assert decisions[-1].strategy == "supervisor"
    assert reason in decisions[-1].reason


def test_steps_of_the_plan_are_the_root_causes():
    judge = loop("fix_plan")
    both = changed(RED, causes={"c1": "first", "c2": "second"})
    assert judge.tested(both).reason == "step 1 of 2, attempt 1 of 3: first [c1]"
    told(judge, "The first one.")
    left = changed(STILL, causes={"c2": "second"}, has_advanced=True, meta={})
    assert judge.tested(left).reason == "step 2 of 2, attempt 1 of 3: second [c2]"
    told(judge, "The second one.")
    decision = judge.tested(changed(GREEN, is_edited=True))
    assert (decision.action, decision.strategy) == ("done", "fix_plan")
    assert [step.completed for step in judge.plan.steps] == [True, True]


def test_prompt_of_the_first_turn():
    judge = loop(limits=Limits(max_iterations=7), task="Build it.\n")
    text = judge.prompt(RED, judge.tested(RED))
    assert text == ("Build it.\n\n---\n\n# Stall\n\n## This loop\n\n- Turn 1 of at most 7.\n")


def test_failed_turn_is_reported_without_secrets():
    judge = loop()
    told(judge, "", error=f"exit code 1: api_key={SECRET}")
    text = judge.prompt(RED, judge.tested(RED))
    assert "The last turn failed: exit code 1" in text
    assert SECRET not in text


def test_state_is_gone_on_from():
    judge = loop("fix_plan")
    judge.tested(RED)
    told(judge, "I have fixed the rounding in the cart.", error="exit code 1")
    judge.tested(STILL)
    again = resumed(judge, "fix_plan")
    judge.state.spent.failures = 0  # somebody has looked
    judge.state.tools.clear()
    assert again.state == judge.state
    assert (again.turns, again.state.failing, again.plan) == (1, [2, 2], judge.plan)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("failing", [1, "2"]),
        ("spent", {"outputs": [None]}),
        ("tools", {"tests": {"count": -1}}),
    ],
)
def test_damaged_state_is_no_state(field, value):
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert({**msgspec.to_builtins(loop().state), field: value}, LoopState)


@pytest.mark.slow
def test_state_keeps_no_secrets_and_stays_small():
    judge = loop()
    for number in range(30):
        judge.tested(RED)
        told(judge, f"{number} token={SECRET} {'x' * 50_000}")
    text = json.dumps(msgspec.to_builtins(judge.state))
    assert SECRET not in text
    assert len(text) < 200_000


def test_what_the_agent_said_it_did_is_kept_for_the_next_turn_and_for_a_person():
    judge = loop(task="Add a command.")
    told(judge, "Modified 3 files and fixed 2 errors. The exporter comes next.")
    told(judge, "Hmm.")
    told(judge, "I changed 1 file; 12 tests passed.")
    judge = resumed(judge)
    assert judge.state.work == [
        "turn 1: Modified 3 files, 2 errors fixed",
        "turn 3: Modified 1 file, 12 tests passing",
    ]
    told(judge, "Updated 2 files.")
    prompt = judge.prompt(RED, judge.tested(RED))
    assert "The agent's own account of turn 4: Modified 2 files." in prompt
