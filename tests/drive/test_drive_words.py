import pytest

from loop_close.agent.guard import Limits
from loop_close.agent.loop import AgentLoop, RunOutcome
from loop_close.agent.strategies import FixPlan, FixStep, parse_strategy
from loop_close.drive import screen
from loop_close.drive.screen import spelled
from loop_close.memory import Breaker, ChangedTest, Edit, Edits


def loop_of(*failing, limits=None):
    loop = AgentLoop(parse_strategy("auto"), limits or Limits())
    for number in failing:
        loop.tested(
            RunOutcome(verdict="no-progress" if number else "green", failing=number, is_complete=True)
        )
    return loop


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        ([], "0 failing"),
        ([0], "0 failing"),
        ([0, 0], "0 failing"),
        ([3], "3 failing"),
        ([3, 3, 3], "3 failing"),
        ([9, 6, 6, 4], "9 → 6 → 4 failing"),
        ([0, 2], "0 → 2 failing"),
        ([2, 0], "2 → 0 failing"),
        (range(20, 0, -1), "… → 8 → 7 → 6 → 5 → 4 → 3 → 2 → 1 failing"),
    ],
)
def test_trend(failing, said):
    assert screen.trend(list(failing)) == said


@pytest.mark.parametrize(
    ("failing", "breaker", "said"),
    [
        ([2], Breaker(), "2 failing"),
        ([2, 2], Breaker(), "2 failing, the same as 1 run before"),
        (
            [3, 2, 2, 2],
            Breaker(state="half_open"),
            "3 → 2 failing, the same as 2 runs before; not stuck yet",
        ),
        ([0, 0], Breaker(), "0 failing"),
    ],
)
def test_state_of_the_loop(failing, breaker, said):
    outcome = RunOutcome(verdict="error", failing=failing[-1], is_complete=True, breaker=breaker)
    if not failing[-1]:
        outcome = RunOutcome(verdict="green", is_complete=True)
    assert screen.state_line(loop_of(*failing), outcome) == said


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (RunOutcome(), "the run did not finish"),
        (RunOutcome(verdict="error", is_complete=True), "the run is red, but no failing test is known"),
    ],
)
def test_run_of_which_little_is_known(outcome, said):
    loop = loop_of(2)
    loop.tested(outcome)
    assert screen.state_line(loop, outcome) == said
    assert screen.trend(loop.failing) == "2 failing"


def test_number_of_the_turn():
    assert screen.turn_label(loop_of()) == "turn 1 of 100"
    assert screen.turn_label(loop_of(limits=Limits(max_iterations=float("inf")))) == "turn 1"


def test_stuck_loop_tells_what_was_tried():
    (line, _) = screen.summary_lines(loop_of(2, 2), "stuck", "no progress")
    assert line == "loop-close drive: stuck after 0 turns in 0:00: no progress"
    tried = "run 2: edited: total in cart.py; no failure moved; 2 failing after it"
    lines = list(
        screen.next_step_lines(
            RunOutcome(attempts=(tried,), prompt="## Tried so far\n\nx\n"), "nextprompt.md"
        )
    )
    assert lines[:2] == ["  what was tried:", f"    {tried}"]
    assert lines[2] == "  the next prompt: nextprompt.md"
    assert lines[3].endswith("loop-close drive --resume")
    assert len(list(screen.next_step_lines(RunOutcome(), "nextprompt.md"))) == 2


def test_summary_of_a_loop_that_is_done_is_short():
    lines = list(screen.summary_lines(loop_of(2, 0), "done", "the tests are green"))
    assert lines == ["loop-close drive: done after 0 turns in 0:00: the tests are green", "  2 → 0 failing"]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        (None, []),
        (
            Edits(kind="none"),
            ["  look: nothing was edited; a test that fails now and then may be all there was"],
        ),
        (Edits(edits=(Edit(file="cart.py"), Edit(file="test_cart.py"))), []),
        (
            Edits(edits=(Edit(file="test_b.py"), Edit(file="conftest.py"))),
            ["  look: only tests were edited: conftest.py, test_b.py"],
        ),
    ],
)
def test_what_a_person_should_look_at(edits, said):
    assert list(screen.warning_lines(RunOutcome(verdict="green"), edits)) == said


def test_edited_functions_that_no_test_ran_are_named_where_the_loop_is_done():
    outcome = RunOutcome(
        verdict="green", edits_not_run="The edited function was not run by any test: f (a.py)."
    )
    edits = Edits(edits=(Edit(file="a.py"),))
    assert list(screen.warning_lines(outcome, edits)) == [
        "  look: The edited function was not run by any test: f (a.py)."
    ]
    assert list(screen.warning_lines(outcome, None)) == []


def test_changed_tests_are_reported():
    outcome = RunOutcome(
        verdict="green",
        is_complete=True,
        tests=(ChangedTest(file="t.py", test="t", kind="not-run", what="is skipped"),),
        missing=2,
    )
    assert list(screen.warning_lines(outcome, None)) == [
        "  tests are not as they were: no longer run: t.py::t, 2 fewer tests ran than before",
        "    no longer run: t.py::t: is skipped",
        "  to see the changes, and to accept them: loop-close accept",
    ]
    assert screen.state_line(loop_of(), outcome).startswith("green, but tests were changed: no longer run")


def test_reason_from_outside_is_made_safe():
    (first, *_) = screen.summary_lines(loop_of(), "stuck", "\x1b[31mred\n# x \u202e")
    assert "\x1b" not in first
    assert "\u202e" not in first
    assert "\n" not in first


def test_steps_of_the_plan():
    steps = [
        FixStep(cause="a", description="first", completed=True, attempts=2),
        FixStep(cause="b", attempts=3),
        FixStep(cause="c", description="third"),
        *(FixStep(cause=f"d{n}") for n in range(20)),
    ]
    lines = list(screen._steps(FixPlan(steps=tuple(steps))))
    assert lines[:3] == [
        "1. fixed after 2 attempts: first",
        "2. given up after 3 attempts: b",
        "3. open: third",
    ]
    assert lines[-1] == "… and 11 more"
    assert len(lines) == 13


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3600, "1:00:00"), (36_061, "10:01:01")]
)
def test_time(seconds, said):
    assert spelled(seconds) == said
