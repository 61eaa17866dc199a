"""``loop-close status``, ``accept`` and ``prompt`` in real projects, after real runs of ``loop-close check``."""

import os
import sys

import pytest
from cli_harness import environment, loop_close, put
from processes import PYTEST_INI
from remembered import AGENT, called, document

from loop_close import files

CALC = "def add(a, b):\n    return a {} b\n"
TEST = (
    "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
    "def test_zero():\n    assert add(0, 0) == 0\n"
)
NEXT = "next: loop-close check\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a faulty function, and a user's state folder of its own."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in AGENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    put(root, "calc.py", CALC.format("-"))
    put(root, "test_calc.py", TEST)
    put(root, "pytest.ini", PYTEST_INI)
    monkeypatch.chdir(root)
    return root


def check(root, code):
    """Run ``loop-close check`` as a process; ``code`` is what it has to exit with."""
    # With the plugins that are installed: a check drops PYTEST_ADDOPTS, which would name ours.
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    env = {k: v for k, v in environment(PATH=path).items() if not k.startswith(("PYTEST_", "VIRTUAL_ENV"))}
    done = loop_close("check", cwd=root, env=env)
    assert done.returncode == code, (done.stdout + done.stderr).decode()
    return done.stdout.decode()


def test_before_the_first_check_nothing_is_known(project):
    code, shown, errors = called("status")
    assert (code, errors) == (2, "")
    assert shown == f"unknown: no check has run in this project\n{NEXT}"
    code, found = document("status")
    assert (code, found["verdict"], found["loop"]["failing"]) == (2, "unknown", [])


def test_from_failing_to_done(project):
    check(project, 1)
    code, shown, _ = called("status")
    assert code == 1
    assert shown.startswith("failing: tests: 1 failed\nloop: 1 failing, 0 attempts, ")
    assert shown.endswith(NEXT)
    found = document("status")[1]
    assert [each["test"] for each in found["loop"]["failing"]] == ["test_calc.py::test_add"]
    put(project, "calc.py", CALC.format("+"))
    assert called("status")[:2][0] == 2
    check(project, 0)
    assert called("status") == (0, "done: green on these files: tests\n", "")
    code, found = document("status")
    assert (code, found["verdict"], found["command"], found["loop"]["failing"]) == (0, "done", "", [])


def test_status_changes_no_file(project):
    check(project, 1)
    cache = project / files.TREE_CACHE  # of what was written some seconds ago
    before = {p: p.read_bytes() for p in project.rglob("*") if p.is_file() and p != cache}
    called("status")
    called("status", "--json")
    assert {p: p.read_bytes() for p in project.rglob("*") if p.is_file() and p != cache} == before


def cheat(project):
    """A project that was done, and whose test was then changed along with the code."""
    put(project, "calc.py", CALC.format("+"))
    check(project, 0)
    put(project, "calc.py", CALC.format("-"))
    put(project, "test_calc.py", TEST.replace("== 3", "== -1"))
    check(project, 4)


def test_changed_tests_are_4_until_a_person_accepts_them(project):
    cheat(project)
    code, shown, _ = called("status")
    assert code == 4
    assert "test_calc.py::test_add: failed" in shown
    code, shown, errors = called("accept")
    assert (code, errors) == (1, "")
    assert "differs from the baseline: test_calc.py" in shown
    assert "-    assert add(1, 2) == 3\n+    assert add(1, 2) == -1\n" in shown
    assert "to accept: loop-close accept FILE..., or --all" in shown
    said = "loop-close: calc.py does not differ from the baseline; these files do: test_calc.py\n"
    assert called("accept", "calc.py") == (64, "", said)
    said = "accepted: 1 file; 0 of those that differed equal HEAD\n"
    assert called("accept", "test_calc.py") == (0, said, "")
    assert called("accept") == (0, "the tests are as they were\n", "")
    assert "accepted by a person: test_calc.py" in called("status")[1]
    check(project, 0)


@pytest.mark.parametrize(
    ("variable", "value", "where"),
    [
        ("CLAUDECODE", "1", "in the shell of an agent (CLAUDECODE is set)"),
        ("LOOP_CLOSE_INSIDE", "drive", "inside drive"),
        ("LOOP_CLOSE_INSIDE", "hook", "inside hook"),
    ],
)
def test_an_agent_accepts_nothing(project, monkeypatch, variable, value, where):
    monkeypatch.setenv(variable, value)
    code, shown, errors = called("accept", "test_calc.py")
    assert (code, shown) == (64, "")
    assert (
        errors
        == f"loop-close: refused {where}: a person has to run it elsewhere:\nloop-close accept test_calc.py\n"
    )
    assert called("accept", "--all")[2].endswith("\nloop-close accept --all\n")
    assert called("accept")[0] == 0  # to look is free


def test_the_last_prompt_is_printed_again(project):
    check(project, 1)
    text = (project / "nextprompt.md").read_text(encoding="utf-8")
    code, shown, errors = called("prompt")
    assert (code, errors) == (0, "")
    assert shown.startswith("# 1 test fails, 1 passes")
    assert text == f"{shown}\n<!-- loop-close -->\n"


def test_the_last_prompt_is_printed_anywhere_and_names_files_that_changed_since(project, monkeypatch):
    check(project, 1)
    shown, history = called("prompt")[1], called("history")
    (project / "inner").mkdir()
    put(project, "calc.py", "changed = 1\n")
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.chdir(project / "inner")
    assert called("prompt") == (0, shown, "loop-close: changed since run 1, the last recorded: calc.py\n")
    assert called("history") == history


@pytest.mark.parametrize("content", [None, "mine\n", files.RUNNING_TEXT])
def test_without_a_prompt_of_ours_there_is_none_to_print(project, content):
    if content is not None:
        put(project, "nextprompt.md", content)
    said = "there is no prompt of a run that ended in nextprompt.md: run loop-close check"
    assert called("prompt") == (64, "", f"loop-close: {said}\n")
