"""``loop-close check`` through its real door: processes, edits, signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import UNUSED, wait_until

from loop_close import baseline, gate, worker
from loop_close.provenance import AGENT_VARIABLES
from loop_close.store import Store

pytestmark = pytest.mark.slow  # each test runs checks as processes of their own

RIGHT, WRONG = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
# Says that it has begun, and waits to be let go. Both files lie outside of the project.
SLOW = """
import os, pathlib, time
def test_slow():
    place = pathlib.Path(os.environ["PLACE"])
    (place / "begun").touch()
    while not (place / "go").exists():
        time.sleep(0.01)
"""
COUNT = """
import os, pathlib
with open(pathlib.Path(os.environ["PLACE"], "ran"), "a") as file:
    file.write("x\\n")
"""
_LONGEST = 60.0


class Project:
    """A small project, and the command in it."""

    def __init__(self, root: Path, place: Path) -> None:
        self.root, self.place = root, place
        left_out = {*AGENT_VARIABLES, "CI", "CONDA_PREFIX", "LOOP_CLOSE", "PYTEST_ADDOPTS"}
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        state = {"XDG_STATE_HOME": str(place / "state"), "PLACE": str(place), "VIRTUAL_ENV": sys.prefix}
        self.environ = {**kept, **state, "PYTHONDONTWRITEBYTECODE": "1"}
        self.started: list[subprocess.Popen[str]] = []

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def start(self, *names: str, **environ: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "loop_close", "check", *names],
            cwd=self.root,
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def check(self, *names: str, **environ: str) -> tuple[int, str]:
        """Exit status and output."""
        process = self.start(*names, **environ)
        output, _ = process.communicate(timeout=_LONGEST)
        return process.returncode, output

    def runs(self) -> int:
        """How often the test ran: each run leaves a line outside of the project."""
        path = self.place / "ran"
        return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0

    def begin(self, *names: str, **environ: str) -> subprocess.Popen[str]:
        """Start a check of the slow test; returns when the test runs."""
        process = self.start(*names, **environ)
        wait_until(lambda: (self.place / "begun").exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        (self.place / "begun").unlink()
        return process

    def go(self) -> None:
        (self.place / "go").touch()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    place = tmp_path / "outside"
    place.mkdir()
    project = Project(tmp_path / "shop", place)
    monkeypatch.setenv("XDG_STATE_HOME", project.environ["XDG_STATE_HOME"])
    settings(project, "")
    project.write("calc.py", RIGHT)
    project.write("tests/test_calc.py", TEST)
    project.write("tests/conftest.py", COUNT)
    yield project
    project.go()
    for process in project.started:
        process.kill()
        process.communicate()
    wait_until(lambda: worker.running(project.root) is None)


def settings(project: Project, text: str) -> None:
    options = f'pythonpath = ["."]\naddopts = "{" ".join(UNUSED)}"'
    project.write("pyproject.toml", f"[tool.pytest.ini_options]\n{options}\n[tool.loop-close]\n{text}\n")


def test_from_red_to_done_and_then_nothing_runs_again(project: Project) -> None:
    project.write("calc.py", WRONG)
    code, output = project.check()
    assert (code, project.runs()) == (1, 1)
    assert output.splitlines()[-1] == "failing: tests: 1 failed"
    assert "test_add" in (project.root / "nextprompt.md").read_text(encoding="utf-8")
    project.write("calc.py", RIGHT)
    assert gate.state(project.root).verdict == "unknown"
    assert project.check()[0] == 0
    assert project.runs() == 2
    code, output = project.check()
    assert (code, output) == (0, "done: green on these files: tests\n")
    assert project.runs() == 2
    assert gate.state(project.root).verdict == "done"


def test_an_edit_of_data_after_it_is_unknown(project: Project) -> None:
    project.write("prices.json", "1")
    assert project.check()[0] == 0
    project.write("prices.json", "2")
    assert gate.state(project.root).verdict == "unknown"


@pytest.mark.parametrize("path", ["calc.py", "prices.json"])
def test_a_file_that_changes_while_the_tests_run_makes_the_result_void(project: Project, path: str) -> None:
    project.write("tests/test_slow.py", SLOW)
    process = project.begin()
    project.write(path, "meanwhile = 1\n")
    project.go()
    output, _ = process.communicate(timeout=_LONGEST)
    assert process.returncode == 2
    assert f"changed while it ran: {path}" in output


def test_what_tests_write_is_named_with_the_remedy_and_outputs_is_one(project: Project) -> None:
    project.write("tests/test_out.py", "def test_out():\n    open('out.csv', 'a').write('x')\n")
    code, output = project.check()
    assert code == 2
    assert (
        "name it in the setting outputs; what git tracks or lies below test folders may then be touched"
        in output
    )
    assert "changed while it ran: out.csv" in output
    assert "changed while it ran: out.csv" in (project.root / "nextprompt.md").read_text(encoding="utf-8")
    settings(project, 'outputs = ["*.csv"]')
    assert project.check()[0] == 0
    assert gate.state(project.root).verdict == "done"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/conftest.py", "def pytest_unconfigure():\n    import os\n    os._exit(1)\n"),
        ("tests/test_exit.py", "import os\ndef test_exit():\n    os._exit(0)\n"),
        ("conftest.py", "import os\nos._exit(0)\n"),
        ("pytest.ini", "[pytest]\npythonpath = .\naddopts = --collect-only\n"),
    ],
)
def test_success_without_tests_that_passed_to_the_end_is_failing(
    project: Project, path: str, text: str
) -> None:
    project.write(path, text)
    code, output = project.check()
    assert (code, output.splitlines()[-1].partition(":")[0]) == (1, "failing")


@pytest.mark.parametrize("path", ["out/conftest.py", "out/test_out.py"])
def test_what_pytest_loads_and_no_tree_lists_makes_no_result(project: Project, path: str) -> None:
    project.write(".gitignore", "out/\nlib/\ntests/generated/\n")
    project.write("tests/generated/test_generated.py", "def test_generated(): ...\n")
    project.write("lib/site-packages/pkg/test_installed.py", "def test_installed(): ...\n")
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    project.write(path, "import calc\n\ndef test_out(): ...\n")
    code, output = project.check()
    said = f"failing: tests: pytest loaded {path}, which is none of the project's files"
    assert (code, output.splitlines()[-1]) == (1, said)


def test_options_from_outside_do_not_reach_the_command(project: Project) -> None:
    project.write("calc.py", WRONG)
    assert project.check(PYTEST_ADDOPTS="-k nothing", PYTHONOPTIMIZE="1", PYTEST_PLUGINS="no_such")[0] == 1


def test_each_check_counts_and_a_failure_that_is_only_printed_is_one(project: Project) -> None:
    project.write("lint.py", "print('a.py:1:1: F401 `os` imported but unused\\nFound 1 error.')\n")
    settings(project, 'checks = { tests = "pytest", lint = "python lint.py" }')
    assert project.check("tests")[0] == 2
    code, output = project.check()
    assert (code, project.runs()) == (1, 1)
    assert "failing: lint:" in output
    assert "F401" in (project.root / "nextprompt.md").read_text(encoding="utf-8")
    project.write("lint.py", "print('All checks passed!')\n")
    assert project.check()[0] == 0
    assert project.runs() == 2
    with Store(project.root / ".loop-close" / "history.sqlite3", readonly=True) as store:
        edits = [(run.check, run.edits.kind) for run in store.runs(2)]
    assert edits == [("tests", "effective"), ("lint", "none")]


def test_a_check_that_runs_no_tests_is_not_asked_for_the_old_ones(project: Project) -> None:
    settings(project, 'checks = { version = "python -V", tests = "pytest" }')
    baseline.hold(project.root)
    project.write("tests/test_calc.py", f"{TEST}\n")
    assert project.check()[0] == 0


def test_a_command_that_cannot_run_is_failing(project: Project) -> None:
    settings(project, 'checks = { tests = "no-such-program" }')
    code, output = project.check()
    assert code == 1
    assert "exit status 127" in output


def test_unknown_names_and_wrong_settings_are_usage_errors(project: Project) -> None:
    assert project.check("speed") == (64, "loop-close: there is no check 'speed'; the checks are: tests\n")
    settings(project, "checks = 3")
    assert project.check()[0] == 64
    assert project.check(LOOP_CLOSE="/x")[0] == 64


def test_a_state_folder_that_cannot_be_made_is_named(project: Project) -> None:
    (project.root / ".loop-close").touch()
    code, output = project.check()
    assert code == 64
    assert output.startswith("loop-close: no check can run here: ")
    assert ".loop-close" in output


def test_it_outlives_its_caller_and_a_second_one_attaches(project: Project) -> None:
    project.write("tests/test_slow.py", SLOW)
    first = project.begin()
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    second = project.start()
    assert second.stdout is not None
    assert "a check is running; this is its output" in second.stdout.readline()
    project.go()
    output, _ = second.communicate(timeout=_LONGEST)
    assert (second.returncode, output.splitlines()[-1]) == (0, "done: green on these files: tests")
    assert project.runs() == 1


def test_on_other_files_it_waits_and_then_runs_its_own(project: Project) -> None:
    project.write("tests/test_slow.py", SLOW)
    first = project.begin()
    project.write("calc.py", f"{RIGHT}\n")
    second = project.start()
    assert second.stdout is not None
    assert "waiting for the check that runs" in second.stdout.readline()
    project.go()
    second.communicate(timeout=_LONGEST)
    first.communicate(timeout=_LONGEST)
    assert (second.returncode, project.runs()) == (0, 2)


def test_an_interrupt_stops_it(project: Project) -> None:
    project.write("tests/test_slow.py", SLOW)
    process = project.begin()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=_LONGEST)
    assert process.returncode == 2
    assert "its last run did not end" in output
    assert worker.running(project.root) is None


def test_a_worker_that_is_killed_is_unknown_and_the_next_one_runs(project: Project) -> None:
    project.write("tests/test_slow.py", SLOW)
    process = project.begin()
    at_work = worker.running(project.root)
    assert at_work is not None
    os.kill(at_work.pid, signal.SIGKILL)
    output, _ = process.communicate(timeout=_LONGEST)
    assert process.returncode == 2
    assert "the check was killed" in output
    project.go()
    assert project.check() == (0, "2 passed\ndone: green on these files: tests\n")


@pytest.mark.parametrize("agent", [{"CLAUDECODE": "1"}, {}])
def test_an_agent_or_a_pipe_gets_the_prompt_in_place_of_the_output(
    project: Project, agent: dict[str, str]
) -> None:
    project.write("calc.py", WRONG)
    code, output = project.check(**agent)
    assert code == 1
    assert output.startswith("# 1 test fails")
    assert not re.search("test session starts|FAILURES|next prompt: ", output)
    assert output.endswith("\nfailing: tests: 1 failed\n")


def test_an_agent_gets_the_prompt_that_cannot_be_written_once(project: Project) -> None:
    project.write("calc.py", WRONG)
    project.write("nextprompt.md", "mine\n")
    code, output = project.check(CLAUDECODE="1")
    assert code == 1
    assert output.count("# 1 test fails") == 1
    assert "\ncannot write nextprompt.md: nextprompt.md exists" in output


def test_all_is_shown_where_nobody_else_shows_it(project: Project) -> None:
    assert "test session starts" in project.check(CI="true")[1]


def test_a_subfolder_is_the_same_project(project: Project) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "loop_close", "check"],
        cwd=project.root / "tests",
        env=project.environ,
        check=False,
    )
    assert done.returncode == 0
    assert gate.state(project.root).verdict == "done"


def test_without_a_history_nothing_runs_and_nothing_is_done(project: Project) -> None:
    settings(project, "history = 'off'")
    code, output = project.check()
    assert (code, project.runs()) == (2, 0)
    assert "history is 'off'" in output


def test_another_environment_that_is_active_is_another_result(project: Project, tmp_path: Path) -> None:
    assert project.check()[0] == 0
    python = tmp_path / "env" / "bin" / "pytest"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho no tests here\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    assert project.check(VIRTUAL_ENV=str(tmp_path / "env"))[0] == 1
    assert gate.state(project.root).verdict == "failing"


def test_the_name_of_a_check_may_be_any(project: Project) -> None:
    settings(project, 'checks."unit/fast one" = "pytest"')
    assert project.check()[0] == 0


def test_unit_tests_beside_a_pytest_that_does_not_run_them_are_objected_to_if_they_change(
    project: Project,
) -> None:
    unit = (
        "import unittest\nfrom calc import add\n\n\nclass Unit(unittest.TestCase):\n    def test_add(self):\n"
    )
    project.write("tests/test_calc.py", f"{unit}        assert add(1, 2) == 3\n")
    project.write("smoke/test_it.py", "def test_it():\n    pass\n")
    settings(project, 'checks.unit = "python -m unittest discover tests"\nchecks.smoke = "pytest smoke"')
    assert project.check(PYTHONPATH=".")[0] == 0
    project.write("calc.py", WRONG)
    project.write("tests/test_calc.py", f"{unit}        assert add(1, 2)\n")
    code, output = project.check(PYTHONPATH=".")
    assert (code, "pytest did not report in this check" in output) == (4, True)


def test_undo_says_whether_a_test_notices_the_change_and_changes_no_answer(project: Project) -> None:
    settings(project, 'json = "report.json"')
    project.write("calc.py", WRONG)
    code, output = project.check("--undo")
    assert (code, output.splitlines()[-1]) == (1, "--undo: the checks have to be green first")
    project.write("calc.py", RIGHT)
    facts = "Product code as it was in run 1, with the present tests:\n"
    facts += "- without the change in `calc.py` 1 of 1 test fails: `tests/test_calc.py::test_add`\n"
    assert project.check("--undo")[1].endswith(f"done: green on these files: tests\n{facts}")
    assert f"## Without the change\n\n{facts}" in (project.root / "nextprompt.md").read_text(encoding="utf-8")
    document = json.loads((project.root / "report.json").read_text(encoding="utf-8"))
    assert document["undo"]["found"][0]["failed"] == ["tests/test_calc.py::test_add"]
    ran = project.runs()
    assert project.check("--undo") == (0, f"done: green on these files: tests\n{facts}")
    assert project.runs() == ran
    assert project.check() == (0, "done: green on these files: tests\n")


def test_the_setting_undo_asks_by_itself_once_the_checks_are_green(project: Project) -> None:
    settings(project, "undo = true")
    project.write("calc.py", WRONG)
    assert "change" not in project.check()[1]
    project.write("calc.py", RIGHT)
    assert "without the change in `calc.py`" in project.check()[1]
