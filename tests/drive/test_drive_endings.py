"""How a loop ends before it is done: limits, signals, kills; and how another one goes on with it."""

import os
import signal

import pytest
from driven import cart, interrupt, is_running, wait_until

pytestmark = pytest.mark.slow  # whole loops, with an agent and pytest as processes of their own

posix = pytest.mark.skipif(os.name != "posix", reason="there are no process groups")
WRONG = cart(total="sum(prices) + 1")


def test_limit_of_turns(project):
    loop = project([{"say": "First.", "write": WRONG}, {"say": "Second."}])
    done = loop.drive("--max-iterations", "1")
    assert done.returncode == 4
    assert len(loop.given) == 1
    assert "limit reached after 1 turn in 0:" in done.stdout
    assert "1 turns, the limit is 1" in done.stdout
    assert "- Turn 1 of at most 1." in loop.given[0]
    assert loop.state["ended"] == "limit"


def test_turns_that_fail_in_a_row(project):
    loop = project([{"say": "Error: no such model", "exit": 7}])
    done = loop.drive("--max-failures", "2", "--strategy", "done_signals")
    assert done.returncode == 4
    assert "2 failures in a row, the limit is 2" in done.stdout
    assert "- The last turn failed: the agent exited with code 7" in loop.given[1]
    assert done.stderr.count("loop-close: the turn failed: the agent exited with code 7\n") == 2


def test_claim_of_an_agent_that_exits_with_an_error_is_not_the_end_of_a_task(project):
    claim = "I completed everything.\n\n- [x] TASK_COMPLETE"
    loop = project([{"say": claim, "write": cart(), "exit": 1}, {"say": f"Again: {claim}"}])
    loop.put({"TASK.md": "Mend the cart.\n\n- [ ] TASK_COMPLETE\n"})
    done = loop.drive("--task", "TASK.md")
    assert done.returncode == 0
    assert len(loop.given) == 2
    assert "- The last turn failed: the agent exited with code 1." in loop.given[1]
    assert "(the agent exited with code 1)\n" in done.stderr
    assert "done after 2 turns" in done.stdout


def test_costs_that_the_agent_tells(project):
    answer = '{"type": "result", "subtype": "success", "is_error": false, "result": "Tried.", "total_cost_usd": 0.4}'
    loop = project([{"say": answer}])
    done = loop.drive("--max-cost", "0.7", "--strategy", "done_signals")
    assert done.returncode == 4
    assert "0.80 cost, the limit is 0.70" in done.stdout
    assert "; cost 0.80" in done.stdout


@posix
@pytest.mark.slow
def test_turn_that_takes_too_long_is_ended_with_all_that_it_started(project):
    loop = project(
        [{"say": "Thinking.", "sleep": 600, "spawn": 600}, {"say": "Fixed.", "write": cart()}], WRONG
    )
    done = loop.drive("--agent-timeout", "4")
    assert done.returncode == 0
    assert "- The last turn failed: the agent was stopped after 4 seconds" in loop.given[1]
    assert not is_running(int(loop.beside.joinpath("spawned").read_text()))


@posix
@pytest.mark.slow
def test_tests_that_take_too_long_prove_nothing(project):
    slow = "import time\n\n\ndef wait():\n    time.sleep({})\n"
    tests = {"test_cart.py": "import cart\n\n\ndef test_slow():\n    cart.wait()\n"}
    fast = {"cart.py": slow.format(0)}
    loop = project([{"say": "All tests pass, done.", "write": fast}], {**tests, "cart.py": slow.format(600)})
    done = loop.drive("--test-timeout", "8")
    assert done.returncode == 0
    assert len(loop.given) == 1
    assert "loop-close: the run did not finish\n" in done.stderr


@posix
def test_what_the_agent_leaves_running_is_ended(project):
    loop = project([{"say": "Fixed.", "write": cart(), "spawn": 600}])
    assert loop.drive().returncode == 0
    assert not is_running(int(loop.beside.joinpath("spawned").read_text()))


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_loop_ends_its_children_and_is_gone_on_with(project, number):
    loop = project(
        [
            {"say": "First."},
            {"say": "Second.", "sleep": 600, "spawn": 600},
            {"say": "Fixed.", "write": cart()},
        ],
        WRONG,
    )
    with loop.started("--max-iterations", "9") as process:
        wait_until(lambda: len(loop.given) == 2)
        wait_until(lambda: loop.beside.joinpath("spawned").exists())
        agent = loop.wait_for_agent()
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"interrupted after 1 turn in 0:{out.partition('in 0:')[2][:2]}: {number.name}" in out
    assert not is_running(agent)
    assert not is_running(int(loop.beside.joinpath("spawned").read_text()))
    assert loop.state["ended"] == "interrupted"
    done = loop.run("drive", "--resume")
    assert done.returncode == 0
    assert "done after 2 turns" in done.stdout
    assert "- Turn 2 of at most 9." in loop.given[2]


@posix
def test_killed_loop_is_gone_on_with_and_nothing_of_it_is_left_running(project):
    loop = project([{"say": "First.", "sleep": 600}, {"say": "Fixed.", "write": cart()}], WRONG)
    with loop.started() as process:
        agent = loop.wait_for_agent()
        process.kill()
        process.communicate(timeout=60)
    assert is_running(agent)
    done = loop.run("drive", "--resume")
    assert done.returncode == 0
    assert "loop-close: stopped a process that the last loop left running\n" in done.stderr
    assert not is_running(agent)


@posix
def test_interrupt_during_the_tests(project):
    body = "    Path('begun').touch()\n    time.sleep(600)\n"
    slow = f"import time\nfrom pathlib import Path\n\n\ndef test_slow():\n{body}"
    loop = project([{"say": "I was called"}], {"test_cart.py": slow})
    with loop.started() as process:
        wait_until(loop.root.joinpath("begun").exists)
        out, _ = interrupt(process)
    assert process.returncode == 130
    assert loop.given == []
    assert "interrupted after 0 turns" in out


@pytest.mark.slow
def test_stuck_loop_that_is_gone_on_with_gets_another_turn(project):
    turns = [{"say": f"Attempt {n}.", "write": cart(total=f"sum(prices) + {n}")} for n in (5, 6, 7)]
    loop = project([*turns, {"say": "Now it is right.", "write": cart()}], WRONG)
    assert loop.drive().returncode == 3
    done = loop.run("drive", "--resume")
    assert done.returncode == 0
    assert "done after 4 turns" in done.stdout


@pytest.mark.slow
def test_limit_may_be_raised_when_it_is_gone_on_with(project):
    loop = project([{"say": "First."}, {"say": "Fixed.", "write": cart()}], WRONG)
    assert loop.drive("--max-iterations", "1").returncode == 4
    assert loop.run("drive", "--resume", "--max-iterations", "1").returncode == 4
    assert loop.run("drive", "--resume", "--max-iterations", "2").returncode == 0


def test_loop_that_was_tampered_with_stays_so_when_it_is_gone_on_with(project):
    tests = "from cart import count\n\n\ndef test_count():\n    assert count([1, 2]) == 2\n"
    loop = project([{"say": "All tests pass, done.", "write": {"test_cart.py": tests}}], WRONG)
    assert loop.drive("--max-iterations", "1").returncode == 4
    done = loop.run("drive", "--resume", "--max-iterations", "2")
    assert done.returncode == 4
    assert loop.given[1].startswith(
        "# The tests pass, but tests were changed\n\ndeleted: test_cart.py::test_total."
    )


@pytest.mark.slow
def test_command_with_a_credential_is_not_kept(project):
    loop = project([{"say": "First."}], WRONG)
    secret = "ghp_" + "a1B2c3D4e5" * 4
    agent = f"env API_TOKEN={secret} {loop.agent}"
    assert loop.drive("--max-iterations", "1", agent=agent).returncode == 4
    assert secret not in loop.root.joinpath(".loop-close", "drive.json").read_text()
    done = loop.run("drive", "--resume")
    assert done.returncode == 64
    assert "the last loop's --agent contains a credential and was not saved: give it again" in done.stderr
    assert loop.run("drive", "--resume", "--agent", loop.agent, "--max-iterations", "1").returncode == 4


def test_two_loops_at_once_are_refused(project):
    loop = project([{"say": "First.", "sleep": 600}], WRONG)
    with loop.started() as process:
        loop.wait_for_agent()
        other = loop.drive()
        interrupt(process)
    assert other.returncode == 64
    assert "another loop-close drive is running in this project" in other.stderr


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (None, "no loop to resume"),
        ("{", "is damaged"),
        ("[]", "drive is of type list, expected an object"),
        ('{"schema": "loop-close.drive/9"}', "drive.schema is 'loop-close.drive/9'"),
        ("[" * 100_000, "is damaged"),
    ],
)
def test_state_that_cannot_be_gone_on_from(project, state, said):
    loop = project([{"say": "First."}], WRONG)
    if state is not None:
        loop.put({".loop-close/drive.json": state})
    done = loop.run("drive", "--resume", "--agent", loop.agent)
    assert done.returncode == 64
    assert said in done.stderr
    assert loop.given == []


def test_damaged_state_does_not_stop_a_new_loop(project):
    loop = project([{"say": "Fixed.", "write": cart()}], {**WRONG, ".loop-close/drive.json": "{"})
    assert loop.drive().returncode == 0


def test_loop_that_is_done_is_not_gone_on_with(project):
    loop = project([], cart())
    assert loop.drive().returncode == 0
    done = loop.run("drive", "--resume")
    assert done.returncode == 64
    assert "the last loop ended as done" in done.stderr


def test_history_that_is_damaged_is_begun_anew(project):
    files = {**WRONG, ".loop-close/history.sqlite3": "no database " * 99}
    loop = project([{"say": "Fixed.", "write": cart()}], files)
    done = loop.drive()
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
