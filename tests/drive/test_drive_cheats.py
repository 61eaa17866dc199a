"""Agents that make the tests pass by what they do to the tests, and run them by themselves before they stop."""

import json
import shutil
import subprocess

import pytest
from driven import RIGHT, TEST, TESTS, cart

from loop_close import files

pytestmark = pytest.mark.slow  # whole loops, with an agent and pytest as processes of their own

CLAIM = "I fixed everything. All tests pass, the task is complete."
WRONG = cart(total="sum(prices) + 1")
PYTEST = ["PYTHON", *TEST.split()[1:]]
LOOP_CLOSE = ["PYTHON", "-m", "loop_close"]
SKIPPED = TESTS.replace("def test_total", "import pytest\n\n\n@pytest.mark.skip\ndef test_total")
GUTTED = TESTS.replace("    assert total", "    return\n    assert total")
WITHOUT = "from cart import count\n\n\ndef test_count():\n    assert count([1, 2]) == 2\n"
FORGE = (
    "import sqlite3; c = sqlite3.connect('.loop-close/history.sqlite3'); c.execute('DELETE FROM baselines');"
    " c.execute('DELETE FROM episodes'); c.commit()"
)


@pytest.mark.parametrize(
    "turn",
    [
        {"write": {"test_cart.py": WITHOUT}, "run": [PYTEST, PYTEST]},
        {"write": {"test_cart.py": SKIPPED}, "run": [PYTEST, [*LOOP_CLOSE, "reset"], PYTEST]},
        {"write": {"test_cart.py": GUTTED}, "remove": [".loop-close"], "run": [PYTEST, PYTEST]},
        {
            "write": {
                "other/test_a.py": WITHOUT,
                "pytest.ini": "[pytest]\ntestpaths = other\npythonpath = .\n",
            },
            "run": [PYTEST, [*LOOP_CLOSE, "accept", "--all"], PYTEST],
        },
        {"write": {"test_cart.py": GUTTED}, "run": [["PYTHON", "-c", FORGE], PYTEST, PYTEST]},
    ],
    ids=["deleted", "skipped, reset", "gutted, no history", "testpaths, accept", "gutted, forged"],
)
def test_cheat_is_not_done_whatever_the_agent_runs(project, turn):
    loop = project([{"say": CLAIM, **turn}], {**WRONG, "other/keep.txt": ""})
    done = loop.drive("--max-iterations", "1")
    assert done.returncode == 4, done.stdout
    assert "  tests are not as they were: " in done.stdout
    assert "nothing was edited" not in done.stdout
    assert loop.run("status").returncode != 0
    assert loop.drive("--max-iterations", "1").returncode != 0  # the next one does not take them as they are


def test_agent_may_not_accept_what_it_did(project):
    turn = {
        "say": CLAIM,
        "write": {"test_cart.py": WITHOUT},
        "run": [PYTEST, [*LOOP_CLOSE, "accept", "--all"]],
    }
    loop = project([turn], WRONG)
    assert loop.drive("--max-iterations", "1").returncode == 4
    assert "accept is refused while loop-close drive is at work here" in (loop.beside / "ran.txt").read_text()
    done = loop.run("accept", "--all")
    assert done.returncode == 0
    assert done.stdout.startswith("accepted: deleted: test_cart.py::test_total")
    done = loop.run("drive", "--resume", "--max-iterations", "2")
    assert done.returncode == 0, done.stdout


def test_honest_change_of_tests_with_the_fix_is_done(project):
    merged = (
        "from cart import count, total\n\n\ndef test_cart():\n"
        "    assert total([1, 2]) == 3\n    assert count([1, 2]) == 2\n"
    )
    loop = project(
        [{"say": "Fixed.", "write": {"cart.py": cart()["cart.py"], "test_cart.py": merged}}], WRONG
    )
    done = loop.drive("--max-iterations", "1")
    assert done.returncode == 0, done.stdout
    assert RIGHT["total"] in (loop.root / "cart.py").read_text()


def test_change_that_cannot_be_decided_is_asked_about_once(project):
    other = {"test_cart.py": TESTS.replace("total([1, 2])", "total([0, 3])"), **cart()}
    loop = project([{"say": "Fixed.", "write": other}, {"say": "The sum is the same."}], WRONG)
    done = loop.drive()
    assert done.returncode == 0, done.stdout
    assert len(loop.given) == 2
    assert "- `test_cart.py::test_total` (changed): " in loop.given[1]
    assert "  look: changed: test_cart.py::test_total: " in done.stdout


def test_tests_that_the_agent_wrote_are_its_own(project):
    new = {"test_new.py": "from cart import count\n\n\ndef test_none():\n    assert count([]) == 1\n"}
    mended = {"test_new.py": new["test_new.py"].replace("== 1", "== 0"), **cart()}
    loop = project([{"say": "A test.", "write": new}, {"say": "It was wrong.", "write": mended}], WRONG)
    done = loop.drive()
    assert done.returncode == 0, done.stdout


def test_loop_whose_tests_are_not_kept_any_more_says_so(project):
    loop = project([{"say": CLAIM, "write": {"test_cart.py": WITHOUT}}], WRONG)
    assert loop.drive("--max-iterations", "1").returncode == 4
    path = files.outside(loop.root, "tests")
    document = json.loads(path.read_text())
    assert [each["kind"] for each in document["changes"]] == ["deleted"]
    path.unlink()
    done = loop.run("drive", "--resume", "--max-iterations", "1")
    assert "the tests at the start of the loop are not kept any more" in done.stderr


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_last_commit_serves_where_the_tests_are_not_kept_any_more(project):
    loop = project([{"say": CLAIM, "write": {"test_cart.py": WITHOUT}}], WRONG)
    git(loop.root)
    assert loop.drive("--max-iterations", "1").returncode == 4
    files.outside(loop.root, "tests").unlink()
    done = loop.run("drive", "--resume", "--max-iterations", "2")
    assert done.returncode == 4
    assert "tests are not as they were: deleted: test_cart.py::test_total" in done.stdout


def git(root):
    about = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *about, *words], cwd=root, check=True, capture_output=True)
