"""How a loop of checks and an agent ends, with an agent that follows a script; and how it is gone on with."""

import json
import os
import re
import shlex
import signal
from pathlib import Path

import pytest
from driven import TESTS, Project, cart, checks
from processes import is_running, wait_until

from loop_close.cli.parser import parse

pytestmark = pytest.mark.slow  # several turns, each with an agent and pytest as processes of their own

PAGE = (Path(__file__).parents[2] / "docs" / "drive.md").read_text(encoding="utf-8")
WRONG = cart(total="sum(prices) + 1")
BOTH_WRONG = cart(total="sum(prices) + 1", count="len(prices) - 1")
CLAIM = "I fixed everything. All tests pass, the task is complete."
WEAKER = TESTS.replace("total([1, 2]) == 3", "total([1, 2]) > 3")
LIMIT = {
    "type": "result",
    "subtype": "success",
    "is_error": True,
    "result": "You've hit your usage limit. It resets at 3pm.",
    "total_cost_usd": 0,
}

posix = pytest.mark.skipif(os.name != "posix", reason="there are no process groups")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a wrong function, unless other files are given."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def make(turns, files=None):
        return Project(tmp_path, files or WRONG, turns)

    return make


# --- done


def test_done(project):
    loop = project([{"say": "The sum was wrong.", "write": cart()}])
    done = loop.drive()
    assert done.returncode == 0
    assert loop.given[0].startswith("# 1 test fails")
    assert "- Turn 1 of at most 100." in loop.given[0]
    assert "loop-close drive: done after 1 turn in " in done.stdout
    assert checks(done) == 2
    assert loop.state["ended"] == "done"
    assert loop.run("status").returncode == 0


def test_with_the_setting_undo_the_summary_says_what_tests_say_without_the_change(project):
    table = "[tool.loop-close]\nundo = true\n"
    loop = project([{"say": "Mended.", "write": cart()}], {**WRONG, "pyproject.toml": table})
    done = loop.drive()
    assert done.returncode == 0
    assert "\n  - without the change in `cart.py` " in done.stdout


def test_work_that_is_done_needs_no_turn(project):
    loop = project([{"say": "I was called."}], cart())
    assert loop.drive().returncode == 0
    assert loop.given == []


def test_a_claim_over_failing_tests_sends_the_agent_back(project):
    right_sum = cart(count="len(prices) - 1")
    loop = project([{"say": CLAIM}, {"say": "The sum.", "write": right_sum}, {"write": cart()}], BOTH_WRONG)
    done = loop.drive()
    assert done.returncode == 0
    assert "the agent says it is done, but 2 tests fail" in loop.given[1]
    assert "  2 → 1 → 0 failing\n" in done.stdout


@pytest.mark.parametrize(
    ("said", "is_done"),
    [
        (CLAIM, True),
        ("- [x] TASK_COMPLETE", True),
        ("Half of the work is done.", False),
        (f"{CLAIM}\n\nEXIT_SIGNAL: false", False),
    ],
)
def test_a_task_also_needs_the_word_of_the_agent(project, said, is_done):
    loop = project([{"say": said, "write": cart()}, {"say": "More to do.", "write": {"notes.py": "X = 1\n"}}])
    loop.put({"TASK.md": "Mend the cart.\n"})
    done = loop.drive("--task", "TASK.md", "--strategy", "done_signals", "--max-iterations", "2")
    assert loop.given[0].startswith("Mend the cart.\n\n---\n")
    assert (done.returncode == 0) is is_done
    assert len(loop.given) == (1 if is_done else 2)


def test_the_box_of_the_task_may_be_ticked_in_its_file(project):
    ticked = {**cart(), "TASK.md": "Mend the cart.\n\n- [x] TASK_COMPLETE\n"}
    loop = project([{"say": "Mended.", "write": ticked}])
    loop.put({"TASK.md": "Mend the cart.\n\n- [ ] TASK_COMPLETE\n"})
    assert loop.drive("--task", "TASK.md").returncode == 0


def test_each_step_of_a_plan_has_to_be_ticked(project):
    first = {**cart(), "PLAN.md": "- [x] Mend the sum\n- [ ] Write notes\n"}
    second = {"notes.py": "X = 1\n", "PLAN.md": "- [x] Mend the sum\n- [x] Write notes\n"}
    loop = project([{"say": "The sum.", "write": first}, {"say": "Notes.", "write": second}])
    loop.put({"PLAN.md": "- [ ] Mend the sum\n- [ ] Write notes\n"})
    done = loop.drive("--plan", "PLAN.md")
    assert done.returncode == 0
    assert "Step 2 of 2 of the plan is next: Write notes" in loop.given[1]


# --- not done: stuck, a limit, tests that a person must accept


def test_stuck_says_what_was_tried_and_may_be_gone_on_with(project):
    turns = [{"say": f"Attempt {n}.", "write": cart(total=f"sum(prices) + 1 + {n} - {n}")} for n in (1, 2, 3)]
    loop = project([*turns, {"say": "Now it is right.", "write": cart()}])
    done = loop.drive()
    assert done.returncode == 3
    assert len(loop.given) == 3
    assert "NOT done: stuck after 3 turns in " in done.stdout
    assert done.stdout.partition("what was tried:")[2].count("edited: `total`") == 3
    again = loop.run("drive", "--resume")
    assert again.returncode == 0
    assert "done after 4 turns" in again.stdout


def test_a_limit_ends_as_the_last_check_and_may_be_raised(project):
    loop = project([{"say": "First."}, {"say": "Fixed.", "write": cart()}])
    done = loop.drive("--max-iterations", "1")
    assert done.returncode == 1
    assert "NOT done: limit reached after 1 turn in " in done.stdout
    assert "1 turns, the limit is 1" in done.stdout
    assert loop.run("drive", "--resume", "--max-iterations", "2").returncode == 0


def test_costs_that_the_agent_reports_are_limited(project):
    answer = json.dumps({**LIMIT, "is_error": False, "result": "Tried.", "total_cost_usd": 0.4})
    loop = project([{"say": answer}])
    done = loop.drive("--max-cost", "0.3")
    assert done.returncode == 1
    assert "0.40 cost, the limit is 0.30" in done.stdout


def test_changed_tests_are_for_a_person_to_accept(project):
    loop = project([{"say": CLAIM, "write": {"test_cart.py": WEAKER}}, {"say": CLAIM}])
    done = loop.drive()
    assert done.returncode == 4
    assert "-    assert total([1, 2]) == 3" in loop.given[1]
    assert "NOT done: a person must accept changed tests after 2 turns in " in done.stdout
    assert "test_cart.py" in done.stdout
    assert "loop-close accept" in done.stdout
    assert loop.run("drive", "--resume", "--max-iterations", "3").returncode == 4


def test_tests_that_are_restored_are_asked_no_more(project):
    loop = project(
        [{"say": CLAIM, "write": {"test_cart.py": WEAKER}}, {"write": {"test_cart.py": TESTS, **cart()}}]
    )
    done = loop.drive()
    assert done.returncode == 0
    assert "## The tests as they were" in loop.given[1]


# --- an agent that cannot work


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ({"say": json.dumps(LIMIT)}, "You've hit your usage limit. It resets at 3pm."),
        ({"say": "Invalid API key. Please run /login", "exit": 1}, "Invalid API key. Please run /login"),
        ({"exit": 139}, "the agent exited with code 139"),
    ],
    ids=["usage limit", "login", "crash before any output"],
)
def test_an_agent_that_cannot_work_ends_the_loop(project, turn, words):
    loop = project([turn])
    done = loop.drive()
    assert done.returncode == 5
    assert "NOT done: the agent is unavailable after 1 turn in " in done.stdout
    assert words in done.stdout
    assert len(loop.given) == 1
    assert checks(done) == 1  # not again after a dead turn
    assert loop.state["ended"] == "unavailable"


def test_an_agent_that_is_not_found_ends_the_loop(project):
    done = project([]).drive(agent="no-such-agent -p")
    assert done.returncode == 5
    assert "cannot run the agent no-such-agent: No such file or directory" in done.stdout
    assert checks(done) == 1


def test_a_turn_that_failed_after_an_edit_is_checked(project):
    loop = project(
        [{"say": "Error: overloaded", "write": {"notes.py": "X = 1\n"}, "exit": 1}, {"write": cart()}]
    )
    done = loop.drive()
    assert done.returncode == 0
    assert "- The last turn failed: the agent exited with code 1" in loop.given[1]


# --- processes: timeouts, signals, kills


@posix
def test_a_turn_that_takes_too_long_is_ended_with_all_that_it_started(project):
    loop = project([{"say": "Thinking.", "sleep": 600, "spawn": 600}, {"write": cart()}])
    done = loop.drive("--agent-timeout", "4")
    assert done.returncode == 0
    assert "- The last turn failed: the agent was stopped after 4 seconds" in loop.given[1]
    assert not is_running(int(loop.beside.joinpath("spawned").read_text()))


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_loop_ends_its_children_and_is_gone_on_with(project, number):
    loop = project([{"say": "First."}, {"sleep": 600, "spawn": 600}, {"write": cart()}])
    with loop.started("--max-iterations", "9") as process:
        wait_until(lambda: len(loop.given) == 2)
        wait_until(loop.beside.joinpath("spawned").exists)
        agent = loop.wait_for_agent()
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "NOT done: interrupted after 1 turn in " in out
    assert not is_running(agent)
    assert not is_running(int(loop.beside.joinpath("spawned").read_text()))
    done = loop.run("drive", "--resume")
    assert done.returncode == 0
    assert "- Turn 2 of at most 9." in loop.given[2]


@posix
def test_a_killed_loop_is_gone_on_with_and_nothing_of_it_is_left_running(project):
    loop = project([{"say": "First.", "sleep": 600}, {"write": cart()}])
    with loop.started() as process:
        agent = loop.wait_for_agent()
        process.kill()
        process.communicate(timeout=60)
    done = loop.run("drive", "--resume")
    assert done.returncode == 0
    assert "loop-close: stopped a process that the last loop left running\n" in done.stderr
    assert not is_running(agent)


def test_the_baseline_of_the_start_holds_for_all_of_the_loop(project):
    loop = project([{"say": "First.", "write": {"test_cart.py": WEAKER}, "sleep": 600}, {"say": CLAIM}])
    with loop.started() as process:
        loop.wait_for_agent()
        process.kill()
        process.communicate(timeout=60)
    assert loop.run("drive", "--resume", "--max-iterations", "2").returncode == 4


def test_one_loop_a_project(project):
    loop = project([{"sleep": 600}])
    with loop.started() as process:
        loop.wait_for_agent()
        other = loop.drive()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert other.returncode == 64
    assert "another loop-close drive is running in this project" in other.stderr


# --- the command


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "drive needs the agent's command"),
        (["--resume"], "no loop to resume"),
        (["--agent", "'"], "--agent is not a valid command line"),
        (["--agent", "sh -c 'claude {prompt}'"], "could execute text that tests print"),
        (["--agent", "true", "--strategy", "other"], "unknown exit strategy"),
        (["--agent", "true", "--task", "no.md"], "no.md"),
        (["--agent", "true", "--plan", "cart.py"], "has no step"),
        (["--agent", "true", "--max-iterations", "0"], "--max-iterations"),
    ],
)
def test_wrong_words(project, words, why):
    done = project([]).run("drive", *words)
    assert done.returncode == 64
    assert why in done.stderr


def test_the_prompt_goes_where_the_command_names_it(project):
    loop = project([{"write": cart()}])
    done = loop.drive(agent=f"{loop.agent} {{prompt}}")
    assert done.returncode == 0
    assert loop.given[0].startswith("# 1 test fails")


def test_a_command_with_a_credential_is_not_kept(project):
    loop = project([{"say": "First."}])
    secret = "ghp_" + "a1B2c3D4e5" * 4
    agent = f"env API_TOKEN={secret} {loop.agent}"
    assert loop.drive("--max-iterations", "1", agent=agent).returncode == 1
    assert secret not in loop.root.joinpath(".loop-close", "drive.json").read_text()
    done = loop.run("drive", "--resume")
    assert done.returncode == 64
    assert "the last loop's --agent contains a credential and was not saved: give it again" in done.stderr


def test_a_damaged_state_is_in_the_way_only_of_who_goes_on_with_it(project):
    loop = project([{"write": cart()}])
    loop.put({".loop-close/drive.json": "{"})
    assert "no loop to resume" in loop.run("drive", "--resume").stderr
    assert loop.drive().returncode == 0


def test_the_page_names_each_option_and_its_commands_are_some():
    lines = re.findall(r"^loop-close drive .*$", PAGE, re.MULTILINE)
    assert lines
    for line in lines:
        assert parse(shlex.split(line)[1:]).name == "drive"
    for option in ("agent", "task", "plan", "strategy", "resume"):
        assert f"--{option}" in PAGE
    for option in ("iterations", "runtime", "cost", "failures"):
        assert f"- `--max-{option} " in PAGE
    assert all(f"- `--{option}-timeout " in PAGE for option in ("agent", "test"))
