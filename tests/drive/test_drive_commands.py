"""The options of the driver: commands, strategies, tasks, and invalid ones."""

import json
import os
import shlex
import subprocess
import sys

import pytest
from driven import COMMAND, GUARD, TEST, cart, environment, steps

pytestmark = pytest.mark.slow  # whole loops, with an agent and pytest as processes of their own

WRONG = cart(total="sum(prices) + 1")
PLAIN = f"{shlex.quote(sys.executable)} -B -m pytest -q -p no:cacheprovider"
UNITTEST = """import unittest

from cart import total


class TestCart(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
"""


@pytest.mark.parametrize(("place", "limit"), [("{prompt}", 1), ("{prompt_file}", 0)])
def test_placeholder_is_replaced_by_the_prompt(project, place, limit):
    loop = project([{"say": "Fixed.", "write": cart()}], WRONG)
    assert loop.drive(agent=f"{loop.agent} {place}").returncode == 0
    (given,) = loop.given
    if limit:
        assert given.startswith("# 1 test fails")
    else:
        with open(given, encoding="utf-8") as file:
            assert file.read().startswith("# 1 test fails")


def test_prompt_in_the_words_is_read_by_no_shell(project):
    nasty = WRONG["cart.py"].replace(
        "sum(prices) + 1", "sum(prices) + 1  # $(touch hit) `touch hit` '; touch hit; '"
    )
    loop = project([{"say": "Fixed.", "write": cart()}], {"cart.py": nasty})
    assert loop.drive(agent=f"{loop.agent} {{prompt}}").returncode == 0
    assert "touch hit" in loop.given[0]
    assert not loop.root.joinpath("hit").exists()


def test_prompt_on_the_standard_input_need_not_be_read(project):
    loop = project([], WRONG)
    code = f"from pathlib import Path; Path('cart.py').write_text({cart()['cart.py']!r})"
    assert loop.drive(agent=shlex.join([sys.executable, "-c", code])).returncode == 0


def test_plugin_is_asked_for_where_the_tests_are_run_by_pytest(project):
    loop = project([{"say": "Fixed.", "write": cart()}], WRONG)
    done = loop.drive(test=PLAIN)
    assert done.returncode == 0
    assert loop.given[0].partition("\n")[0].endswith(" total() in cart.py:1")
    assert "the failing statement calls it and checks its return value" in loop.given[0]
    assert steps(done)[0].endswith("-m pytest --loop-close -q -p no:cacheprovider")


def test_pytest_that_has_no_plugin_is_read_by_what_it_prints(project):
    loop = project([{"say": "Fixed.", "write": cart()}], WRONG)
    blocked = environment(PYTEST_ADDOPTS="-p no:asyncio -p no:xdist -p no:hypothesispytest -p no:loop_close")
    done = loop.drive(test=PLAIN, env=blocked)
    assert done.returncode == 0
    assert "test_total" in loop.given[0]
    assert "--loop-close" not in steps(done)[0]


def test_tests_of_unittest(project):
    loop = project([{"say": "Fixed.", "write": cart()}], {**WRONG, "test_cart.py": UNITTEST})
    done = loop.drive(test=f"{shlex.quote(sys.executable)} -B -m unittest -q")
    assert done.returncode == 0
    assert "4 != 3" in loop.given[0]
    assert "test_total" in loop.given[0]


def test_command_of_the_settings_is_the_default(project):
    table = f"[tool.loop-close]\ntest_command = {json.dumps(TEST)}\nstrategy = 'fix_plan'\n"
    loop = project([{"say": "Fixed.", "write": cart()}], {**WRONG, "pyproject.toml": table})
    done = loop.drive(test=None)
    assert done.returncode == 0
    assert "1 of 1 steps of the fix plan are completed" in done.stdout


def test_selection_is_all_that_has_to_be_green(project):
    other = "def test_other():\n    assert 1 == 2\n"
    loop = project([{"say": "Fixed.", "write": cart()}], {**WRONG, "test_other.py": other})
    loop.run("run", "--", *shlex.split(TEST))  # which also finds the other one red
    done = loop.drive(test=f"{TEST} test_cart.py")
    assert done.returncode == 0, done.stdout
    assert len(loop.given) == 1


def test_what_runs_after_the_tests_counts(project):
    both = f"sh -c {shlex.quote(f'{TEST} && test -e built')}"
    loop = project([{"say": "All tests pass, done."}, {"say": "Built.", "write": {"built": "x"}}], cart())
    done = loop.drive(test=both)
    assert done.returncode == 0, done.stdout
    assert len(loop.given) == 2


def test_task_is_put_before_each_prompt_and_has_to_be_claimed(project):
    task = "Write the word ready into the file `answer`.\n"
    loop = project(
        [
            {"say": "I had a look around the project first."},
            {"say": "Written. The task is done and complete.", "write": {"answer": "ready"}},
        ],
        {**cart(), "TASK.md": task},
    )
    done = loop.drive("--task", "TASK.md")
    assert done.returncode == 0, done.stdout
    assert len(loop.given) == 2
    assert all(given.startswith(f"{task}\n---\n\n# The tests pass: ") for given in loop.given)
    assert "After the last turn: the agent does not report completion." in loop.given[1]


def test_strategy_of_the_project(project):
    conftest = (
        "from loop_close import Decision, ExitStrategy\n\n\n"
        "def decide(standing):\n    return Decision(action='stuck', reason=f'I stop at {standing.failing}')\n\n\n"
        "def pytest_loop_close_exit_strategies():\n    return [ExitStrategy(name='mine', decide=decide)]\n"
    )
    loop = project([{"say": "First."}], {**WRONG, "conftest.py": conftest})
    done = loop.drive("--strategy", "auto+mine")
    assert done.returncode == 3
    assert len(loop.given) == 1  # before the agent has had a turn no loop is stuck
    assert "stuck after 1 turn" in done.stdout
    assert "I stop at 1" in done.stdout


def test_from_a_folder_of_the_project_it_drives_the_project(project):
    loop = project(
        [{"say": "Fixed.", "write": cart()}], {**WRONG, "pyproject.toml": "[tool.loop-close]\nbudget = 900\n"}
    )
    inner = loop.root / "docs"
    inner.mkdir()
    top, loop.root = loop.root, inner
    assert loop.drive().returncode == 0
    assert (top / "nextprompt.md").exists()
    assert not (inner / ".loop-close").exists()


def test_output_passes_through_as_it_is(project):
    loop = project([], WRONG)
    code = (
        "import sys; from pathlib import Path; sys.stdout.buffer.write(b'\\xff\\x1b[31mred\\x1b[0m no end');"
        f" sys.stderr.write('to stderr'); Path('cart.py').write_text({cart()['cart.py']!r})"
    )
    done = subprocess.run(
        [*COMMAND, *loop.words(agent=shlex.join([sys.executable, "-c", code]))],
        cwd=loop.root,
        env=environment(),
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    assert done.returncode == 0
    assert b"\xff\x1b[31mred\x1b[0m no end" in done.stdout
    assert b"to stderr\n" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--strategy", "autos"], "unknown exit strategy 'autos'; known strategies: auto, circuit_breaker"),
        (["--test", "pytest 'x"], "--test is not a valid command line: No closing quotation"),
        (["--test", " "], "--test is empty"),
        (["--agent", "'"], "--agent is not a valid command line: No closing quotation"),
        (
            ["--agent", "sh -c 'claude -p {prompt}'"],
            "which could execute text that tests print; use {prompt_file}",
        ),
        (["--agent", "no-such-agent"], "cannot run the agent no-such-agent: No such file or directory"),
        (["--test", "no-such-tests"], "cannot run the tests: no-such-tests (exit 127)"),
        (["--task", "no-such-file"], "cannot read the task no-such-file: No such file or directory"),
        (["--task", "empty"], "the task empty is empty"),
        (["--max-iterations", "0"], "must be a whole number of at least 1, not '0'"),
        (["--max-runtime", "nan"], "must be a number above 0, not 'nan'"),
        (["--max-cost", "-1"], "must be a number above 0, not '-1'"),
        (["--agent-timeout", "soon"], "must be a number above 0, not 'soon'"),
        (["--agents", "x"], "unknown option or argument: --agents"),
    ],
)
def test_what_cannot_be_done_is_said(project, options, said):
    loop = project([{"say": "I was called"}], {**WRONG, "empty": " \n"})
    done = loop.drive(*options)
    assert done.returncode == 64
    assert said in done.stderr
    assert loop.given == []


def test_without_an_agent_nothing_is_driven(project):
    done = project([], WRONG).run("drive")
    assert done.returncode == 64
    assert "drive needs the agent's command, for example: --agent 'claude -p'" in done.stderr


def test_without_a_memory_nothing_is_driven(project):
    loop = project([], {**WRONG, "pyproject.toml": "[tool.loop-close]\nhistory = 'off'\n"})
    done = loop.drive()
    assert done.returncode == 64
    assert "this project keeps no history: [tool.loop-close] history is 'off'" in done.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything may be written")
def test_state_folder_that_cannot_be_written(project):
    loop = project([], WRONG)
    loop.root.chmod(0o555)
    done = loop.drive()
    loop.root.chmod(0o755)
    assert done.returncode == 64
    assert "cannot write to .loop-close" in done.stderr
