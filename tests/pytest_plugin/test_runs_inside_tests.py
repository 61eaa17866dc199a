"""Tests of plugins run pytest in their own process, and unload what that has loaded."""

import os
import subprocess
import sys

import pytest

INNER = """
pytest_plugins = ["pytester"]


def test_inner(pytester):
    pytester.makepyfile("def test_a(): assert 1 == 2")
    result = pytester.runpytest_inprocess("--loop-close")
    result.assert_outcomes(failed=1)
    assert "assert 1 == 2" in (pytester.path / "nextprompt.md").read_text()


def test_outer():
    assert 3 == 4
"""


def outer(folder, tests, *words):
    """The run of tests that run pytest themselves."""
    (folder / "test_nest.py").write_text(tests)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", *words]
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_a_run_inside_of_a_test_costs_the_outer_one_nothing(tmp_path):
    done = outer(tmp_path, INNER, "--loop-close", "--loop-close-history=off")
    assert done.returncode == 1, done.stdout
    prompt = (tmp_path / "nextprompt.md").read_text()
    assert prompt.startswith("# 1 test fails, 1 passes: ")
    assert prompt.partition("\n")[0].endswith(" at test_nest.py:13")


WRONG = """
pytest_plugins = ["pytester"]


def test_inner(pytester):
    pytester.makepyfile("def test_a(): pass")
    pytester.runpytest_inprocess("--loop-close")
    pytester.runpytest_inprocess("--loop-close", "--no-such-option")
"""


@pytest.mark.slow
def test_a_run_inside_of_a_test_prints_nothing_behind_the_outer_one(tmp_path):
    done = outer(tmp_path, WRONG, "-p", "no:asyncio")
    assert done.returncode == 0, done.stdout
    assert "loop-close" not in done.stdout + done.stderr


def test_a_pytest_that_a_test_in_a_worker_starts_is_no_worker(tmp_path):
    (tmp_path / "test_a.py").write_text("def test_a(): assert 1 == 2\n")
    variables = {**os.environ, "PYTEST_XDIST_WORKER": "gw0", "PYTEST_XDIST_WORKER_COUNT": "2"}
    command = [sys.executable, "-m", "pytest", "--loop-close", "--loop-close-history=off"]
    subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True)
    assert (tmp_path / "nextprompt.md").read_text().startswith("# 1 test fails")
