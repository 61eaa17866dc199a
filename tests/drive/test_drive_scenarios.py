"""What a loop has to be right about, with an agent that follows a script, from the command line to the exit code."""

import sys

import pytest
from driven import TESTS, cart, steps

pytestmark = pytest.mark.slow  # whole loops, with an agent and pytest as processes of their own

CLAIM = "I fixed everything. All tests pass, the task is complete."
WITHOUT_TOTAL = TESTS.replace("def test_total():\n    assert total([1, 2]) == 3\n\n\n", "")


def test_agent_that_claims_completion_over_red_tests_is_sent_back(project):
    loop = project(
        [
            {"say": CLAIM},
            {"say": "Now the sum is right.", "write": cart(count="len(prices) - 1")},
            {"say": CLAIM, "write": cart()},
        ]
    )
    done = loop.drive()
    assert done.returncode == 0
    assert "- After the last turn: the agent says it is done, but 2 tests fail." in loop.given[1]
    assert "# 2 tests fail" in loop.given[1]
    assert "loop-close drive: done after 3 turns in 0:" in done.stdout
    assert "the agent reports completion" in done.stdout
    assert "  2 → 1 → 0 failing\n" in done.stdout


def test_agent_that_goes_in_circles_is_stopped_at_the_third_turn_with_what_was_tried(project):
    one, other = cart(total="sum(prices) + 2"), cart(total="sum(prices) + 3")
    loop = project(
        [
            {"say": "The offset was wrong.", "write": one},
            {"say": "It has to be three.", "write": other},
            {"say": "Back to two, as before, which looked better.", "write": one},
        ],
        cart(total="sum(prices) + 3"),
    )
    done = loop.drive()
    assert done.returncode == 3
    assert len(loop.given) == 3
    assert "loop-close drive: stuck after 3 turns" in done.stdout
    told = done.stdout.partition("what was tried:")[2]
    assert told.count("edited: total in cart.py") == 3
    assert "run 4: edited: total in cart.py, back to the code of run 2; 1 with other values" in told
    assert "loop-close drive --resume" in told


def test_four_causes_are_fixed_one_by_one_under_a_plan(project):
    names = ("a", "b", "c", "d")
    tests = "import four\n" + "".join(f"\n\ndef test_{n}():\n    assert four.{n}() == '{n}'\n" for n in names)

    def four(right):
        bodies = (f"def {n}():\n    return '{n if n in right else n * 2}'\n" for n in names)
        return {"four.py": "\n\n".join(bodies), "test_cart.py": tests}

    turns = [{"say": f"Fixed {names[n]}.", "write": four(names[: n + 1])} for n in range(4)]
    loop = project(turns, four(""))
    done = loop.drive("--strategy", "fix_plan")
    assert done.returncode == 0
    assert len(loop.given) == 4
    for number, given in enumerate(loop.given[1:], 2):
        assert f"- After the last turn: step {number} of 4, attempt 1 of 3: AssertionError" in given
    assert "4 → 3 → 2 → 1 → 0 failing" in done.stdout
    assert "4 of 4 steps of the fix plan are completed, and the tests are green" in done.stdout
    assert done.stdout.count(". fixed after 1 attempt: AssertionError") == 4


def test_agent_that_deletes_the_failing_test_is_not_believed(project):
    files = cart(total="sum(prices) + 1")
    loop = project(
        [
            {"say": CLAIM, "write": {"test_cart.py": WITHOUT_TOTAL}},
            {"say": CLAIM},  # the test is still gone, and the run that showed it is over
            {"say": "The test is back.", "write": {"test_cart.py": TESTS}},
            {"say": CLAIM, "write": cart()},
        ],
        files,
    )
    done = loop.drive()
    assert done.returncode == 0, done.stdout
    doubt = "the agent says it is done, but tests were tampered with: deleted: test_cart.py::test_total."
    assert [doubt in given for given in loop.given] == [False, True, True, False]
    assert len(loop.given) == 4
    assert "  1 → 0 failing\n" in done.stdout
    assert "loop-close: green, but tests were changed: deleted: test_cart.py::test_total\n" in done.stderr


@pytest.mark.parametrize(
    ("tests", "way"),
    [
        (
            TESTS.replace("def test_total", "import pytest\n\n\n@pytest.mark.skip\ndef test_total"),
            "no longer run",
        ),
        (
            TESTS.replace("def test_total", "import pytest\n\n\n@pytest.mark.xfail\ndef test_total"),
            "no longer run",
        ),
        (TESTS.replace("    assert total([1, 2]) == 3\n", "    total([1, 2])\n"), "weakened"),
        (TESTS.replace("def test_total", "def total_of_two"), "no longer run"),
    ],
)
@pytest.mark.slow
def test_other_ways_to_silence_a_test_are_not_believed_either(project, tests, way):
    loop = project(
        [{"say": CLAIM, "write": {"test_cart.py": tests}}, {"say": CLAIM}], cart(total="sum(prices) + 1")
    )
    done = loop.drive()
    assert done.returncode == 3, done.stdout
    assert f"tests are not as they were: {way}: test_cart.py::t" in done.stdout
    assert [f"tampered with: {way}: test_cart.py::t" in given for given in loop.given] == [
        False,
        True,
        True,
    ]


def test_agent_that_varies_its_edits_without_effect_is_stopped_by_the_supervisor(project):
    turns = [
        {"say": f"Attempt: {word} the sum.", "write": cart(total=f"sum(prices) + 1 + {n} - {n}")}
        for n, word in enumerate(("recomputed", "rewrote", "reordered", "renamed"), 1)
    ]
    loop = project(turns, cart(total="sum(prices) + 1"))
    done = loop.drive("--strategy", "done_signals")
    assert done.returncode == 3
    assert len(loop.given) == 3
    assert "stuck after 3 turns" in done.stdout
    assert "`tests` made no progress 3 times in a row: each result was marked as no progress" in done.stdout


def test_agent_that_does_nothing_is_stopped(project):
    loop = project([{"say": CLAIM}])
    done = loop.drive()
    assert done.returncode == 3
    assert len(loop.given) == 3


def test_green_tests_need_no_agent(project):
    loop = project([{"say": "I was called"}], cart())
    done = loop.drive()
    assert done.returncode == 0
    assert loop.given == []
    assert "done after 0 turns" in done.stdout
    assert "0 failing" in done.stdout


def test_trend_is_printed_before_each_turn(project):
    loop = project(
        [{"say": "One.", "write": cart(count="len(prices) - 1")}, {"say": "Two.", "write": cart()}]
    )
    told = steps(loop.drive())
    assert [line for line in told if line.endswith("failing")] == [
        "loop-close: 2 failing",
        "loop-close: 2 → 1 failing",
        "loop-close: 2 → 1 → 0 failing",
    ]
    assert any(line.startswith("loop-close: turn 1 of 100: ") for line in told)
    assert any(line.endswith("(the agent does not report completion)") for line in told)


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="calls are seen from Python 3.12 on")
def test_loop_that_is_done_names_the_edited_functions_that_no_test_ran(project):
    more = {"cart.py": cart()["cart.py"] + "\n\ndef rest():\n    return 1\n"}
    done = project([{"say": CLAIM, "write": more}], cart(total="sum(prices) + 2")).drive()
    assert done.returncode == 0
    assert "  look: 1 of 2 edited functions was not run by any test: rest (cart.py).\n" in done.stdout


def test_box_in_the_task_ends_the_loop_once_it_is_checked(project):
    task = "Write notes.\n\n- [{}] TASK_COMPLETE\n"
    turns = [
        {"say": "Wrote the first half of `notes.md`. The work is complete.", "write": {"notes.md": "one"}},
        {"say": "Wrote the rest of the notes.", "write": {"notes.md": "two", "task.md": task.format("x")}},
    ]
    loop = project(turns, {**cart(), "task.md": task.format(" ")})
    done = loop.drive("--task", "task.md", "--max-iterations", "4")
    assert done.returncode == 0, done.stdout
    assert len(loop.given) == 2
    assert "the agent itself says it is not done: its box TASK_COMPLETE is not checked" in loop.given[1]
    assert "the agent reports completion (task_complete" in done.stdout


def test_what_the_agent_said_it_did_is_handed_over(project):
    turns = [{"say": f"Modified 2 files in turn {number}. {'x ' * 60 * number}"} for number in range(1, 4)]
    done = project(turns, cart(total="0")).drive("--max-iterations", "2")
    assert done.returncode == 4, done.stdout
    assert (
        "  what the agent said it did:\n    turn 1: Modified 2 files\n    turn 2: Modified 2 files\n"
        in done.stdout
    )


PLAN = "# Plan\n\n- [{}] Write the notes\n- [{}] Write the index\n"


def test_own_plan_is_followed_step_by_step(project):
    turns = [
        {"say": "Wrote notes.", "write": {"notes.md": "one", "plan.md": PLAN.format("x", " ")}},
        {"say": "All tests pass. The work is complete.", "write": {"other.py": "x = 1\n"}},
        {"say": "Wrote the index.", "write": {"index.md": "two", "plan.md": PLAN.format("x", "x")}},
    ]
    loop = project(turns, {**cart(), "plan.md": PLAN.format(" ", " ")})
    done = loop.drive("--plan", "plan.md", "--max-iterations", "6")
    assert done.returncode == 0, done.stdout
    assert len(loop.given) == 3
    assert "- Step 1 of 2 of the plan is next: Write the notes\n" in loop.given[0]
    assert "step 2 of 2, attempt 1 of 3: Write the index" in loop.given[1]
    assert "- Step 2 of 2 of the plan is next: Write the index\n" in loop.given[2]
    assert "2 of 2 steps of the fix plan are completed, and the tests are green" in done.stdout
    assert "  1. completed: Write the notes\n  2. completed after 1 attempt: Write the index\n" in done.stdout


def test_own_plan_that_gets_nowhere_ends_the_loop_as_stuck(project):
    turns = [{"say": f"Tried {'again ' * n}", "write": {"other.py": f"x = {n}\n"}} for n in range(1, 9)]
    loop = project(turns, {**cart(), "plan.md": "1. Write the notes\n"})
    done = loop.drive("--plan", "plan.md", "--max-iterations", "8")
    assert done.returncode == 3, done.stdout
    assert "none of the 1 steps of the fix plan was completed within its attempts" in done.stdout


def test_plan_without_a_step_is_named(project):
    done = project([], {**cart(), "plan.md": "Do it well.\n"}).drive("--plan", "plan.md")
    assert done.returncode == 64
    assert (
        "the plan plan.md has no step: write each as a list item, such as: - [ ] Fix the parser"
        in done.stderr
    )
