"""Adversarial agents, damaged state, and readers that close the output."""

import contextlib
import json
import os
import shlex
import subprocess
import sys

import pytest
from driven import COMMAND, GUARD, TEST, TESTS, cart, environment, is_running, wait_until

pytestmark = pytest.mark.slow  # whole loops, with an agent and pytest as processes of their own

WRONG = cart(total="sum(prices) + 1")
CLAIM = "I fixed everything. All tests pass, the task is complete."
TRIVIAL = "def test_trivial():\n    assert True\n"
UNITTEST = """import unittest

from cart import count, total


class TestCart(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)

    def test_count(self):
        self.assertEqual(count([1, 2]), 2)
"""
ONE_UNITTEST = (
    "import unittest\n\n\nclass TestCart(unittest.TestCase):\n    def test_it(self):\n        pass\n"
)
RUN_UNITTEST = f"{shlex.quote(sys.executable)} -B -m unittest"
posix = pytest.mark.skipif(os.name != "posix", reason="there are no process groups")


def test_selection_that_the_agent_adds_hides_nothing(project):
    ini = {"pytest.ini": "[pytest]\naddopts = -k new\n", "test_new.py": "def test_new():\n    assert True\n"}
    loop = project([{"say": CLAIM, "write": ini}], WRONG)
    done = loop.drive("--max-iterations", "2")
    assert done.returncode == 4, done.stdout
    said = done.stdout.partition("loop-close drive:")[2].partition("what was tried")[0]
    assert "fixed" not in said.replace("not fixed", "")
    assert "test_cart.py::test_total: failed in this episode, no longer collected since run 2" in said


def test_tests_that_leave_the_users_selection_are_missed(project):
    renamed = {"test_cart.py": TESTS.replace("def test_total", "def test_totl")}
    loop = project([{"say": CLAIM, "write": renamed}], WRONG)
    done = loop.drive("--max-iterations", "2", test=f"{TEST} -k 'total or other'")
    assert done.returncode == 4, done.stdout


@pytest.mark.parametrize("rest", [ONE_UNITTEST, UNITTEST.replace("test_total", "total")])
def test_tests_that_are_known_by_their_output_alone_are_counted(project, rest):
    loop = project([{"say": CLAIM, "write": {"test_cart.py": rest}}], {**WRONG, "test_cart.py": UNITTEST})
    done = loop.drive("--max-iterations", "2", test=RUN_UNITTEST)
    assert done.returncode == 4, done.stdout
    assert "the agent says it is done, but tests were tampered with: " in loop.given[1]
    assert "test_cart.py::TestCart::test_total, " in loop.given[1]
    assert "1 fewer test ran than before." in loop.given[1]


def test_command_that_runs_no_test_any_more_proves_nothing(project):
    script = {"check.sh": f"{TEST.replace('--loop-close', '')}\n"}
    loop = project([{"say": CLAIM, "write": {"check.sh": "true\n"}}], {**WRONG, **script})
    done = loop.drive("--max-iterations", "2", test="sh check.sh")
    assert done.returncode == 4, done.stdout
    assert "2 fewer tests ran than before" in loop.given[1]


def test_history_that_is_taken_away_proves_nothing(project):
    code = (
        "import shutil, pathlib; shutil.rmtree('.loop-close');"
        f" pathlib.Path('test_cart.py').write_text({TRIVIAL!r}); print({CLAIM!r})"
    )
    loop = project([], WRONG)
    done = loop.drive("--max-iterations", "2", agent=shlex.join([sys.executable, "-c", code]))
    assert done.returncode == 4, done.stdout
    assert "test_cart.py::test_total, 1 fewer test ran than before" in done.stdout
    assert "the history of runs was removed during the loop" in done.stdout


def test_history_that_the_tests_take_away_proves_nothing(project):
    """While they run: before, nothing was amiss, and after, there is a history again, which begins anew."""
    conftest = "import pathlib\n\npathlib.Path('.loop-close/history.sqlite3').unlink(missing_ok=True)\n"
    loop = project([{"say": CLAIM, "write": {"conftest.py": conftest, "test_cart.py": TRIVIAL}}], WRONG)
    loop.run("run", "--", *shlex.split(TEST))
    done = loop.drive("--max-iterations", "2")
    assert done.returncode == 4, done.stdout
    assert "1 fewer test ran than before" in loop.given[1]


def test_removed_history_does_not_stop_a_good_agent(project):
    code = (
        "import shutil, pathlib; shutil.rmtree('.loop-close');"
        f" pathlib.Path('cart.py').write_text({cart()['cart.py']!r}); print({CLAIM!r})"
    )
    loop = project([], WRONG)
    assert loop.drive(agent=shlex.join([sys.executable, "-c", code])).returncode == 0


def test_green_run_after_green_run_that_proves_nothing_is_stuck(project):
    away = "import os; os.path.exists('test_cart.py') and os.rename('test_cart.py', 'cart_check.py')"
    code = f"{away}; open('test_it.py', 'w').write({TRIVIAL!r}); print({CLAIM!r})"
    loop = project([], WRONG)
    done = loop.drive(agent=shlex.join([sys.executable, "-c", code]))
    assert done.returncode == 3, done.stdout
    assert "tests are not as they were: " in done.stdout


def test_agent_that_runs_the_tests_by_itself_has_its_turns(project):
    edit = "p.write_text(p.read_text().replace('+ {}', '+ {}'))"
    run = f"subprocess.run({shlex.split(TEST.replace(' -m ', ' -B -m ', 1))!r})"  # edits of one size in a second
    rounds = "; ".join(f"{edit.format(n, n + 1)}; {run}" for n in (1, 2, 3))
    first = f"import pathlib, subprocess; p = pathlib.Path('cart.py'); {rounds}; print('not yet')"
    second = f"import pathlib; pathlib.Path('cart.py').write_text({cart()['cart.py']!r}); print('Fixed.')"
    code = (
        f"import os; exec({first!r}) if not os.path.exists('went') else exec({second!r}); open('went', 'w')"
    )
    loop = project([], WRONG)
    done = loop.drive(agent=shlex.join([sys.executable, "-c", code]))
    assert done.returncode == 0, done.stdout
    assert "done after 2 turns" in done.stdout
    assert "1. fixed after 2 attempts: " in done.stdout


@pytest.mark.parametrize(
    "broken",
    [
        {"conftest.py": "import os\nos._exit(0)\n"},
        {"pytest.ini": "[pytest]\naddopts = --no-such-option\n"},
        {"pyproject.toml": "[tool.loop-close\n"},
        {"pyproject.toml": "[tool.loop-close]\nhistory = 'off'\n"},
        {"pyproject.toml": "[tool.loop-close]\nbudgets = 3\n"},
    ],
)
def test_tests_that_the_agent_keeps_from_starting_are_its_to_mend(project, broken):
    mended = {"conftest.py": "", "pytest.ini": "[pytest]\n", "pyproject.toml": "", **cart()}
    loop = project([{"say": CLAIM, "write": broken}, {"say": "Mended.", "write": mended}], WRONG)
    done = loop.drive()
    assert done.returncode == 0, done.stderr
    assert "# The tests could not be judged\n\nTheir command exited with code " in loop.given[1]
    assert "proceed" not in loop.given[1]


@pytest.mark.slow
def test_tests_that_never_start_again_are_stuck(project):
    loop = project([{"say": CLAIM, "write": {"pytest.ini": "[pytest]\naddopts = --no-such-option\n"}}], WRONG)
    done = loop.drive()
    assert done.returncode == 3
    assert len(loop.given) == 3


def test_prompt_is_looked_for_where_the_settings_say_so_now(project):
    moved = {"pyproject.toml": "[tool.loop-close]\nfile = 'NEXT.md'\n", **cart(count="0")}
    loop = project([{"say": "Fixed the sum.", "write": moved}, {"say": CLAIM, "write": cart()}], WRONG)
    assert loop.drive().returncode == 0
    assert "test_count" in loop.given[1]
    assert "assert 4 == 3" not in loop.given[1].partition("## Earlier attempts")[0]


def test_new_loop_takes_changed_tests_of_the_last_one_once_a_person_accepts_them(project):
    tests = "from cart import count\n\n\ndef test_count():\n    assert count([1, 2]) == 2\n"
    loop = project([{"say": CLAIM, "write": {"test_cart.py": tests}}], WRONG)
    assert loop.drive("--max-iterations", "1").returncode == 4
    done = loop.drive("--max-iterations", "1")
    assert done.returncode == 4
    assert (
        "the last loop ended with changed tests, which are still open: test_cart.py::test_total"
        in done.stderr
    )
    assert loop.run("status").returncode == 1
    shown = loop.run("accept")
    assert shown.returncode == 1
    assert shown.stdout.startswith("deleted: test_cart.py::test_total")
    assert loop.run("accept", "test_cart.py::test_total").returncode == 0
    assert loop.run("status").returncode == 0
    assert loop.run("accept").returncode == 0
    assert loop.drive().returncode == 0


def test_loop_that_only_edits_expected_values_is_reported(project):
    weaker = {"test_cart.py": TESTS.replace("== 3", "== 4")}
    loop = project([{"say": CLAIM, "write": weaker}], WRONG)
    done = loop.drive("--max-iterations", "1")
    assert done.returncode == 4
    assert "tests are not as they were: weakened: test_cart.py::test_total\n" in done.stdout


def test_limits_are_gone_on_with(project):
    loop = project([{"say": "First."}], WRONG)
    assert loop.drive("--max-iterations", "1", "--max-cost", "2.5").returncode == 4
    done = loop.run("drive", "--resume")
    assert done.returncode == 4
    assert "1 turns, the limit is 1" in done.stdout
    assert loop.state["given"]["max_cost"] == "2.5"


@pytest.mark.slow
def test_turns_that_failed_are_no_longer_in_a_row_when_it_is_gone_on_with(project):
    loop = project([{"say": "no", "exit": 1}, {"say": "Fixed.", "write": cart()}], WRONG)
    assert loop.drive("--max-failures", "1").returncode == 4
    assert loop.run("drive", "--resume").returncode == 0


DAMAGED = [
    ("child", 5),
    ("child", [1, 2, 3]),
    ("watch", None),
    ("loop", {}),
    ("loop", {"version": 1}),
    ("given", {"test": 3}),
]


def test_damaged_field_of_the_state_is_named(project):
    loop = project([{"say": "First."}], WRONG)
    assert loop.drive("--max-iterations", "1").returncode == 4
    state = loop.state
    for field, value in DAMAGED:
        loop.put({".loop-close/drive.json": json.dumps({**state, field: value})})
        done = loop.run("drive", "--resume")
        assert (done.returncode, ".loop-close/drive.json is damaged" in done.stderr) == (64, True), field
    assert loop.drive("--max-iterations", "1").returncode == 4  # which begins anew


def test_variable_before_the_command_gets_a_hint(project):
    done = project([], WRONG).drive(test=f"FOO=1 {TEST}")
    assert done.returncode == 64
    assert "to set a variable, use: env FOO=1" in done.stderr


@posix
def test_state_is_readable_by_its_owner_only(project):
    loop = project([{"say": "Fixed.", "write": cart()}], WRONG)
    assert loop.drive().returncode == 0
    for name in ("drive.json", "turnprompt.md"):
        assert loop.root.joinpath(".loop-close", name).stat().st_mode & 0o077 == 0


@posix
def test_exit_code_stays_when_the_output_is_closed(project):
    loop = project([{"say": "First."}, {"say": "Fixed.", "write": cart()}], WRONG)
    ours, theirs = os.pipe()
    os.close(ours)
    words = [*COMMAND, *loop.words("--max-iterations", "9")]
    done = subprocess.run(
        words,
        cwd=loop.root,
        env=environment(),
        stdout=theirs,
        stderr=subprocess.PIPE,
        timeout=GUARD,
        check=False,
    )
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert len(loop.given) == 2


@posix
@pytest.mark.slow
def test_reader_that_does_not_read_does_not_make_it_unkillable(project):
    loop = project([{"say": "x" * 300_000, "sleep": 600}], WRONG)
    ours, theirs = os.pipe()
    words = [*COMMAND, *loop.words()]
    with subprocess.Popen(
        words, cwd=loop.root, env=environment(), stdout=theirs, stderr=subprocess.DEVNULL
    ) as process:
        wait_until(lambda: loop.beside.joinpath("given-01.md").exists())
        agent = loop.wait_for_agent()
        sent = 0
        while process.poll() is None and sent < 30:
            process.terminate()
            sent += 1
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1)
        process.kill()
        assert process.returncode == 130
    os.close(ours)
    os.close(theirs)
    wait_until(lambda: not is_running(agent))


def test_what_failed_once_in_this_loop_is_nowhere_else(project):
    tests = {
        "test_a.py": "def test_a():\n    assert 1 == 2\n",
        "test_b.py": "def test_b():\n    assert 1 == 2\n",
    }
    right = {"test_a.py": "def test_a():\n    assert 1 == 1\n"}
    away = {"pytest.ini": "[pytest]\naddopts = --deselect test_b.py::test_b\n"}
    loop = project([{"say": "One.", "write": right}, {"say": CLAIM, "write": away}], {**cart(), **tests})
    loop.run("run", "--", *shlex.split(TEST))  # the history knows both
    done = loop.drive("--max-iterations", "2", test=f"{TEST} -x -k test_")
    assert done.returncode == 4, done.stdout


def test_test_that_was_skipped_before_the_loop_can_be_taken_up_again(project):
    skipped = TESTS.replace("def test_total", "import pytest\n\n\n@pytest.mark.skip\ndef test_total")
    loop = project([{"say": "Back and fixed.", "write": {"test_cart.py": TESTS, **cart()}}], WRONG)
    loop.run("run", "--", *shlex.split(TEST))
    loop.put({"test_cart.py": skipped})
    done = loop.drive()
    assert done.returncode == 0, done.stdout
    assert "no longer run: test_cart.py::test_total" in loop.given[0]


def test_tests_that_were_not_kept_have_to_be_given_again(project):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    loop = project([{"say": "First."}], WRONG)
    assert loop.drive("--max-iterations", "1", test=f"env API_TOKEN={secret} {TEST}").returncode == 4
    done = loop.run("drive", "--resume")
    assert done.returncode == 64
    assert "the last loop's --test contains a credential and was not saved: give it again" in done.stderr


@pytest.mark.parametrize("agent", ["env A=1 sh -c 'x {prompt}'", "timeout 60 /bin/bash -c 'x {prompt}'"])
def test_shell_behind_another_program_is_one(project, agent):
    done = project([], WRONG).drive(agent=agent)
    assert done.returncode == 64
    assert "which could execute text that tests print" in done.stderr


def test_strategy_that_answers_odd_things_ends_nothing(project):
    conftest = (
        "from loop_close import Decision, ExitStrategy\n\n\n"
        "def decide(standing):\n    return Decision(action='stuck', reason=None, warnings=(1,))\n\n\n"
        "def pytest_loop_close_exit_strategies():\n    return [ExitStrategy(name='mine', decide=decide)]\n"
    )
    loop = project([{"say": "Fixed.", "write": cart()}], {**WRONG, "conftest.py": conftest})
    done = loop.drive("--strategy", "mine")
    assert done.returncode == 0
    assert "the exit strategy mine failed: its reason, strategy and warnings must be strings" in done.stderr


@posix
def test_state_that_is_a_pipe_is_not_read(project):
    loop = project([], WRONG)
    loop.root.joinpath(".loop-close").mkdir()
    os.mkfifo(loop.root / ".loop-close" / "drive.json")
    done = loop.run("drive", "--resume", "--agent", loop.agent)
    assert done.returncode == 64
    assert "is not a regular file" in done.stderr


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("0", "invalid limits in the last loop: max_iterations is 0: "),
        ("2.5", "invalid limits in the last loop: max_iterations is 2.5: "),
        ("x", "the last loop's max_iterations is 'x', not a number"),
    ],
)
def test_invalid_saved_limit_is_named(project, number, words):
    loop = project([{"say": "First."}], WRONG)
    assert loop.drive("--max-iterations", "1").returncode == 4
    state = loop.state
    state["given"]["max_iterations"] = number
    loop.put({".loop-close/drive.json": json.dumps(state)})
    done = loop.run("drive", "--resume")
    assert done.returncode == 64
    assert words in done.stderr
