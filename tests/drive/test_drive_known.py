"""Failures that are known, in a loop that is driven."""

import pytest
from driven import cart

pytestmark = pytest.mark.slow  # whole loops, with an agent and pytest as processes of their own

KNOWN = "[tool.loop-close]\nknown = [{test = 'test_cart.py::test_count'}]\n"


def test_a_loop_is_done_when_known_failures_alone_are_left(project):
    files = {**cart(total="sum(prices) + 1", count="1"), "pyproject.toml": KNOWN}
    loop = project([{"say": "Fixed.", "write": cart(count="1")}], files)
    done = loop.drive("--max-iterations", "2")
    assert done.returncode == 0, done.stdout
    assert loop.run("status").returncode == 0


def test_a_loop_without_a_turn_does_not_say_that_no_test_fails(project):
    done = project([], {**cart(count="1"), "pyproject.toml": KNOWN}).drive()
    assert done.returncode == 0, done.stdout
    assert "the tests pass but for 1 known failure" in done.stdout
    assert "no test fails" not in done.stdout


def test_an_agent_that_lists_the_failing_test_as_known_is_not_done(project):
    turn = {"say": "All tests pass, the task is complete.", "write": {"pyproject.toml": KNOWN}}
    loop = project([turn], cart(count="1"))
    done = loop.drive("--max-iterations", "1")
    assert done.returncode != 0, done.stdout
    assert "was added to the known failures" in done.stdout
    assert loop.run("status").returncode == 1


def test_nor_is_one_that_takes_the_history_away_as_well(project):
    turn = {
        "say": "All tests pass, the task is complete.",
        "write": {"pyproject.toml": KNOWN},
        "remove": [".loop-close"],
    }
    loop = project([turn], cart(count="1"))
    assert loop.drive("--max-iterations", "1").returncode not in (0, 64)
